//! `stack tag`.

use crate::{
    arguments::TagCommand,
    failure::{Failure, Result},
    session::Session,
    text,
};

/// Runs a subcommand of `stack tag`.
pub(super) async fn run(session: &Session<'_>, command: &TagCommand) -> Result {
    let (TagCommand::Get { stack, .. }
    | TagCommand::Set { stack, .. }
    | TagCommand::Rm { stack, .. }
    | TagCommand::Ls { stack, .. }) = command;
    let named = session.stack_or_selected(stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    let print = |line: &str| session.invocation.print(line);
    match command {
        TagCommand::Get { name, .. } => match stack.list_tags().await?.get(name) {
            Some(value) => print(value),
            None => {
                let shown = &named.shown;
                return Err(Failure::new(format!(
                    "stack tag '{name}' not found for stack '{shown}'"
                )));
            }
        },
        TagCommand::Set { name, value, .. } => stack.set_tag(name, value).await?,
        TagCommand::Rm { name, .. } => drop(stack.remove_tag(name).await?),
        TagCommand::Ls { form, .. } => {
            let tags = stack.list_tags().await?;
            if form.is_json() {
                print(&text::document(&tags)?);
                return Ok(());
            }
            let width = tags.keys().map(String::len).max().unwrap_or(0).max(4);
            print(&format!("{:width$}  VALUE", "NAME"));
            for (name, value) in &tags {
                print(&format!("{name:width$}  {value}"));
            }
        }
    }
    Ok(())
}
