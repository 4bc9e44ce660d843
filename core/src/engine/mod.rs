//! The engine: a value without global state, from which stacks are opened.

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

/// An engine: store, secrets, providers and plugins. Cloning is cheap.
///
/// Several engines with different settings can exist in one process. No engine reads or sets the environment, changes
/// the working directory or installs a signal handler.
#[derive(Clone)]
pub struct Engine(Arc<EngineParts>);

impl Engine {
    /// Creates a builder; the engine's tasks run on the host's Tokio runtime.
    #[must_use]
    pub fn builder(handle: tokio::runtime::Handle) -> EngineBuilder {
        EngineBuilder::new(handle)
    }

    /// Returns a secrets provider for another passphrase than the engine's, for [`StackSettings::secrets`] and
    /// [`StackSettings::reference_secrets`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an empty passphrase.
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

    /// Returns the secrets provider of stacks without one of their own.
    #[must_use]
    pub fn secrets(&self) -> Arc<dyn SecretsProvider> {
        Arc::clone(&self.0.secrets)
    }

    /// Opens a stack, named `project/stack`, according to [`StackSettings::opening`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an invalid name, organization or tag, [`crate::ErrorKind::NotFound`] for
    /// an absent stack that is to be selected, [`crate::ErrorKind::Conflict`] for an existing one that is to be
    /// created; the errors of the store.
    pub async fn stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        Stack::open(Arc::clone(&self.0), StackName::parse(name)?, settings).await
    }

    /// Creates a stack. An existing one is an error.
    ///
    /// # Errors
    /// As [`Self::stack`].
    pub async fn create_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::Create)).await
    }

    /// Selects a stack. An absent one is an error.
    ///
    /// # Errors
    /// As [`Self::stack`].
    pub async fn select_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::Select)).await
    }

    /// Selects a stack; an absent one is created.
    ///
    /// # Errors
    /// As [`Self::stack`].
    pub async fn create_or_select_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::CreateOrSelect)).await
    }

    /// Lists the stacks of a project, or of all projects.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn stacks(&self, project: Option<&str>) -> Result<Vec<StackName>> {
        list_stacks(&self.0.store, project).await
    }

    /// Ends the idle plugin processes of the pool. The engine can still be used.
    pub async fn close(&self) {
        self.0.pool.close_all().await;
    }

    /// Returns the engine's runtime.
    #[must_use]
    pub fn runtime(&self) -> &crate::runtime::Runtime {
        &self.0.runtime
    }
}
