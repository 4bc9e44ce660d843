//! Starts operations on a set of stacks.

use pyo3::prelude::*;
use stackwright::{Language, binding, fleet::FleetOptions};

use crate::{
    engine::Engine,
    errors::OrRaise as _,
    fleet::{FleetOperation, StackRun},
};

/// Starts an operation on a set of stacks, whose parts are all of its kind; `options` is JSON with names in the style of Python, and
/// `subject` names the call in errors.
#[pyfunction]
pub(crate) fn start_all(
    py: Python<'_>,
    engine: &Bound<'_, Engine>,
    kind: &str,
    runs: Vec<Bound<'_, StackRun>>,
    options: &[u8],
    subject: &str,
) -> PyResult<FleetOperation> {
    let options = binding::read::<FleetOptions>(options, Language::Python, subject).or_raise(py)?;
    let runtime = engine.get().shared_runtime();
    // Refuses a closed engine.
    runtime.handle(py)?;
    let stacks: Vec<_> = runs.iter().map(|run| run.get().described()).collect();
    let runs = runs.iter().map(|run| run.get().run.clone()).collect();
    let core = engine.get().core();
    let operation = match kind {
        "refresh" => core.refresh_all(runs, options),
        "destroy" => core.destroy_all(runs, options),
        _ => core.up_all(runs, options),
    };
    Ok(FleetOperation::new(operation, runtime, stacks))
}
