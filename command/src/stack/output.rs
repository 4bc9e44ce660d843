//! `stack output`.

use serde_json::{Map, Value};

use crate::{
    arguments::StackOutput,
    failure::{Failure, Result},
    records::{Deployment, shown},
    session::Session,
    text,
};

/// Prints the outputs, or one of them.
pub(super) async fn output(session: &Session<'_>, arguments: &StackOutput) -> Result {
    let named = session.stack_or_selected(arguments.stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    let outputs = Deployment::read(session, &stack, arguments.show_secrets)
        .await?
        .outputs();
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
