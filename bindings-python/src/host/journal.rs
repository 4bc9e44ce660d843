//! A journal of the host: a Python function that receives every entry before the engine continues.

use std::sync::Arc;

use async_trait::async_trait;
use pyo3::prelude::*;
use stackwright::{
    ErrorKind,
    property::json::SecretForm,
    state::{
        JournalEntry,
        journal::{JournalReceiver, entry_to_json},
    },
};

use crate::function::{HostContext, HostFunction};
use crate::{completions::Completions, function::ProviderLoop};

/// A journal receiver written in Python. It receives JSON texts, which `stackwright.journal` converts to objects.
pub(crate) struct PythonJournal(HostFunction);

impl PythonJournal {
    /// Reads `(function, whether it is asynchronous, the queue of the event loop that an asynchronous one runs on)`.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        let (function, is_async, queue): (Py<PyAny>, bool, Bound<'_, Completions>) = described.extract()?;
        let context = HostContext {
            provider_loop: ProviderLoop {
                queue: Arc::clone(&queue.get().queue),
                start: Arc::clone(&context.provider_loop.start),
            },
            ..context.clone()
        };
        Ok(Self(HostFunction::new("journal", function, is_async, &context)))
    }
}

#[async_trait]
impl JournalReceiver for PythonJournal {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> stackwright::Result<()> {
        let text = entry_to_json(entry, SecretForm::Base64)?;
        self.0.call(text, |_| Ok(()), ErrorKind::Unavailable).await
    }
}
