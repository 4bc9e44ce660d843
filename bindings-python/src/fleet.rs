//! Operations on a set of stacks.

use std::sync::Arc;

use pyo3::{IntoPyObjectExt as _, prelude::*, types::PyDict};
use stackwright::{
    StackName,
    fleet::{FleetEvent, FleetEvents, FleetResult},
    operation::OperationKind,
};
use stackwright_command::display::{FleetFollowing, FleetLines, Title};
use tokio::sync::Mutex;

use crate::{
    completions::{Completions, PendingCompletion},
    errors::to_exception,
    operation::{BATCH, Display, Operation, read_form},
    runtime::Runtime,
};

/// The part of a stack in an operation on a set.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct StackRun {
    pub(crate) run: stackwright::fleet::StackRun,
    pub(crate) kind: OperationKind,
}

impl StackRun {
    /// Returns the stack, the title of its operation, and whether the options show secrets.
    pub(crate) fn described(&self) -> (StackName, Title, bool) {
        let (stack, options) = (&self.run.stack, &self.run.options);
        let title = Title::new(self.kind, options.dry_run, stack.name());
        (stack.name().clone(), title, options.show_secrets)
    }
}

/// A running operation on a set of stacks; dropping it does not end the operation.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct FleetOperation {
    operation: stackwright::fleet::FleetOperation,
    runtime: Arc<Runtime>,
    stacks: Vec<(StackName, Title, bool)>,
}

impl FleetOperation {
    /// Wraps the operation on these stacks, each with its title and whether its options show secrets.
    pub(crate) fn new(
        operation: stackwright::fleet::FleetOperation,
        runtime: Arc<Runtime>,
        stacks: impl IntoIterator<Item = (StackName, Title, bool)>,
    ) -> Self {
        Self {
            operation,
            runtime,
            stacks: stacks.into_iter().collect(),
        }
    }
}

#[pymethods]
impl FleetOperation {
    /// Returns the operations of the stacks, in the order of the call.
    fn operations(&self) -> Vec<Operation> {
        let operations = self.operation.operations().zip(&self.stacks);
        operations
            .map(|((_, operation), (_, title, show_secrets))| {
                let runtime = Arc::clone(&self.runtime);
                Operation::new(operation.clone(), runtime, *show_secrets, title.clone())
            })
            .collect()
    }

    /// Returns what shows the operation in a form: `lines`, `screen` or `page`.
    fn display(&self, py: Python<'_>, form: &str, coloured: bool) -> PyResult<Display> {
        let (form, paint) = read_form(py, form, coloured)?;
        let titles = self
            .stacks
            .iter()
            .map(|(name, title, _)| (name.clone(), title.clone()));
        let following = FleetFollowing::new(&self.operation, titles, form, paint);
        Ok(Display::of_set(following, Arc::clone(&self.runtime)))
    }

    /// Requests the end: what runs finishes and is recorded. A second time, running provider calls are abandoned.
    fn cancel(&self) {
        self.operation.cancel();
    }

    /// Calls `callback(outcome, None)` when every stack has ended.
    fn wait(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let (operation, runtime) = (self.operation.clone(), Arc::clone(&self.runtime));
        drop(self.runtime.handle(py)?.spawn(async move {
            let result = operation.wait().await;
            completion.settle(Ok(result), |py, result| {
                Ok(Bound::new(py, FleetOutcome { result })?.into_any().unbind())
            });
            // The threads must not end before the answer is on its way.
            drop(runtime);
        }));
        Ok(())
    }

    /// Returns the events of all stacks; on request with the lines that each adds to a plain display.
    fn events(&self, with_lines: bool) -> StackEvents {
        let shown = self.stacks.iter().filter(|(_, _, shown)| *shown);
        let titles = || {
            self.stacks
                .iter()
                .map(|(name, title, _)| (name.clone(), title.clone()))
        };
        let followed = Followed {
            stream: self.operation.events(),
            lines: with_lines.then(|| FleetLines::new(titles())),
            shown: shown.map(|(name, _, _)| name.clone()).collect(),
        };
        StackEvents {
            followed: Arc::new(Mutex::new(followed)),
            runtime: Arc::clone(&self.runtime),
        }
    }
}

/// The events of a set for one listener.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct StackEvents {
    followed: Arc<Mutex<Followed>>,
    runtime: Arc<Runtime>,
}

#[pymethods]
impl StackEvents {
    /// Waits for events; `callback(list of (stack, JSON text, internal, lines), error)` gets those that have come, none at the end.
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
    stream: FleetEvents,
    lines: Option<FleetLines>,
    /// The stacks whose options show secrets.
    shown: Vec<StackName>,
}

impl Followed {
    fn written(&mut self, event: &FleetEvent) -> (String, String, bool, String) {
        let lines = self.lines.as_mut().map(|lines| lines.event(event));
        let json = event.json(self.shown.contains(&event.stack));
        let (stack, line) = (event.stack.to_string(), json.line(&event.event));
        (stack, line, event.event.internal, lines.unwrap_or_default())
    }

    async fn next_batch(&mut self) -> Vec<(String, String, bool, String)> {
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

/// What an operation on a set came to.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct FleetOutcome {
    result: Arc<FleetResult>,
}

#[pymethods]
impl FleetOutcome {
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<PyErr> {
        self.result.error.as_ref().map(|error| to_exception(py, error))
    }

    /// `succeeded`, `failed` or `canceled`.
    #[getter]
    fn outcome(&self) -> &'static str {
        self.result.outcome.name()
    }

    /// The names of the stacks that did not begin.
    #[getter]
    fn skipped(&self) -> Vec<String> {
        let skipped = self.result.stacks.iter().filter(|end| end.is_skipped);
        skipped.map(|end| end.name.to_string()).collect()
    }

    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let changes = PyDict::new(py);
        for (operation, count) in &self.result.changes {
            changes.set_item(operation, count)?;
        }
        Ok(changes)
    }

    /// How long it took, in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.result.duration.as_secs_f64()
    }

    /// Draws what each stack came to.
    fn tree(&self) -> String {
        self.result.tree()
    }
}
