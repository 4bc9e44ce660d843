//! `stack tag`.

use serde::Serialize;

use crate::{
    arguments::TagCommand,
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
    text,
};

/// The document of `stack tag get` and `stack tag set`.
#[derive(Serialize)]
struct Tag<'a> {
    name: &'a str,
    value: &'a str,
}

/// The document of `stack tag rm`.
#[derive(Serialize)]
struct Removed<'a> {
    name: &'a str,
    /// Whether there was such a tag.
    removed: bool,
}

/// Runs a subcommand of `stack tag`.
pub(super) async fn run(session: &Session<'_>, command: &TagCommand) -> Result {
    let (TagCommand::Get { stack, form, .. }
    | TagCommand::Set { stack, form, .. }
    | TagCommand::Rm { stack, form, .. }
    | TagCommand::Ls { stack, form }) = command;
    let printer = Printer::new(session.invocation, form.is_json());
    let named = session.stack_or_selected(stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    let print = |line: &str| session.invocation.print(line);
    match command {
        TagCommand::Get { name, .. } => match stack.list_tags().await?.get(name) {
            Some(value) => printer.end(value, &Tag { name, value }),
            None => {
                let shown = &named.shown;
                Err(Failure::new(format!(
                    "stack tag '{name}' not found for stack '{shown}'"
                )))
            }
        },
        TagCommand::Set { name, value, .. } => {
            stack.set_tag(name, value).await?;
            printer.document(&Tag { name, value })
        }
        TagCommand::Rm { name, .. } => {
            let removed = stack.remove_tag(name).await?;
            printer.document(&Removed { name, removed })
        }
        TagCommand::Ls { .. } => {
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
            Ok(())
        }
    }
}
