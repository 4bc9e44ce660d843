//! The recorded resources in the form of states, whose secrets are shown or masked. Without showing them, no passphrase is needed.

use serde::Deserialize;
use serde_json::{Map, Value};
use stackwright::{
    Stack,
    property::json::{from_slice, to_vec},
};

use crate::{failure::Result, session::Session, text};

/// The type of the resource that has the outputs.
const ROOT_TYPE: &str = "pulumi:pulumi:Stack";
/// The member that marks objects of a special kind in states, and its value for secrets.
const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
/// The member of a secret with its value, as JSON text.
const PLAINTEXT: &str = "plaintext";
/// What is shown in place of a secret.
const MASKED: &str = "[secret]";

/// A document of a state.
#[derive(Deserialize)]
struct Exported {
    deployment: Deployment,
}

/// The parts of a deployment that commands show.
#[derive(Default, Deserialize)]
pub(crate) struct Deployment {
    #[serde(default)]
    pub(crate) manifest: Manifest,
    #[serde(default)]
    pub(crate) resources: Vec<Record>,
    #[serde(default)]
    pub(crate) pending_operations: Vec<Pending>,
}

/// The time of a state that no operation has written.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// When a state was written, and by which version.
#[derive(Default, Deserialize)]
pub(crate) struct Manifest {
    #[serde(default)]
    pub(crate) time: String,
    #[serde(default)]
    pub(crate) version: String,
}

/// An operation that had not ended.
#[derive(Deserialize)]
pub(crate) struct Pending {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) resource: Record,
}

/// A recorded resource.
#[derive(Deserialize)]
pub(crate) struct Record {
    #[serde(default)]
    pub(crate) urn: String,
    #[serde(default)]
    pub(crate) id: String,
    #[serde(rename = "type", default)]
    pub(crate) resource_type: String,
    #[serde(default)]
    pub(crate) parent: Option<String>,
    #[serde(default)]
    pub(crate) delete: bool,
    #[serde(default)]
    pub(crate) inputs: Map<String, Value>,
    #[serde(default)]
    pub(crate) outputs: Map<String, Value>,
}

impl Manifest {
    /// Returns whether an operation has written the state.
    pub(crate) fn is_written(&self) -> bool {
        !self.time.is_empty() && self.time != NO_TIME
    }
}

impl Record {
    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        self.urn.rsplit("::").next().unwrap_or_default()
    }
}

impl Deployment {
    /// Reads the state of a stack.
    pub(crate) async fn read(session: &Session<'_>, stack: &Stack, show_secrets: bool) -> Result<Self> {
        if show_secrets {
            let unopened =
                "constructing secrets manager of type \"passphrase\": constructing secrets manager: ";
            session
                .require_key(stack.name())
                .await
                .map_err(|failure| failure.after(unopened))?;
        }
        let exported: Exported = from_slice(&stack.export_deployment(show_secrets).await?)?;
        let mut deployment = exported.deployment;
        for record in &mut deployment.resources {
            record.inputs.values_mut().try_for_each(reveal)?;
            record.outputs.values_mut().try_for_each(reveal)?;
        }
        Ok(deployment)
    }

    /// Returns the outputs of the stack.
    pub(crate) fn outputs(&mut self) -> Map<String, Value> {
        let root = self
            .resources
            .iter_mut()
            .find(|record| record.resource_type == ROOT_TYPE);
        root.map(|root| std::mem::take(&mut root.outputs))
            .unwrap_or_default()
    }
}

/// Replaces secrets at any depth: by their values where these are readable, else by a mask.
fn reveal(value: &mut Value) -> Result {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(reveal),
        Value::Object(members) if members.get(SIGNATURE).and_then(Value::as_str) == Some(SECRET) => {
            *value = match members.get(PLAINTEXT).and_then(Value::as_str) {
                Some(plaintext) => {
                    let mut inner: Value = from_slice(plaintext.as_bytes())?;
                    reveal(&mut inner)?;
                    inner
                }
                None => MASKED.into(),
            };
            Ok(())
        }
        Value::Object(members) => members.values_mut().try_for_each(reveal),
        _ => Ok(()),
    }
}

/// Returns the text of a value in tables: a text as it is, and anything else as JSON.
pub(crate) fn shown(value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => text::utf8(to_vec(other)?),
    }
}
