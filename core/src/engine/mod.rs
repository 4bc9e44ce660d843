//! The engine: components in, stacks and their operations out. A value, with nothing global behind it.

mod builder;
mod fetch;
mod settings;
mod stack;
mod supplied;

use std::sync::Arc;

use crate::{
    error::{Error, Result},
    operation::{EngineParts, Opening},
    secrets::{PassphraseProvider, SecretsProvider},
    store::{StackName, list_stacks},
};

pub use builder::EngineBuilder;
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

    /// Returns what encrypts with another passphrase than the engine's, for [`StackSettings::secrets`] and
    /// [`StackSettings::reference_secrets`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an empty one.
    pub fn passphrase(&self, passphrase: impl Into<String>) -> Result<Arc<dyn SecretsProvider>> {
        let passphrase = passphrase.into();
        if passphrase.is_empty() {
            return Err(Error::invalid("the passphrase of a stack is empty"));
        }
        Ok(Arc::new(PassphraseProvider::new(
            passphrase,
            self.0.runtime.clone(),
        )))
    }

    /// Returns what encrypts the secrets of stacks that have nothing of their own for that.
    #[must_use]
    pub fn secrets(&self) -> Arc<dyn SecretsProvider> {
        Arc::clone(&self.0.secrets)
    }

    /// Opens a stack, named `project/stack`, as [`StackSettings::opening`] says.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a bad name, organization or tag, [`crate::ErrorKind::NotFound`] for a stack that is to
    /// be selected and does not exist, [`crate::ErrorKind::Conflict`] for one that is to be created and exists; those of
    /// the store.
    pub async fn stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        Stack::open(Arc::clone(&self.0), StackName::parse(name)?, settings).await
    }

    /// Creates a stack, which must not exist.
    ///
    /// # Errors
    /// As [`Self::stack`].
    pub async fn create_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::Create)).await
    }

    /// Selects a stack, which must exist.
    ///
    /// # Errors
    /// As [`Self::stack`].
    pub async fn select_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::Select)).await
    }

    /// Selects a stack, and creates it when it does not exist.
    ///
    /// # Errors
    /// As [`Self::stack`].
    pub async fn create_or_select_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::CreateOrSelect)).await
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
    }

    /// Returns the runtime that the engine works with.
    #[must_use]
    pub fn runtime(&self) -> &crate::runtime::Runtime {
        &self.0.runtime
    }
}
