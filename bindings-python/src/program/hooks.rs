//! Hooks of a program: functions that run before and after the steps of resources, or after failed ones.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    callback::{ErrorHook, ErrorHookCall, HookCall, HookOptions, ResourceHook},
    monitor::Monitor,
    property::PropertyMap,
    resource::ResourceState,
    token::ResourceId,
    urn::Urn,
};

use super::{facts, functions::ProgramFunction};
use crate::{convert, function::HostContext};

/// The names of hooks by the moment at which they run.
pub(super) type Bindings = BTreeMap<String, Vec<String>>;

/// A hook as it is registered: its name, the object that it was made from, its function, and whether it runs in previews
/// and ignores errors. Without these two it is one that runs after failures.
pub(super) type Described<'py> = (String, Py<PyAny>, Bound<'py, PyAny>, Option<(bool, bool)>);

/// Registers a hook, unless the same object is registered under its name already, and returns the name. One that is
/// `derived` gets a number where another object has it.
pub(super) fn register(
    py: Python<'_>,
    monitor: &Monitor,
    host: &HostContext,
    (name, object, function, options): Described<'_>,
    derived: bool,
) -> PyResult<stackwright::Result<String>> {
    let mut free = name.clone();
    let mut number = 1;
    while let Some(known) = host.hooks.get(py, monitor, &free) {
        if known.is(&object) {
            return Ok(Ok(free));
        }
        if !derived {
            break;
        }
        number += 1;
        free = format!("{name}_{number}");
    }
    let hook = Arc::new(PythonHook(ProgramFunction::read("hook", &function, host)?));
    let registered = match options {
        Some((on_dry_run, ignore_errors)) => {
            let options = HookOptions {
                on_dry_run,
                ignore_errors,
            };
            monitor.register_resource_hook(&free, hook, options)
        }
        None => monitor.register_error_hook(&free, hook),
    };
    Ok(registered.map(|()| {
        host.hooks.insert(monitor, &host.handle, &free, object);
        free
    }))
}

/// A hook of either kind.
struct PythonHook(ProgramFunction);

#[async_trait]
impl ResourceHook for PythonHook {
    async fn run(&self, call: HookCall) -> stackwright::Result<()> {
        let HookCall {
            urn,
            id,
            new,
            old,
            new_outputs,
        } = call;
        let seen = Seen {
            urn,
            id,
            new,
            old,
            new_outputs,
            failure: None,
        };
        self.0.call(seen, |_| Ok(())).await
    }
}

#[async_trait]
impl ErrorHook for PythonHook {
    async fn should_retry(&self, call: ErrorHookCall) -> stackwright::Result<bool> {
        let seen = Seen {
            urn: call.urn,
            id: call.id,
            new: call.new,
            old: call.old,
            new_outputs: None,
            failure: Some((call.failed_operation, call.errors)),
        };
        self.0.call(seen, |returned| returned.extract()).await
    }
}

/// The call of a hook as the argument of its function: its facts by name.
struct Seen {
    urn: Urn,
    id: ResourceId,
    new: Option<Arc<ResourceState>>,
    old: Option<Arc<ResourceState>>,
    new_outputs: Option<PropertyMap>,
    /// What failed, and the errors of all attempts.
    failure: Option<(&'static str, Vec<String>)>,
}

impl<'py> IntoPyObject<'py> for Seen {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (new, old) = (self.new.as_deref(), self.old.as_deref());
        let values =
            |values: Option<&PropertyMap>| values.map(|map| convert::dictionary(py, map)).transpose();
        let options = |state: Option<&ResourceState>| state.map(|state| facts::record(py, state)).transpose();
        let seen = PyDict::new(py);
        seen.set_item("urn", self.urn.as_str())?;
        seen.set_item("id", self.id.as_str())?;
        seen.set_item("name", self.urn.name())?;
        seen.set_item("type", self.urn.resource_type())?;
        seen.set_item("new_inputs", values(new.map(|state| &state.inputs))?)?;
        seen.set_item("old_inputs", values(old.map(|state| &state.inputs))?)?;
        seen.set_item("old_outputs", values(old.map(|state| &state.outputs))?)?;
        seen.set_item("new_options", options(new)?)?;
        seen.set_item("old_options", options(old)?)?;
        match self.failure {
            None => seen.set_item("new_outputs", values(self.new_outputs.as_ref())?)?,
            Some((operation, errors)) => {
                seen.set_item("failed_operation", operation)?;
                seen.set_item("errors", errors)?;
            }
        }
        Ok(seen)
    }
}
