//! `config`: reads and changes the configuration of a stack.

mod copy;
mod read;
mod refresh;
mod write;

use serde::Serialize;
use stackwright_project::Project;

use crate::{
    arguments::{ConfigArguments, ConfigCommand, OutputForm},
    failure::{Failure, Result},
    printer::Printer,
    session::{NamedStack, Session},
};

/// The configuration that a command works on.
struct Target<'a> {
    session: &'a Session<'a>,
    project: Project,
    stack: NamedStack,
}

/// The document of `config rm` and `config rm-all`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Removed {
    /// The name of the stack.
    name: String,
    /// How many of the values there were.
    removed_count: usize,
}

/// Runs a subcommand of `config`.
pub(crate) async fn run(session: &Session<'_>, arguments: &ConfigArguments) -> Result {
    if let Some(ConfigCommand::Env(_)) = &arguments.command {
        return Err(Failure::no_environments());
    }
    let stack = session.stack_or_selected(arguments.stack.as_deref())?;
    drop(session.stack(&stack).await?);
    let Some(project) = session.project_of(&stack) else {
        session.project()?;
        return Err(Failure::new(format!(
            "the stack '{}' is of another project than the one in {}",
            stack.shown,
            session.invocation.directory.display()
        )));
    };
    let project = match &arguments.config_file {
        Some(file) => project.with_config_file(session.invocation.path(file)),
        None => project.clone(),
    };
    let target = Target {
        session,
        project,
        stack,
    };
    match &arguments.command {
        None => read::list(&target, arguments.form.is_json(), arguments.show_secrets).await,
        Some(ConfigCommand::Get(arguments)) => read::get(&target, arguments).await,
        Some(ConfigCommand::Set(arguments)) => write::set(&target, arguments).await,
        Some(ConfigCommand::SetAll(arguments)) => write::set_all(&target, arguments).await,
        Some(ConfigCommand::Rm { key, path, flags }) => {
            remove(&target, &flags.form, std::slice::from_ref(key), *path).await
        }
        Some(ConfigCommand::RmAll { keys, path, flags }) => remove(&target, &flags.form, keys, *path).await,
        Some(ConfigCommand::Cp {
            key,
            path,
            dest,
            flags,
        }) => copy::copy(&target, target.printer(&flags.form), key.as_deref(), *path, dest).await,
        Some(ConfigCommand::Refresh { force, flags }) => {
            refresh::refresh(&target, target.printer(&flags.form), *force).await
        }
        Some(ConfigCommand::Env(_)) => Ok(()),
    }
}

/// Removes values.
async fn remove(target: &Target<'_>, form: &OutputForm, keys: &[String], is_path: bool) -> Result {
    let removed_count = write::remove(target, keys, is_path).await?;
    target.printer(form).document(&Removed {
        name: target.session.shown(&target.stack.name),
        removed_count,
    })
}

/// Writes values, given as `KEY=VALUE`, into the settings file of a stack.
pub(crate) async fn assign(
    session: &Session<'_>,
    project: &Project,
    stack: &NamedStack,
    pairs: &[String],
    are_paths: bool,
) -> Result {
    let target = Target {
        session,
        project: project.clone(),
        stack: stack.clone(),
    };
    write::assign(&target, pairs, are_paths).await
}

impl Target<'_> {
    /// Returns the name of the stack within the project.
    fn name(&self) -> &str {
        self.stack.name.stack()
    }

    /// Returns what prints what a subcommand has done.
    fn printer(&self, form: &OutputForm) -> Printer<'_> {
        Printer::new(self.session.invocation, form.is_json())
    }

    /// Returns the path of a value: without `--path`, a key is no path, also one with dots or brackets.
    async fn path_of(&self, key: &str, is_path: bool) -> Result<String> {
        if is_path {
            return Ok(key.to_owned());
        }
        let file = self.project.file().await?;
        let parsed = stackwright::config::ConfigKey::parse_in_project(key, &file.name)
            .map_err(|error| Failure::from(error).after("invalid configuration key: "))?;
        let quoted = serde_json::Value::from(parsed.name()).to_string();
        Ok(format!("{}:[{quoted}]", parsed.namespace()))
    }
}
