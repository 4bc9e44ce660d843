//! The settings file of a stack as a document, which the Automation APIs read, change and write back.

use std::path::Path;

use serde_json::{Map, Value};
use stackwright::{Error, ErrorKind, Result};

use crate::{
    file::{Durability, SettingsText},
    yaml::{Format, Mapping, Node},
};

/// The entries that the types of the Automation APIs have. A document without one of them removes it; all others stay.
const TYPED: [&str; 4] = ["secretsprovider", "encryptedkey", "encryptionsalt", "config"];

/// How often a file is read again that another writer has changed meanwhile.
const MAX_ATTEMPTS: usize = 100;

/// Returns all entries of a stack's settings file in `folder` as a JSON object, or `None` without such a file.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a malformed file; [`ErrorKind::Unavailable`] for one that cannot be read.
pub fn settings_document(folder: &Path, stack: &str) -> Result<Option<String>> {
    let file = read(folder, stack)?;
    let Some(text) = &file.text else { return Ok(None) };
    let entries = entries(&file, text)?;
    let members = entries
        .iter()
        .map(|(name, node)| (name.clone(), node.to_json_value()));
    Ok(Some(Value::Object(members.collect()).to_string()))
}

/// Writes a document to a stack's settings file in `folder`: as a whole or not at all. What does not change keeps its form and its comments.
/// Entries that the types of the Automation APIs do not have, such as `environment`, stay unless the document has them.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a malformed file or document; [`ErrorKind::Unavailable`] for a file that cannot be written;
/// [`ErrorKind::Conflict`] when other programs change it all the time.
pub fn replace_settings(folder: &Path, stack: &str, document: &str) -> Result<()> {
    let document: Map<String, Value> = serde_json::from_str(document).map_err(|error| {
        Error::invalid(format!(
            "the settings of the stack '{stack}' are no JSON object: {error}"
        ))
    })?;
    for _ in 0..MAX_ATTEMPTS {
        let file = read(folder, stack)?;
        let before = match &file.text {
            Some(text) => entries(&file, text)?,
            None => Mapping::new(),
        };
        let after = merged(&before, &document);
        let text = match &file.text {
            Some(text) if !before.is_empty() => {
                Node::edit(text, &after, file.format).map_err(|error| file.named(error))?
            }
            _ => {
                let node = Node::Mapping(after);
                match file.format {
                    Format::Yaml => node.to_yaml(),
                    Format::Json => node.to_json(),
                }
            }
        };
        if file.replace(&text, Durability::Later)? {
            return Ok(());
        }
    }
    let path = file_path(folder, stack);
    Err(Error::new(
        ErrorKind::Conflict,
        format!("{path}: other programs changed the file during each of {MAX_ATTEMPTS} attempts to write it"),
    ))
}

/// Returns the entries after a change: those of the document, and those of the file that it cannot have.
fn merged(before: &Mapping, document: &Map<String, Value>) -> Mapping {
    let is_given = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    let given = |name: &str| {
        document
            .iter()
            .find(|(other, value)| other.eq_ignore_ascii_case(name) && is_given(value))
            .map(|(_, value)| Node::from_json_value(value))
    };
    let mut after = Mapping::new();
    for (name, node) in before {
        let is_typed = TYPED.iter().any(|typed| typed.eq_ignore_ascii_case(name));
        if let Some(node) = given(name).or_else(|| (!is_typed).then(|| node.clone())) {
            after.insert(name.clone(), node);
        }
    }
    for (name, value) in document {
        let is_written = after.keys().any(|other| other.eq_ignore_ascii_case(name));
        if is_given(value) && !is_written {
            after.insert(name.clone(), Node::from_json_value(value));
        }
    }
    after
}

fn read(folder: &Path, stack: &str) -> Result<SettingsText> {
    let stack = stack.rsplit('/').next().unwrap_or(stack);
    SettingsText::read(folder, &format!("Pulumi.{stack}"), None)
}

fn file_path(folder: &Path, stack: &str) -> String {
    read(folder, stack).map_or_else(|_| stack.to_owned(), |file| file.path.display().to_string())
}

fn entries(file: &SettingsText, text: &str) -> Result<Mapping> {
    match Node::parse(text).map_err(|error| file.named(error))? {
        Node::Mapping(entries) => Ok(entries),
        _ => Err(file.named(Error::invalid("a stack file must be a mapping"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    const FILE: &str = "# Of the team.\nenvironment:\n  - shared/base\nconfig:\n  shop:size: 4 # servers\n  shop:tags:\n    team: payments\n  shop:token:\n    secure: v1:abc\nowner: ops\n";

    fn folder(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Pulumi.dev.yaml"), text).unwrap();
        folder
    }

    fn document(folder: &Path) -> Value {
        serde_json::from_str(&settings_document(folder, "acme/shop/dev").unwrap().unwrap()).unwrap()
    }

    #[test]
    fn a_document_that_is_written_back_unchanged_leaves_each_byte() {
        let folder = folder(FILE);
        let read = document(folder.path());
        assert_eq!(read["config"]["shop:tags"], json!({"team": "payments"}));
        replace_settings(folder.path(), "dev", &read.to_string()).unwrap();
        let written = fs::read_to_string(folder.path().join("Pulumi.dev.yaml")).unwrap();
        assert_eq!(written, FILE);
    }

    #[test]
    fn entries_without_a_type_stay_and_typed_ones_are_those_of_the_document() {
        let folder = folder(&format!("encryptionsalt: v1:old\n{FILE}"));
        let change =
            json!({"config": {"shop:size": "8", "shop:tags": {"team": "payments"}}, "secretsprovider": null});
        replace_settings(folder.path(), "dev", &change.to_string()).unwrap();
        let after = document(folder.path());
        assert_eq!(
            after,
            json!({
                "environment": ["shared/base"],
                "config": {"shop:size": "8", "shop:tags": {"team": "payments"}},
                "owner": "ops",
            })
        );
        let written = fs::read_to_string(folder.path().join("Pulumi.dev.yaml")).unwrap();
        assert!(written.starts_with("# Of the team.\n"), "{written}");
    }

    #[test]
    fn a_new_file_has_the_entries_of_the_document() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(settings_document(folder.path(), "dev").unwrap(), None);
        replace_settings(
            folder.path(),
            "dev",
            r#"{"config": {"shop:size": "4"}, "environment": ["base"]}"#,
        )
        .unwrap();
        assert_eq!(
            document(folder.path()),
            json!({"config": {"shop:size": "4"}, "environment": ["base"]})
        );
    }

    #[test]
    fn a_malformed_file_is_named_and_stays() {
        let folder = folder("config: [");
        let error = replace_settings(folder.path(), "dev", "{}").unwrap_err();
        assert!(error.message().contains("Pulumi.dev.yaml"), "{error}");
        assert_eq!(
            fs::read_to_string(folder.path().join("Pulumi.dev.yaml")).unwrap(),
            "config: ["
        );
    }
}
