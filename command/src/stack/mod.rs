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
    printer::Printer,
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
            form,
        } => {
            let name = name.as_deref().or(stack.stack.as_deref());
            let printer = Printer::new(session.invocation, form.is_json());
            select::select(session, printer, name, *create, secrets_provider.as_deref()).await
        }
        StackCommand::Ls { form, all, project } => {
            list::list(session, form.is_json(), *all, project.as_deref()).await
        }
        StackCommand::Rm(arguments) => remove::remove(session, arguments).await,
        StackCommand::Output(arguments) => output::output(session, arguments).await,
        StackCommand::History(arguments) => history::history(session, arguments).await,
        StackCommand::Export(arguments) => exchange::export(session, arguments).await,
        StackCommand::Import {
            stack,
            file,
            force,
            form,
        } => {
            let printer = Printer::new(session.invocation, form.is_json());
            exchange::import(session, printer, stack.stack.as_deref(), file.as_deref(), *force).await
        }
        StackCommand::Rename { name, stack, form } => {
            let printer = Printer::new(session.invocation, form.is_json());
            rename::rename(session, printer, stack.stack.as_deref(), name).await
        }
        StackCommand::Unselect(form) => {
            select::unselect(session, Printer::new(session.invocation, form.is_json()))
        }
        StackCommand::Graph(arguments) => graph::graph(session, arguments).await,
        StackCommand::ChangeSecretsProvider {
            provider,
            stack,
            form,
        } => {
            let printer = Printer::new(session.invocation, form.is_json());
            secrets::change(session, printer, stack.stack.as_deref(), provider).await
        }
        StackCommand::Tag { command } => tag::run(session, command).await,
    }
}
