//! Programs of folders: each run is a process of its own, which is gone when the run has ended.

mod examine;
mod folder;
mod node;
mod poetry;
mod process;
mod python;
mod required;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result,
    moves::ProgramLanguage,
    plugin::HostEnvironment,
    program::{HostedProgram, Program, ProgramContext},
};

use crate::{Project, ProjectFile};

pub use examine::{MissingPart, missing_part};
pub use required::required_plugins;

/// The runtime of programs in Python.
const PYTHON: &str = "python";
/// The runtime of programs in JavaScript and TypeScript.
const NODE: &str = "nodejs";

/// A folder with a program, and the environment in which it runs.
#[derive(Clone)]
pub(super) struct ProgramFolder {
    /// The folder of the project.
    root: PathBuf,
    file: ProjectFile,
    environment: HostEnvironment,
}

impl ProgramFolder {
    /// Returns the file, or the folder, of the program.
    fn program(&self) -> PathBuf {
        let main = self.file.main.as_ref();
        main.map_or_else(|| self.root.clone(), |main| self.root.join(main))
    }

    /// Returns an option of the project's runtime.
    fn option(&self, name: &str) -> Option<&str> {
        let value = self.file.runtime.options.get(name);
        value.and_then(crate::yaml::Node::as_text)
    }

    /// Returns the first of the executables that a folder of the search path has.
    fn on_path(&self, names: &[&str]) -> Option<PathBuf> {
        self.environment.executable(names)
    }
}

impl Project {
    /// Finds the program of the folder: `runtime: python` and `runtime: nodejs` run with their interpreter, others with a language
    /// host, see [`stackwright::Engine::hosted_program`]. Each run is a process of its own, in the folder of the program. Its output
    /// becomes messages, and its processes are gone when the run has ended.
    ///
    /// `environment` is that of the processes; `None` is [`stackwright::Engine::process_environment`]. Its `PATH` has the
    /// interpreters.
    ///
    /// # Errors
    /// As [`Self::file`]; [`ErrorKind::Program`] for a missing interpreter, virtual environment or program, with what is missing;
    /// [`ErrorKind::Plugin`] for a missing language host.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads, apart from a command of a toolchain (`poetry`), which ends with it.
    pub async fn program(&self, environment: Option<HostEnvironment>) -> Result<Arc<dyn Program>> {
        let file = self.file().await?;
        let given = environment.is_some();
        let environment = environment.unwrap_or_else(|| self.engine().process_environment());
        let folder = ProgramFolder {
            root: self.folder().to_owned(),
            file,
            environment,
        };
        match folder.file.runtime.name.as_str() {
            PYTHON => Ok(Arc::new(python::find(folder).await?)),
            NODE => Ok(Arc::new(node::find(folder)?)),
            _ => {
                let program = HostedProgram {
                    runtime: folder.file.runtime.name.clone(),
                    program: folder.program(),
                    root: folder.root,
                    environment: given.then_some(folder.environment),
                };
                self.engine().hosted_program(program).await
            }
        }
    }

    /// Returns the program of the folder, which each run finds anew. `variables` are those of its environment beside the engine's.
    pub(crate) async fn later_program(&self, variables: Vec<(String, String)>) -> Result<Arc<dyn Program>> {
        let language = match self.file().await?.runtime.name.as_str() {
            PYTHON => ProgramLanguage::PythonSdk,
            NODE => ProgramLanguage::NodeSdk,
            _ => ProgramLanguage::Unknown,
        };
        Ok(Arc::new(LaterProgram {
            project: self.clone(),
            variables,
            language,
        }))
    }
}

/// The program of a folder, which each run finds anew.
struct LaterProgram {
    project: Project,
    variables: Vec<(String, String)>,
    language: ProgramLanguage,
}

#[async_trait]
impl Program for LaterProgram {
    fn language(&self) -> ProgramLanguage {
        self.language
    }

    async fn run(&self, context: ProgramContext) -> Result<()> {
        let environment = (!self.variables.is_empty()).then(|| {
            let inherited = self.project.engine().process_environment();
            let variables = self.variables.iter().cloned();
            variables.fold(inherited, |environment, (name, value)| {
                environment.with(name, value)
            })
        });
        self.project.program(environment).await?.run(context).await
    }
}

/// Creates the error of a program that cannot run.
fn cannot_run(folder: &Path, why: impl std::fmt::Display) -> Error {
    let folder = folder.display();
    Error::new(
        ErrorKind::Program,
        format!("the program in {folder} cannot run: {why}"),
    )
}
