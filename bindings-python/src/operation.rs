//! A running operation and its result as Python holds them.

use std::sync::Arc;

use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyTuple},
};
use serde_json::Value;
use stackwright::{
    event::{EngineEvent, EventJson, EventStream},
    operation::OperationResult,
    plan::Plan,
    property::PropertyValue,
};
use tokio::sync::Mutex;

use crate::{
    completions::{Completions, Ticket},
    convert,
    errors::to_exception,
    runtime::Runtime,
};

/// How many events one answer carries at most, so that a listener is not kept from its other work.
const BATCH: usize = 1_024;

/// A running operation; dropping it does not end the operation.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Operation {
    operation: stackwright::operation::Operation,
    runtime: Arc<Runtime>,
    show_secrets: bool,
}

impl Operation {
    pub(crate) fn new(
        operation: stackwright::operation::Operation,
        runtime: Arc<Runtime>,
        show_secrets: bool,
    ) -> Self {
        Self {
            operation,
            runtime,
            show_secrets,
        }
    }
}

#[pymethods]
impl Operation {
    /// Asks for an end: what runs finishes and is recorded. A second time, running provider calls are given up.
    fn cancel(&self) {
        self.operation.cancel();
    }

    /// Tells when the operation is over: `callback(result, None)`, also when it failed.
    fn wait(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let ticket = Ticket::new(completions, callback);
        let (operation, runtime) = (self.operation.clone(), Arc::clone(&self.runtime));
        drop(self.runtime.handle(py)?.spawn(async move {
            let result = operation.wait().await;
            ticket.settle(Ok(result), |py, result| {
                Ok(Bound::new(py, OperationOutcome { result })?.into_any().unbind())
            });
            // The threads must not end before the answer is on its way.
            drop(runtime);
        }));
        Ok(())
    }

    /// Ends the session of an operation that holds it; `callback(None, None)` tells when nothing of it is left.
    fn release(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let ticket = Ticket::new(completions, callback);
        let (operation, runtime) = (self.operation.clone(), Arc::clone(&self.runtime));
        drop(self.runtime.handle(py)?.spawn(async move {
            operation.release().await;
            ticket.settle(Ok(()), |py, ()| Ok(py.None()));
            drop(runtime);
        }));
        Ok(())
    }

    /// Returns the events: all of them for the first caller, those that are still to come for others.
    fn events(&self) -> Events {
        let stream = self.operation.events();
        Events {
            json: stream.json(self.show_secrets),
            stream: Arc::new(Mutex::new(stream)),
            runtime: Arc::clone(&self.runtime),
        }
    }
}

/// The events of one operation, for one listener.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Events {
    stream: Arc<Mutex<EventStream>>,
    runtime: Arc<Runtime>,
    json: EventJson,
}

#[pymethods]
impl Events {
    /// Waits for events; `callback(list of (JSON text, internal), error)` gets those that have come, none at the end.
    fn next(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let ticket = Ticket::new(completions, callback);
        let stream = Arc::clone(&self.stream);
        let json = self.json.clone();
        drop(self.runtime.handle(py)?.spawn(async move {
            let lines = {
                let mut stream = stream.lock().await;
                next_batch(&mut stream, &json).await
            };
            ticket.settle(Ok(lines), |py, lines| lines.into_py_any(py));
        }));
        Ok(())
    }
}

async fn next_batch(stream: &mut EventStream, json: &EventJson) -> Vec<(String, bool)> {
    let line = |event: Arc<EngineEvent>| (json.line(&event), event.internal);
    let Some(first) = stream.next().await else {
        return Vec::new();
    };
    let mut lines = vec![line(first)];
    while lines.len() < BATCH
        && let Some(event) = stream.try_next()
    {
        lines.push(line(event));
    }
    lines
}

/// What an operation came to.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct OperationOutcome {
    result: Arc<OperationResult>,
}

impl OperationOutcome {
    pub(crate) fn plan(&self) -> Option<Arc<Plan>> {
        self.result.plan.clone()
    }
}

#[pymethods]
impl OperationOutcome {
    /// Whether there is a plan to which an operation can be held.
    #[getter]
    fn has_plan(&self) -> bool {
        self.result.plan.is_some()
    }

    /// The plan's document, where the options asked for one.
    #[getter]
    fn plan_document(&self) -> Option<&str> {
        self.result.plan.as_ref()?.document()
    }

    /// The state that the operation left as a deployment document; none for a preview, and for an operation that failed
    /// before it read the state.
    fn deployment<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let document = py
            .detach(|| self.result.deployment())
            .map_err(|error| to_exception(py, &error))?;
        Ok(document.map(|document| PyBytes::new(py, &document)))
    }

    /// The exception of a failed operation.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<PyErr> {
        self.result.error.as_ref().map(|error| to_exception(py, error))
    }

    /// `succeeded`, `failed` or `canceled`.
    #[getter]
    fn outcome(&self) -> &'static str {
        match self.result.outcome {
            stackwright::event::OperationOutcome::Succeeded => "succeeded",
            stackwright::event::OperationOutcome::Failed => "failed",
            stackwright::event::OperationOutcome::Canceled => "canceled",
        }
    }

    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let changes = PyDict::new(py);
        for (operation, count) in &self.result.changes {
            changes.set_item(operation, count)?;
        }
        Ok(changes)
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        convert::outputs(py, &self.result.outputs)
    }

    /// The steps, each as a dictionary of its members.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let steps = PyList::empty(py);
        for result in &self.result.steps {
            let step = &result.step.metadata;
            let changes = PyList::empty(py);
            for change in self.result.changes_of(result) {
                let value = |value: &Option<PropertyValue>| match value {
                    Some(value) => convert::value(py, value).map(Some),
                    None => Ok(None),
                };
                let members = PyDict::new(py);
                members.set_item("path", change.path)?;
                members.set_item("kind", change.kind.name())?;
                members.set_item("old", value(&change.old)?)?;
                members.set_item("new", value(&change.new)?)?;
                changes.append(members)?;
            }
            let failure = result.failure.as_ref();
            let members = PyDict::new(py);
            members.set_item("op", step.op.name())?;
            members.set_item("urn", step.urn.as_str())?;
            members.set_item("name", step.urn.name())?;
            members.set_item("type", step.resource_type.as_str())?;
            members.set_item("keys", PyTuple::new(py, &step.keys)?)?;
            members.set_item("diffs", PyTuple::new(py, &step.diffs)?)?;
            members.set_item("status", result.status().name())?;
            members.set_item("duration", result.duration.as_secs_f64())?;
            members.set_item("error", failure.map(|failure| to_exception(py, &failure.error)))?;
            members.set_item("changes", changes)?;
            steps.append(members)?;
        }
        Ok(steps)
    }

    /// The diagnostics, each as a dictionary of its members; the arguments are JSON.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let diagnostics = PyList::empty(py);
        for diagnostic in &self.result.diagnostics {
            let message = &diagnostic.message;
            let arguments = message.arguments().cloned();
            let members = PyDict::new(py);
            members.set_item("severity", diagnostic.severity.name())?;
            members.set_item("message", message.library())?;
            members.set_item("urn", diagnostic.urn.as_ref().map(|urn| urn.as_str()))?;
            members.set_item("reference_message", message.reference())?;
            members.set_item("message_code", message.code())?;
            members.set_item(
                "message_arguments",
                arguments.map(|it| Value::Object(it).to_string()),
            )?;
            diagnostics.append(members)?;
        }
        Ok(diagnostics)
    }

    /// Whether anything was changed, or would be.
    #[getter]
    fn has_changes(&self) -> bool {
        self.result.has_changes()
    }

    /// How long it took, in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.result.duration.as_secs_f64()
    }

    /// Draws the steps as a tree.
    fn tree(&self) -> String {
        self.result.tree()
    }
}
