//! The program of a folder, which an interpreter runs with a launcher of this crate.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use serde_json::json;
use stackwright::{
    Error, ErrorKind,
    monitor::MonitorServer,
    moves::ProgramLanguage,
    program::{Program, ProgramContext},
};

use super::process::{Child, Ending};

/// The exit code of a program whose failure has been reported. The launchers have the same.
const REPORTED: i32 = 32;

/// The program of a folder.
pub(super) struct FolderProgram {
    pub(super) language: ProgramLanguage,
    pub(super) interpreter: PathBuf,
    /// What the interpreter gets: the launcher, which reads the facts of the run from the standard input.
    pub(super) arguments: Vec<String>,
    /// The folder of the project.
    pub(super) root: PathBuf,
    /// The file, or the folder, of the program.
    pub(super) program: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
}

impl FolderProgram {
    /// Returns the working directory of the program.
    fn directory(&self) -> &Path {
        match self.program.is_dir() {
            true => &self.program,
            false => self.program.parent().unwrap_or(&self.root),
        }
    }

    fn facts(&self, context: &ProgramContext, address: &str) -> String {
        let info = &context.info;
        json!({
            "address": address,
            "project": info.project,
            "stack": info.stack,
            "organization": info.organization,
            "root": self.root,
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
        let server = MonitorServer::start(&context.monitor, context.monitor.runtime())?;
        let facts = self.facts(&context, &server.address());
        let mut command = tokio::process::Command::new(&self.interpreter);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment)
            .current_dir(self.directory());
        let failed =
            |text: String| Error::new(ErrorKind::Program, format!("an unhandled error occurred: {text}"));
        match Child::start(command, facts)?.run(&context).await? {
            Ending::Stopped | Ending::Exited(0) => Ok(()),
            Ending::Exited(REPORTED) => {
                Err(Error::new(ErrorKind::Program, "the program failed").already_reported())
            }
            Ending::Exited(code) => Err(failed(format!("program exited with non-zero exit code: {code}"))),
            Ending::Killed(signal) => Err(failed(format!("the program was ended by the signal {signal}"))),
        }
    }
}
