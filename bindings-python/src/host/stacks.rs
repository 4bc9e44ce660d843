//! The host's reader of other stacks: Python functions that resolve stack references.

use async_trait::async_trait;
use pyo3::prelude::*;
use stackwright::{ErrorKind, property::PropertyMap, provider::builtin::StackReader};

use crate::convert;
use crate::function::{HostContext, HostFunction};

/// A stack reader written in Python.
pub(crate) struct PythonStacks {
    outputs: HostFunction,
    resource_outputs: HostFunction,
}

impl PythonStacks {
    /// Reads the descriptions of the two functions.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        let (outputs, resource_outputs): (Bound<'_, PyAny>, Bound<'_, PyAny>) = described.extract()?;
        Ok(Self {
            outputs: HostFunction::read("stack reader", &outputs, context)?,
            resource_outputs: HostFunction::read("stack reader", &resource_outputs, context)?,
        })
    }
}

fn read(returned: &Bound<'_, PyAny>) -> PyResult<PropertyMap> {
    convert::read_map(returned, "what the stack reader returned")
}

#[async_trait]
impl StackReader for PythonStacks {
    async fn stack_outputs(&self, stack: &str) -> stackwright::Result<PropertyMap> {
        self.outputs
            .call(stack.to_owned(), read, ErrorKind::NotFound)
            .await
    }

    async fn stack_resource_outputs(&self, stack: &str) -> stackwright::Result<PropertyMap> {
        self.resource_outputs
            .call(stack.to_owned(), read, ErrorKind::NotFound)
            .await
    }
}
