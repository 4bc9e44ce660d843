//! Update: the program declares the resources. Those that it does not register are deleted.

use super::{OperationRun, prepare::Prepared, reading::Reading, with_program::with_program};
use crate::{error::Result, generator::Purpose, property::PropertyMap};

/// Brings the stack to the goals of its program; returns the stack's outputs.
pub(super) async fn update(run: &OperationRun, prepared: Prepared) -> Result<Option<PropertyMap>> {
    let reading = match (run.options.refreshes(), run.options.refresh_program) {
        (false, _) if run.options.disable_refresh_before_update => Reading::Nothing,
        (false, _) => Reading::BeforeUpdate,
        (true, false) => Reading::All,
        // Each record is read when the program registers it.
        (true, true) => Reading::Nothing,
    };
    with_program(run, prepared, Purpose::Update, reading).await
}
