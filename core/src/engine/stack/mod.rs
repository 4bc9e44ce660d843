//! A stack: a named state, its program, and the operations on it.

mod edits;
mod records;
mod state;
mod tags;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    engine::{StackSettings, supplied::supply},
    error::{ErrorKind, Result},
    operation::{
        EngineParts, ImportRequest, Opening, Operation, OperationKind, OperationOptions, StackContext,
        Unstarted, Work, recorded_manager, settle_secrets, verify_key, with_way_out,
    },
    program::Program,
    secrets::{SecretsManager, SecretsProvider},
    store::{MemoryStore, StackName, StackStorage, Store},
};

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
        let source = settings.config_source.as_deref();
        let is_new = match settings.opening {
            // The document is the stack: existence in the store is not checked.
            _ if settings.deployment.is_some() => false,
            Opening::AsNeeded => {
                let opening = Opening::of_create(None, settings.program.is_some());
                opening.apply(&storage, source).await?
            }
            stated => stated.apply(&storage, source).await?,
        };
        if let Some(source) = source {
            settle_secrets(&storage, source).await?;
        }
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
            config_source: settings.config_source,
            encryption_salt: settings.encryption_salt,
            key_service: settings.key_service,
            journal: settings.journal,
            tags: settings.tags,
            environment: settings.environment,
            is_new,
            renamed: Arc::default(),
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

    /// Returns the same stack, which waits while another host or operation has locked it: its edits, its removal, and its operations
    /// without `wait_for_lock` fail with a conflict only after this time. A dry run does not lock the stack.
    ///
    /// # Examples
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use stackwright::{Engine, Result, StackSettings, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// use stackwright::state::edit::StateEdit;
    ///
    /// let stack = stack.waiting_for_lock(Duration::from_secs(60));
    /// stack.edit(&StateEdit::Repair, false).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn waiting_for_lock(&self, limit: Duration) -> Self {
        let context = StackContext {
            storage: self.context.storage.waiting_for_lock(limit),
            ..StackContext::clone(&self.context)
        };
        Self {
            context: Arc::new(context),
            program: self.program.clone(),
        }
    }

    /// Returns the same stack with another program.
    #[must_use]
    pub fn with_program(self, program: Arc<dyn Program>) -> Self {
        Self {
            program: Some(program),
            ..self
        }
    }

    /// Returns whether the stack has a program, which operations without one of their own run.
    #[must_use]
    pub fn has_program(&self) -> bool {
        self.program.is_some()
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

    /// Records existing resources, which the stack manages from then on: each is read from its provider, and protected unless
    /// the request turns that off. A resource that cannot be imported fails the operation, and the others are kept. The
    /// result has the inputs of the resources and programs that declare them ([`OperationResult::imported`]).
    ///
    /// [`OperationResult::imported`]: crate::operation::OperationResult::imported
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
    /// use stackwright::operation::{ImportRequest, ImportResource};
    /// let shelf = ImportResource {
    ///     resource_type: "shop:index:Shelf".to_owned(),
    ///     name: "upper".to_owned(),
    ///     component: true,
    ///     ..ImportResource::default()
    /// };
    /// let request = ImportRequest { resources: vec![shelf], ..ImportRequest::default() };
    /// let result = stack.import_resources(request, OperationOptions::default()).wait().await;
    /// assert_eq!(result.changes["import"], 1);
    /// let code = &result.imported.as_ref().unwrap().code;
    /// assert!(code.python.contains(r#"ctx.component("shop:index:Shelf", "upper", protect=True)"#));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn import_resources(&self, request: ImportRequest, options: OperationOptions) -> Operation {
        let work = Work {
            import: Some(Arc::new(request)),
            ..Work::default()
        };
        self.begin(OperationKind::Import, options, work)
    }

    /// Starts an operation, with `program` instead of the stack's own when given. An import without a request imports nothing:
    /// see [`Self::import_resources`].
    #[must_use]
    pub fn start(
        &self,
        kind: OperationKind,
        options: OperationOptions,
        program: Option<Arc<dyn Program>>,
    ) -> Operation {
        let work = Work {
            program,
            ..Work::default()
        };
        self.begin(kind, options, work)
    }

    /// Starts an operation, about more than its options state.
    fn begin(&self, kind: OperationKind, options: OperationOptions, work: Work) -> Operation {
        let (pending, operation) = self.prepare(kind, options, work);
        pending.start();
        operation
    }

    /// Returns an operation that has not begun, and its handle. Without a program of its own it runs the stack's.
    pub(crate) fn prepare(
        &self,
        kind: OperationKind,
        options: OperationOptions,
        work: Work,
    ) -> (Unstarted, Operation) {
        let program = work.program.or_else(|| self.program.clone());
        Unstarted::new(&self.context, kind, options, Work { program, ..work })
    }

    /// Returns what operations know of the stack.
    pub(crate) fn context(&self) -> &Arc<StackContext> {
        &self.context
    }
}

/// Opens the manager that a stack's state names, if there is one.
pub(super) async fn secrets_manager(
    engine: &EngineParts,
    name: StackName,
    secrets: &dyn SecretsProvider,
) -> Result<Option<Arc<dyn SecretsManager>>> {
    let (store, runtime) = (Arc::clone(&engine.store), engine.runtime.clone());
    let storage = StackStorage::new(store, name, engine.host.clone(), runtime);
    let stored = match storage.read().await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    match recorded_manager(&stored) {
        Some((kind, state)) => match secrets.open(&kind, state.as_ref()).await {
            Ok(manager) => Ok(Some(manager)),
            Err(error) => Err(with_way_out(error.of_stack(storage.name()), &kind)),
        },
        None => Ok(None),
    }
}
