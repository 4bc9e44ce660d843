//! `stack ls`.

use serde::Serialize;
use stackwright::store::StackSummary;

use crate::{
    failure::{Failure, Result},
    session::Session,
    text,
};

/// What the list has in place of a value that there is not.
const NOT_KNOWN: &str = "n/a";

/// A row of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_update: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_count: Option<usize>,
}

/// Returns whether an operation has written the stack since it was created.
fn is_written(stack: &StackSummary) -> bool {
    stack.last_update.is_some() || stack.resource_count != Some(0)
}

/// Lists the stacks of a project, by default that of the folder, or of all projects.
pub(super) async fn list(session: &Session<'_>, json: bool, all: bool, project: Option<&str>) -> Result {
    let project = match (all || project.is_some(), session.found()) {
        (true, _) => project,
        (false, Some(found)) => Some(found.file.name.as_str()),
        (false, None) => {
            let missing = session
                .project()
                .err()
                .unwrap_or_else(|| Failure::new("there is no project"));
            return Err(missing.after("could not detect current project: "));
        }
    };
    let current = session.kept_selection()?;
    let stacks = session.engine.stacks(project, true).await?;
    let row = |stack: &StackSummary| Row {
        name: session.shown(&stack.name),
        current: current.as_ref().is_some_and(|current| current.name == stack.name),
        last_update: is_written(stack).then(|| text::milliseconds(stack.modified)),
        resource_count: stack.resource_count,
    };
    let rows: Vec<Row> = stacks.iter().map(row).collect();
    if json {
        session.invocation.print(text::document(&rows)?);
        return Ok(());
    }
    let width = rows
        .iter()
        .map(|row| row.name.len() + 1)
        .max()
        .unwrap_or(0)
        .max(4);
    session
        .invocation
        .print(format!("{:width$}  {:24}  RESOURCE COUNT", "NAME", "LAST UPDATE"));
    for Row {
        name,
        current,
        last_update,
        resource_count,
    } in rows
    {
        let name = if current { format!("{name}*") } else { name };
        let last_update = last_update.as_deref().unwrap_or(NOT_KNOWN);
        let count = resource_count.map_or_else(|| NOT_KNOWN.to_owned(), |count| count.to_string());
        session
            .invocation
            .print(format!("{name:width$}  {last_update:24}  {count}"));
    }
    Ok(())
}
