//! Views: recorded ones as Python objects, and steps on them from Python.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyType};
use stackwright::{
    event::OperationStatus,
    property::PropertyMap,
    provider::{View, ViewName, ViewStep, Views},
    step::StepOp,
};

use super::responses::detailed_diff;
use crate::{convert, errors::invalid};

static VIEW: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Returns the recorded views as `View`s.
pub(super) fn recorded<'py>(py: Python<'py>, views: &Views) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let class = VIEW.import(py, "stackwright.provider", "View")?;
    let view = |view: &View| {
        let parent = view.parent.as_ref();
        let parent = parent.map(|parent| (parent.resource_type.as_str().to_owned(), parent.name.clone()));
        class.call1((
            view.resource_type.as_str(),
            &view.name,
            convert::dictionary(py, &view.inputs)?,
            convert::dictionary(py, &view.outputs)?,
            parent,
        ))
    };
    views.recorded().iter().map(view).collect()
}

/// Publishes an iterable of `ViewStep`s.
pub(super) fn publish(views: &Views, steps: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = steps.py();
    let steps: Vec<ViewStep> = steps
        .try_iter()?
        .map(|step| read(&step?))
        .collect::<PyResult<_>>()?;
    views
        .publish(steps)
        .map_err(|error| invalid(py, format!("the steps on views are refused: {}", error.message)))
}

fn read(step: &Bound<'_, PyAny>) -> PyResult<ViewStep> {
    let py = step.py();
    let name: String = step.getattr("op")?.extract()?;
    let op = StepOp::ALL.iter().find(|op| op.name() == name);
    let op = *op.ok_or_else(|| invalid(py, format!("{name:?} is not an operation of a step")))?;
    let side = |name: &str| -> PyResult<Option<View>> {
        let state = step.getattr(name)?;
        if state.is_none() {
            Ok(None)
        } else {
            view(&state).map(Some)
        }
    };
    let read = ViewStep::new(op, side("old")?, side("new")?);
    let detailed = step.getattr("detailed")?;
    let status: String = step.getattr("status")?.extract()?;
    Ok(ViewStep {
        resource_type: match step.getattr("type")?.extract::<Option<String>>()? {
            Some(own) => own.into(),
            None => read.resource_type.clone(),
        },
        name: step
            .getattr("name")?
            .extract::<Option<String>>()?
            .unwrap_or(read.name.clone()),
        keys: step.getattr("keys")?.extract()?,
        diffs: step.getattr("diffs")?.extract()?,
        detailed_diff: if detailed.is_none() {
            None
        } else {
            Some(detailed_diff(&detailed)?)
        },
        status: match status.as_str() {
            "ok" => OperationStatus::Ok,
            "partial-failure" => OperationStatus::PartialFailure,
            "unknown" => OperationStatus::Unknown,
            _ => {
                return Err(invalid(
                    py,
                    format!("{status:?} is not a status of a step on a view"),
                ));
            }
        },
        error: step.getattr("error")?.extract()?,
        ..read
    })
}

fn view(state: &Bound<'_, PyAny>) -> PyResult<View> {
    let map = |name: &str| -> PyResult<PropertyMap> {
        convert::read_map(&state.getattr(name)?, &format!("the {name} of a View"))
    };
    let parent: Option<(String, String)> = state.getattr("parent")?.extract()?;
    Ok(View {
        resource_type: state.getattr("type")?.extract::<String>()?.into(),
        name: state.getattr("name")?.extract()?,
        parent: parent.and_then(|(resource_type, name)| ViewName::given(resource_type, name)),
        inputs: map("inputs")?,
        outputs: map("outputs")?,
    })
}
