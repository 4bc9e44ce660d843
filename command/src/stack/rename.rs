//! `stack rename`.

use serde::Serialize;
use stackwright::{Error, ErrorKind};

use crate::{
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
};

/// The document of `stack rename`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Renamed {
    name: String,
    former_name: String,
}

/// Gives a stack another name, with its settings file, and selects it.
pub(super) async fn rename(
    session: &Session<'_>,
    printer: Printer<'_>,
    stack: Option<&str>,
    name: &str,
) -> Result {
    let from = session.stack_or_selected(stack)?;
    let to = session.named(name)?;
    let stack = session.named_stack(&from).await?;
    let name = to.name.to_string();
    let refused = |error: Error| match error.kind() {
        ErrorKind::Conflict if error.message().ends_with("already exists") => {
            Failure::new(format!("a stack named {} already exists", to.name.stack()))
        }
        _ => error.into(),
    };
    stack.rename_stack(&name, false).await.map_err(refused)?;
    session.select(Some(&to))?;
    let document = Renamed {
        name: session.shown(&to.name),
        former_name: session.shown(&from.name),
    };
    let line = format!("Renamed {} to {}", document.former_name, document.name);
    printer.end(line, &document)
}
