//! Projects in scenarios: what is done with their files, and with the tags of a stack.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ErrorExpectation;

/// An action on the project, its files, or the tags of the stack, and its expectation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProjectAction {
    /// Sets values of the stack's configuration, by path.
    pub set: Option<Map<String, Value>>,
    /// Whether the values of `set` are encrypted, regardless of their marks and of declarations.
    pub secret: Option<bool>,
    /// Whether the values of `set` are secrets without marks, as those of keys that are declared as secret.
    pub hidden: bool,
    /// Reads the value at a path of the stack's configuration.
    pub get: Option<String>,
    /// Removes the values at paths of the stack's configuration.
    pub remove: Option<Vec<String>>,
    /// Lists the stack's configuration.
    pub list: Option<ListOptions>,
    /// Sets values of the project file, by path; null removes one.
    pub edit: Option<Map<String, Value>>,
    /// Writes files of the project, as an editor does, by name; null removes one.
    pub write: Option<BTreeMap<String, Option<String>>>,
    /// Sets tags of the stack; null removes one.
    pub tag: Option<BTreeMap<String, Option<String>>>,
    /// The passphrase of `set`, `get` and `list`, in place of the engine's.
    pub passphrase: Option<String>,
    /// The expectation.
    pub expect: ProjectExpectation,
}

/// Options of a list.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListOptions {
    /// Whether secrets are shown.
    pub show_secrets: bool,
}

/// The expectation of an action. Absent members are not checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProjectExpectation {
    /// The error; without it, the action succeeds.
    pub error: Option<ErrorExpectation>,
    /// Members of the entry that `get` has read.
    pub entry: Option<Value>,
    /// The entries that `list` has read, all of them, by key: members of each.
    pub entries: Option<BTreeMap<String, Value>>,
    /// How many values or tags there were of those that were to be removed.
    pub removed: Option<u64>,
    /// Texts of files of the project after the action, by name; null for none. `{secure}` stands for a ciphertext.
    pub files: BTreeMap<String, Option<String>>,
    /// Members of the facts of the project after the action.
    pub facts: Option<Value>,
    /// Members of the stack's settings, apart from its configuration, after the action.
    pub settings: Option<Value>,
    /// The tags of the stack after the action, all of them.
    pub tags: Option<BTreeMap<String, String>>,
}

impl ProjectAction {
    /// Checks that the action does one thing, and has only members that belong to it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check(&self, has_project: bool) -> Result<(), String> {
        let kinds = [
            self.set.is_some(),
            self.get.is_some(),
            self.remove.is_some(),
            self.list.is_some(),
            self.edit.is_some(),
            self.write.is_some(),
            self.tag.is_some(),
        ];
        if kinds.into_iter().filter(|is_there| *is_there).count() != 1 {
            return Err(
                "an action on a project is one of set, get, remove, list, edit, write and tag".into(),
            );
        }
        let reads_files = !self.expect.files.is_empty();
        let reads_project = reads_files || self.expect.facts.is_some() || self.expect.settings.is_some();
        if !has_project && (self.tag.is_none() || reads_project) {
            return Err("an action on a project needs a scenario with a project".into());
        }
        if self.set.is_none() && (self.secret.is_some() || self.hidden) {
            return Err("secret and hidden belong to set".into());
        }
        let takes_passphrase = self.set.is_some() || self.get.is_some() || self.list.is_some();
        if self.passphrase.is_some() && !takes_passphrase {
            return Err("a passphrase belongs to set, get and list".into());
        }
        Ok(())
    }

    /// Adds the texts that the action makes secret.
    pub(super) fn collect_secrets(&self, texts: &mut Vec<String>) {
        let Some(values) = &self.set else { return };
        let mut values = Value::Object(values.clone());
        if self.hidden || self.secret == Some(true) {
            values = crate::value::secret(values);
        }
        crate::value::collect_secrets(&values, texts);
    }
}
