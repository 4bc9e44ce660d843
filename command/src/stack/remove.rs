//! `stack rm`.

use std::fs;

use serde::Serialize;
use stackwright::{ErrorKind, Stack};

use crate::{
    arguments::StackRemove,
    failure::{Failure, Result},
    printer::Printer,
    session::{NamedStack, Session},
};

/// The document of `stack rm`.
#[derive(Serialize)]
struct Removed {
    name: String,
    removed: bool,
}

/// Removes a stack, and its settings file.
pub(super) async fn remove(session: &Session<'_>, arguments: &StackRemove) -> Result {
    if arguments.name.is_some() && arguments.stack.stack.is_some() {
        return Err(Failure::new(
            "only one of --stack or argument stack name may be specified, not both",
        ));
    }
    let given = arguments.name.as_deref().or(arguments.stack.stack.as_deref());
    let named = session.stack_or_selected(given)?;
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    if !session.invocation.is_confirmed(arguments.yes) && printer.ask().is_none() {
        return Err(Failure::needs_yes());
    }
    let stack = session.stack(&named).await?;
    let name = named.name.stack();
    let consequence = format!("This removes the stack '{name}' for good.");
    printer.confirm_by_name(arguments.yes, &consequence, name).await?;
    forget(
        session,
        &stack,
        &named,
        arguments.force,
        arguments.preserve_config,
    )
    .await?;
    let document = Removed {
        name: session.shown(&named.name),
        removed: true,
    };
    printer.end(format!("Stack '{}' has been removed!", named.shown), &document)
}

/// Removes a stack with its settings file, and its selection.
pub(crate) async fn forget(
    session: &Session<'_>,
    stack: &Stack,
    named: &NamedStack,
    force: bool,
    preserve_config: bool,
) -> Result {
    let shown = &named.shown;
    stack.remove(force).await.map_err(|error| match error.kind() {
        ErrorKind::Conflict if error.message().ends_with("still has resources; removal rejected") => {
            Failure::new(format!(
                "'{shown}' still has resources; removal rejected. Possible actions:\n\
                 - Make sure that '{shown}' is the stack that you want to destroy\n\
                 - Run `pulumi destroy` to delete the resources, then run `pulumi stack rm`\n\
                 - Run `pulumi stack rm --force` to override this error"
            ))
        }
        ErrorKind::Conflict
            if error
                .message()
                .ends_with("has pending operations; removal rejected") =>
        {
            Failure::new(format!(
                "'{shown}' has pending operations; removal rejected. Possible actions:\n\
                 - Check whether what they were to create exists\n\
                 - Run `pulumi refresh --clear-pending-creates` to drop them, then run `pulumi stack rm`\n\
                 - Run `pulumi stack rm --force` to override this error"
            ))
        }
        _ => error.into(),
    })?;
    if let Some(project) = session.project_of(named).filter(|_| !preserve_config) {
        let (_, path, exists) = project.stack_file_at(named.name.stack()).await?;
        if exists {
            fs::remove_file(&path)
                .map_err(|error| Failure::new(format!("removing {}: {error}", path.display())))?;
        }
    }
    if session
        .kept_selection()?
        .is_some_and(|selected| selected.name == named.name)
    {
        session.select(None)?;
    }
    Ok(())
}
