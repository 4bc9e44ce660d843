//! A running operation and its result as Python holds them.

use std::sync::Arc;

use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyTuple},
};
use serde_json::Value;
use stackwright::{
    Error, Language, binding,
    event::{EngineEvent, EventJson, EventStream},
    operation::{ImportedResource, OperationResult},
    plan::Plan,
    property::json::PlainValue,
};
use stackwright_command::display::{FleetFollowing, Following, Form, Lines, Paint, ScreenSize, Title};
use tokio::sync::Mutex;

use crate::{
    completions::{Completions, PendingCompletion},
    convert,
    errors::to_exception,
    picture::Picture,
    runtime::Runtime,
};

/// How many events one answer carries at most, so that a listener is not kept from its other work.
pub(crate) const BATCH: usize = 1_024;

/// A running operation; dropping it does not end the operation.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Operation {
    operation: stackwright::operation::Operation,
    runtime: Arc<Runtime>,
    show_secrets: bool,
    title: Title,
}

impl Operation {
    pub(crate) fn new(
        operation: stackwright::operation::Operation,
        runtime: Arc<Runtime>,
        show_secrets: bool,
        title: Title,
    ) -> Self {
        Self {
            operation,
            runtime,
            show_secrets,
            title,
        }
    }
}

#[pymethods]
impl Operation {
    /// Requests the end: what runs finishes and is recorded. A second time, running provider calls are abandoned.
    fn cancel(&self) {
        self.operation.cancel();
    }

    /// Calls `callback(result, None)` when the operation is over, also when it failed.
    fn wait(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let (operation, runtime) = (self.operation.clone(), Arc::clone(&self.runtime));
        drop(self.runtime.handle(py)?.spawn(async move {
            let result = operation.wait().await;
            completion.settle(Ok(result), |py, result| {
                Ok(Bound::new(py, OperationOutcome { result })?.into_any().unbind())
            });
            // The threads must not end before the answer is on its way.
            drop(runtime);
        }));
        Ok(())
    }

    /// Ends the session of an operation that holds it; calls `callback(None, None)` when nothing of it is left.
    fn release(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let (operation, runtime) = (self.operation.clone(), Arc::clone(&self.runtime));
        drop(self.runtime.handle(py)?.spawn(async move {
            operation.release().await;
            completion.settle(Ok(()), |py, ()| Ok(py.None()));
            drop(runtime);
        }));
        Ok(())
    }

    /// Returns the events: all of them for the first caller, those that are still to come for others; on request with the lines
    /// that each adds to a plain display.
    fn events(&self, with_lines: bool) -> Events {
        let stream = self.operation.events();
        let followed = Followed {
            json: stream.json(self.show_secrets),
            masked: stream.json(false),
            lines: with_lines.then(|| Lines::new(self.title.clone())),
            stream,
        };
        Events {
            followed: Arc::new(Mutex::new(followed)),
            runtime: Arc::clone(&self.runtime),
        }
    }

    /// Returns what shows the operation in a form: `lines`, `screen` or `page`.
    fn display(&self, py: Python<'_>, form: &str, coloured: bool) -> PyResult<Display> {
        let (form, paint) = read_form(py, form, coloured)?;
        let following = Following::new(&self.operation, self.title.clone(), form, paint);
        Ok(Display {
            shown: Arc::new(Mutex::new(Shown::One(Box::new(following)))),
            runtime: Arc::clone(&self.runtime),
        })
    }
}

/// Reads the form of a display, and whether it has colours.
pub(crate) fn read_form(py: Python<'_>, form: &str, coloured: bool) -> PyResult<(Form, Paint)> {
    let form = match form {
        "lines" => Form::Lines,
        "screen" => Form::Screen,
        "page" => Form::Page,
        _ => {
            return Err(to_exception(
                py,
                &Error::invalid(format!("{form:?} is no form of a display")),
            ));
        }
    };
    let paint = if coloured { Paint::COLOURED } else { Paint::PLAIN };
    Ok((form, paint))
}

/// What is shown: an operation, or one on a set of stacks.
pub(crate) enum Shown {
    One(Box<Following>),
    Set(FleetFollowing),
}

/// What shows an operation, piece by piece.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Display {
    shown: Arc<Mutex<Shown>>,
    runtime: Arc<Runtime>,
}

impl Display {
    /// Creates the display of an operation on a set of stacks.
    pub(crate) fn of_set(following: FleetFollowing, runtime: Arc<Runtime>) -> Self {
        let shown = Arc::new(Mutex::new(Shown::Set(following)));
        Self { shown, runtime }
    }
}

#[pymethods]
impl Display {
    /// Waits for the next piece, for a terminal of this size; `callback(text, error)` gets it, or `None` after the last one.
    fn next(
        &self,
        py: Python<'_>,
        columns: u16,
        rows: u16,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let shown = Arc::clone(&self.shown);
        drop(self.runtime.handle(py)?.spawn(async move {
            let size = ScreenSize { columns, rows };
            let text = match &mut *shown.lock().await {
                Shown::One(following) => following.next(size).await,
                Shown::Set(following) => following.next(size).await,
            };
            completion.settle(Ok(text), |py, text| text.into_py_any(py));
        }));
        Ok(())
    }
}

/// The events of one operation, for one listener.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Events {
    followed: Arc<Mutex<Followed>>,
    runtime: Arc<Runtime>,
}

#[pymethods]
impl Events {
    /// Waits for events; `callback(list of (JSON text, internal, lines), error)` gets those that have come, none at the end.
    fn next(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let followed = Arc::clone(&self.followed);
        drop(self.runtime.handle(py)?.spawn(async move {
            let events = followed.lock().await.next_batch().await;
            completion.settle(Ok(events), |py, events| events.into_py_any(py));
        }));
        Ok(())
    }
}

/// The events of a listener, and how they are written.
struct Followed {
    stream: EventStream,
    json: EventJson,
    /// Lines are for display, and mask secrets also where the listener gets them.
    masked: EventJson,
    lines: Option<Lines>,
}

impl Followed {
    fn written(&mut self, event: &EngineEvent) -> (String, bool, String) {
        let lines = self.lines.as_mut();
        let lines = lines.map(|lines| lines.event(event, &self.masked));
        (self.json.line(event), event.internal, lines.unwrap_or_default())
    }

    async fn next_batch(&mut self) -> Vec<(String, bool, String)> {
        let Some(first) = self.stream.next().await else {
            return Vec::new();
        };
        let mut events = vec![self.written(&first)];
        while events.len() < BATCH
            && let Some(event) = self.stream.try_next()
        {
            events.push(self.written(&event));
        }
        events
    }
}

/// What an operation came to.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct OperationOutcome {
    pub(crate) result: Arc<OperationResult>,
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
        for step in &self.result.steps {
            let document = binding::step_document(&self.result, step, Language::Python);
            let members = members(py, document, |name, value| match name {
                "error" => {
                    let failure = step.failure.as_ref();
                    Some(
                        failure
                            .map(|failure| to_exception(py, &failure.error))
                            .into_py_any(py),
                    )
                }
                "changes" => Some(changes(py, value)),
                _ => None,
            });
            steps.append(members?)?;
        }
        Ok(steps)
    }

    /// The moves that were applied or are suggested, each as a dictionary of its members.
    #[getter]
    fn suggested_moves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let moves = PyList::empty(py);
        for suggestion in &self.result.suggested_moves {
            let document = binding::move_document(suggestion);
            let members = members(py, document, |name, value| {
                (name == "following").then(|| {
                    let following = value.as_array().into_iter().flatten();
                    let following = following.map(|moved| members(py, moved.clone(), |_, _| None));
                    PyTuple::new(py, following.collect::<PyResult<Vec<_>>>()?)?.into_py_any(py)
                })
            });
            moves.append(members?)?;
        }
        Ok(moves)
    }

    /// The diagnostics, each as a dictionary of its members.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let diagnostics = PyList::empty(py);
        for diagnostic in &self.result.diagnostics {
            let document = binding::diagnostic_document(diagnostic);
            diagnostics.append(members(py, document, |_, _| None)?)?;
        }
        Ok(diagnostics)
    }

    /// The report of an import as a dictionary of its members; none for other operations.
    #[getter]
    fn imported<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(report) = &self.result.imported else {
            return Ok(None);
        };
        let document = binding::import_document(report, Language::Python);
        let values = convert::dictionary(py, &binding::import_values(report))?;
        let resource_members = |part: &Value, resource: &ImportedResource| {
            let error = resource.error.as_ref().map(|error| to_exception(py, error));
            let error = error.into_py_any(py)?;
            members(py, part.clone(), |name, _| {
                (name == "error").then(|| Ok(error.clone_ref(py)))
            })
        };
        let imported = members(py, document, |name, value| match name {
            "resources" => Some((|| {
                let parts = value.as_array().into_iter().flatten().zip(&report.resources);
                let parts = parts.map(|(part, resource)| resource_members(part, resource));
                PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_py_any(py)
            })()),
            "code" => Some(members(py, value.clone(), |_, _| None).and_then(|code| code.into_py_any(py))),
            _ => None,
        })?;
        imported.set_item("values", values)?;
        Ok(Some(imported))
    }

    /// The pending operations that were dropped, each as a dictionary of its members.
    #[getter]
    fn dropped_pending<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let dropped = PyList::empty(py);
        for pending in &self.result.dropped_pending {
            dropped.append(members(py, binding::dropped_document(pending), |_, _| None)?)?;
        }
        Ok(dropped)
    }

    /// Whether anything was changed, or would be.
    #[getter]
    fn has_changes(&self) -> bool {
        self.result.has_changes()
    }

    /// Whether the result is that of an earlier operation with the same run id.
    #[getter]
    fn is_recorded(&self) -> bool {
        self.result.is_recorded
    }

    /// The names of the unfinished stacks that the program has tried to read.
    #[getter]
    fn unfinished_reads(&self) -> Vec<String> {
        self.result
            .unfinished_reads
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// How long it took, in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.result.duration.as_secs_f64()
    }

    /// Returns the resources with what was done, or would be, to be drawn.
    fn picture(&self, py: Python<'_>) -> Picture {
        Picture(py.detach(|| self.result.picture()))
    }

    /// Draws the steps as a tree.
    fn tree(&self) -> String {
        self.result.tree()
    }
}

/// Returns the changes of a step, each as a dictionary of its members; the values in it are property values.
fn changes(py: Python<'_>, document: &Value) -> PyResult<Py<PyAny>> {
    let changes = PyList::empty(py);
    for change in document.as_array().into_iter().flatten() {
        let members = members(py, change.clone(), |name, value| {
            matches!(name, "old" | "new").then(|| {
                let value = serde_json::from_value::<PlainValue>(value.clone());
                let value = value.map_err(|error| to_exception(py, &Error::internal(error.to_string())))?;
                Ok(convert::value(py, &value.0)?.unbind())
            })
        });
        changes.append(members?)?;
    }
    Ok(changes.into_any().unbind())
}

/// Returns an analysis as a dictionary of its members; violations and diagnostics are dictionaries, too.
pub(crate) fn analysis_members<'py>(py: Python<'py>, document: Value) -> PyResult<Bound<'py, PyDict>> {
    members(py, document, |name, value| {
        matches!(name, "violations" | "diagnostics").then(|| {
            let parts = value.as_array().into_iter().flatten();
            let parts = parts.map(|part| members(py, part.clone(), |_, _| None));
            PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_py_any(py)
        })
    })
}

/// Returns the members of a document as a dictionary with names in the style of Python; `own` makes the values of some.
pub(crate) fn members<'py>(
    py: Python<'py>,
    document: Value,
    own: impl Fn(&str, &Value) -> Option<PyResult<Py<PyAny>>>,
) -> PyResult<Bound<'py, PyDict>> {
    let members = PyDict::new(py);
    let Value::Object(document) = document else {
        return Ok(members);
    };
    for (name, value) in document {
        let made = match own(&name, &value) {
            Some(made) => made?,
            None => match value {
                Value::Array(items) => {
                    let items = items.iter().map(|item| convert::json(py, item));
                    PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?
                        .into_any()
                        .unbind()
                }
                value => convert::json(py, &value)?,
            },
        };
        members.set_item(&*Language::Python.member(&name), made)?;
    }
    Ok(members)
}
