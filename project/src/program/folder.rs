//! The program of a folder, which an interpreter runs with a launcher of this crate.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use serde_json::json;
use stackwright::{
    Error, ErrorKind,
    diagnostic::Severity,
    monitor::MonitorServer,
    moves::ProgramLanguage,
    plugin::HostEnvironment,
    program::{Program, ProgramContext},
};

use tokio::process::Command;

use super::{
    ProgramFolder,
    process::{Child, Ending},
    required::required,
};

/// The exit code of a program whose failure has been reported. The launchers have the same.
const REPORTED: i32 = 32;

/// The program of a folder.
pub(super) struct FolderProgram {
    pub(super) language: ProgramLanguage,
    pub(super) interpreter: PathBuf,
    /// What the interpreter gets: the launcher, which reads the facts of the run from the standard input.
    pub(super) arguments: Vec<OsString>,
    /// The file, or the folder, of the program.
    pub(super) program: PathBuf,
    pub(super) environment: HostEnvironment,
    /// The folder of the project, and the environment in which its packages are found.
    pub(super) folder: ProgramFolder,
    /// Runs before the program.
    pub(super) check: Option<TypeCheck>,
}

/// A type checker of a program, as a command line.
pub(super) struct TypeCheck {
    pub(super) name: String,
    pub(super) interpreter: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

impl FolderProgram {
    /// Returns the working directory of the program: the folder that the project names, also where a manifest in it names a file elsewhere.
    fn directory(&self) -> PathBuf {
        let named = self.folder.program();
        match named.is_dir() {
            true => named,
            false => named.parent().unwrap_or(&self.folder.root).to_owned(),
        }
    }

    /// Prepares a process of the program.
    fn command(&self, executable: &Path, arguments: &[OsString]) -> Command {
        let mut command = Command::new(executable);
        command
            .args(arguments)
            .env_clear()
            .envs(self.environment.variables())
            .current_dir(self.directory());
        command
    }

    /// Checks the types of the program; returns whether it may run.
    async fn check(&self, context: &ProgramContext) -> stackwright::Result<bool> {
        let Some(check) = &self.check else {
            return Ok(true);
        };
        let command = self.command(&check.interpreter, &check.arguments);
        let child = Child::start(command, "", context.monitor.runtime()).await?;
        let last_lines = child.last_lines();
        match child.run(context).await? {
            Ending::Stopped => Ok(false),
            Ending::Exited { code: 0, .. } => Ok(true),
            _ => {
                let text = format!("the type checker {} has refused the program", check.name);
                Err(last_lines.explain(Error::new(ErrorKind::Program, text)))
            }
        }
    }

    /// Prepares the plugins that the program needs; returns whether it may run.
    async fn prepare_plugins(&self, context: &ProgramContext) -> bool {
        let listing = required(&self.folder);
        let plugins = tokio::select! {
            plugins = listing => plugins,
            () = context.ended() => return false,
            () = context.monitor.cancelled() => return false,
        };
        match plugins {
            Ok(plugins) => {
                context
                    .monitor
                    .require_plugins(plugins.into_iter().collect())
                    .await
            }
            // A program can need none of them.
            Err(error) => {
                let text = format!(
                    "the plugins that the program needs are not known: {}",
                    error.message()
                );
                context.monitor.log(Severity::Warning, text, None);
                true
            }
        }
    }

    fn facts(&self, context: &ProgramContext, address: &str) -> String {
        let info = &context.info;
        json!({
            "address": address,
            "project": info.project,
            "stack": info.stack,
            "organization": info.organization,
            "root": self.folder.root,
            "program": self.program,
            "config": info.config,
            "secretKeys": info.config_secret_keys,
            "parallel": info.parallel,
            "dryRun": info.dry_run,
        })
        .to_string()
    }
}

#[async_trait]
impl Program for FolderProgram {
    fn language(&self) -> ProgramLanguage {
        self.language
    }

    async fn run(&self, context: ProgramContext) -> stackwright::Result<()> {
        if !self.prepare_plugins(&context).await || !self.check(&context).await? {
            return Ok(());
        }
        let server = MonitorServer::start(&context.monitor, context.monitor.runtime())?;
        let facts = self.facts(&context, &server.address());
        let command = self.command(&self.interpreter, &self.arguments);
        let child = Child::start(command, &facts, context.monitor.runtime()).await?;
        let last_lines = child.last_lines();
        let failed = |text: String| {
            let text = format!("an unhandled error occurred: {text}");
            last_lines.explain(Error::new(ErrorKind::Program, text))
        };
        match child.run(&context).await? {
            Ending::Stopped
            | Ending::Exited {
                code: 0,
                is_complete: true,
            } => Ok(()),
            // What it has not registered would be deleted.
            Ending::Exited { code: 0, .. } => Err(failed(
                "the process of the program exited with code 0 before the program was complete".to_owned(),
            )),
            Ending::Exited { code: REPORTED, .. } => {
                Err(Error::new(ErrorKind::Program, "the program failed").already_reported())
            }
            Ending::Exited { code, .. } => {
                Err(failed(format!("program exited with non-zero exit code: {code}")))
            }
            Ending::Killed(signal) => Err(failed(format!("the program was ended by the signal {signal}"))),
        }
    }
}
