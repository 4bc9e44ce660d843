//! Transforms of a program: functions that change registrations and calls of functions.

use std::sync::Arc;

use async_trait::async_trait;
use pyo3::{
    prelude::*,
    types::{PyAny, PyDict},
};
use stackwright::{
    monitor::{
        InvokeTransform, InvokeTransformArgs, Registration, ResourceTransform, TransformArgs,
        TransformOptions,
    },
    property::{Key, PropertyMap, PropertyValue},
    resource::PropertyDependencies,
    urn::Urn,
};

use super::{facts, functions::ProgramFunction, hooks::Bindings, options};
use crate::{convert, function::HostContext};

/// The name of the functions in errors.
const NAME: &str = "transform";

/// A transform of resources.
pub(super) struct PythonTransform(ProgramFunction);

/// A transform of calls of functions.
pub(super) struct PythonInvokeTransform(ProgramFunction);

impl PythonTransform {
    pub(super) fn read(described: &Bound<'_, PyAny>, host: &HostContext) -> PyResult<Self> {
        ProgramFunction::read(NAME, described, host).map(Self)
    }
}

impl PythonInvokeTransform {
    pub(super) fn read(described: &Bound<'_, PyAny>, host: &HostContext) -> PyResult<Self> {
        ProgramFunction::read(NAME, described, host).map(Self)
    }
}

/// The transforms of a resource, and the names of its hooks by moment.
pub(super) type Attached<'py> = (Vec<Bound<'py, PyAny>>, Bindings);

/// Adds transforms and hooks to a registration.
pub(super) fn attach(
    registration: &mut Registration,
    (transforms, hooks): Attached<'_>,
    host: &HostContext,
) -> PyResult<()> {
    for transform in &transforms {
        let transform = PythonTransform::read(transform, host)?;
        registration.transforms.push(Arc::new(transform));
    }
    if !hooks.is_empty() {
        registration.options.resource_hooks = hooks;
    }
    Ok(())
}

#[async_trait]
impl ResourceTransform for PythonTransform {
    async fn transform(&self, args: TransformArgs) -> stackwright::Result<Option<TransformArgs>> {
        let changed = self.0.call(Seen(args.clone()), Changed::read).await?;
        Ok(changed.map(|changed| changed.apply(args)))
    }
}

#[async_trait]
impl InvokeTransform for PythonInvokeTransform {
    async fn transform(&self, args: InvokeTransformArgs) -> stackwright::Result<Option<InvokeTransformArgs>> {
        let changed = self.0.call(SeenCall(args.clone()), ChangedCall::read).await?;
        Ok(changed.map(|changed| changed.apply(args)))
    }
}

/// A registration as the argument of a function: its facts by name.
struct Seen(TransformArgs);

impl<'py> IntoPyObject<'py> for Seen {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let args = self.0;
        let seen = PyDict::new(py);
        seen.set_item("type", args.resource_type.as_str())?;
        seen.set_item("name", &args.name)?;
        seen.set_item("custom", args.custom)?;
        seen.set_item("parent", args.parent.as_ref().map(Urn::as_str))?;
        seen.set_item("inputs", convert::dictionary(py, &args.inputs)?)?;
        seen.set_item("options", facts::registration(py, &args.options)?)?;
        Ok(seen)
    }
}

/// A call of a function as the argument of a function.
struct SeenCall(InvokeTransformArgs);

impl<'py> IntoPyObject<'py> for SeenCall {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let args = self.0;
        let seen = PyDict::new(py);
        seen.set_item("token", &args.token)?;
        seen.set_item("arguments", convert::dictionary(py, &args.arguments)?)?;
        seen.set_item("options", facts::package(py, &args.package)?)?;
        Ok(seen)
    }
}

/// What a transform changes of a registration; `None` leaves it as it is.
struct Changed {
    inputs: Option<PropertyMap>,
    /// The resources that the outputs among the inputs come from.
    dependencies: PropertyDependencies,
    options: Option<ChangedOptions>,
}

/// The options that change: their names, and their values.
type ChangedOptions = (Vec<String>, Registration);

/// `(inputs, dependencies by input, options, names of options, hooks by moment, explicit dependencies)`, each of them or `None`.
type ChangedParts<'py> = (
    Option<Bound<'py, PyDict>>,
    Option<Bound<'py, PyDict>>,
    Option<Bound<'py, PyDict>>,
    Vec<String>,
    Option<Bindings>,
    Vec<String>,
);

impl Changed {
    /// Reads what `stackwright.transforms` makes of a result.
    fn read(returned: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if returned.is_none() {
            return Ok(None);
        }
        let py = returned.py();
        let (inputs, dependencies, given, names, hooks, depends_on): ChangedParts<'_> = returned.extract()?;
        let options = given.map(|given| {
            let mut registration = options::read(Some(&given), None, "a transform")?;
            registration.dependencies = options::urns(py, depends_on)?;
            if let Some(hooks) = hooks {
                registration.options.resource_hooks = hooks;
            }
            Ok::<_, PyErr>((names, registration))
        });
        Ok(Some(Self {
            inputs: inputs
                .map(|inputs| convert::read_map(inputs.as_any(), "the inputs"))
                .transpose()?,
            dependencies: options::property_dependencies(py, dependencies.as_ref())?,
            options: options.transpose()?,
        }))
    }

    fn apply(self, mut args: TransformArgs) -> TransformArgs {
        if let Some((names, options)) = self.options {
            let names = names.iter().map(String::as_str);
            args.options.change(names, transform_options(options));
        }
        if let Some(inputs) = self.inputs {
            for (name, _) in inputs.iter() {
                for urn in self.dependencies.get(name).unwrap_or_default() {
                    if !args.options.depends_on.contains(urn) {
                        args.options.depends_on.push(urn.clone());
                    }
                }
            }
            args.inputs = with_dependencies(inputs, &args.inputs, &self.dependencies);
        }
        args
    }
}

/// Returns the options that a registration has.
fn transform_options(given: Registration) -> TransformOptions {
    TransformOptions {
        depends_on: given.dependencies,
        package: given.package,
        providers: given.providers,
        protect: given.protect,
        delete_before_replace: given.delete_before_replace,
        aliases: given.aliases,
        retain_on_delete: given.retain_on_delete,
        others: given.options,
    }
}

/// Returns inputs with the dependencies that they had before, and those in `added`. Functions see plain values: an input keeps
/// its dependencies as long as it keeps its name.
fn with_dependencies(inputs: PropertyMap, before: &PropertyMap, added: &PropertyDependencies) -> PropertyMap {
    let seen = before.clone().collapse_outputs();
    let restored = |(name, value): (Key, PropertyValue)| {
        let Some(original) = before.get(&name) else {
            return (name, value);
        };
        if seen.get(&name) == Some(&value) {
            return (name, original.clone());
        }
        let mut urns = Vec::new();
        collect(original, &mut urns);
        let value = if urns.is_empty() {
            value
        } else {
            value.with_dependencies(&urns)
        };
        (name, value)
    };
    added.attach(inputs.into_iter().map(restored).collect())
}

/// Adds the dependencies of all output values in a value.
fn collect(value: &PropertyValue, urns: &mut Vec<Urn>) {
    match value {
        PropertyValue::Output(output) => {
            urns.extend(output.dependencies.iter().cloned());
            output.element.iter().for_each(|element| collect(element, urns));
        }
        PropertyValue::Secret(secret) => collect(&secret.element, urns),
        PropertyValue::Array(values) => values.iter().for_each(|element| collect(element, urns)),
        PropertyValue::Object(map) => map.iter().for_each(|(_, element)| collect(element, urns)),
        _ => {}
    }
}

/// What a transform changes of a call of a function.
struct ChangedCall {
    arguments: Option<PropertyMap>,
    options: Option<ChangedOptions>,
}

/// `(arguments, options, names of options)`, each of them or `None`.
type ChangedCallParts<'py> = (
    Option<Bound<'py, PyDict>>,
    Option<Bound<'py, PyDict>>,
    Vec<String>,
);

impl ChangedCall {
    /// Reads what `stackwright.transforms` makes of a result.
    fn read(returned: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if returned.is_none() {
            return Ok(None);
        }
        let (arguments, given, names): ChangedCallParts<'_> = returned.extract()?;
        Ok(Some(Self {
            arguments: arguments
                .map(|arguments| convert::read_map(arguments.as_any(), "the arguments"))
                .transpose()?,
            options: given
                .map(|given| Ok::<_, PyErr>((names, options::read(Some(&given), None, "a transform")?)))
                .transpose()?,
        }))
    }

    fn apply(self, mut args: InvokeTransformArgs) -> InvokeTransformArgs {
        if let Some((names, options)) = self.options {
            let names = names.iter().map(String::as_str);
            args.package.change(names, options.package);
        }
        if let Some(arguments) = self.arguments {
            args.arguments = arguments;
        }
        args
    }
}
