//! Import: existing resources are read from their providers, and recorded as managed from then on.

mod check;
mod faults;
mod importer;
mod names;
mod order;
mod owners;
mod providers;
mod recorded;
mod report;
mod request;
mod row;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{OperationKind, OperationOptions, OperationRun, options::styled_name, prepare::Prepared};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    message::PROVIDER_INPUTS_DEPRECATED,
    monitor::PlannedDefaults,
    property::{hash::fill_hashes, json::SealedSecrets},
    secrets::SecretsManager,
    state::Snapshot,
    urn::Urn,
};

pub use report::{ImportConfiguration, ImportOutcome, ImportReport, ImportedResource, SourceCode};
pub use request::{GivenInputs, ImportExtension, ImportParameterization, ImportRequest, ImportResource};

use check::{check, check_alone};
use importer::Importer;
use providers::ImportProviders;
use recorded::{has_recorded_names, name_records};
use row::Row;

/// Imports the resources of the request; returns what has become of them, with their source code.
pub(super) async fn import(
    run: &OperationRun,
    prepared: &Prepared,
    snapshot: &Snapshot,
) -> Result<ImportReport> {
    let mut request = run.import.as_deref().cloned().unwrap_or_default();
    let (stack, project) = (&run.stack.stack, &run.stack.project);
    if has_recorded_names(&request) {
        let live = prepared.base.records().iter().map(|record| &*record.state);
        name_records(&mut request, live.filter(|state| !state.delete))?;
    }
    let mut rows = check(&request, stack, project)?;
    open_secrets(&mut rows, snapshot.secrets.as_ref()).await?;
    hash_assets(run, &mut rows).await?;
    for row in &rows {
        let values = row
            .inputs
            .values()
            .chain(row.outputs.iter().flat_map(|outputs| outputs.values()));
        values.for_each(|value| run.events.redactor().learn_value(value));
    }
    let executor = Arc::clone(&prepared.executor);
    let defaults = PlannedDefaults::new(Arc::clone(&prepared.info), &prepared.base)?;
    let base = Arc::clone(&prepared.base);
    let registry = Arc::clone(&prepared.registry);
    let importer = Importer {
        providers: ImportProviders::new(Arc::clone(&executor), registry, Arc::clone(&base), defaults),
        executor,
        base,
        random: Arc::clone(&run.stack.engine.runtime.random),
        root: Urn::root_stack(stack, project),
        protects: request.protects(),
    };
    if !request.provider_inputs.is_empty() {
        prepared
            .executor
            .diagnose(Diagnostic::warning(PROVIDER_INPUTS_DEPRECATED));
    }
    importer.keep_recorded().await;
    importer.create_root().await;
    let settled = importer.import(&rows).await;
    for warning in owners::warnings(&prepared.base, &settled) {
        prepared.executor.diagnose(warning);
    }
    let mut report = report::report(run, &rows, &settled);
    if request.generates_code() {
        source::generate(run, prepared, &rows, &settled, &mut report).await;
    }
    Ok(report)
}

/// Decrypts the encrypted secrets of the rows.
///
/// # Errors
/// When the stack has no secrets manager, or it cannot decrypt them.
async fn open_secrets(rows: &mut [Row], manager: Option<&Arc<dyn SecretsManager>>) -> Result<()> {
    let mut sealed = SealedSecrets::new();
    let mut any = false;
    for row in rows.iter() {
        any |= sealed.collect(&row.inputs);
        any |= row
            .outputs
            .as_ref()
            .is_some_and(|outputs| sealed.collect(outputs));
    }
    if !any {
        return Ok(());
    }
    let manager = manager.ok_or_else(|| {
        Error::invalid(
            "the import has encrypted secrets, and the stack has no secrets manager to decrypt them yet",
        )
    })?;
    let plaintexts = manager.decrypt(sealed.ciphertexts()).await?;
    let opened = sealed.open(&plaintexts, &manager.identity())?;
    for row in rows {
        opened.fill(&mut row.inputs);
        if let Some(outputs) = &mut row.outputs {
            opened.fill(outputs);
        }
    }
    Ok(())
}

/// Adds the hashes of assets and archives, which a program's registration has, too.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for contents that cannot be read.
async fn hash_assets(run: &OperationRun, rows: &mut [Row]) -> Result<()> {
    let directory = run.stack.root_directory.clone().unwrap_or_default();
    let (engine, control) = (&run.stack.engine, &run.control);
    for row in rows {
        for values in [Some(&mut row.inputs), row.outputs.as_mut()]
            .into_iter()
            .flatten()
        {
            let given = std::mem::take(values);
            let hashed = fill_hashes(given, &directory, &engine.runtime.spawner, Some(&*engine.fetch));
            let hashed = tokio::select! {
                biased;
                hashed = hashed => hashed,
                // A file system can hang.
                () = control.terminated() => return Err(Error::new(ErrorKind::Cancelled, "the import was cancelled")),
            };
            *values = hashed.map_err(|error| {
                let text = format!(
                    "the values of resource '{}' to import: {}",
                    row.name,
                    error.message()
                );
                Error::invalid(text).with_urn(row.urn.clone())
            })?;
        }
    }
    Ok(())
}

/// Refuses an import whose request is wrong in itself, or whose options have no meaning for it; other operations pass.
pub(super) fn check_request(run: &OperationRun) -> Result<()> {
    if run.kind != OperationKind::Import {
        return Ok(());
    }
    refuse_options(&run.options)?;
    let request = run.import.as_deref().cloned().unwrap_or_default();
    match has_recorded_names(&request) {
        // The state decides what they mean, and with it the URNs.
        true if check_alone(&request).is_ok() => Ok(()),
        _ => check(&request, &run.stack.stack, &run.stack.project).map(|_| ()),
    }
}

/// Refuses options of other operations.
fn refuse_options(options: &OperationOptions) -> Result<()> {
    let given = [
        ("targets", !options.targets.is_empty()),
        ("excludes", !options.excludes.is_empty()),
        ("replaceTargets", !options.replace_targets.is_empty()),
        ("refresh", options.refreshes()),
        ("refreshProgram", options.refresh_program),
        ("destroyProgram", options.destroy_program),
        ("plan", options.plan.is_some()),
        ("generatePlan", options.generate_plan == Some(true)),
        ("strict", options.strict),
        ("requiredPolicies", !options.required_policies.is_empty()),
        ("localPolicyPacks", !options.local_policy_packs.is_empty()),
        ("clearPendingCreates", options.clear_pending_creates),
    ];
    let given = given.iter().filter(|(_, is_given)| *is_given);
    let names: Vec<String> = given.map(|(name, _)| styled_name(name)).collect();
    match names.as_slice() {
        [] => Ok(()),
        [name] => Err(Error::invalid(format!(
            "an import does not have the option {name}"
        ))),
        names => Err(Error::invalid(format!(
            "an import does not have the options {}",
            names.join(", ")
        ))),
    }
}
