//! Destroy: every resource is deleted, after its program has completed providers and components where the options ask for that.

use super::{OperationRun, prepare::Prepared, reading::Reading};
use crate::{error::Result, generator::Purpose, property::PropertyMap};

impl OperationRun {
    /// Deletes what there is, dependents first.
    pub(super) async fn destroy(&self, prepared: Prepared) -> Result<Option<PropertyMap>> {
        // What is only going to be deleted need not be known as it is.
        let reading = match self.options.refresh {
            false => Reading::Nothing,
            true if self.options.destroy_program && self.options.refresh_program => Reading::Nothing,
            true => Reading::All,
        };
        if self.options.destroy_program {
            return self.with_program(prepared, Purpose::Destroy, reading).await;
        }
        if !self.knows_targets(&prepared) {
            return Ok(None);
        }
        let Some(prepared) = self.read(prepared, reading).await else {
            return Ok(None);
        };
        let generator = self.generator(&prepared, Purpose::Update);
        generator.delete_without_program().await?;
        generator.keep_refusals();
        generator.end_plan();
        Ok(None)
    }
}
