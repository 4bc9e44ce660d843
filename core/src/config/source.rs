//! Where a stack's configuration is read from when an operation begins.

use async_trait::async_trait;

use super::Config;
use crate::error::Result;

/// Supplies the configuration of a stack whose host keeps it elsewhere, in settings files for instance. It is asked at
/// the beginning of each operation.
#[async_trait]
pub trait ConfigSource: Send + Sync + 'static {
    /// Reads the configuration. `given` is the one with which the host opened the stack; `runs_program` is true for an
    /// operation that runs the stack's program.
    ///
    /// # Errors
    /// Any, without a secret in its message. The operation fails with it before anything is changed.
    async fn load(&self, given: &Config, runs_program: bool) -> Result<LoadedConfig>;
}

/// The configuration of one operation.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    /// The values, in place of those with which the stack was opened.
    pub config: Config,
    /// The salt of encrypted values, in place of [`crate::StackSettings::encryption_salt`] when there is one.
    pub encryption_salt: Option<String>,
    /// Whether an update or a destroy reads every resource first, also without the option `refresh`.
    pub refresh: bool,
}
