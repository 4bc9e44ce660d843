//! Construct and Call: calls of providers whose code registers resources itself.

use std::{any::Any, fmt, sync::Arc};

use crate::{
    error::Result,
    property::PropertyMap,
    provider::CheckFailure,
    resource::{Alias, PropertyDependencies, SharedOptions},
    run_info::RunInfo,
    token::TypeToken,
    urn::Urn,
};

/// The resource monitor that the code of a component or a method uses. Cloning is cheap; all clones are the same one.
///
/// Code in other processes connects to [`MonitorHandle::address`]; code of the host gets the monitor itself from
/// [`crate::monitor::Monitor::of`].
#[derive(Clone)]
pub struct MonitorHandle(Arc<dyn MonitorAccess>);

/// The monitor behind a [`MonitorHandle`].
pub(crate) trait MonitorAccess: Any + Send + Sync {
    /// Returns the address at which the monitor listens; it starts listening at the first call.
    fn address(&self) -> Result<String>;
}

impl MonitorHandle {
    pub(crate) fn new(monitor: Arc<dyn MonitorAccess>) -> Self {
        Self(monitor)
    }

    /// Returns the address of the monitor, such as `127.0.0.1:4711`; it is the same for all calls of an operation.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] when no port can be had.
    pub fn address(&self) -> Result<String> {
        self.0.address()
    }

    /// Returns the monitor.
    pub(crate) fn access(&self) -> &dyn Any {
        &*self.0
    }
}

impl fmt::Debug for MonitorHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MonitorHandle")
    }
}

/// The request of Construct: a component whose resources the provider registers.
#[derive(Clone, Debug)]
pub struct ConstructRequest {
    /// The monitor at which the component and its children are registered.
    pub monitor: MonitorHandle,
    /// The facts of the run.
    pub run: Arc<RunInfo>,
    /// The type of the component.
    pub resource_type: TypeToken,
    /// The name of the component.
    pub name: String,
    /// Its parent; `None` without one.
    pub parent: Option<Urn>,
    /// The inputs. Output values have their dependencies; in previews values may be unknown.
    pub inputs: PropertyMap,
    /// The dependencies of each input.
    pub input_dependencies: PropertyDependencies,
    /// What the component depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// Provider references by package, for the component's children.
    pub providers: std::collections::BTreeMap<String, String>,
    /// Whether deletion is refused; `None` where the program leaves it open.
    pub protect: Option<bool>,
    /// Whether a replacement deletes first; `None` where the program leaves it open.
    pub delete_before_replace: Option<bool>,
    /// Whether deletion keeps the real resources; `None` where the program leaves it open.
    pub retain_on_delete: Option<bool>,
    /// Former names.
    pub aliases: Vec<Alias>,
    /// The other options.
    pub options: SharedOptions,
    /// Names the source position of the registration, for errors of the component; empty for none.
    pub stack_trace_handle: String,
}

impl ConstructRequest {
    /// Returns the aliases as whole URNs.
    #[must_use]
    pub fn former_urns(&self) -> Vec<Urn> {
        let parent = self.parent.as_ref();
        let parent_type = parent.map_or("", Urn::qualified_type);
        let RunInfo { stack, project, .. } = &*self.run;
        let own = Urn::new(
            stack,
            project,
            parent_type,
            self.resource_type.as_str(),
            &self.name,
        );
        self.aliases.iter().map(|alias| alias.urn(&own, parent)).collect()
    }
}

/// The response of Construct.
#[derive(Clone, Debug)]
pub struct ConstructResponse {
    /// The URN of the component, which the provider has registered.
    pub urn: Urn,
    /// The outputs; output values have their dependencies.
    pub outputs: PropertyMap,
    /// The dependencies of each output.
    pub output_dependencies: PropertyDependencies,
}

/// The request of Call: a method of a resource, a component or a provider.
#[derive(Clone, Debug)]
pub struct MethodRequest {
    /// The monitor at which the method registers resources.
    pub monitor: MonitorHandle,
    /// The facts of the run.
    pub run: Arc<RunInfo>,
    /// The method: `package:module:Type/method`.
    pub token: String,
    /// The arguments, with the resource as `__self__`. In previews values may be unknown.
    pub arguments: PropertyMap,
    /// The dependencies of each argument.
    pub argument_dependencies: PropertyDependencies,
    /// Names the source position of the call, for errors of the method; empty for none.
    pub stack_trace_handle: String,
}

/// The response of Call.
#[derive(Clone, Debug, Default)]
pub struct MethodResponse {
    /// The result.
    pub result: PropertyMap,
    /// The dependencies of each property of the result.
    pub result_dependencies: PropertyDependencies,
    /// The failures; empty if the arguments are valid.
    pub failures: Vec<CheckFailure>,
}
