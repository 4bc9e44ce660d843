//! Update: the program says what the resources are to be. What it does not register is deleted.

use super::{OperationRun, prepare::Prepared, reading::Reading};
use crate::{error::Result, generator::Purpose, property::PropertyMap};

impl OperationRun {
    /// Brings the stack to what its program says; returns the stack's outputs.
    pub(super) async fn update(&self, prepared: Prepared) -> Result<Option<PropertyMap>> {
        let reading = match (self.options.refresh, self.options.refresh_program) {
            (false, _) => Reading::BeforeUpdate,
            (true, false) => Reading::All,
            // Each record is read when the program registers it.
            (true, true) => Reading::Nothing,
        };
        self.with_program(prepared, Purpose::Update, reading).await
    }
}
