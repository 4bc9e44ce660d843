//! The project of a scenario: its files, and the actions on them before an operation.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use super::{editing::check_error, link::ActorError, play::Player};
use crate::{
    files::Files,
    scenario::{ProjectAction, ProjectExpectation, ScenarioOperation},
    value::{difference, to_plain},
};

/// The folder of a project's files, in that of the store.
const PROJECT_FOLDER: &str = "project";

/// The placeholder of a ciphertext in an expected text of a file.
const SECURE: &str = "{secure}";

/// The beginning of a ciphertext.
const CIPHERTEXT_START: &str = "v1:";

/// Writes the files of a project; `None` when there are none.
pub(super) fn lay_out(store: &Path, files: &BTreeMap<String, String>) -> Result<Option<PathBuf>, String> {
    if files.is_empty() {
        return Ok(None);
    }
    let folder = store.join(PROJECT_FOLDER);
    for (name, text) in files {
        put(&folder, name, Some(text.as_str()))?;
    }
    Ok(Some(folder))
}

/// Writes a file of a project, or removes it.
fn put(folder: &Path, name: &str, text: Option<&str>) -> Result<(), String> {
    let path = folder.join(name);
    let write = || match text {
        Some(text) => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, text)
        }
        None => fs::remove_file(&path),
    };
    write().map_err(|error| format!("cannot write {name} of the project: {error}"))
}

impl Player<'_, '_> {
    /// Does the actions on the project that an operation names, and checks each. No file has one of `secrets` after it.
    pub(super) async fn act_on_project(
        &mut self,
        operation: &ScenarioOperation,
        secrets: &[String],
    ) -> Result<(), String> {
        for (index, action) in operation.project.iter().enumerate() {
            let done = self.act(action, secrets).await;
            done.map_err(|text| format!("action {} on the project: {text}", index + 1))?;
        }
        Ok(())
    }

    async fn act(&mut self, action: &ProjectAction, secrets: &[String]) -> Result<(), String> {
        let expected = &action.expect;
        match (self.answer_of(action).await?, &expected.error) {
            (Ok(found), None) => check_found(&found, action)?,
            (Ok(found), Some(_)) => return Err(format!("it succeeded with {found}")),
            (Err(error), None) => return Err(format!("{} ({})", error.message, error.kind)),
            (Err(error), Some(wanted)) => {
                check_error(&error, wanted)?;
                let whole = error.whole.to_string();
                if let Some(secret) = secrets.iter().find(|secret| whole.contains(secret.as_str())) {
                    return Err(format!("the secret {secret:?} stands in the clear in the error"));
                }
            }
        }
        let leaks = Files::of(self.folder.path()).holding(secrets);
        if !leaks.is_empty() {
            return Err(format!("a secret stands in the clear in {}", leaks.join(", ")));
        }
        self.check_files(&expected.files)?;
        self.check_read(expected).await
    }

    /// Does an action. The answer is the read entry, the read entries, or the number of removed values.
    async fn answer_of(&mut self, action: &ProjectAction) -> Result<Result<Value, ActorError>, String> {
        if let Some(values) = &action.set {
            let values = to_plain(&Value::Object(values.clone()));
            let mut members = json!({ "values": values, "secret": action.secret });
            if let Some(secret) = action.secret {
                let marked = values.as_object().into_iter().flatten();
                let marked =
                    marked.map(|(path, value)| (path.clone(), json!({ "value": value, "secret": secret })));
                members["marked"] = marked.collect::<Map<_, _>>().into();
            }
            return self.of_project("set", members, action).await;
        }
        if let Some(path) = &action.get {
            return self.of_project("get", json!({ "path": path }), action).await;
        }
        if let Some(paths) = &action.remove {
            return self.of_project("remove", json!({ "paths": paths }), action).await;
        }
        if let Some(options) = action.list {
            let members = json!({ "showSecrets": options.show_secrets });
            return self.of_project("list", members, action).await;
        }
        if let (Some(files), Some(folder)) = (&action.write, &self.project_folder) {
            for (name, text) in files {
                put(folder, name, text.as_deref())?;
            }
            return Ok(Ok(Value::Null));
        }
        let edits = action.edit.iter().flatten();
        let edits = edits.map(|(path, value)| match value.is_null() {
            true => ("erase", json!({ "path": path })),
            false => ("write", json!({ "path": path, "value": value })),
        });
        let tags = action.tag.iter().flatten();
        let tags = tags.map(|(name, value)| match value {
            None => ("untag", json!({ "path": name })),
            Some(value) => ("tag", json!({ "path": name, "value": value })),
        });
        let mut removed = 0;
        for (part, members) in edits.chain(tags) {
            match self.of_project(part, members, action).await? {
                Ok(found) => removed += u64::from(found == json!(true)),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(removed.into()))
    }

    /// Sends one request of an action; returns what was found.
    async fn of_project(
        &mut self,
        part: &str,
        mut members: Value,
        action: &ProjectAction,
    ) -> Result<Result<Value, ActorError>, String> {
        members["part"] = part.into();
        members["stack"] = self.stack.as_str().into();
        members["folder"] = json!(self.project_folder);
        members["passphrase"] = json!(action.passphrase);
        let answer = self.answer("project", members).await?;
        Ok(answer.map(|mut answer| answer["found"].take()))
    }

    /// Reads what is expected of the project, the settings and the tags after an action.
    async fn check_read(&mut self, expected: &ProjectExpectation) -> Result<(), String> {
        let tags = expected.tags.as_ref().map(|tags| json!({ "$exactly": tags }));
        let parts = [
            ("facts", expected.facts.as_ref()),
            ("settings", expected.settings.as_ref()),
            ("tags", tags.as_ref()),
        ];
        for (part, expected) in parts {
            let Some(expected) = expected else { continue };
            let found = self
                .of_project(part, json!({}), &ProjectAction::default())
                .await?;
            let found = found.map_err(|error| format!("{part}: {} ({})", error.message, error.kind))?;
            compare(part, expected, &found)?;
        }
        Ok(())
    }

    fn check_files(&self, expected: &BTreeMap<String, Option<String>>) -> Result<(), String> {
        let Some(folder) = &self.project_folder else {
            return Ok(());
        };
        for (name, expected) in expected {
            let found = fs::read_to_string(folder.join(name)).ok();
            let is_same = match (expected, &found) {
                (Some(expected), Some(found)) => is_text(expected, found),
                (expected, found) => expected.is_none() && found.is_none(),
            };
            if !is_same {
                return Err(format!("{name} is {found:?}, not {expected:?}"));
            }
        }
        Ok(())
    }

    /// Checks that the state and the settings file of a stack have the same salt, when both have one.
    pub(super) async fn check_salt(&mut self, state: &Value) -> Result<(), String> {
        if self.project_folder.is_none() {
            return Ok(());
        }
        let read = self
            .of_project("settings", json!({}), &ProjectAction::default())
            .await?;
        // What is wrong with a malformed file is the expectation of the operation.
        let settings = read.unwrap_or_default();
        let recorded = &state["deployment"]["secrets_providers"]["state"]["salt"];
        match (settings["encryptionSalt"].as_str(), recorded.as_str()) {
            (Some(written), Some(recorded)) if written != recorded => Err(format!(
                "the settings file has the salt {written:?}, the state {recorded:?}"
            )),
            _ => Ok(()),
        }
    }
}

/// Checks the answer of an action.
fn check_found(found: &Value, action: &ProjectAction) -> Result<(), String> {
    let expected = &action.expect;
    if let Some(entry) = &expected.entry {
        compare("the entry", entry, found)?;
    }
    if let Some(removed) = expected.removed {
        compare("the number of removed ones", &json!(removed), found)?;
    }
    let Some(entries) = &expected.entries else {
        return Ok(());
    };
    let listed: Vec<&String> = found
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .collect();
    if !listed.iter().copied().eq(entries.keys()) {
        return Err(format!("the list has {listed:?}, not {:?}", entries.keys()));
    }
    let mut entries = entries.iter();
    entries.try_for_each(|(key, members)| compare(key, members, &found[key]))
}

fn compare(what: &str, expected: &Value, found: &Value) -> Result<(), String> {
    difference(expected, found).map_or(Ok(()), |text| Err(format!("{what}: {text}")))
}

/// Returns whether a text is the expected one, in which [`SECURE`] stands for a ciphertext.
fn is_text(expected: &str, found: &str) -> bool {
    let is_of_ciphertext = |letter: char| letter.is_ascii_alphanumeric() || "+/=:".contains(letter);
    let mut parts = expected.split(SECURE);
    let mut rest = found.strip_prefix(parts.next().unwrap_or_default());
    for part in parts {
        rest = rest
            .filter(|rest| rest.starts_with(CIPHERTEXT_START))
            .and_then(|rest| rest.trim_start_matches(is_of_ciphertext).strip_prefix(part));
    }
    rest == Some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stands_for_a_ciphertext_and_nothing_else() {
        assert!(is_text("a: {secure} # b\n{secure}", "a: v1:bm9=:Y+/= # b\nv1:x"));
        assert!(is_text("a", "a"));
        assert!(!is_text("a: {secure}\n", "a: hunter2\n"));
        assert!(!is_text("a: {secure}\n", "a: v1:x hunter2\n"));
        assert!(!is_text("a", "ab"));
        assert!(!is_text("{secure}", "v1:x\n"));
    }
}
