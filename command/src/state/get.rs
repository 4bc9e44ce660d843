//! `state get`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{choice, explained, opened};
use crate::{
    arguments::StateGet,
    failure::{Failure, Result},
    printer::Printer,
    records::{Deployment, Record, shown},
    session::Session,
    text,
};

/// What the names of members begin with that the engine keeps for itself.
const INTERNAL: &str = "__";

/// The document of a record; its members are sorted.
#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    inputs: &'a Map<String, Value>,
    outputs: &'a Map<String, Value>,
    #[serde(rename = "type")]
    resource_type: &'a str,
    urn: &'a str,
}

/// Prints the record of a resource: the live one, or else a copy that is pending deletion.
pub(super) async fn get(session: &Session<'_>, arguments: &StateGet) -> Result {
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    if arguments.urn.is_none() {
        choice::require_terminal(printer)?;
    }
    let stack = opened(session, arguments.stack.stack.as_deref()).await?;
    let urn = match &arguments.urn {
        Some(urn) => urn.clone(),
        None => choice::chosen(session, printer, &stack, "The resource:").await?,
    };
    let records = Deployment::read(session, &stack, arguments.show_secrets)
        .await?
        .resources;
    let mut found: Vec<Record> = records.into_iter().filter(|record| record.urn == urn).collect();
    found.sort_by_key(|record| record.delete);
    let Some(mut record) = found.into_iter().next() else {
        // The core names similar URNs.
        let missing = stack.resource(&urn).await.err().map(explained);
        return Err(missing.unwrap_or_else(|| Failure::new("the state has been changed meanwhile")));
    };
    for properties in [&mut record.inputs, &mut record.outputs] {
        properties.retain(|name, _| !name.starts_with(INTERNAL));
    }
    if arguments.form.is_json() {
        session.invocation.print(text::document(&Document {
            id: &record.id,
            inputs: &record.inputs,
            outputs: &record.outputs,
            resource_type: &record.resource_type,
            urn: &record.urn,
        })?);
        return Ok(());
    }
    let print = |line: String| session.invocation.print(line);
    print(format!("Type: {}", record.resource_type));
    print(format!("URN: {}", record.urn));
    print(format!("ID: {}", record.id));
    for (title, properties) in [("Inputs:", &record.inputs), ("Outputs:", &record.outputs)] {
        print(title.to_owned());
        for (name, value) in properties {
            print(format!("    {name}: {}", shown(value)?));
        }
    }
    Ok(())
}
