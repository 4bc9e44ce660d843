//! The values of the program: secrets are registered with the redactor, and assets get their hashes.

use std::sync::Arc;

use crate::{
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
        if !self.inspect(label, &values)?.assets {
            return Ok(values);
        }
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
