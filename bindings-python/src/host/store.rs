//! Stores of the host, and its callback for credentials: Python functions that the core calls for objects and keys.

use std::borrow::Cow;

use async_trait::async_trait;
use bytes::Bytes;
use pyo3::{prelude::*, pybacked::PyBackedBytes};
use stackwright::{
    ErrorKind, Result,
    binding::{CredentialHost, ObjectAnswer, ObjectCall, ObjectHost, condition_parts},
};

use crate::function::{HostContext, HostFunction};

/// A store written in Python.
pub(crate) struct PythonStore {
    get: HostFunction,
    put: HostFunction,
    list: HostFunction,
    delete: HostFunction,
    copy: Option<HostFunction>,
}

impl PythonStore {
    /// Reads the descriptions of the methods; that of `copy` may be `None`.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        type Given<'py> = Bound<'py, PyAny>;
        let (get, put, list, delete, copy): (Given<'_>, Given<'_>, Given<'_>, Given<'_>, Option<Given<'_>>) =
            described.extract()?;
        let function = |described: &Given<'_>| HostFunction::read("store of the host", described, context);
        Ok(Self {
            get: function(&get)?,
            put: function(&put)?,
            list: function(&list)?,
            delete: function(&delete)?,
            copy: copy.as_ref().map(function).transpose()?,
        })
    }
}

fn content_and_version(returned: &Bound<'_, PyAny>) -> PyResult<ObjectAnswer> {
    let object: Option<(PyBackedBytes, String)> = returned.extract()?;
    Ok(
        object.map_or_else(ObjectAnswer::default, |(content, version)| ObjectAnswer {
            content: Some(Bytes::copy_from_slice(&content)),
            version: Some(version),
            ..ObjectAnswer::default()
        }),
    )
}

fn version(returned: &Bound<'_, PyAny>) -> PyResult<ObjectAnswer> {
    Ok(ObjectAnswer {
        version: returned.extract()?,
        ..ObjectAnswer::default()
    })
}

fn listing(returned: &Bound<'_, PyAny>) -> PyResult<ObjectAnswer> {
    let text: String = returned.extract()?;
    Ok(ObjectAnswer {
        listing: Some(text.into()),
        ..ObjectAnswer::default()
    })
}

fn nothing(_: &Bound<'_, PyAny>) -> PyResult<ObjectAnswer> {
    Ok(ObjectAnswer::default())
}

#[async_trait]
impl ObjectHost for PythonStore {
    async fn call(&self, call: ObjectCall) -> Result<ObjectAnswer> {
        let kind = ErrorKind::Unavailable;
        match call {
            ObjectCall::Get { key } => self.get.call(key, content_and_version, kind).await,
            ObjectCall::Put {
                key,
                content,
                condition,
            } => {
                let (name, expected) = condition_parts(&condition);
                let content: Cow<'static, [u8]> = Cow::Owned(content.to_vec());
                let arguments = (key, content, name, expected.map(str::to_owned));
                self.put.call(arguments, version, kind).await
            }
            ObjectCall::List { prefix } => self.list.call(prefix, listing, kind).await,
            ObjectCall::Delete { key } => self.delete.call(key, nothing, kind).await,
            ObjectCall::Copy { from, to } => match &self.copy {
                Some(copy) => copy.call((from, to), nothing, kind).await,
                None => Err(stackwright::Error::internal("the store of the host has no copy")),
            },
        }
    }

    fn has_copy(&self) -> bool {
        self.copy.is_some()
    }
}

/// A callback for credentials written in Python.
pub(crate) struct PythonCredentials(HostFunction);

impl PythonCredentials {
    /// Reads the description of the function, which returns the credentials as JSON.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        HostFunction::read("credential callback", described, context).map(Self)
    }
}

#[async_trait]
impl CredentialHost for PythonCredentials {
    async fn credentials(&self) -> Result<Vec<u8>> {
        let read = |returned: &Bound<'_, PyAny>| returned.extract::<String>();
        let none: Option<String> = None;
        self.0
            .call(none, read, ErrorKind::Unavailable)
            .await
            .map(Into::into)
    }
}
