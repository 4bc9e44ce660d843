//! Project and settings files as documents, which the Automation APIs read, change and write back.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use stackwright::{Error, ErrorKind, Result};

use crate::{
    file::{Durability, SettingsText},
    yaml::{Format, Mapping, Node},
};

/// The entries that the type of a stack's settings has. A document without one of them removes it; all others stay.
const OF_STACKS: [&str; 4] = ["secretsprovider", "encryptedkey", "encryptionsalt", "config"];

/// The same for projects.
const OF_PROJECTS: [&str; 10] = [
    "name",
    "runtime",
    "main",
    "description",
    "author",
    "website",
    "license",
    "config",
    "template",
    "backend",
];

/// The name of project files, without the ending.
const PROJECT: &str = "Pulumi";

/// How often a file is read again that another writer has changed meanwhile.
const MAX_ATTEMPTS: usize = 100;

/// Returns all entries of a stack's settings file as a JSON object, or `None` without such a file. `folder` has the project file, which
/// can name another folder for those of stacks.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a malformed file; [`ErrorKind::Unavailable`] for one that cannot be read.
pub fn settings_document(folder: &Path, stack: &str) -> Result<Option<String>> {
    let file = settings_file(folder, stack)?;
    let Some(text) = &file.text else { return Ok(None) };
    let entries = entries(&file, text)?;
    let members = entries
        .iter()
        .map(|(name, node)| (name.clone(), node.to_json_value()));
    Ok(Some(Value::Object(members.collect()).to_string()))
}

/// Writes a document to a stack's settings file: as a whole or not at all. What does not change keeps its form and its comments. Entries that
/// the types of the Automation APIs do not have, such as `environment`, stay unless the document has them.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a malformed file or document; [`ErrorKind::Unavailable`] for a file that cannot be written;
/// [`ErrorKind::Conflict`] when other programs change it all the time.
pub fn replace_settings(folder: &Path, stack: &str, document: &str) -> Result<()> {
    replace(|| settings_file(folder, stack), document, &OF_STACKS)
}

/// Writes a document to the project file of a folder, as [`replace_settings`] does. Entries such as `packages` and `plugins` stay.
///
/// # Errors
/// Those of [`replace_settings`].
pub fn replace_project(folder: &Path, document: &str) -> Result<()> {
    replace(
        || SettingsText::read(folder, PROJECT, None),
        document,
        &OF_PROJECTS,
    )
}

fn replace(read: impl Fn() -> Result<SettingsText>, document: &str, typed: &[&str]) -> Result<()> {
    let malformed = |error| {
        Error::invalid(format!(
            "the document of a settings file is no JSON object: {error}"
        ))
    };
    let document: Map<String, Value> = serde_json::from_str(document).map_err(malformed)?;
    let mut path = PathBuf::new();
    for _ in 0..MAX_ATTEMPTS {
        let file = read()?;
        let before = match &file.text {
            Some(text) => entries(&file, text)?,
            None => Mapping::new(),
        };
        let after = merged(&before, &document, typed);
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
        if file.text.as_deref() == Some(&*text) || file.replace(&text, Durability::Later)? {
            return Ok(());
        }
        path = file.path;
    }
    Err(Error::new(
        ErrorKind::Conflict,
        format!(
            "{}: other programs changed the file during each of {MAX_ATTEMPTS} attempts to write it",
            path.display()
        ),
    ))
}

/// Returns the entries after a change: those of the document, and those of the file that it cannot have.
fn merged(before: &Mapping, document: &Map<String, Value>, typed: &[&str]) -> Mapping {
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
        let is_typed = typed.iter().any(|typed| typed.eq_ignore_ascii_case(name));
        if let Some(node) = given(name).or_else(|| (!is_typed).then(|| node.clone())) {
            after.insert(name.clone(), node);
        }
    }
    let (first, rest): (Vec<_>, Vec<_>) = document
        .iter()
        .partition(|(name, _)| typed.contains(&name.as_str()));
    let mut first = first;
    first.sort_by_key(|(name, _)| typed.iter().position(|typed| typed == name));
    for (name, value) in first.into_iter().chain(rest) {
        let is_written = after.keys().any(|other| other.eq_ignore_ascii_case(name));
        if is_given(value) && !is_written {
            after.insert(name.clone(), Node::from_json_value(value));
        }
    }
    after
}

/// Reads the settings file of a stack, where the project file keeps it.
fn settings_file(folder: &Path, stack: &str) -> Result<SettingsText> {
    let stack = stack.rsplit('/').next().unwrap_or(stack);
    let project = SettingsText::read(folder, PROJECT, None)?;
    let inner = match &project.text {
        Some(text) => config_folder(&entries(&project, text)?),
        None => None,
    };
    let folder = inner.map_or_else(|| folder.to_owned(), |inner| folder.join(inner));
    let preferred = project.text.as_ref().and_then(|_| project.ending());
    SettingsText::read(&folder, &format!("Pulumi.{stack}"), preferred)
}

/// Returns the folder of the settings files of stacks that a project names, also in its older form.
fn config_folder(project: &Mapping) -> Option<String> {
    ["stackConfigDir", "config"]
        .iter()
        .find_map(|name| match project.get(*name) {
            Some(Node::Scalar(scalar)) => Some(scalar.text().to_owned()),
            _ => None,
        })
}

fn entries(file: &SettingsText, text: &str) -> Result<Mapping> {
    match Node::parse(text).map_err(|error| file.named(error))? {
        Node::Mapping(entries) => Ok(entries),
        _ => Err(file.named(Error::invalid("the file must be a mapping"))),
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

    #[test]
    fn the_settings_of_a_stack_are_in_the_folder_that_the_project_names() {
        for name in ["stackConfigDir", "config"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(
                folder.path().join("Pulumi.yml"),
                format!("name: shop\nruntime: python\n{name}: stacks\n"),
            )
            .unwrap();
            replace_settings(folder.path(), "dev", r#"{"config": {"shop:size": "4"}}"#).unwrap();
            assert!(folder.path().join("stacks/Pulumi.dev.yml").exists());
            assert_eq!(document(folder.path()), json!({"config": {"shop:size": "4"}}));
        }
    }

    #[test]
    fn a_project_keeps_what_the_type_does_not_have() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Pulumi.yaml");
        replace_project(
            folder.path(),
            r#"{"runtime": "python", "name": "shop", "main": "app"}"#,
        )
        .unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "name: shop\nruntime: python\nmain: app\n"
        );
        fs::write(
            &path,
            "# Ours.\nname: shop # short\nruntime: python\npackages:\n  aws: 7.0.0\nmain: app\n",
        )
        .unwrap();
        replace_project(
            folder.path(),
            r#"{"name": "shop", "runtime": "python", "description": "A shop."}"#,
        )
        .unwrap();
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(
            written,
            "# Ours.\nname: shop # short\nruntime: python\npackages:\n  aws: 7.0.0\ndescription: A shop.\n"
        );
    }

    #[test]
    fn each_of_many_writers_leaves_a_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || {
                    let text = format!(
                        r#"{{"name": "shop", "runtime": "python", "description": "{number} {}"}}"#,
                        "x".repeat(9000)
                    );
                    for _ in 0..8 {
                        replace_project(path, &text).unwrap();
                        let read = fs::read_to_string(path.join("Pulumi.yaml")).unwrap();
                        let Ok(Node::Mapping(entries)) = Node::parse(&read) else {
                            panic!("{read}")
                        };
                        assert_eq!(entries.len(), 3);
                    }
                });
            }
        });
    }
}
