//! The requests of the typed API: registrations, reads, and calls of functions and methods.

use std::future::Future;

use crate::{
    monitor::{
        Exists, Invoke, MethodCall, MethodResult, Monitor, Read, Registered, Registration, WireStatus,
        exists, invoke, method,
        read::{self, Choice},
        register,
    },
    property::PropertyMap,
    token::TypeToken,
    urn::{ROOT_STACK_TYPE, Urn},
};

impl Monitor {
    /// Registers a resource and brings it to its goal.
    ///
    /// The URN is claimed in this call, not when the future is polled: the order of calls decides. The work is a
    /// separate task, which continues when the future is dropped, because its effects must be recorded.
    ///
    /// A registration with transforms claims its URN after these. Later calls can refer to it all the same, by the URN
    /// that it will have: they wait until it is claimed.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid registration; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// The registration continues when the future is dropped.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{program::{self, ProgramContext}, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// use stackwright::monitor::Registration;
    ///
    /// async fn site(context: ProgramContext) -> Result<()> {
    ///     let site = Registration {
    ///         resource_type: "my:index:Site".into(),
    ///         name: "site".to_owned(),
    ///         ..Registration::default()
    ///     };
    ///     let registered = context.monitor.register(site).await?;
    ///     assert_eq!(registered.urn.name(), "site");
    ///     Ok(())
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let settings = StackSettings { program: Some(program::from_fn(site)), ..StackSettings::default() };
    /// # let stack = engine.create_stack("shop/dev", settings).await?;
    /// # let update = stack.update(OperationOptions::default()).wait().await;
    /// # assert!(update.error.is_none(), "{:?}", update.error);
    /// # Ok(())
    /// # }
    /// ```
    pub fn register(
        &self,
        mut registration: Registration,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        registration.adopt_output_dependencies();
        registration.stack_trace = self.traced("", registration.stack_trace);
        register::register(self, registration)
    }

    /// Registers the root stack, for programs without an SDK; further calls return the same one.
    ///
    /// # Errors
    /// Those of [`Self::register`].
    ///
    /// # Cancel safety
    /// The registration continues when the future is dropped.
    pub async fn register_root_stack(&self) -> Result<Urn, WireStatus> {
        if let Some(urn) = self.root_stack() {
            return Ok(urn);
        }
        let run = &self.shared.run;
        let registration = Registration {
            resource_type: TypeToken::from(ROOT_STACK_TYPE),
            name: format!("{}-{}", run.project, run.stack),
            ..Registration::default()
        };
        let urn = self.register(registration).await?.urn;
        drop(self.shared.exports.root.set(urn.clone()));
        Ok(urn)
    }

    /// Publishes the outputs of a component, or of the root stack.
    ///
    /// # Errors
    /// `InvalidArgument` for an asset that cannot be read; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// The outputs are published also when the future is dropped.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{program::{self, ProgramContext}, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// use stackwright::monitor::Registration;
    ///
    /// async fn site(context: ProgramContext) -> Result<()> {
    ///     let site = Registration {
    ///         resource_type: "my:index:Site".into(),
    ///         name: "site".to_owned(),
    ///         ..Registration::default()
    ///     };
    ///     let urn = context.monitor.register(site).await?.urn;
    ///     let outputs = [("url", "https://example.com".into())].into_iter().collect();
    ///     context.monitor.register_outputs(&urn, outputs).await?;
    ///     Ok(())
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let settings = StackSettings { program: Some(program::from_fn(site)), ..StackSettings::default() };
    /// # let stack = engine.create_stack("shop/dev", settings).await?;
    /// # let update = stack.update(OperationOptions::default()).wait().await;
    /// # assert!(update.error.is_none(), "{:?}", update.error);
    /// # Ok(())
    /// # }
    /// ```
    pub fn register_outputs(
        &self,
        urn: &Urn,
        outputs: PropertyMap,
    ) -> impl Future<Output = Result<(), WireStatus>> + Send + use<> {
        register::register_outputs(self, urn, outputs)
    }

    /// Reads a resource without managing it. One that names no provider has that of its parent for the package, as a
    /// registration has.
    ///
    /// # Errors
    /// Those of [`Self::register`].
    ///
    /// # Cancel safety
    /// The read continues when the future is dropped.
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
    /// use stackwright::monitor::Read;
    ///
    /// async fn zone(context: ProgramContext) -> Result<()> {
    ///     let zone = Read {
    ///         resource_type: "zones:index:Zone".into(),
    ///         name: "zone".to_owned(),
    ///         id: "z-1".into(),
    ///         ..Read::default()
    ///     };
    ///     let zone = context.monitor.read(zone).await?;
    ///     assert_eq!(zone.outputs.get("region"), Some(&"north".into()));
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
    pub fn read(
        &self,
        mut read: Read,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        read.stack_trace = self.traced("", read.stack_trace);
        read::read(self, read, Choice::Parent)
    }

    /// Reads a resource for an SDK, which names the provider of the parent itself.
    pub(super) fn read_as_named(
        &self,
        read: Read,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        read::read(self, read, Choice::Program)
    }

    /// Returns whether a resource exists; `None` while that cannot be known, as in a preview in which its id or the
    /// configuration of its provider is unknown. The resource does not become part of the stack.
    ///
    /// The secrets in the properties are registered with the redactor before the future is polled.
    ///
    /// # Errors
    /// `InvalidArgument` for a type that is not complete, and without an id; `Unimplemented` when the provider cannot read
    /// resources; `Unknown` when the read fails; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the read.
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
    /// use stackwright::monitor::Exists;
    ///
    /// async fn zone(context: ProgramContext) -> Result<()> {
    ///     let zone = |id: &str| Exists {
    ///         resource_type: "zones:index:Zone".into(),
    ///         id: id.into(),
    ///         ..Exists::default()
    ///     };
    ///     assert_eq!(context.monitor.exists(zone("z-1")).await?, Some(true));
    ///     assert_eq!(context.monitor.exists(zone("z-2")).await?, Some(false));
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
    pub fn exists(
        &self,
        exists: Exists,
    ) -> impl Future<Output = Result<Option<bool>, WireStatus>> + Send + use<> {
        exists::exists(self, exists)
    }

    /// Calls a function and returns its result. It is not called, and the result is empty, while a resource that it depends on
    /// is only planned.
    ///
    /// # Errors
    /// `Unknown` with the function's own message; `InvalidArgument` with what is wrong with the arguments.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
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
    /// use stackwright::monitor::Invoke;
    ///
    /// async fn regions(context: ProgramContext) -> Result<()> {
    ///     let regions = Invoke {
    ///         token: "zones:index:regions".to_owned(),
    ///         arguments: [("near", "north".into())].into_iter().collect(),
    ///         ..Invoke::default()
    ///     };
    ///     let result = context.monitor.invoke(regions).await?;
    ///     assert_eq!(result.get("near"), Some(&"north".into()), "this function returns its arguments");
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
    pub fn invoke(
        &self,
        invoke: Invoke,
    ) -> impl Future<Output = Result<PropertyMap, WireStatus>> + Send + use<> {
        let invoking = self.invoke_known(invoke);
        async move { invoking.await.map(Option::unwrap_or_default) }
    }

    /// Calls a function as [`Self::invoke`] does, and returns its result; `None` while a resource that it depends on is only
    /// planned.
    ///
    /// # Errors
    /// Those of [`Self::invoke`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub fn invoke_known(
        &self,
        mut invoke: Invoke,
    ) -> impl Future<Output = Result<Option<PropertyMap>, WireStatus>> + Send + use<> {
        invoke.adopt_output_dependencies();
        let token = invoke.token.clone();
        let invoking = invoke::invoke(self, invoke);
        async move { invoking.await?.into_values(&token) }
    }

    /// Calls a method and returns its result.
    ///
    /// The secrets in the arguments are registered with the redactor before the future is polled. A failed method ends the
    /// run.
    ///
    /// # Errors
    /// `Unknown` when the method has no provider, or fails; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub fn call_method(
        &self,
        mut call: MethodCall,
    ) -> impl Future<Output = Result<MethodResult, WireStatus>> + Send + use<> {
        call.stack_trace = self.traced("", call.stack_trace);
        method::call_method(self, call)
    }
}
