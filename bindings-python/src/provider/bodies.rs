//! The code of components and methods: requests with a run through which the code registers resources.

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyTuple},
};
use stackwright::{
    monitor::{Component, Monitor},
    program::ProgramContext,
    property::PropertyMap,
    provider::{self, MethodResponse, ProviderError, ProviderResult, ProviderStatus, Reply},
    resource::PropertyDependencies,
    urn::Urn,
};

use super::{PythonProvider, responses, shown::Shown};
use crate::{
    convert,
    function::Method,
    program::{Run, facts::timeouts},
};

/// Requests the construction of a component, which is registered already.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct ConstructRequest {
    request: provider::ConstructRequest,
    urn: String,
    run: Py<Run>,
    inputs: PyOnceLock<Py<PyDict>>,
}

#[pymethods]
impl ConstructRequest {
    /// The URN of the component.
    #[getter]
    fn urn(&self) -> &str {
        &self.urn
    }

    #[getter]
    fn r#type(&self) -> &str {
        self.request.resource_type.as_str()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.request.name
    }

    /// The URN of its parent.
    #[getter]
    fn parent(&self) -> Option<&str> {
        self.request.parent.as_ref().map(|urn| urn.as_str())
    }

    #[getter]
    fn inputs(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let inputs = self.inputs.get_or_try_init(py, || {
            convert::dictionary(py, &self.request.inputs).map(Bound::unbind)
        });
        inputs.map(|inputs| inputs.clone_ref(py))
    }

    /// The options of the component; only those that are given. What is below it inherits them.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        options(py, &self.request)
    }

    /// Whether this is a preview: unknowns may occur among the inputs.
    #[getter]
    fn preview(&self) -> bool {
        self.request.run.dry_run
    }

    #[getter]
    fn _run(&self, py: Python<'_>) -> Py<Run> {
        self.run.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = Shown::new(py, "ConstructRequest").member("urn", self.urn())?;
        let shown = shown.member("type", self.r#type())?.member("name", self.name())?;
        let shown = shown
            .member("parent", self.parent())?
            .member("preview", self.preview())?;
        Ok(shown.map("inputs", Some(&self.request.inputs))?.text())
    }
}

/// Returns the options that a component's registration has; resources are URNs.
fn options<'py>(py: Python<'py>, request: &provider::ConstructRequest) -> PyResult<Bound<'py, PyDict>> {
    let given = PyDict::new(py);
    let flags = [
        ("protect", request.protect),
        ("delete_before_replace", request.delete_before_replace),
        ("retain_on_delete", request.retain_on_delete),
    ];
    for (name, flag) in flags {
        if let Some(flag) = flag {
            given.set_item(name, flag)?;
        }
    }
    let options = &request.options;
    let texts = |urns: &[Urn]| -> Vec<String> { urns.iter().map(ToString::to_string).collect() };
    let dependencies = texts(&request.dependencies);
    let (replace_with, aliases) = (texts(&options.replace_with), texts(&request.former_urns()));
    let lists = [
        ("ignore_changes", &options.ignore_changes),
        ("replace_on_changes", &options.replace_on_changes),
        ("additional_secret_outputs", &options.additional_secret_outputs),
        ("depends_on", &dependencies),
        ("replace_with", &replace_with),
        ("aliases", &aliases),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            given.set_item(name, list)?;
        }
    }
    if let Some(urn) = &options.deleted_with {
        given.set_item("deleted_with", urn.as_str())?;
    }
    if let Some(trigger) = &options.replacement_trigger {
        given.set_item("replacement_trigger", convert::value(py, trigger)?)?;
    }
    if !options.custom_timeouts.is_empty() {
        given.set_item("custom_timeouts", timeouts(py, &options.custom_timeouts)?)?;
    }
    if !request.providers.is_empty() {
        given.set_item("providers", &request.providers)?;
    }
    Ok(given)
}

/// Calls a method of a resource, of a component, or of the provider itself.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct MethodRequest {
    request: provider::MethodRequest,
    run: Py<Run>,
    arguments: PyOnceLock<Py<PyDict>>,
}

#[pymethods]
impl MethodRequest {
    /// The method, as `package:module:Type/method`.
    #[getter]
    fn token(&self) -> &str {
        &self.request.token
    }

    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let arguments = self.arguments.get_or_try_init(py, || {
            convert::dictionary(py, &self.request.arguments).map(Bound::unbind)
        });
        arguments.map(|arguments| arguments.clone_ref(py))
    }

    /// The URNs of the resources that the arguments come from.
    #[getter]
    fn _origins(&self) -> Vec<&str> {
        let lists = self.request.argument_dependencies.lists();
        let urns: std::collections::BTreeSet<&str> = lists.flatten().map(|urn| urn.as_str()).collect();
        urns.into_iter().collect()
    }

    /// Whether this is a preview: unknowns may occur among the arguments.
    #[getter]
    fn preview(&self) -> bool {
        self.request.run.dry_run
    }

    #[getter]
    fn _run(&self, py: Python<'_>) -> Py<Run> {
        self.run.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = Shown::new(py, "MethodRequest").member("token", self.token())?;
        let shown = shown.member("preview", self.preview())?;
        Ok(shown.map("arguments", Some(&self.request.arguments))?.text())
    }
}

/// What the code of a component or a method has returned.
struct Returned {
    values: PropertyMap,
    dependencies: PropertyDependencies,
    failures: Vec<provider::CheckFailure>,
}

/// Reads `(values, dependencies by name, failures)`, from `stackwright._bodies`; `what` names the values in errors.
fn returned(returned: &Bound<'_, PyAny>, what: &str) -> PyResult<Returned> {
    let (values, by_property, failed): (Bound<'_, PyAny>, Bound<'_, PyDict>, Bound<'_, PyAny>) =
        returned.extract()?;
    let dependencies = crate::program::property_dependencies(returned.py(), Some(&by_property))?;
    let values = convert::read_map(&values, what)?;
    Ok(Returned {
        values: dependencies.attach(values),
        dependencies,
        failures: responses::failures(&failed, "the failures of the InvokeResult")?,
    })
}

impl PythonProvider {
    fn run(&self, monitor: Monitor) -> ProviderResult<Run> {
        let info = std::sync::Arc::clone(monitor.run_info());
        let context = ProgramContext { info, monitor };
        // The end of the code is the end of the call.
        let (sender, _) = tokio::sync::oneshot::channel();
        Ok(Run::new(context, self.caller.context().clone(), sender))
    }

    /// Constructs a component.
    pub(super) async fn construct(
        &self,
        method: &Method,
        request: provider::ConstructRequest,
    ) -> ProviderResult<Reply> {
        let component = Component::register(&request).await?;
        let run = self.run(component.monitor().clone())?;
        let urn = component.urn().to_string();
        let build = Box::new(move |py: Python<'_>| {
            let request = ConstructRequest {
                request,
                urn,
                run: Py::new(py, run)?,
                inputs: PyOnceLock::new(),
            };
            PyTuple::new(py, [Bound::new(py, request)?]).map(Bound::unbind)
        });
        let read = |answer: &Bound<'_, PyAny>| returned(answer, "the outputs that construct() returned");
        let constructed = self.caller.ask("construct", method, build, read).await?;
        if !constructed.failures.is_empty() {
            return Err(ProviderError {
                input_errors: constructed.failures,
                ..ProviderError::new(ProviderStatus::InvalidArgument, "the inputs are invalid")
            });
        }
        component.finish(constructed.values).await.map(Reply::Construct)
    }

    /// Calls a method.
    pub(super) async fn call_method(
        &self,
        method: &Method,
        request: provider::MethodRequest,
    ) -> ProviderResult<Reply> {
        let monitor = Monitor::of(&request.monitor).ok_or_else(|| {
            let text = "the request of Call has no monitor of this process";
            ProviderError::new(ProviderStatus::FailedPrecondition, text)
        })?;
        let run = self.run(monitor)?;
        let build = Box::new(move |py: Python<'_>| {
            let request = MethodRequest {
                request,
                run: Py::new(py, run)?,
                arguments: PyOnceLock::new(),
            };
            PyTuple::new(py, [Bound::new(py, request)?]).map(Bound::unbind)
        });
        let read = |answer: &Bound<'_, PyAny>| returned(answer, "the outputs that call() returned");
        let result = self.caller.ask("call", method, build, read).await?;
        Ok(Reply::Method(MethodResponse {
            result: result.values,
            result_dependencies: result.dependencies,
            failures: result.failures,
        }))
    }
}
