//! Destroy: every resource is deleted, after its program has completed providers and components when the options
//! require it.

use super::{
    OperationRun,
    prepare::{Prepared, generator, knows_targets, read},
    reading::Reading,
    with_program::with_program,
};
use crate::{error::Result, generator::Purpose, property::PropertyMap};

/// Deletes the resources, dependents first.
pub(super) async fn destroy(run: &OperationRun, prepared: Prepared) -> Result<Option<PropertyMap>> {
    // Resources that are only to be deleted need not be read.
    let reading = match run.options.refreshes() {
        false => Reading::Nothing,
        true if run.options.destroy_program && run.options.refresh_program => Reading::Nothing,
        true => Reading::All,
    };
    if run.options.destroy_program {
        return with_program(run, prepared, Purpose::Destroy, reading).await;
    }
    if !knows_targets(run, &prepared) {
        return Ok(None);
    }
    let Some(prepared) = read(run, prepared, reading).await else {
        return Ok(None);
    };
    let generator = generator(run, &prepared, Purpose::Update);
    generator.delete_without_program().await?;
    generator.keep_refusals();
    generator.end_plan();
    Ok(None)
}
