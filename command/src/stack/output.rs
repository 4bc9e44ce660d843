//! `stack output`.

use serde::Deserialize;
use serde_json::{Map, Value};
use stackwright::{
    Stack,
    property::json::{from_slice, to_vec},
};

use crate::{
    arguments::StackOutput,
    failure::{Failure, Result},
    session::Session,
    text,
};

/// The type of the resource that has the outputs.
const ROOT_TYPE: &str = "pulumi:pulumi:Stack";
/// The member that marks objects of a special kind in states, and its value for secrets.
const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
/// The member of a secret with its value, as JSON text.
const PLAINTEXT: &str = "plaintext";
/// What is shown in place of a secret.
const MASKED: &str = "[secret]";

/// The parts of a deployment that have the outputs.
#[derive(Deserialize)]
struct Exported {
    deployment: Deployment,
}

#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    resources: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    resource_type: String,
    #[serde(default)]
    outputs: Map<String, Value>,
}

/// Prints the outputs, or one of them.
pub(super) async fn output(session: &Session<'_>, arguments: &StackOutput) -> Result {
    let named = session.stack_or_selected(arguments.stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    if arguments.show_secrets {
        let unopened = "constructing secrets manager of type \"passphrase\": constructing secrets manager: ";
        session
            .require_passphrase()
            .map_err(|failure| failure.after(unopened))?;
    }
    let outputs = outputs(&stack, arguments.show_secrets).await?;
    let Some(name) = &arguments.name else {
        return print_all(session, &outputs, arguments.json);
    };
    let Some(value) = outputs.get(name) else {
        return Err(Failure::new(format!(
            "current stack does not have output property '{name}'"
        )));
    };
    session.invocation.print(match arguments.json {
        true => text::document(value)?,
        false => shown(value)?,
    });
    Ok(())
}

/// Reads the outputs in the form of states. The passphrase is only needed to show secrets.
async fn outputs(stack: &Stack, show_secrets: bool) -> Result<Map<String, Value>> {
    let exported: Exported = from_slice(&stack.export_deployment(show_secrets).await?)?;
    let mut records = exported.deployment.resources.into_iter();
    let root = records.find(|record| record.resource_type == ROOT_TYPE);
    let mut outputs = root.map(|root| root.outputs).unwrap_or_default();
    outputs.values_mut().try_for_each(reveal)?;
    Ok(outputs)
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

fn print_all(session: &Session<'_>, outputs: &Map<String, Value>, json: bool) -> Result {
    if json {
        session.invocation.print(text::document(outputs)?);
        return Ok(());
    }
    if outputs.is_empty() {
        session
            .invocation
            .print("No output values currently in this stack");
        return Ok(());
    }
    let width = outputs.keys().map(String::len).max().unwrap_or(0).max(6);
    session
        .invocation
        .print(format!("Current stack outputs ({}):", outputs.len()));
    session
        .invocation
        .print(format!("    {:width$}  VALUE", "OUTPUT"));
    for (name, value) in outputs {
        session
            .invocation
            .print(format!("    {name:width$}  {}", shown(value)?));
    }
    Ok(())
}

fn shown(value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => text::utf8(to_vec(other)?),
    }
}
