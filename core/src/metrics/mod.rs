//! The counts of an engine: a [`Meter`] counts beside the work, and [`Metrics`] is a snapshot of it.

mod meter;
mod snapshot;

pub use meter::Meter;
pub(crate) use meter::{CallInFlight, PackageMeter, RunningPlugin, StoreCall};
pub use snapshot::{
    CallMetrics, JournalMetrics, LockMetrics, Metrics, OperationMetrics, PluginProcessMetrics, StoreMetrics,
};
