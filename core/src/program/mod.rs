//! Programs: the trait of code that registers the resources of a stack.

mod closure;
mod language;
mod language_host;
mod required;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    error::Result,
    monitor::{Monitor, RunInfo},
    moves::ProgramLanguage,
};

pub use closure::from_fn;
pub use language::LanguageRuntimeProgram;
pub use language_host::HostedProgram;
pub(crate) use language_host::LanguageHostProgram;

/// Registers the resources of a stack with the monitor of its context.
#[async_trait]
pub trait Program: Send + Sync + 'static {
    /// Runs the program once. The monitor belongs to this run only.
    ///
    /// When [`ProgramContext::ended`] resolves, the run is over: requests get no response any more, and the program
    /// should return soon.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Program`] if the program raised an error of its own; the run fails with it.
    async fn run(&self, context: ProgramContext) -> Result<()>;

    /// Returns options of its runtime by name, independent of the project; the project's options override them.
    fn runtime_options(&self) -> BTreeMap<String, Value> {
        BTreeMap::new()
    }

    /// Returns the language in which suggested aliases are written. One that is not known is that of the SDK whose requests
    /// arrive.
    fn language(&self) -> ProgramLanguage {
        ProgramLanguage::Rust
    }
}

/// The context of a program's run. Cheap to clone.
#[derive(Clone)]
pub struct ProgramContext {
    /// Facts about the run.
    pub info: Arc<RunInfo>,
    /// The monitor at which it registers resources.
    pub monitor: Monitor,
}

impl ProgramContext {
    /// Resolves when the run has ended before the program.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn ended(&self) {
        self.monitor.closed().await;
    }
}
