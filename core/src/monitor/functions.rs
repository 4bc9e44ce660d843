//! The functions of a program that the engine calls: transforms and hooks.

use std::sync::Arc;

use crate::{
    callback::{ErrorHook, Hook, HookOptions, ResourceHook},
    monitor::{InvokeTransform, Monitor, ResourceTransform, WireStatus},
};

impl Monitor {
    /// Adds a transform of the stack: it applies to every resource that is registered from now on, after the
    /// transforms of the resource itself and of those above it.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{program::{self, ProgramContext}, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # use stackwright::provider::{
    /// #     Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, InvokeRequest, InvokeResponse,
    /// #     Provider, ProviderResult, ReadRequest, ReadResponse,
    /// # };
    /// # struct Zones;
    /// # impl Provider for Zones {
    /// #     async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
    /// #         Ok(Capabilities::all())
    /// #     }
    /// #     async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
    /// #         Ok(CreateResponse { id: request.name.into(), outputs: request.inputs, ..CreateResponse::default() })
    /// #     }
    /// #     async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
    /// #         Ok(())
    /// #     }
    /// #     async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
    /// #         let exists = request.id.as_str() == "z-1";
    /// #         let outputs = exists.then(|| [("region", "north".into())].into_iter().collect());
    /// #         Ok(ReadResponse { id: request.id, outputs, ..ReadResponse::default() })
    /// #     }
    /// #     async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
    /// #         Ok(InvokeResponse { result: request.arguments, ..InvokeResponse::default() })
    /// #     }
    /// # }
    /// use stackwright::monitor::{Registration, TransformArgs};
    ///
    /// async fn protected(context: ProgramContext) -> Result<()> {
    ///     context.monitor.add_transform(Arc::new(|mut args: TransformArgs| async move {
    ///         args.options.retain_on_delete = Some(true);
    ///         Ok(Some(args))
    ///     }));
    ///     let zone = Registration {
    ///         resource_type: "zones:index:Zone".into(),
    ///         name: "zone".to_owned(),
    ///         custom: true,
    ///         ..Registration::default()
    ///     };
    ///     context.monitor.register(zone).await?;
    ///     Ok(())
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store).provider("zones", Arc::new(Zones));
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let settings = StackSettings { program: Some(program::from_fn(protected)), ..StackSettings::default() };
    /// # let stack = engine.create_stack("shop/dev", settings).await?;
    /// # let update = stack.update(OperationOptions::default()).wait().await;
    /// # assert!(update.error.is_none(), "{:?}", update.error);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_transform(&self, transform: Arc<dyn ResourceTransform>) {
        self.shared.transforms.add(transform);
    }

    /// Adds a transform of the stack's calls of functions: it applies to every call from now on.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{program::{self, ProgramContext}, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # use stackwright::provider::{
    /// #     Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, InvokeRequest, InvokeResponse,
    /// #     Provider, ProviderResult, ReadRequest, ReadResponse,
    /// # };
    /// # struct Zones;
    /// # impl Provider for Zones {
    /// #     async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
    /// #         Ok(Capabilities::all())
    /// #     }
    /// #     async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
    /// #         Ok(CreateResponse { id: request.name.into(), outputs: request.inputs, ..CreateResponse::default() })
    /// #     }
    /// #     async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
    /// #         Ok(())
    /// #     }
    /// #     async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
    /// #         let exists = request.id.as_str() == "z-1";
    /// #         let outputs = exists.then(|| [("region", "north".into())].into_iter().collect());
    /// #         Ok(ReadResponse { id: request.id, outputs, ..ReadResponse::default() })
    /// #     }
    /// #     async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
    /// #         Ok(InvokeResponse { result: request.arguments, ..InvokeResponse::default() })
    /// #     }
    /// # }
    /// use stackwright::monitor::{Invoke, InvokeTransformArgs};
    ///
    /// async fn regions(context: ProgramContext) -> Result<()> {
    ///     context.monitor.add_invoke_transform(Arc::new(|mut args: InvokeTransformArgs| async move {
    ///         args.arguments.insert("near", "south".into());
    ///         Ok(Some(args))
    ///     }));
    ///     let regions = Invoke { token: "zones:index:regions".to_owned(), ..Invoke::default() };
    ///     let result = context.monitor.invoke(regions).await?;
    ///     assert_eq!(result.get("near"), Some(&"south".into()));
    ///     Ok(())
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store).provider("zones", Arc::new(Zones));
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let settings = StackSettings { program: Some(program::from_fn(regions)), ..StackSettings::default() };
    /// # let stack = engine.create_stack("shop/dev", settings).await?;
    /// # let update = stack.update(OperationOptions::default()).wait().await;
    /// # assert!(update.error.is_none(), "{:?}", update.error);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_invoke_transform(&self, transform: Arc<dyn InvokeTransform>) {
        self.shared.transforms.add_invoke(transform);
    }

    /// Registers a hook that runs before or after steps, for the rest of the run. Resources name it in their options, by
    /// the moment at which it runs, from then on; records that name it from an earlier run are deleted with it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an empty name, or one that a hook of either kind
    /// has; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the run has ended.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{program::{self, ProgramContext}, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # use stackwright::provider::{
    /// #     Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, InvokeRequest, InvokeResponse,
    /// #     Provider, ProviderResult, ReadRequest, ReadResponse,
    /// # };
    /// # struct Zones;
    /// # impl Provider for Zones {
    /// #     async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
    /// #         Ok(Capabilities::all())
    /// #     }
    /// #     async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
    /// #         Ok(CreateResponse { id: request.name.into(), outputs: request.inputs, ..CreateResponse::default() })
    /// #     }
    /// #     async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
    /// #         Ok(())
    /// #     }
    /// #     async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
    /// #         let exists = request.id.as_str() == "z-1";
    /// #         let outputs = exists.then(|| [("region", "north".into())].into_iter().collect());
    /// #         Ok(ReadResponse { id: request.id, outputs, ..ReadResponse::default() })
    /// #     }
    /// #     async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
    /// #         Ok(InvokeResponse { result: request.arguments, ..InvokeResponse::default() })
    /// #     }
    /// # }
    /// use stackwright::{callback::{HookCall, HookOptions, ResourceHook}, monitor::Registration};
    ///
    /// /// Fails the step of a resource without an id.
    /// struct HasId;
    ///
    /// #[async_trait::async_trait]
    /// impl ResourceHook for HasId {
    ///     async fn run(&self, call: HookCall) -> Result<()> {
    ///         assert!(!call.id.is_empty());
    ///         Ok(())
    ///     }
    /// }
    ///
    /// async fn zone(context: ProgramContext) -> Result<()> {
    ///     context.monitor.register_resource_hook("has-id", Arc::new(HasId), HookOptions::default())?;
    ///     let mut zone = Registration {
    ///         resource_type: "zones:index:Zone".into(),
    ///         name: "zone".to_owned(),
    ///         custom: true,
    ///         ..Registration::default()
    ///     };
    ///     zone.options.resource_hooks = [("AfterCreate".to_owned(), vec!["has-id".to_owned()])].into();
    ///     context.monitor.register(zone).await?;
    ///     Ok(())
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store).provider("zones", Arc::new(Zones));
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let settings = StackSettings { program: Some(program::from_fn(zone)), ..StackSettings::default() };
    /// # let stack = engine.create_stack("shop/dev", settings).await?;
    /// # let update = stack.update(OperationOptions::default()).wait().await;
    /// # assert!(update.error.is_none(), "{:?}", update.error);
    /// # Ok(())
    /// # }
    /// ```
    pub fn register_resource_hook(
        &self,
        name: &str,
        hook: Arc<dyn ResourceHook>,
        options: HookOptions,
    ) -> crate::Result<()> {
        self.register_hook(name, Hook::Resource(hook, options))
    }

    /// Registers a hook that decides whether a failed step is tried again, for the rest of the run.
    ///
    /// # Errors
    /// Those of [`Self::register_resource_hook`].
    pub fn register_error_hook(&self, name: &str, hook: Arc<dyn ErrorHook>) -> crate::Result<()> {
        self.register_hook(name, Hook::Error(hook))
    }

    fn register_hook(&self, name: &str, hook: Hook) -> crate::Result<()> {
        if self.is_closed() {
            return Err(WireStatus::shut_down("registering a hook").into());
        }
        self.shared.generator.executor().hooks().register(name, hook)
    }
}
