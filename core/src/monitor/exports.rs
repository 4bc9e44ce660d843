//! The stack's outputs that the typed API exports.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::{
    error::{Error, Result},
    monitor::{program_values::ProgramValues, request_error::RequestError},
    property::{PropertyMap, PropertyValue},
    urn::Urn,
};

/// The outputs of a stack whose root the typed API has registered.
#[derive(Default)]
pub(super) struct Exports {
    /// The root stack, once the typed API has registered it: these are its outputs.
    pub(super) root: OnceLock<Urn>,
    values: Mutex<PropertyMap>,
}

impl Exports {
    /// Sets an output.
    pub(super) fn set(&self, name: &str, value: PropertyValue) {
        self.values().insert(name, value);
    }

    /// Returns the outputs that have been exported so far, with the hashes of their assets and archives. Those of a run that
    /// has ended are without the missing ones.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an asset that cannot be read, with the root stack.
    pub(super) async fn hashed(&self, values: &ProgramValues, root: &Urn) -> Result<PropertyMap> {
        let exports = self.values().clone();
        match values.inspect_assets("outputs", exports.clone(), root).await {
            Ok(hashed) => Ok(hashed),
            Err(RequestError::Status(status)) => Err(Error::invalid(status.message)),
            Err(RequestError::RunEnded | RequestError::OutputsAfterRunEnded) => Ok(exports),
        }
    }

    fn values(&self) -> MutexGuard<'_, PropertyMap> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
