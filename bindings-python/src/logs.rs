//! The engine's log records, which a thread of Python takes.

use std::sync::LazyLock;

use futures::executor::block_on;
use pyo3::prelude::*;
use stackwright::{
    binding,
    telemetry::{LogHub, LogReceiver},
};

use crate::errors::OrRaise as _;

/// What the engines of this process trace. It costs nothing without a receiver.
static HUB: LazyLock<LogHub> = LazyLock::new(|| {
    let hub = LogHub::default();
    hub.install();
    hub
});

/// Makes the log know the secrets of the operations that begin from now on.
pub(crate) fn install() {
    LazyLock::force(&HUB);
}

/// Returns a text with the secrets replaced that the operations of this process know.
pub(crate) fn scrubbed(text: &str) -> String {
    HUB.scrub(text)
}

/// Receives log records.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct LogRecords {
    receiver: LogReceiver,
}

#[pymethods]
impl LogRecords {
    /// Begins to receive records up to a level, and keeps `capacity` of them until they are taken.
    #[new]
    fn new(py: Python<'_>, level: &str, capacity: usize) -> PyResult<Self> {
        let level = binding::log_level(level).or_raise(py)?;
        let receiver = HUB.listen(level, capacity);
        Ok(Self { receiver })
    }

    /// Waits for records, and returns them as JSON; `None` once the receiver is closed and all were taken.
    fn wait(&self, py: Python<'_>) -> Option<String> {
        let batch = py.detach(|| block_on(self.receiver.next()))?;
        Some(binding::log_document(&batch))
    }

    /// Ends the records; those that were made before can still be taken.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.receiver.close());
    }
}
