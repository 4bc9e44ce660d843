//! The engine: components in, stacks and their operations out. A value, with nothing global behind it.

mod builder;
mod fetch;
mod parts;
mod service;
mod settings;
mod stack;

use std::sync::Arc;

use crate::{
    error::Result,
    store::{StackName, list_stacks},
};

pub use builder::EngineBuilder;
pub(crate) use parts::EngineParts;
pub(crate) use service::OperationGuard;
pub use settings::StackSettings;
pub use stack::Stack;

/// An engine: where states live, what encrypts them, and who provides what. Cheap to clone.
///
/// Several engines with different settings live in one process. None reads or sets the environment, changes the
/// working directory or installs a signal handler.
#[derive(Clone)]
pub struct Engine(Arc<EngineParts>);

impl Engine {
    /// Starts building an engine whose tasks run on a Tokio runtime of the host.
    #[must_use]
    pub fn builder(handle: tokio::runtime::Handle) -> EngineBuilder {
        EngineBuilder::new(handle)
    }

    /// Opens a stack, named `project/stack`; it is created when it does not exist and the settings allow it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a bad name, organization or tag, [`crate::ErrorKind::NotFound`] for a stack that does not
    /// exist and is not to be created; whatever the store fails with.
    pub async fn stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        Stack::open(Arc::clone(&self.0), StackName::parse(name)?, settings).await
    }

    /// Lists the stacks of a project, or of all.
    ///
    /// # Errors
    /// Whatever the store fails with.
    pub async fn stacks(&self, project: Option<&str>) -> Result<Vec<StackName>> {
        list_stacks(&self.0.store, project).await
    }

    /// Ends the plugin processes that are kept warm. The engine can go on being used.
    pub async fn close(&self) {
        self.0.pool.close_all().await;
        self.0.service.close();
    }

    /// Returns the runtime that the engine works with.
    #[must_use]
    pub fn runtime(&self) -> &crate::runtime::Runtime {
        &self.0.runtime
    }
}
