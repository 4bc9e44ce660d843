//! Calls of a provider's methods: from a request to a response or the provider's error.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use pyo3::{prelude::*, types::PyTuple};
use stackwright::provider::{ProviderError, ProviderResult, ProviderStatus};

use super::responses;
use crate::function::{Build, Caller, Method};

impl Caller {
    /// Calls `method` with `request` and reads its return value.
    pub(super) async fn call<R, T>(
        &self,
        name: &'static str,
        method: &Method,
        request: R,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> ProviderResult<T>
    where
        R: Send + 'static + pyo3::PyClass + Into<PyClassInitializer<R>>,
        T: Send + 'static,
    {
        let build: Build = Box::new(move |py| {
            let request = Bound::new(py, request)?;
            PyTuple::new(py, [request]).map(Bound::unbind)
        });
        self.ask(name, method, build, read).await
    }

    /// Calls `method` with a text and reads its return value.
    pub(super) async fn call_with_text<T: Send + 'static>(
        &self,
        name: &'static str,
        method: &Method,
        text: String,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> ProviderResult<T> {
        let build: Build = Box::new(move |py| PyTuple::new(py, [text]).map(Bound::unbind));
        self.ask(name, method, build, read).await
    }

    /// Calls `method` without arguments.
    pub(super) async fn notify(&self, name: &'static str, method: &Method) -> ProviderResult<()> {
        let build: Build = Box::new(|py| Ok(PyTuple::empty(py).unbind()));
        self.ask(name, method, build, |_| Ok(())).await
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        name: &'static str,
        method: &Method,
        build: Build,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> ProviderResult<T> {
        let class = Arc::clone(self.class());
        let fail = match name {
            "construct" | "call" => responses::caused_failure,
            _ => responses::failure,
        };
        let read = move |returned: &Bound<'_, PyAny>| {
            Ok(read(returned).map_err(|error| {
                let error = responses::unreadable(&class, name, returned, error);
                let failure = fail(returned.py(), name, &error);
                let id = match name {
                    "create" => responses::created_id(returned),
                    _ => String::new(),
                };
                ProviderError {
                    cause: failure.cause,
                    ..ProviderError::unreadable(id, failure.message)
                }
            }))
        };
        let has_begun = Arc::<AtomicBool>::default();
        let begins = Arc::clone(&has_begun);
        let build: Build = Box::new(move |py| {
            begins.store(true, Ordering::SeqCst);
            build(py)
        });
        let answer = self.run(name, method, build, read, fail).await;
        answer
            .map(|answer| answer.and_then(|read| read))
            .unwrap_or_else(|| {
                let status = ProviderStatus::Unavailable;
                Err(match has_begun.load(Ordering::SeqCst) {
                    true => ProviderError::without_answer(
                        status,
                        format!("the provider was closed before its {name}() answered"),
                    ),
                    false => ProviderError::new(
                        status,
                        format!("the provider was closed before its {name}() was called"),
                    ),
                })
            })
    }
}
