//! Programs: the trait of whatever says which resources a stack is to have.

mod closure;
mod language;
mod required;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde_json::Value;

use crate::{error::Result, monitor::Monitor};

pub use closure::from_fn;
pub use language::LanguageRuntimeProgram;

/// Says which resources a stack is to have, by registering them with the monitor that it is given.
#[async_trait]
pub trait Program: Send + Sync + 'static {
    /// Runs the program once. The monitor is this run's own.
    ///
    /// When [`ProgramContext::ended`] resolves, the run is over: nothing is answered any more, and the program should
    /// return soon.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Program`] when the program raised an error of its own; the run fails with it.
    async fn run(&self, context: ProgramContext) -> Result<()>;

    /// Returns options of its runtime, by name, that are known without the project; the project's own go before them.
    fn runtime_options(&self) -> BTreeMap<String, Value> {
        BTreeMap::new()
    }
}

/// What a program is given: who it is, and what it talks to. Cheap to clone.
#[derive(Clone)]
pub struct ProgramContext {
    /// What the program is told of its run.
    pub info: Arc<RunInfo>,
    /// Where it registers its resources.
    pub monitor: Monitor,
}

impl ProgramContext {
    /// Resolves when the run has ended without the program.
    pub async fn ended(&self) {
        self.monitor.closed().await;
    }
}

/// What a program is told of its run.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// The project.
    pub project: String,
    /// The stack, without its project.
    pub stack: String,
    /// The organization; `organization` unless the host says another.
    pub organization: String,
    /// The folder of the project, from which source positions are told.
    pub root_directory: Option<PathBuf>,
    /// The options of the project's runtime, by name.
    pub runtime_options: BTreeMap<String, Value>,
    /// Configuration by `namespace:name`, in the clear; structured values are JSON texts.
    pub config: BTreeMap<String, String>,
    /// Those keys whose values are secret.
    pub config_secret_keys: Vec<String>,
    /// True during a preview.
    pub dry_run: bool,
    /// How many steps may work at a time.
    pub parallel: i32,
}

impl std::fmt::Debug for RunInfo {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunInfo")
            .field("project", &self.project)
            .field("stack", &self.stack)
            .field("config", &self.config.keys())
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}
