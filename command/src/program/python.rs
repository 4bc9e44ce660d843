//! Programs in Python: the interpreter of the project, and how it is started.

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
use stackwright_project::{ProjectFile, yaml::Node};

use super::process::{Child, Ending};
use crate::{
    failure::{Failure, Result},
    invocation::Invocation,
};

/// Runs a program, whose facts come from the standard input.
const LAUNCHER: &str = include_str!("launch.py");
/// The exit code of a program whose failure has been reported.
const REPORTED: i32 = 32;
/// The folder of the virtual environment that the tool `uv` makes.
const UV_ENVIRONMENT: &str = ".venv";

/// The program of a folder, with its interpreter.
pub(super) struct PythonFolder {
    interpreter: PathBuf,
    /// The folder of the project.
    root: PathBuf,
    /// The file, or the folder with a `__main__.py`.
    program: PathBuf,
    environment: BTreeMap<String, String>,
}

impl PythonFolder {
    /// Finds the interpreter that the options of the project name.
    pub(super) fn find(invocation: &Invocation, folder: &Path, file: &ProjectFile) -> Result<Self> {
        let option = |name: &str| file.runtime.options.get(name).and_then(Node::as_text);
        let toolchain = option("toolchain").unwrap_or("pip");
        let environment = match (option("virtualenv"), toolchain) {
            (Some(given), "pip" | "uv") => Some(folder.join(given)),
            (None, "uv") => Some(folder.join(UV_ENVIRONMENT)),
            (None, "pip") => None,
            (_, other) => {
                return Err(Failure::new(format!(
                    "the toolchain `{other}` is not supported: name the folder of the virtual environment as the option \
                     `virtualenv`, and remove `toolchain`"
                )));
            }
        };
        let interpreter = match environment {
            Some(environment) => {
                let interpreter = environment.join("bin/python");
                if !interpreter.exists() {
                    return Err(Failure::new(format!(
                        "the virtual environment {} does not exist, or has no interpreter: create it, and install the packages of the \
                         program in it",
                        environment.display()
                    )));
                }
                interpreter
            }
            None => on_path(invocation)?,
        };
        Ok(Self {
            interpreter,
            program: folder.join(file.main.as_deref().unwrap_or(".")),
            root: folder.to_owned(),
            environment: invocation.environment.clone(),
        })
    }

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

/// Returns the interpreter that the environment names, or that of the search path.
fn on_path(invocation: &Invocation) -> Result<PathBuf> {
    if let Some(interpreter) = invocation
        .variable("PULUMI_PYTHON_CMD")
        .filter(|name| name.contains('/'))
    {
        return Ok(invocation.path(interpreter));
    }
    let path = invocation.variable("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .collect();
    let candidates = ["python3", "python"];
    let candidates = candidates
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = candidates.into_iter().find(|candidate| candidate.is_file());
    found.ok_or_else(|| {
        Failure::new("no interpreter was found on the search path: name a virtual environment as the option `virtualenv`")
    })
}

#[async_trait]
impl Program for PythonFolder {
    fn language(&self) -> ProgramLanguage {
        ProgramLanguage::PythonSdk
    }

    async fn run(&self, context: ProgramContext) -> stackwright::Result<()> {
        let server = MonitorServer::start(&context.monitor, context.monitor.runtime())?;
        let facts = self.facts(&context, &server.address());
        let mut command = tokio::process::Command::new(&self.interpreter);
        command
            .args(["-u", "-c", LAUNCHER])
            .env_clear()
            .envs(&self.environment)
            .current_dir(self.directory());
        let child = Child::start(command, facts)?;
        match child.run(&context).await? {
            Ending::Stopped | Ending::Exited(0) => Ok(()),
            Ending::Exited(REPORTED) => {
                Err(Error::new(ErrorKind::Program, "the program failed").already_reported())
            }
            Ending::Exited(code) => Err(Error::new(
                ErrorKind::Program,
                format!("an unhandled error occurred: program exited with non-zero exit code: {code}"),
            )),
            Ending::Killed(signal) => Err(Error::new(
                ErrorKind::Program,
                format!("an unhandled error occurred: the program was ended by the signal {signal}"),
            )),
        }
    }
}
