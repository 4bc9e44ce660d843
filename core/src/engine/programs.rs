//! Programs in processes of their own: their environment, and the hosts of their languages.

use std::sync::Arc;

use super::Engine;
use crate::{
    error::Result,
    plugin::HostEnvironment,
    program::{HostedProgram, LanguageHostProgram, Program},
};

impl Engine {
    /// Returns the environment in which a process of this engine would start now: that of the settings of plugins, else that of the
    /// host.
    #[must_use]
    pub fn process_environment(&self) -> HostEnvironment {
        self.0.loader.plugin_settings().host_environment()
    }

    /// Returns the program of a folder that a language host runs: a process of the executable `pulumi-language-<runtime>`, which is
    /// looked for as plugins are. Each run starts a host, which ends with it; its output becomes messages.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Plugin`] when there is no such executable; the message lists the places that were searched.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads folders.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, runtime::Runtime, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// use stackwright::program::HostedProgram;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// let program = HostedProgram {
    ///     runtime: "yaml".to_owned(),
    ///     root: "shop".into(),
    ///     program: "shop".into(),
    ///     environment: None,
    /// };
    /// let error = engine.hosted_program(program).await.err().unwrap();
    /// assert!(error.message().contains("pulumi-language-yaml"), "{error}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn hosted_program(&self, program: HostedProgram) -> Result<Arc<dyn Program>> {
        let plugins = self.0.loader.plugin_settings().clone();
        let found = self
            .0
            .runtime
            .spawner
            .spawn_blocking(move || LanguageHostProgram::find(program, plugins));
        Ok(Arc::new(found.await??))
    }
}
