//! The typed API: registrations, reads, calls of functions and methods, and functions of the program.

use std::{future::Future, sync::Arc};

use crate::{
    callback::{ErrorHook, Hook, HookOptions, ResourceHook},
    monitor::{
        Exists, Invoke, InvokeTransform, MethodCall, MethodResult, Monitor, Read, Registered, Registration,
        ResourceTransform, WireStatus, exists, invoke, method, read, register,
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
    pub fn register(
        &self,
        registration: Registration,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
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
    pub fn register_outputs(
        &self,
        urn: &Urn,
        outputs: PropertyMap,
    ) -> impl Future<Output = Result<(), WireStatus>> + Send + use<> {
        register::register_outputs(self, urn, outputs)
    }

    /// Reads a resource without managing it.
    ///
    /// # Errors
    /// Those of [`Self::register`].
    ///
    /// # Cancel safety
    /// The read continues when the future is dropped.
    pub fn read(&self, read: Read) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        read::read(self, read)
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
        invoke: Invoke,
    ) -> impl Future<Output = Result<Option<PropertyMap>, WireStatus>> + Send + use<> {
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
        call: MethodCall,
    ) -> impl Future<Output = Result<MethodResult, WireStatus>> + Send + use<> {
        method::call_method(self, call)
    }

    /// Adds a transform of the stack: it applies to every resource that is registered from now on, after the
    /// transforms of the resource itself and of those above it.
    pub fn add_transform(&self, transform: Arc<dyn ResourceTransform>) {
        self.shared.transforms.add(transform);
    }

    /// Adds a transform of the stack's calls of functions: it applies to every call from now on.
    pub fn add_invoke_transform(&self, transform: Arc<dyn InvokeTransform>) {
        self.shared.transforms.add_invoke(transform);
    }

    /// Registers a hook that runs before or after steps, for the rest of the run. Resources name it in their options, by
    /// the moment at which it runs, from then on; records that name it from an earlier run are deleted with it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an empty name, or one that a hook of either kind
    /// has; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the run has ended.
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
