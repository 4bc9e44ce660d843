//! Programs: the trait of whatever says which resources a stack is to have.

mod closure;
mod language;
mod required;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    error::Result,
    monitor::{Monitor, RunInfo},
};

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
