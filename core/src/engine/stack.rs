//! A stack: a named state, its program, and the operations on it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::watch;

use crate::{
    engine::{StackSettings, supplied::supply},
    error::{Error, ErrorKind, Result},
    event::EventSink,
    executor::Control,
    operation::{
        EngineParts, Opening, Operation, OperationKind, OperationOptions, OperationRun, PolicyAnalysis,
        Session, SessionLease, StackContext, analyze,
    },
    policy::PolicyPackOption,
    program::Program,
    property::PropertyMap,
    secrets::SecretsProvider,
    state::{Snapshot, deployment::secrets_of_checkpoint, journal::secrets_of_journal},
    store::{MemoryStore, StackName, StackStorage, Store},
};

/// The hint for a passphrase or key that is not the stack's.
pub(super) const WRONG_KEY: &str = "open the stack with the passphrase that its secrets were encrypted with";

/// The number of stacks opened with a state of the host.
static SUPPLIED: AtomicU64 = AtomicU64::new(0);

/// A stack. Cloning is cheap; all clones share the stack, its program and its configuration.
#[derive(Clone)]
pub struct Stack {
    context: Arc<StackContext>,
    program: Option<Arc<dyn Program>>,
}

impl Stack {
    pub(super) async fn open(
        engine: Arc<EngineParts>,
        name: StackName,
        settings: StackSettings,
    ) -> Result<Self> {
        settings.check()?;
        let store: Arc<dyn Store> = match &settings.deployment {
            None => Arc::clone(&engine.store),
            Some(_) => Arc::new(MemoryStore::new(engine.runtime.clone())),
        };
        let storage = StackStorage::new(store, name.clone(), engine.host.clone(), engine.runtime.clone());
        let is_new = match settings.opening {
            // The document is the stack: existence in the store is not checked.
            _ if settings.deployment.is_some() => false,
            Opening::AsNeeded => {
                let opening = Opening::of_create(None, settings.program.is_some());
                opening.apply(&storage).await?
            }
            stated => stated.apply(&storage).await?,
        };
        let identity = match settings.deployment {
            None => name.qualified(),
            Some(_) => format!(
                "{}#{}",
                name.qualified(),
                SUPPLIED.fetch_add(1, Ordering::Relaxed)
            ),
        };
        let secrets = settings.secrets.unwrap_or_else(|| Arc::clone(&engine.secrets));
        let context = StackContext {
            is_supplied: settings.deployment.is_some(),
            identity,
            secrets,
            reference_secrets: settings.reference_secrets,
            engine,
            storage,
            organization: settings.organization,
            project: name.project().to_owned(),
            stack: name.stack().to_owned(),
            root_directory: settings.root_directory,
            runtime_options: settings.runtime_options,
            config: settings.config,
            encryption_salt: settings.encryption_salt,
            journal: settings.journal,
            tags: settings.tags,
            is_new,
        };
        if let Some(document) = settings.deployment {
            supply(&context, &document).await?;
        }
        verify_key(&context.storage, &*context.secrets).await?;
        Ok(Self {
            context: Arc::new(context),
            program: settings.program,
        })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &StackName {
        self.context.storage.name()
    }

    /// Returns the organization that programs receive.
    #[must_use]
    pub fn organization(&self) -> &str {
        &self.context.organization
    }

    /// Returns the tags of the host by name.
    #[must_use]
    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.context.tags
    }

    /// Computes the steps of an update without running them.
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
    /// use stackwright::program;
    /// let settings = StackSettings {
    ///     program: Some(program::from_fn(|_context| async { Ok(()) })),
    ///     ..StackSettings::default()
    /// };
    /// let stack = engine.stack("shop/dev", settings).await?;
    /// let preview = stack.preview(OperationOptions::default()).wait().await;
    /// assert_eq!(preview.changes["create"], 1, "the stack itself");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn preview(&self, options: OperationOptions) -> Operation {
        self.start(OperationKind::Update, options.preview(), None)
    }

    /// Applies the program: creates, updates and deletes resources until the stack matches it.
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
    /// use stackwright::program;
    /// let settings = StackSettings {
    ///     program: Some(program::from_fn(|_context| async { Ok(()) })),
    ///     ..StackSettings::default()
    /// };
    /// let stack = engine.stack("shop/dev", settings).await?;
    /// let update = stack.update(OperationOptions::default()).wait().await;
    /// assert_eq!(update.changes["create"], 1, "the stack itself");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn update(&self, options: OperationOptions) -> Operation {
        self.start(OperationKind::Update, options, None)
    }

    /// Reads every resource and records its current state.
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
    /// let result = stack.refresh(OperationOptions::default()).wait().await;
    /// assert!(result.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn refresh(&self, options: OperationOptions) -> Operation {
        self.start(OperationKind::Refresh, options, None)
    }

    /// Deletes every resource.
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
    /// let result = stack.destroy(OperationOptions::default()).wait().await;
    /// assert!(result.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn destroy(&self, options: OperationOptions) -> Operation {
        self.start(OperationKind::Destroy, options, None)
    }

    /// Starts an operation, with `program` instead of the stack's own when given.
    #[must_use]
    pub fn start(
        &self,
        kind: OperationKind,
        options: OperationOptions,
        program: Option<Arc<dyn Program>>,
    ) -> Operation {
        let runtime = &self.context.engine.runtime;
        let events = EventSink::with_debug(Arc::clone(&runtime.clock), options.debug);
        let first = Arc::new(Mutex::new((!options.no_events).then(|| events.subscribe())));
        let control = Control::default();
        let (sender, result) = watch::channel(None);
        let session = Session::default();
        let run = OperationRun {
            stack: Arc::clone(&self.context),
            kind,
            options,
            program: program.or_else(|| self.program.clone()),
            events: events.clone(),
            control: control.clone(),
            session: session.clone(),
        };
        let spawner = runtime.spawner.clone();
        let (failed, events_left, control_left, session_left) = (
            Arc::clone(&self.context),
            events.clone(),
            control.clone(),
            session.clone(),
        );
        drop(runtime.spawner.spawn(async move {
            let work = spawner.spawn(run.run());
            let ended = match work.await {
                Ok(result) => result,
                Err(error) => {
                    events_left.end();
                    session_left.finish(false, &failed.engine.runtime).await;
                    failed.died(error, &control_left)
                }
            };
            sender.send_replace(Some(Arc::new(ended)));
        }));
        Operation {
            events,
            first,
            control,
            result,
            session: SessionLease::new(session),
        }
    }

    /// Returns the state after the last operation; the journal of a crashed one is applied.
    ///
    /// # Errors
    /// The errors of the store and of the secrets provider.
    ///
    /// # Cancel safety
    /// A dropped future leaves a journal that a crash left to the next call, or has made it the checkpoint.
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
    /// assert!(stack.snapshot().await?.resources.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn snapshot(&self) -> Result<Snapshot> {
        let loaded = self.context.storage.load(&*self.context.secrets).await;
        Ok(self.explained(loaded).await?.snapshot)
    }

    /// Adds hints to the error for a stack that does not exist.
    async fn explained<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(error) => Err(self.context.explained(error).await),
            read => read,
        }
    }

    /// Analyzes the recorded state with policy packs, without a program: each resource by its inputs, then all resources
    /// by their outputs. Remediating policies rewrite nothing; what they would have to rewrite is found by their checks
    /// only. The state and its locks stay as they are, also while an operation runs.
    ///
    /// # Errors
    /// As [`Self::snapshot`]; [`ErrorKind::Plugin`] for a pack that cannot be used, and [`ErrorKind::Failed`] for one that
    /// fails. A violation is no error.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads. The processes of packs end with the future.
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
    /// use stackwright::policy::{Policy, PolicyPack};
    /// let few = Policy::from_stack_check("few", |stack| async move {
    ///     Ok(if stack.resources.len() > 100 { vec!["too many resources".into()] } else { vec![] })
    /// });
    /// let analysis = stack.analyze(&[PolicyPack::new("guard", [few]).into()]).await?;
    /// assert!(analysis.violations.is_empty() && analysis.passed());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn analyze(&self, packs: &[PolicyPackOption]) -> Result<PolicyAnalysis> {
        let analyzed = analyze(&self.context, packs).await;
        self.explained(analyzed).await
    }

    /// Returns the stack's outputs.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    ///
    /// # Cancel safety
    /// As [`Self::snapshot`].
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
    /// assert!(stack.outputs().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn outputs(&self) -> Result<PropertyMap> {
        Ok(self.snapshot().await?.stack_outputs())
    }

    /// Returns the state as a deployment document; secrets stay encrypted unless `show_secrets` is set.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    ///
    /// # Cancel safety
    /// As [`Self::snapshot`].
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
    /// let document = stack.export_deployment(false).await?;
    /// assert!(document.starts_with(b"{"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn export_deployment(&self, show_secrets: bool) -> Result<Vec<u8>> {
        let secrets = &*self.context.secrets;
        let exported = self.context.storage.export(secrets, show_secrets).await;
        self.explained(exported).await
    }

    /// Replaces the state by a deployment document.
    ///
    /// # Errors
    /// [`ErrorKind::State`] for a malformed document or an invalid state, [`ErrorKind::Conflict`] while an operation
    /// runs. The state is then unchanged.
    ///
    /// # Cancel safety
    /// A dropped future leaves the old state or the new one, never a part of it; the lock is released in the background.
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
    /// let document = stack.export_deployment(false).await?;
    /// stack.import_deployment(&document).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn import_deployment(&self, document: &[u8]) -> Result<()> {
        let StackContext {
            storage,
            secrets,
            is_new,
            ..
        } = &*self.context;
        storage.import(&**secrets, document, *is_new).await
    }

    /// Returns the history, newest entry first, as JSON documents. A stack with a host-supplied state has none.
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
    /// stack.destroy(OperationOptions::default()).wait().await;
    /// assert_eq!(stack.history().await?[0]["kind"], "destroy");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn history(&self) -> Result<Vec<serde_json::Value>> {
        let entries = self.context.storage.history().await?;
        entries
            .iter()
            .map(|entry| {
                serde_json::to_value(entry)
                    .map_err(|error| Error::internal(format!("a history record is no JSON: {error}")))
            })
            .collect()
    }

    /// Removes the stack and its history. A stack with resources is only removed with `force`.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when it has resources or an operation runs.
    ///
    /// # Cancel safety
    /// A dropped future may leave history entries of a removed stack, which a new stack of the same name then has.
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
    /// stack.remove(false).await?;
    /// assert!(engine.stacks(None).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, force: bool) -> Result<()> {
        let removed = self.context.storage.remove(force).await;
        self.explained(removed).await
    }

    /// Removes every lock of the stack, for locks of crashed hosts, and returns their number. A running operation that
    /// held one continues without protection.
    ///
    /// # Errors
    /// The errors of the store.
    ///
    /// # Cancel safety
    /// A dropped future may leave some locks; a further call removes them.
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
    /// assert_eq!(stack.unlock().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn unlock(&self) -> Result<usize> {
        self.context.storage.break_locks().await
    }
}

/// Fails when the stack's secrets were encrypted with another key. An unreadable state is not an error here.
async fn verify_key(storage: &StackStorage, secrets: &dyn SecretsProvider) -> Result<()> {
    if !secrets.verifies_key() {
        return Ok(());
    }
    let Ok(stored) = storage.read().await else {
        return Ok(());
    };
    // The first operation of a stack may have been interrupted before the checkpoint named a manager.
    let of_journal = || secrets_of_journal(&stored.journal.as_ref()?.bytes);
    let Some((kind, state)) = secrets_of_checkpoint(&stored.checkpoint).or_else(of_journal) else {
        return Ok(());
    };
    match secrets.open(&kind, state.as_ref()).await {
        Err(error) if error.kind() == ErrorKind::Decrypt => {
            Err(error.of_stack(storage.name()).with_hint(WRONG_KEY))
        }
        // An unknown secrets provider is not an error here: not every call needs secrets.
        _ => Ok(()),
    }
}
