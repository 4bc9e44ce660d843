//! `stack`: creates, lists, renames and removes stacks, and reads and replaces what is recorded of them.

mod exchange;
mod graph;
mod history;
mod list;
mod output;
mod remove;
mod rename;
mod secrets;
mod select;
mod show;
mod tag;

use crate::{
    arguments::{StackArguments, StackCommand},
    failure::Result,
    session::Session,
};

pub(crate) use history::newest_config;
pub(crate) use remove::forget;
pub(crate) use select::check_provider;

/// Runs a subcommand of `stack`.
pub(crate) async fn run(session: &Session<'_>, arguments: &StackArguments) -> Result {
    let Some(command) = &arguments.command else {
        return show::show(session, arguments).await;
    };
    match command {
        StackCommand::Init(arguments) => select::init(session, arguments).await,
        StackCommand::Select {
            name,
            stack,
            create,
            secrets_provider,
        } => {
            let name = name.as_deref().or(stack.stack.as_deref());
            select::select(session, name, *create, secrets_provider.as_deref()).await
        }
        StackCommand::Ls { form, all, project } => {
            list::list(session, form.is_json(), *all, project.as_deref()).await
        }
        StackCommand::Rm(arguments) => remove::remove(session, arguments).await,
        StackCommand::Output(arguments) => output::output(session, arguments).await,
        StackCommand::History(arguments) => history::history(session, arguments).await,
        StackCommand::Export(arguments) => exchange::export(session, arguments).await,
        StackCommand::Import { stack, file, force } => {
            exchange::import(session, stack.stack.as_deref(), file.as_deref(), *force).await
        }
        StackCommand::Rename { name, stack } => rename::rename(session, stack.stack.as_deref(), name).await,
        StackCommand::Unselect => {
            session.select(None)?;
            session.invocation.print("Stack was unselected");
            Ok(())
        }
        StackCommand::Graph(arguments) => graph::graph(session, arguments).await,
        StackCommand::ChangeSecretsProvider { provider, stack } => {
            secrets::change(session, stack.stack.as_deref(), provider).await
        }
        StackCommand::Tag { command } => tag::run(session, command).await,
    }
}
