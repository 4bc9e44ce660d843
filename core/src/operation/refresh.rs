//! Refresh: every record is read, with its program's registrations where the options ask for that.

use super::{OperationRun, prepare::Prepared, reading::Reading};
use crate::{error::Result, generator::Purpose, property::PropertyMap};

impl OperationRun {
    /// Reads what there is and records it.
    pub(super) async fn refresh(&self, prepared: Prepared) -> Result<Option<PropertyMap>> {
        if self.options.refresh_program {
            return self
                .with_program(prepared, Purpose::Refresh, Reading::Nothing)
                .await;
        }
        if self.knows_targets(&prepared) {
            self.read(prepared, Reading::Refresh).await;
        }
        Ok(None)
    }
}
