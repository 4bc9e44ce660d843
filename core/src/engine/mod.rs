//! The engine: a value without global state, from which stacks are opened.

mod builder;
mod export;
mod fetch;
mod plugins;
mod programs;
mod settings;
mod stack;
mod supplied;

use std::{sync::Arc, time::Duration};

use crate::{
    config::ConfigSource,
    error::{Error, Result},
    metrics::Metrics,
    operation::{EngineParts, Opening, StackContext, settle_secrets},
    secrets::{PassphraseProvider, SecretsManager, SecretsProvider},
    store::{
        StackName, StackStorage, StackSummary, forget_cancellation, request_cancellation, settle_renaming,
        summarize_stacks,
    },
    telemetry::CLOSE_TIMEOUT,
};

pub use builder::EngineBuilder;
pub use settings::StackSettings;
pub use stack::Stack;

/// How long steps that run have to complete when an engine is closed, and operations whose steps were abandoned then; how often is
/// looked whether they have ended.
const STEPS_LIMIT: Duration = Duration::from_secs(30);
const ABANDONED_LIMIT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// An engine: store, secrets, providers and plugins. Cloning is cheap.
///
/// Several engines with different settings can exist in one process. No engine reads or sets the environment, changes
/// the working directory or installs a signal handler.
#[derive(Clone)]
pub struct Engine(Arc<EngineParts>);

impl Engine {
    /// Creates a builder; the engine's tasks run on the host's Tokio runtime.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// let engine = Engine::builder(Handle::current())
    ///     .store(store)
    ///     .secrets(Arc::new(Base64Provider))
    ///     .build()?;
    /// assert!(engine.stacks(None, false).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn builder(handle: tokio::runtime::Handle) -> EngineBuilder {
        EngineBuilder::new(handle)
    }

    /// Returns a secrets provider for another passphrase than the engine's, for [`StackSettings::secrets`] and
    /// [`StackSettings::reference_secrets`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an empty passphrase.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// let settings = StackSettings {
    ///     secrets: Some(engine.passphrase("correct horse")?),
    ///     ..StackSettings::default()
    /// };
    /// engine.create_stack("shop/prod", settings).await?;
    /// # Ok(())
    /// # }
    /// ```
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

    /// Requests the end of every operation of a run, on all hosts that use the store: of those whose
    /// [`run_id`](crate::operation::OperationOptions::run_id) is `run`, or begins with `run` and a `/`. Each ends as after
    /// [`crate::operation::Operation::cancel`] as soon as it reads the mark in the store, which it does as often as it renews its lease,
    /// or each second where locks are no leases; one that has not begun is refused. A second request abandons running calls of
    /// providers. The mark stays until [`Self::forget_run`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a text that is no id, or is that of one run of a set; the errors of the store.
    ///
    /// # Cancel safety
    /// The mark is written or not; a repeated call counts as a second request, which [`Self::cancel_run_to`] avoids.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// engine.cancel_run("release-7").await?;
    /// let options = OperationOptions { run_id: Some("release-7/shop".to_owned()), ..OperationOptions::default() };
    /// let result = stack.destroy(options).wait().await;
    /// assert_eq!(result.error.as_ref().map(|error| error.kind()), Some(stackwright::ErrorKind::Cancelled));
    /// engine.forget_run("release-7").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cancel_run(&self, run: &str) -> Result<()> {
        request_cancellation(&self.0.store, run, None).await
    }

    /// Does what [`Self::cancel_run`] does, unless the end of the run was requested `requests` times before, 1 or 2: calls that are
    /// repeated count once. With 1, running calls of providers end; with 2, they are abandoned.
    ///
    /// # Errors
    /// Those of [`Self::cancel_run`], and [`crate::ErrorKind::InvalidInput`] for another number.
    ///
    /// # Cancel safety
    /// The mark is written or not; a repeated call completes it.
    pub async fn cancel_run_to(&self, run: &str, requests: u32) -> Result<()> {
        request_cancellation(&self.0.store, run, Some(requests)).await
    }

    /// Removes the mark of a run that was cancelled and has ended everywhere. Does nothing when there is none.
    ///
    /// # Errors
    /// Those of [`Self::cancel_run`].
    ///
    /// # Cancel safety
    /// The mark is removed or not.
    pub async fn forget_run(&self, run: &str) -> Result<()> {
        forget_cancellation(&self.0.store, run).await
    }

    /// Opens the secrets manager of a stack's recorded state with `secrets`; `None` for a stack that does not exist, and
    /// for one whose state names no manager.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an invalid name; [`crate::ErrorKind::Decrypt`] when the key is wrong,
    /// [`crate::ErrorKind::Secrets`] when the manager's kind is unknown; the errors of the store.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// let manager = engine.secrets_manager("shop/dev", &*engine.secrets()).await?;
    /// assert!(manager.is_none(), "there is no such stack");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn secrets_manager(
        &self,
        name: &str,
        secrets: &dyn SecretsProvider,
    ) -> Result<Option<Arc<dyn SecretsManager>>> {
        stack::secrets_manager(&self.0, StackName::parse(name)?, secrets).await
    }

    /// Finishes a change of a stack's name or secrets manager that was interrupted before `source` had the new name or key. Opening
    /// a stack with a source does so, too.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an invalid name; [`crate::ErrorKind::Conflict`] while the change is in progress; those
    /// of the store and of the source.
    ///
    /// # Cancel safety
    /// A dropped future leaves a change that the next call finishes.
    pub async fn settle_config(&self, name: &str, source: &dyn ConfigSource) -> Result<()> {
        let (store, runtime) = (Arc::clone(&self.0.store), self.0.runtime.clone());
        let storage = StackStorage::new(store, StackName::parse(name)?, self.0.host.clone(), runtime);
        settle_renaming(&storage, Some(source)).await?;
        settle_secrets(&storage, source).await
    }

    /// Opens a stack, named `project/stack`, according to [`StackSettings::opening`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an invalid name, organization or tag, [`crate::ErrorKind::NotFound`] for
    /// an absent stack that is to be selected, [`crate::ErrorKind::Conflict`] for an existing one that is to be
    /// created; the errors of the store.
    ///
    /// # Cancel safety
    /// A dropped future leaves at most a stack that was created and is empty; opening the stack again continues with it.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// let stack = engine.stack("shop/dev", StackSettings::default()).await?;
    /// assert_eq!(stack.name().to_string(), "shop/dev");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        Stack::open(Arc::clone(&self.0), StackName::parse(name)?, settings).await
    }

    /// Creates a stack. An existing one is an error.
    ///
    /// # Errors
    /// Those of [`Self::stack`].
    ///
    /// # Cancel safety
    /// That of [`Self::stack`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// let error = engine.create_stack("shop/dev", StackSettings::default()).await.err().unwrap();
    /// assert_eq!(error.kind().name(), "conflict");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::Create)).await
    }

    /// Selects a stack. An absent one is an error.
    ///
    /// # Errors
    /// Those of [`Self::stack`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// let error = engine.select_stack("shop/dev", StackSettings::default()).await.err().unwrap();
    /// assert_eq!(error.kind().name(), "not_found");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn select_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::Select)).await
    }

    /// Selects a stack; an absent one is created.
    ///
    /// # Errors
    /// Those of [`Self::stack`].
    ///
    /// # Cancel safety
    /// That of [`Self::stack`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// engine.create_or_select_stack("shop/dev", StackSettings::default()).await?;
    /// engine.create_or_select_stack("shop/dev", StackSettings::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_or_select_stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack(name, settings.opened(Opening::CreateOrSelect)).await
    }

    /// Lists the stacks of a project, or of all projects, in the order of their names: each with its last operation and the
    /// holder of its lock. Checkpoints are only read when `resource_counts` requests the number of resources of each.
    ///
    /// # Errors
    /// The errors of the store.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// # stack.destroy(OperationOptions::default()).wait().await;
    /// let stacks = engine.stacks(Some("shop"), false).await?;
    /// assert_eq!(stacks[0].name.to_string(), "shop/dev");
    /// assert!(stacks[0].lock.is_none());
    /// assert_eq!(stacks[0].last_update.as_ref().unwrap().kind, "destroy");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stacks(&self, project: Option<&str>, resource_counts: bool) -> Result<Vec<StackSummary>> {
        let EngineParts {
            store, host, runtime, ..
        } = &*self.0;
        summarize_stacks(store, host, runtime, project, resource_counts).await
    }

    /// Cancels the operations that run, and waits until they have ended: steps that run have 30 seconds to complete, then they are
    /// abandoned. After that, ends the idle plugin processes of the pool, and sends the spans that wait for their export. The engine can
    /// still be used.
    ///
    /// # Cancel safety
    /// A dropped future leaves the remaining processes to the next call, or to the end of the engine.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// engine.close().await;
    /// assert_eq!(engine.stacks(None, false).await?.len(), 1, "the engine stays usable");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn close(&self) {
        self.end_operations().await;
        let sending = async {
            if let Some(exporter) = &self.0.exporter {
                exporter.flush(CLOSE_TIMEOUT).await;
            }
        };
        tokio::join!(self.0.pool.close_all(), sending);
    }

    /// Cancels the operations, also those that begin meanwhile, and waits until they have ended and no edit of this process holds a lease
    /// in the store any more: steps that run complete within a limit, then they are abandoned.
    async fn end_operations(&self) {
        let (clock, store, controls) = (&self.0.runtime.clock, &self.0.store, &self.0.controls);
        for (limit, abandons) in [(STEPS_LIMIT, false), (ABANDONED_LIMIT, true)] {
            let end = clock.elapsed() + limit;
            loop {
                controls.cancel(abandons);
                if !controls.are_running() && !store.holds_locks() {
                    return;
                }
                if clock.elapsed() >= end {
                    break;
                }
                clock.wait(LOOK_INTERVAL).await;
            }
        }
    }

    /// Returns what the engine has counted since it was built: operations, calls of providers and of the store, plugin processes with
    /// their memory, bytes of journals, waits for locks. Counting has no cost beside an addition for each call.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// stack.destroy(OperationOptions::default()).wait().await;
    /// let metrics = engine.metrics();
    /// assert_eq!(metrics.operations[0].verb, "destroy");
    /// assert_eq!(metrics.operations[0].succeeded, 1);
    /// assert_eq!(metrics.locks.taken, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.0.runtime.meter.snapshot()
    }

    /// Returns whether a stack was opened with this engine.
    pub(crate) fn is_that_of(&self, stack: &StackContext) -> bool {
        Arc::ptr_eq(&self.0, &stack.engine)
    }

    /// Returns the URL of the engine's store.
    #[must_use]
    pub fn store_url(&self) -> String {
        self.0.store.url()
    }

    /// Returns the engine's runtime.
    #[must_use]
    pub fn runtime(&self) -> &crate::runtime::Runtime {
        &self.0.runtime
    }
}
