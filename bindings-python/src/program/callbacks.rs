//! Functions of an SDK program that the engine calls by token: they run on the program's event loop.

use std::sync::Arc;

use async_trait::async_trait;
use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyBytes, PyTuple},
};
use stackwright::{Error, ErrorKind, Result, callback::CallbackChannel};
use tokio::sync::oneshot;

use crate::{errors::Raised, function::ProviderLoop};

/// The name of the functions in errors.
const NAME: &str = "function of the program";

/// The functions of one program.
pub(super) struct PythonCallbacks {
    /// The program's event loop.
    event_loop: ProviderLoop,
    /// `function(token, request)`: an `async` function that calls one of them.
    function: Arc<Py<PyAny>>,
}

impl PythonCallbacks {
    pub(super) fn new(event_loop: ProviderLoop, function: Py<PyAny>) -> Self {
        Self {
            event_loop,
            function: Arc::new(function),
        }
    }
}

#[async_trait]
impl CallbackChannel for PythonCallbacks {
    async fn invoke(&self, token: &str, request: Vec<u8>) -> Result<Vec<u8>> {
        let token = token.to_owned();
        let build = move |py: Python<'_>| {
            let request = PyBytes::new(py, &request).into_py_any(py)?;
            PyTuple::new(py, [token.into_py_any(py)?, request]).map(Bound::unbind)
        };
        let (sender, answer) = oneshot::channel();
        let _guard = self.event_loop.run_as_task(
            NAME,
            Arc::clone(&self.function),
            Box::new(build),
            sender,
            |returned: &Bound<'_, PyAny>| Ok(returned.cast::<PyBytes>()?.as_bytes().to_vec()),
            |py, _, raised| Raised::read(py, raised),
        );
        match answer.await {
            Ok(answer) => answer.map_err(|raised| raised.into_error(ErrorKind::Program)),
            // The event loop was closed.
            Err(_) => Err(Error::new(ErrorKind::Program, "the program has ended")),
        }
    }
}
