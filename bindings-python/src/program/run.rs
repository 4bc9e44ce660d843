//! One run of a program: the engine's side of everything that a program does, callable from any thread.

use std::{
    collections::BTreeSet,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use futures::FutureExt as _;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};
use stackwright::{
    Error, ErrorKind,
    diagnostic::Severity,
    monitor::{self, Exists, Invoke, MethodCall, Monitor, Read, WireStatus},
    program::ProgramContext,
    resource::PropertyDependencies,
    token::ResourceId,
};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::{callbacks::PythonCallbacks, hooks, options, registered::registered, secrets, transforms};
use crate::{
    completions::{Completions, PendingCompletion},
    convert,
    errors::{invalid, to_exception},
    function::{HostContext, ProviderLoop},
};

/// The run of a program: its settings, and the calls that the program makes.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Run {
    context: ProgramContext,
    /// Runs the functions of the program that the engine calls.
    host: HostContext,
    /// The calls that are not answered yet.
    calls: TaskTracker,
    outcome: Mutex<Option<oneshot::Sender<Option<Failure>>>>,
}

/// Receives the end of a program: how it has failed, if it has.
type Outcome = oneshot::Sender<Option<Failure>>;

/// How a program has failed.
pub(crate) struct Failure {
    pub(super) message: String,
    /// Whether a diagnostic for it was emitted already.
    pub(super) is_reported: bool,
}

impl Run {
    pub(crate) fn new(context: ProgramContext, host: HostContext, outcome: Outcome) -> Self {
        Self {
            context,
            host,
            calls: TaskTracker::new(),
            outcome: Mutex::new(Some(outcome)),
        }
    }

    fn monitor(&self) -> &Monitor {
        &self.context.monitor
    }

    fn end(&self, outcome: Option<Failure>) {
        let sender = self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // The engine has gone on already when the program took too long to unwind.
            let _sent = sender.send(outcome);
        }
    }

    /// Refuses a call once nothing is answered any more. A program that only computes between its calls learns of the
    /// end here.
    fn require_open(&self, py: Python<'_>) -> PyResult<()> {
        if !self.monitor().is_closed() {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::Cancelled,
            "the operation has ended: nothing is taken any more",
        );
        Err(to_exception(py, &error))
    }

    fn settle<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T, WireStatus>> + Send + 'static,
        completion: PendingCompletion,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) {
        let work = async move {
            let answer = answer.await;
            completion.settle(answer.map_err(Error::from), convert);
        };
        drop(self.host.handle.spawn(self.calls.track_future(work)));
    }
}

/// Returns the URNs in the dependencies of properties, each once.
pub(crate) fn distinct(dependencies: &PropertyDependencies) -> Vec<String> {
    let urns: BTreeSet<&str> = dependencies.lists().flatten().map(|urn| urn.as_str()).collect();
    urns.into_iter().map(str::to_owned).collect()
}

/// The protocol's answer as `(0, bytes)`, or `(gRPC code, message)`.
fn answer(py: Python<'_>, answer: Result<Vec<u8>, WireStatus>) -> PyResult<(i32, Py<PyAny>)> {
    Ok(match answer {
        Ok(bytes) => (0, PyBytes::new(py, &bytes).into_any().unbind()),
        Err(status) => (status.code, status.message.into_pyobject(py)?.into_any().unbind()),
    })
}

#[pymethods]
impl Run {
    #[getter]
    fn project(&self) -> &str {
        &self.context.info.project
    }

    #[getter]
    fn stack(&self) -> &str {
        &self.context.info.stack
    }

    #[getter]
    fn organization(&self) -> &str {
        &self.context.info.organization
    }

    #[getter]
    fn root_directory(&self) -> Option<String> {
        let directory = self.context.info.root_directory.as_ref()?;
        Some(directory.to_string_lossy().into_owned())
    }

    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = PyDict::new(py);
        for (key, value) in &self.context.info.config {
            config.set_item(key, value)?;
        }
        Ok(config)
    }

    fn config_key(&self, name: &str) -> String {
        self.context.info.config_key(name)
    }

    #[getter]
    fn config_secret_keys(&self) -> Vec<String> {
        self.context.info.config_secret_keys.clone()
    }

    #[getter]
    fn dry_run(&self) -> bool {
        self.context.info.dry_run
    }

    #[getter]
    fn parallel(&self) -> i32 {
        self.context.info.parallel
    }

    #[getter]
    fn root_urn(&self) -> Option<String> {
        self.monitor().root_stack().map(|urn| urn.to_string())
    }

    /// True when nothing is answered any more.
    #[getter]
    fn ended(&self) -> bool {
        self.monitor().is_closed()
    }

    /// Calls `callback(None, None)` when nothing is answered any more, after the callbacks of all that was.
    fn on_end(&self, completions: &Completions, callback: Py<PyAny>) {
        let completion = PendingCompletion::new(completions, callback);
        let (context, calls) = (self.context.clone(), self.calls.clone());
        drop(self.host.handle.spawn(async move {
            context.ended().await;
            calls.close();
            calls.wait().await;
            completion.settle(Ok(()), |py, ()| Ok(py.None()));
        }));
    }

    /// Reports that the program has ended by itself.
    fn succeed(&self) {
        self.end(None);
    }

    /// Reports that the program has raised an error; `is_reported` when a diagnostic for it was emitted already.
    #[pyo3(signature = (message, is_reported=false))]
    pub(crate) fn fail(&self, message: &str, is_reported: bool) {
        self.end(Some(Failure {
            message: message.to_owned(),
            is_reported,
        }));
    }

    /// Answers one call of the protocol and waits for it, without the interpreter's lock.
    fn call(&self, py: Python<'_>, method: &str, request: &[u8]) -> PyResult<(i32, Py<PyAny>)> {
        let request = Bytes::copy_from_slice(request);
        // The call is made, and its place in the order taken, before the lock is released.
        let pending = self.monitor().call(method, request);
        let outcome = py.detach(|| self.host.handle.block_on(pending));
        answer(py, outcome)
    }

    /// Starts one call of the protocol. Returns its answer when that is there at once; else `callback(code, payload)` gets it.
    fn start(
        &self,
        py: Python<'_>,
        method: &str,
        request: &[u8],
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<Option<(i32, Py<PyAny>)>> {
        let mut pending = self.monitor().call(method, Bytes::copy_from_slice(request));
        let at_once = {
            let _entered = self.host.handle.enter();
            (&mut pending).now_or_never()
        };
        if let Some(outcome) = at_once {
            return answer(py, outcome).map(Some);
        }
        let queue = Arc::clone(&completions.queue);
        let work = async move {
            let outcome = pending.await;
            queue.push(move |py| callback.call1(py, answer(py, outcome)?).map(drop));
        };
        drop(self.host.handle.spawn(self.calls.track_future(work)));
        Ok(None)
    }

    /// Has the engine call the program's functions at `target` by `function(token, request)`. `start` starts that as a task
    /// on the event loop of `completions`. Returns false when the target has functions already.
    fn serve_callbacks(
        &self,
        target: &str,
        function: Py<PyAny>,
        start: Py<PyAny>,
        completions: &Completions,
    ) -> bool {
        let event_loop = ProviderLoop {
            queue: Arc::clone(&completions.queue),
            start: Arc::new(start),
        };
        let functions = PythonCallbacks::new(event_loop, function);
        self.monitor().serve_callbacks(target, Arc::new(functions))
    }

    /// Emits a diagnostic; `severity` is `debug`, `info`, `warning` or `error`.
    #[pyo3(signature = (severity, message, urn=None))]
    fn log(&self, py: Python<'_>, severity: &str, message: &str, urn: Option<&str>) -> PyResult<()> {
        self.require_open(py)?;
        let severity = match severity {
            "debug" => Severity::Debug,
            "info" => Severity::Info,
            "warning" => Severity::Warning,
            "error" => Severity::Error,
            _ => return Err(invalid(py, format!("{severity:?} is not a severity"))),
        };
        let urn = urn.map(|urn| convert::urn(py, urn)).transpose()?;
        self.monitor().log(severity, message, urn);
        Ok(())
    }

    /// Reports a declaration that could not be read: the run fails with it, also where the program catches the error.
    fn declaration_unreadable(&self, message: &str, hints: Vec<String>) {
        let error = hints.into_iter().fold(Error::invalid(message), Error::with_hint);
        self.monitor().declaration_unreadable(&error);
    }

    /// Reports a resource that the program does not register or read, because something that it needs has failed: where it is recorded,
    /// the run fails with the error, also where the program catches it. `options` can have the parent and the aliases.
    fn give_up(
        &self,
        resource_type: &str,
        name: &str,
        custom: bool,
        options: Option<&Bound<'_, PyDict>>,
        message: &str,
        hints: Vec<String>,
    ) -> PyResult<()> {
        let registration = monitor::Registration {
            resource_type: resource_type.into(),
            name: name.to_owned(),
            custom,
            ..options::read(options, None, &format!("the resource '{name}'"))?
        };
        let error = Error::new(ErrorKind::Program, message);
        let error = hints.into_iter().fold(error, Error::with_hint);
        self.monitor().registration_given_up(registration, &error);
        Ok(())
    }

    /// Learns what is secret in a value: all of it when `is_secret`, else what is in a `Secret`.
    #[pyo3(signature = (value, is_secret=false))]
    fn learn(&self, value: &Bound<'_, PyAny>, is_secret: bool) -> PyResult<()> {
        secrets::learn(self.monitor().redactor(), value, is_secret)
    }

    /// Sets one of the stack's outputs.
    fn export(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.require_open(value.py())?;
        let value = convert::read_value(value, &format!("the stack output {name:?}"))?;
        self.monitor().export(name, value);
        Ok(())
    }

    /// Adds a transform of the stack: of the resources that are registered from now on. `function` is described as
    /// `stackwright._functions` does.
    fn add_transform(&self, function: &Bound<'_, PyAny>) -> PyResult<()> {
        self.require_open(function.py())?;
        let transform = transforms::PythonTransform::read(function, &self.host)?;
        self.monitor().add_transform(Arc::new(transform));
        Ok(())
    }

    /// Adds a transform of calls of functions.
    fn add_invoke_transform(&self, function: &Bound<'_, PyAny>) -> PyResult<()> {
        self.require_open(function.py())?;
        let transform = transforms::PythonInvokeTransform::read(function, &self.host)?;
        self.monitor().add_invoke_transform(Arc::new(transform));
        Ok(())
    }

    /// Registers a hook: `(name, object, function, (runs in previews, ignores errors) or None)`, and returns its name. The
    /// same object is registered once; a `derived` name gets a number where another object has it.
    fn register_hook(&self, py: Python<'_>, hook: hooks::Described<'_>, derived: bool) -> PyResult<String> {
        self.require_open(py)?;
        let registered = hooks::register(py, self.monitor(), &self.host, hook, derived)?;
        registered.map_err(|error| to_exception(py, &error))
    }

    /// Registers a resource, whose kind is `custom`, `component` or `remote`; `callback(registered, error)` gets the answer. Registrations count in the order of
    /// their calls. `attached` has its transforms, and the names of its hooks by moment.
    #[pyo3(signature = (resource_type, name, kind, inputs, dependencies, property_dependencies, options, attached, completions, callback))]
    #[expect(
        clippy::too_many_arguments,
        reason = "called from one place, for every resource"
    )]
    fn register(
        &self,
        py: Python<'_>,
        resource_type: &str,
        name: &str,
        kind: &str,
        inputs: &Bound<'_, PyDict>,
        dependencies: Vec<String>,
        property_dependencies: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
        attached: Option<transforms::Attached<'_>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        self.require_open(py)?;
        let mut registration = monitor::Registration {
            resource_type: resource_type.into(),
            name: name.to_owned(),
            custom: kind == "custom",
            remote: kind == "remote",
            inputs: convert::read_map(inputs, &format!("the inputs of {name:?}"))?,
            dependencies: options::urns(py, dependencies)?,
            property_dependencies: Some(options::property_dependencies(py, property_dependencies)?),
            ..options::read(
                options,
                (kind != "component").then_some(resource_type),
                &format!("the resource '{name}'"),
            )?
        };
        if let Some(attached) = attached {
            transforms::attach(&mut registration, attached, &self.host)?;
        }
        let answer = self.monitor().register(registration);
        self.settle(answer, PendingCompletion::new(completions, callback), registered);
        Ok(())
    }

    /// Sets the outputs of a component.
    fn register_outputs(
        &self,
        py: Python<'_>,
        urn: &str,
        outputs: &Bound<'_, PyAny>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        self.require_open(py)?;
        let urn = convert::urn(py, urn)?;
        let outputs = convert::read_map(outputs, "the outputs of a component")?;
        let answer = self.monitor().register_outputs(&urn, outputs);
        self.settle(answer, PendingCompletion::new(completions, callback), |py, ()| {
            Ok(py.None())
        });
        Ok(())
    }

    /// Reads a resource that the stack does not manage; `callback(registered, error)` gets the answer.
    #[pyo3(signature = (resource_type, name, id, inputs, dependencies, options, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn read(
        &self,
        py: Python<'_>,
        resource_type: &str,
        name: &str,
        id: &str,
        inputs: &Bound<'_, PyDict>,
        dependencies: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        self.require_open(py)?;
        let registration = options::read(options, Some(resource_type), &format!("the resource '{name}'"))?;
        let read = Read {
            resource_type: resource_type.into(),
            name: name.to_owned(),
            id: ResourceId::from(id),
            parent: registration.parent,
            inputs: convert::read_map(inputs, &format!("the inputs of {name:?}"))?,
            dependencies: options::urns(py, dependencies)?,
            package: registration.package,
            additional_secret_outputs: registration.options.additional_secret_outputs.clone(),
            ..Read::default()
        };
        let answer = self.monitor().read(read);
        self.settle(answer, PendingCompletion::new(completions, callback), registered);
        Ok(())
    }

    /// Calls a function, which is not transformed where a transform of functions makes the call; `callback(result, error)` gets
    /// the answer. The result is `None` while a resource that the function depends on does not exist.
    #[pyo3(signature = (token, arguments, dependencies, options, in_transform, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn invoke(
        &self,
        py: Python<'_>,
        token: &str,
        arguments: &Bound<'_, PyDict>,
        dependencies: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        in_transform: bool,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        self.require_open(py)?;
        let registration = options::read(options, Some(token), &format!("the call of '{token}'"))?;
        let invoke = Invoke {
            token: token.to_owned(),
            arguments: convert::read_map(arguments, &format!("the arguments of {token:?}"))?,
            package: registration.package,
            parent: registration.parent,
            depends_on: options::urns(py, dependencies)?,
            in_transform,
        };
        let answer = self.monitor().invoke_known(invoke);
        self.settle(
            answer,
            PendingCompletion::new(completions, callback),
            |py, result| match result {
                Some(result) => Ok(convert::dictionary(py, &result)?.into_any().unbind()),
                None => Ok(py.None()),
            },
        );
        Ok(())
    }

    /// Queries whether a resource exists; `callback(result, error)` gets the answer as the member `exists`. The result is `None` while
    /// it cannot be known.
    #[pyo3(signature = (resource_type, id, inputs, dependencies, options, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn exists(
        &self,
        py: Python<'_>,
        resource_type: &str,
        id: &str,
        inputs: &Bound<'_, PyDict>,
        dependencies: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        self.require_open(py)?;
        let registration = options::read(
            options,
            Some(resource_type),
            &format!("the query for the resource '{id}'"),
        )?;
        let exists = Exists {
            resource_type: resource_type.into(),
            id: ResourceId::from(id),
            parent: registration.parent,
            inputs: convert::read_map(inputs, &format!("the inputs of the query for {id:?}"))?,
            package: registration.package,
            depends_on: options::urns(py, dependencies)?,
        };
        let answer = self.monitor().exists(exists);
        self.settle(
            answer,
            PendingCompletion::new(completions, callback),
            |py, exists| match exists {
                Some(exists) => {
                    let result = PyDict::new(py);
                    result.set_item("exists", exists)?;
                    Ok(result.into_any().unbind())
                }
                None => Ok(py.None()),
            },
        );
        Ok(())
    }

    /// Calls a method of the resource `of`, or of none; `callback((result, urns), error)` gets the result, and the URNs of the
    /// resources that it comes from.
    #[pyo3(signature = (token, of, arguments, argument_dependencies, options, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn call_method(
        &self,
        py: Python<'_>,
        token: &str,
        of: Option<&str>,
        arguments: &Bound<'_, PyDict>,
        argument_dependencies: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        self.require_open(py)?;
        let registration = options::read(options, Some(token), &format!("the call of '{token}'"))?;
        let call = MethodCall {
            token: token.to_owned(),
            of: of.map(|urn| convert::urn(py, urn)).transpose()?,
            arguments: convert::read_map(arguments, &format!("the arguments of {token:?}"))?,
            argument_dependencies: options::property_dependencies(py, argument_dependencies)?,
            package: registration.package,
            ..MethodCall::default()
        };
        let (answer, token) = (self.monitor().call_method(call), token.to_owned());
        self.settle(
            async move {
                let answer = answer.await?;
                let urns = distinct(&answer.result_dependencies);
                Ok((answer.into_values(&token)?, urns))
            },
            PendingCompletion::new(completions, callback),
            |py, (result, urns)| {
                let answer = (convert::dictionary(py, &result)?, urns);
                Ok(answer.into_pyobject(py)?.into_any().unbind())
            },
        );
        Ok(())
    }
}
