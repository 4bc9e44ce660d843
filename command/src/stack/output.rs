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
    let is_json = arguments.form.is_json();
    if is_json && arguments.shell {
        return Err(Failure::new("only one of --json and --shell may be set"));
    }
    let named = session.stack_or_selected(arguments.stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    let outputs = Deployment::read(session, &stack, arguments.show_secrets)
        .await?
        .outputs();
    let Some(name) = &arguments.name else {
        return match arguments.shell {
            true => assign(session, &outputs),
            false => print_all(session, &outputs, is_json),
        };
    };
    let Some(value) = outputs.get(name) else {
        return Err(Failure::new(format!(
            "current stack does not have output property '{name}'"
        )));
    };
    if arguments.shell {
        return assign(session, &Map::from_iter([(name.clone(), value.clone())]));
    }
    session.invocation.print(match is_json {
        true => text::document(value)?,
        false => shown(value)?,
    });
    Ok(())
}

/// Prints assignments for a shell.
fn assign(session: &Session<'_>, outputs: &Map<String, Value>) -> Result {
    for (name, value) in outputs {
        session
            .invocation
            .print(format!("{name}={}", escaped(&shown(value)?)));
    }
    Ok(())
}

/// Returns a text as one word of a shell.
fn escaped(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    let mut word = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // A backslash before it would remove it.
            '\n' => word.push_str("'\n'"),
            plain if plain.is_alphanumeric() || "_-./:=@%+,".contains(plain) => word.push(plain),
            special => word.extend(['\\', special]),
        }
    }
    word
}

pub(super) fn print_all(session: &Session<'_>, outputs: &Map<String, Value>, json: bool) -> Result {
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
