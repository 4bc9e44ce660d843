//! Components of the host: their registration, the registration of what is below them, and their outputs.

use crate::{
    monitor::{Exists, Invoke, Monitor, Read, Registered, Registration, WireStatus},
    property::PropertyMap,
    provider::{ConstructRequest, ConstructResponse, ProviderError, ProviderResult, ProviderStatus},
    urn::Urn,
};

/// A component that a provider of the host constructs. Cloning is cheap; all clones are the same component.
///
/// ```
/// use stackwright::{
///     monitor::{Component, Registration},
///     provider::{ConstructRequest, ConstructResponse, ProviderResult},
/// };
///
/// /// Constructs a component with one child, and returns its inputs as outputs.
/// async fn construct(request: ConstructRequest) -> ProviderResult<ConstructResponse> {
///     let component = Component::register(&request).await?;
///     let child = Registration {
///         resource_type: "notes:index:Note".into(),
///         name: format!("{}-note", request.name),
///         custom: true,
///         inputs: request.inputs.clone(),
///         ..Registration::default()
///     };
///     component.register_child(child).await?;
///     component.finish(request.inputs).await
/// }
/// ```
#[derive(Clone)]
pub struct Component {
    monitor: Monitor,
    urn: Urn,
}

impl Component {
    /// Registers the component of a Construct request, with the options of the request.
    ///
    /// # Errors
    /// The status of the refused registration; `FailedPrecondition` for a request without a monitor of this process.
    ///
    /// # Cancel safety
    /// The registration continues when the future is dropped.
    pub async fn register(request: &ConstructRequest) -> ProviderResult<Self> {
        let monitor = Monitor::of(&request.monitor).ok_or_else(|| {
            let text = "the request of Construct has no monitor of this process";
            ProviderError::new(ProviderStatus::FailedPrecondition, text)
        })?;
        let registration = Registration {
            resource_type: request.resource_type.clone(),
            name: request.name.clone(),
            inputs: request.inputs.clone().collapse_outputs(),
            parent: request.parent.clone(),
            no_parent: request.parent.is_none(),
            dependencies: request.dependencies.clone(),
            property_dependencies: Some(request.input_dependencies.clone()),
            providers: request.providers.clone(),
            protect: request.protect,
            delete_before_replace: request.delete_before_replace,
            aliases: request.aliases.clone(),
            retain_on_delete: request.retain_on_delete,
            options: request.options.clone(),
            ..Registration::default()
        };
        let registered = monitor.register(registration).await?;
        Ok(Self {
            monitor,
            urn: registered.urn,
        })
    }

    /// Returns the component's URN.
    #[must_use]
    pub const fn urn(&self) -> &Urn {
        &self.urn
    }

    /// Returns the monitor at which the component is registered.
    #[must_use]
    pub const fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Registers a resource; below the component, unless the registration names another parent.
    ///
    /// # Errors
    /// Those of [`Monitor::register`].
    ///
    /// # Cancel safety
    /// That of [`Monitor::register`].
    pub fn register_child(
        &self,
        mut registration: Registration,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        if !registration.no_parent {
            registration.parent.get_or_insert_with(|| self.urn.clone());
        }
        self.monitor.register(registration)
    }

    /// Reads a resource; below the component, unless the read names another parent.
    ///
    /// # Errors
    /// Those of [`Monitor::read`].
    ///
    /// # Cancel safety
    /// That of [`Monitor::read`].
    pub fn read_child(
        &self,
        mut read: Read,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        if !read.no_parent {
            read.parent.get_or_insert_with(|| self.urn.clone());
        }
        self.monitor.read(read)
    }

    /// Calls a function; with the component's providers, unless the invoke names another parent. It is not called, and the
    /// result is `None`, while a resource that it depends on is only planned: what is made of it is unknown.
    ///
    /// # Errors
    /// Those of [`Monitor::invoke_known`].
    ///
    /// # Cancel safety
    /// That of [`Monitor::invoke_known`].
    pub fn invoke(
        &self,
        mut invoke: Invoke,
    ) -> impl Future<Output = Result<Option<PropertyMap>, WireStatus>> + Send + use<> {
        invoke.parent.get_or_insert_with(|| self.urn.clone());
        self.monitor.invoke_known(invoke)
    }

    /// Returns whether a resource exists; `None` while that cannot be known. It is read with the component's providers, unless the query
    /// names another parent.
    ///
    /// # Errors
    /// Those of [`Monitor::exists`].
    ///
    /// # Cancel safety
    /// That of [`Monitor::exists`].
    pub fn exists(
        &self,
        mut exists: Exists,
    ) -> impl Future<Output = Result<Option<bool>, WireStatus>> + Send + use<> {
        exists.parent.get_or_insert_with(|| self.urn.clone());
        self.monitor.exists(exists)
    }

    /// Publishes the outputs, and returns the response of Construct.
    ///
    /// # Errors
    /// Those of [`Monitor::register_outputs`].
    ///
    /// # Cancel safety
    /// The outputs are published also when the future is dropped.
    pub async fn finish(&self, outputs: PropertyMap) -> ProviderResult<ConstructResponse> {
        let mut output_dependencies = crate::resource::PropertyDependencies::new();
        for (name, value) in outputs.iter() {
            output_dependencies.add_outputs(name, value);
        }
        let plain = outputs.clone().collapse_outputs();
        self.monitor.register_outputs(&self.urn, plain).await?;
        Ok(ConstructResponse {
            urn: self.urn.clone(),
            outputs,
            output_dependencies,
        })
    }
}

impl From<WireStatus> for ProviderError {
    fn from(status: WireStatus) -> Self {
        Self::new(ProviderStatus::from_code(status.code), status.message)
    }
}
