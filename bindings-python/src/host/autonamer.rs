//! Physical names by the host: a Python function from a resource to the proposal for its provider.

use async_trait::async_trait;
use pyo3::{exceptions::PyValueError, prelude::*};
use stackwright::{
    ErrorKind,
    autonaming::{Autonamer, NamingRequest, Proposal},
    provider::{Autonaming, AutonamingMode},
};

use crate::function::{HostContext, HostFunction};

/// An autonamer written in Python.
pub(crate) struct PythonAutonamer(HostFunction);

impl PythonAutonamer {
    /// Reads the function's description; the function is called with `(urn, type, name, random seed, preview)`.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        HostFunction::read("autonamer of the host", described, context).map(Self)
    }
}

/// Reads `(name, mode, delete before replace, warn if unsupported)` or `None`.
fn read(returned: &Bound<'_, PyAny>) -> PyResult<Option<Proposal>> {
    let Some((proposed_name, mode, delete_before_replace, warn_if_unsupported)) =
        returned.extract::<Option<(String, String, bool, bool)>>()?
    else {
        return Ok(None);
    };
    let mode = AutonamingMode::ALL
        .into_iter()
        .find(|known| known.name() == mode)
        .ok_or_else(|| PyValueError::new_err(format!("there is no mode {mode:?} of names")))?;
    Ok(Some(Proposal {
        autonaming: Autonaming { proposed_name, mode },
        delete_before_replace,
        warn_if_unsupported,
    }))
}

#[async_trait]
impl Autonamer for PythonAutonamer {
    async fn propose(&self, request: NamingRequest) -> stackwright::Result<Option<Proposal>> {
        let facts = (
            request.urn.to_string(),
            request.resource_type.to_string(),
            request.name,
            request.random_seed,
            request.preview,
        );
        self.0.call(facts, read, ErrorKind::Failed).await
    }
}
