//! `stack output`.

use stackwright::property::{
    PropertyMap, PropertyValue,
    json::{Blinding, MapJson, SecretForm, ValueJson, to_vec},
};

use crate::{
    arguments::StackOutput,
    failure::{Failure, Result},
    session::Session,
    text,
};

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
    let outputs = stack.outputs().await?;
    let outputs = match arguments.show_secrets {
        true => outputs.without_secrets(),
        false => outputs,
    };
    let Some(name) = &arguments.name else {
        return print_all(session, &outputs, arguments.json);
    };
    let Some(value) = outputs.get(name) else {
        return Err(Failure::new(format!(
            "current stack does not have output property '{name}'"
        )));
    };
    session.invocation.print(match (arguments.json, value.as_str()) {
        (false, Some(text)) => text.to_owned(),
        _ => value_json(value, arguments.json)?,
    });
    Ok(())
}

fn print_all(session: &Session<'_>, outputs: &PropertyMap, json: bool) -> Result {
    let blinding = Blinding::default();
    if json {
        let document = MapJson::new(outputs, SecretForm::Blinded(&blinding));
        session.invocation.print(text::document(&document)?);
        return Ok(());
    }
    let mut rows = Vec::new();
    for (name, value) in outputs.iter() {
        let shown = match value.as_str() {
            Some(text) => text.to_owned(),
            None => value_json(value, false)?,
        };
        rows.push((name.as_str(), shown));
    }
    if rows.is_empty() {
        session
            .invocation
            .print("No output values currently in this stack");
        return Ok(());
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(6);
    session
        .invocation
        .print(format!("Current stack outputs ({}):", rows.len()));
    session
        .invocation
        .print(format!("    {:width$}  VALUE", "OUTPUT"));
    for (name, value) in rows {
        session.invocation.print(format!("    {name:width$}  {value}"));
    }
    Ok(())
}

/// Returns one value as JSON; secrets are masked.
fn value_json(value: &PropertyValue, pretty: bool) -> Result<String> {
    let blinding = Blinding::default();
    let value = ValueJson::new(value, SecretForm::Blinded(&blinding));
    match pretty {
        true => text::document(&value),
        false => text::utf8(to_vec(&value)?),
    }
}
