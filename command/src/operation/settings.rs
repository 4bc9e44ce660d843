//! What operations do with the settings of their stack, and with the stack itself.

use stackwright_project::Project;

use super::run::Runner;
use crate::{
    arguments::OperationArguments,
    config,
    failure::Result,
    session::{NamedStack, Session},
    stack,
};

/// What is shown in place of a secret.
const MASKED: &str = "[secret]";

/// Writes the values of the command line into the settings file, and shows the configuration where that is requested.
pub(super) async fn prepare(
    session: &Session<'_>,
    project: &Project,
    named: &NamedStack,
    arguments: &OperationArguments,
) -> Result {
    if !arguments.config.is_empty() {
        // A stack that does not exist gets no settings file.
        drop(session.stack(named).await?);
        config::assign(session, project, named, &arguments.config, arguments.config_path).await?;
    }
    if arguments.display.show_config && !arguments.display.is_document() {
        session.invocation.print("Configuration:");
        let entries = project.list_config(named.name.stack(), false, None).await?;
        for (key, entry) in entries {
            let value = entry.value.map(|value| value.to_text()).transpose()?;
            let value = value.as_deref().unwrap_or(MASKED);
            session.invocation.print(format!("    {key}: {value}"));
        }
    }
    Ok(())
}

/// Refuses what does not encrypt secrets here. It would only matter for a new stack.
pub(super) fn check_secrets_provider(session: &Session<'_>, provider: Option<&str>) -> Result {
    stack::check_provider(session, provider.unwrap_or_default()).map(drop)
}

/// Removes the stack of a destroy, and its settings file.
pub(super) async fn remove_stack(
    session: &Session<'_>,
    arguments: &OperationArguments,
    runner: &Runner<'_>,
) -> Result {
    let named = session.new_or_selected(arguments.stack.stack.as_deref())?;
    stack::forget(session, &runner.stack, &named, false, false).await?;
    if !arguments.display.is_document() {
        session
            .invocation
            .print(format!("Stack '{}' has been removed!", named.shown));
    }
    Ok(())
}
