//! The values of the program: secrets are registered with the redactor, and assets get their hashes.

use std::sync::Arc;

use crate::{
    diagnostic::Diagnostic,
    error::Error,
    executor::Executor,
    monitor::{RunInfo, WireStatus, request_error::RequestError},
    property::{
        PropertyMap, PropertyValue, Survey,
        hash::{Fetch, fill_hashes},
    },
    secrets::Redactor,
    urn::Urn,
};

/// The warning about unknown values in a run that is no preview.
const UNKNOWN_INPUTS: &str =
    "unknown values among its inputs are left out: they come from what this run does not create";

/// Inspects the values that the program of one run passes.
pub(super) struct ProgramValues {
    executor: Arc<Executor>,
    run: Arc<RunInfo>,
    /// Reads remote assets.
    fetch: Arc<dyn Fetch>,
}

impl ProgramValues {
    /// Creates the inspection of a run.
    pub(super) fn new(executor: Arc<Executor>, run: Arc<RunInfo>, fetch: Arc<dyn Fetch>) -> Self {
        Self { executor, run, fetch }
    }

    /// Returns the redactor of the operation's texts.
    pub(super) fn redactor(&self) -> &Redactor {
        self.executor.events().redactor()
    }

    /// Registers the secrets in values with the redactor.
    pub(super) fn learn(&self, values: &PropertyMap) {
        if values.contains_secrets() {
            values
                .values()
                .for_each(|value| self.redactor().learn_value(value));
        }
    }

    /// Inspects values; returns which special values they hold.
    ///
    /// # Errors
    /// `InvalidArgument` with the place of the fault below `label`.
    pub(super) fn inspect(&self, label: &str, values: &PropertyMap) -> Result<Survey, WireStatus> {
        let inspected = self.executor.sanitizer().inspect(label, values);
        inspected.map_err(WireStatus::invalid)
    }

    /// Inspects a single value.
    pub(super) fn inspect_value(&self, label: &str, value: &PropertyValue) -> Result<(), WireStatus> {
        let inspected = self.executor.sanitizer().inspect_value(label, value);
        inspected.map(drop).map_err(WireStatus::invalid)
    }

    /// Inspects values, and adds the missing hashes of assets and archives. Errors name the resource.
    pub(super) async fn inspect_assets(
        &self,
        label: &str,
        values: PropertyMap,
        urn: &Urn,
    ) -> Result<PropertyMap, RequestError> {
        match self.inspect(label, &values)?.assets {
            true => self.hash_assets(label, values, urn).await,
            false => Ok(values),
        }
    }

    /// Inspects the inputs of a resource as [`Self::inspect_assets`] does. Unknown values, which only a preview has, are left out with
    /// a warning, nested too: in other runs they come from what the run does not create, and no record may have them.
    pub(super) async fn inspect_inputs(
        &self,
        values: PropertyMap,
        urn: &Urn,
    ) -> Result<PropertyMap, RequestError> {
        let Survey { assets, unknowns, .. } = self.inspect("inputs", &values)?;
        let values = match unknowns && !self.executor.is_preview() {
            true => {
                let warning = Diagnostic::warning(UNKNOWN_INPUTS).about(urn.clone());
                self.executor.diagnose(warning);
                values.without_unknowns()
            }
            false => values,
        };
        match assets {
            true => self.hash_assets("inputs", values, urn).await,
            false => Ok(values),
        }
    }

    async fn hash_assets(
        &self,
        label: &str,
        values: PropertyMap,
        urn: &Urn,
    ) -> Result<PropertyMap, RequestError> {
        // Boxed: rare, and would otherwise enlarge the future of every registration.
        let hashed = Box::pin(self.with_hashes(values)).await?;
        hashed.map_err(|error| WireStatus::invalid(format!("{label} of {urn}: {}", error.message())).into())
    }

    async fn with_hashes(&self, values: PropertyMap) -> Result<Result<PropertyMap, Error>, RequestError> {
        let directory = self.run.root_directory.clone().unwrap_or_default();
        let spawner = &self.executor.runtime().spawner;
        tokio::select! {
            biased;
            hashed = fill_hashes(values, &directory, spawner, Some(&*self.fetch)) => Ok(hashed),
            // A file system can hang.
            () = self.executor.terminated() => Err(RequestError::RunEnded),
        }
    }
}
