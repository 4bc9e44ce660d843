//! Fetching of remote assets by the host: a Python function from a URI to bytes.

use async_trait::async_trait;
use bytes::Bytes;
use pyo3::{prelude::*, pybacked::PyBackedBytes};
use stackwright::{ErrorKind, property::hash::Fetch};

use crate::function::{HostContext, HostFunction};

/// A fetcher written in Python.
pub(crate) struct PythonFetch(HostFunction);

impl PythonFetch {
    /// Reads the function's description.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        HostFunction::read("fetcher of the host", described, context).map(Self)
    }
}

fn read(returned: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let bytes: PyBackedBytes = returned.extract()?;
    Ok(Bytes::copy_from_slice(&bytes))
}

#[async_trait]
impl Fetch for PythonFetch {
    async fn fetch(&self, uri: &str) -> stackwright::Result<Bytes> {
        self.0.call(uri.to_owned(), read, ErrorKind::Unavailable).await
    }
}
