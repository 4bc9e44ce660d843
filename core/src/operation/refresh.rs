//! Refresh: every record is read, with its program's registrations when the options require it.

use super::{
    OperationRun,
    prepare::{Prepared, knows_targets, read},
    reading::Reading,
    with_program::with_program,
};
use crate::{error::Result, generator::Purpose, property::PropertyMap};

/// Reads the resources and records them.
pub(super) async fn refresh(run: &OperationRun, prepared: Prepared) -> Result<Option<PropertyMap>> {
    if run.options.refresh_program {
        return with_program(run, prepared, Purpose::Refresh, Reading::Nothing).await;
    }
    if knows_targets(run, &prepared) {
        read(run, prepared, Reading::Refresh).await;
    }
    Ok(None)
}
