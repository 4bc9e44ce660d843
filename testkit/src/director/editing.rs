//! Edits of the state before an operation.

use serde_json::{Map, Value, json};

use super::{link::ActorError, play::Player};
use crate::{
    check::name_of,
    scenario::{Edit, EditExpectation, ErrorExpectation, PROJECT, STACK_BESIDE, ScenarioOperation},
    value::difference,
};

/// How the secrets of all stacks are encrypted.
#[derive(Clone, Debug)]
pub(super) enum Encryption {
    /// They are encoded.
    Encoding,
    /// With this passphrase.
    Passphrase(String),
    /// By the actor, with these settings (`kind`, `state`).
    Host(Value),
}

impl Encryption {
    /// Returns the passphrase.
    pub(super) fn passphrase(&self) -> Option<&str> {
        match self {
            Self::Passphrase(passphrase) => Some(passphrase),
            Self::Encoding | Self::Host(_) => None,
        }
    }

    /// Returns the settings of the actor's encryption.
    pub(super) const fn of_host(&self) -> Option<&Value> {
        match self {
            Self::Host(settings) => Some(settings),
            Self::Encoding | Self::Passphrase(_) => None,
        }
    }

    /// Returns the one that an edit has given the stack.
    fn after(edit: &Edit) -> Option<Self> {
        let changed = edit.edit.get("changeSecrets").filter(|_| is_made(edit))?;
        let passphrase = changed["passphrase"].as_str().map(str::to_owned);
        let of_host = || changed.get("secrets").cloned().map(Self::Host);
        passphrase.map(Self::Passphrase).or_else(of_host)
    }
}

impl Player<'_, '_> {
    /// Makes the edits that an operation names, and checks their reports.
    pub(super) async fn edit(&mut self, operation: &ScenarioOperation, config: &Value) -> Result<(), String> {
        for (index, edit) in operation.edits.iter().enumerate() {
            let edited = self.edit_once(edit).await;
            edited.map_err(|text| format!("edit {}: {text}", index + 1))?;
            if let Some(encryption) = Encryption::after(edit) {
                // The stack that was edited has the former one.
                self.encryption = encryption;
                self.open_again(config).await?;
            }
            if let Some(name) = new_name(edit) {
                let left = self.of_former_name().await;
                left.map_err(|text| format!("edit {}: {text}", index + 1))?;
                name.clone_into(&mut self.stack);
                self.open_again(config).await?;
            }
        }
        Ok(())
    }

    async fn open_again(&mut self, config: &Value) -> Result<(), String> {
        self.ask("close", json!({})).await?;
        self.open(config.clone()).await
    }

    /// Checks that a renamed stack is not found by its former name.
    async fn of_former_name(&mut self) -> Result<(), String> {
        let members = json!({ "stack": self.stack, "part": "resources" });
        match self.answer("inspect", members).await? {
            Ok(answer) => Err(format!("the former name has {}", answer["found"])),
            Err(error) if error.kind == "not_found" => Ok(()),
            Err(error) => Err(format!("the former name: {} ({})", error.message, error.kind)),
        }
    }

    async fn edit_once(&mut self, edit: &Edit) -> Result<(), String> {
        // An invalid state, which only a repair takes, cannot be read.
        let own = self.stack.clone();
        let (stack, other) = match edit.beside {
            true => (STACK_BESIDE, own.as_str()),
            false => (own.as_str(), STACK_BESIDE),
        };
        let records = self
            .ask("inspect", json!({ "stack": stack, "part": "resources" }))
            .await;
        let records = records.map(|answer| answer["found"].clone()).unwrap_or_default();
        let mut document = Value::Object(edit.edit.clone());
        resolve(&mut document, &records, stack);
        if let Some(Value::Object(import)) = document.get_mut("importDeployment")
            && let Some(deployment) = import.get_mut("deployment")
            && !deployment.is_string()
        {
            *deployment = deployment.to_string().into();
        }
        let is_move = document.get("move").is_some();
        let part = if is_move { "move" } else { "edit" };
        let mut members = json!({ "stack": stack, "part": part, "edit": document });
        if is_move {
            members["destination"] = other.into();
        }
        let answer = self.answer("inspect", members).await?;
        match (answer, &edit.expect.error) {
            (Ok(answer), None) if is_move => {
                let found = &answer["found"];
                check(&found["source"], &edit.expect)?;
                let destination = edit.expect.destination.as_deref();
                destination.map_or(Ok(()), |expected| {
                    check(&found["destination"], expected).map_err(|text| format!("destination: {text}"))
                })
            }
            (Ok(answer), None) => check(&answer["found"], &edit.expect),
            (Ok(answer), Some(_)) => Err(format!("it succeeded with {}", answer["found"])),
            (Err(error), None) => Err(format!("{} ({})", error.message, error.kind)),
            (Err(error), Some(expected)) => check_error(&error, expected),
        }
    }
}

/// Returns whether an edit changes the state.
fn is_made(edit: &Edit) -> bool {
    edit.expect.error.is_none() && edit.edit.get("dryRun") != Some(&json!(true))
}

/// Returns the name that an edit has given the scenario's own stack.
fn new_name(edit: &Edit) -> Option<&str> {
    let name = edit.edit.get("renameStack")?["name"].as_str();
    name.filter(|_| is_made(edit) && !edit.beside)
}

/// Replaces `@name` by the URN of the recorded resource of that name, or by one that is not recorded.
fn resolve(value: &mut Value, records: &Value, stack: &str) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix('@') {
                let urns = records
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|record| record["urn"].as_str());
                let mut known = urns.filter(|urn| name_of(urn) == name);
                let unknown = format!("urn:pulumi:{stack}::{PROJECT}::test:index:Thing::{name}");
                *text = known.next().map_or(unknown, str::to_owned);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| resolve(value, records, stack)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| resolve(value, records, stack)),
        _ => {}
    }
}

fn check(report: &Value, expected: &EditExpectation) -> Result<(), String> {
    let own = report["records"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|record| {
            let urn = record["urn"].as_str().unwrap_or_default();
            !urn.contains("::pulumi:pulumi:Stack::") && !urn.contains("::pulumi:providers:test::default")
        });
    let own: Vec<&Value> = own.collect();
    let name = |record: &Value| name_of(record["urn"].as_str().unwrap_or_default()).to_owned();
    if let Some(records) = &expected.records {
        let mut found: Vec<String> = own
            .iter()
            .map(|record| format!("{} {}", record["kind"].as_str().unwrap_or_default(), name(record)))
            .collect();
        let mut records = records.clone();
        found.sort();
        records.sort();
        if found != records {
            return Err(format!("the report has {found:?}, not {records:?}"));
        }
    }
    for (of, members) in &expected.members {
        let Some(record) = own.iter().find(|record| name(record) == *of) else {
            return Err(format!("the report has no record of {of}"));
        };
        for (member, value) in members.as_object().into_iter().flatten() {
            let found = named(&record[member]);
            if let Some(text) = difference(value, &found) {
                return Err(format!("{member} of {of}: {text}"));
            }
        }
    }
    let warnings: Vec<&str> = report["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match &expected.warnings {
        Some(parts) if parts.len() != warnings.len() => Err(format!("there are the warnings {warnings:?}")),
        Some(parts) => match parts
            .iter()
            .find(|part| !warnings.iter().any(|warning| warning.contains(*part)))
        {
            Some(part) => Err(format!("no warning contains {part:?}: {warnings:?}")),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// Returns a value with `@name` in place of each URN.
fn named(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("urn:pulumi:") => format!("@{}", name_of(text)).into(),
        Value::Array(values) => values.iter().map(named).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), named(value)));
            members.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Checks the error of an edit, or of another request that is no operation.
pub(super) fn check_error(error: &ActorError, expected: &ErrorExpectation) -> Result<(), String> {
    let about = error.whole["urn"].as_str().map(name_of).unwrap_or_default();
    let reference = error.whole["referenceMessage"].as_str().unwrap_or_default();
    let fits = expected.kind.as_ref().is_none_or(|kind| *kind == error.kind)
        && expected
            .message
            .as_ref()
            .is_none_or(|part| error.message.contains(part))
        && expected
            .reference
            .as_ref()
            .is_none_or(|part| reference.contains(part))
        && expected.about.as_ref().is_none_or(|name| *name == about)
        && expected.has_hints(&error.whole);
    match fits {
        true => Ok(()),
        false => Err(format!(
            "the error is {} ({}), about '{about}', with the hints {}",
            error.message, error.kind, error.whole["hints"]
        )),
    }
}
