//! An operation that runs: its end, its events, its cancellation.

use std::sync::Arc;

use napi::Result;
use napi_derive::napi;
use stackwright::{
    Error, Language, binding,
    event::{EventJson, EventStream},
    plan::Plan,
};
use tokio::sync::Mutex;

use crate::{
    bridge::{Shared, Values},
    errors,
};

/// The maximum number of events in one batch.
const BATCH: usize = 512;

/// An operation.
#[napi]
pub struct Operation {
    operation: Arc<stackwright::operation::Operation>,
    show_secrets: bool,
    shared: Arc<Shared>,
}

impl Operation {
    /// Returns the plan that an operation left.
    pub(crate) fn plan(&self) -> Option<Arc<Plan>> {
        self.operation.result()?.plan.clone()
    }

    /// Wraps a started operation.
    pub(crate) fn new(
        operation: stackwright::operation::Operation,
        show_secrets: bool,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            operation: Arc::new(operation),
            show_secrets,
            shared,
        }
    }
}

#[napi]
impl Operation {
    /// Waits for the end and returns the result without outputs, as JSON. Never rejects: the result contains the error.
    #[napi]
    pub async fn wait(&self) -> Result<String> {
        let result = self.operation.wait().await;
        let document = binding::result_document(&result, Language::Node, false);
        document
            .and_then(|json| String::from_utf8(json).map_err(|_| Error::internal("the result is not a text")))
            .map_err(|error| errors::to_napi(&error))
    }

    /// Returns the outputs of an operation that has ended; undefined before.
    #[napi(catch_unwind, ts_return_type = "Record<string, unknown> | undefined")]
    pub fn outputs(&self) -> Option<Values> {
        self.operation.result().map(|result| Values {
            values: binding::output_values(&result.outputs),
            shared: Arc::clone(&self.shared),
        })
    }

    /// Returns the values of the report of an import that has ended; undefined before, and for other operations.
    #[napi(catch_unwind, ts_return_type = "Record<string, unknown> | undefined")]
    pub fn imported(&self) -> Option<Values> {
        let report = self.operation.result()?.imported.clone()?;
        Some(Values {
            values: binding::import_values(&report),
            shared: Arc::clone(&self.shared),
        })
    }

    /// Draws the steps of an operation that has ended as a tree; undefined before.
    #[napi(catch_unwind)]
    pub fn tree(&self) -> Option<String> {
        Some(self.operation.result()?.tree())
    }

    /// Returns whether an operation that has ended left a plan that can constrain others.
    #[napi(catch_unwind)]
    pub fn has_plan(&self) -> bool {
        self.plan().is_some()
    }

    /// Returns the plan's document, where the options asked for one; undefined before the end.
    #[napi(catch_unwind)]
    pub fn plan_document(&self) -> Option<String> {
        self.plan()?.document().map(str::to_owned)
    }

    /// Writes the state that an operation left as a deployment document; null before the end, for previews, and where
    /// the state was never read.
    #[napi]
    pub async fn deployment(&self) -> Result<Option<String>> {
        let Some(result) = self.operation.result() else {
            return Ok(None);
        };
        let text = result.deployment().and_then(|document| {
            let text = document.map(String::from_utf8).transpose();
            text.map_err(|_| Error::internal("the deployment document is not a text"))
        });
        text.map_err(|error| errors::to_napi(&error))
    }

    /// Asks for an end; a second time, running provider calls are given up.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.operation.cancel();
    }

    /// Ends the session and waits until nothing of it is left.
    #[napi]
    pub async fn release(&self) {
        self.operation.release().await;
    }

    /// Adds a listener; the first one receives all events, others those still to come.
    #[napi(catch_unwind)]
    pub fn events(&self) -> Events {
        let stream = self.operation.events();
        // Only the operation's own writer has its secrets.
        let json = stream.json(self.show_secrets);
        Events {
            stream: Mutex::new(stream),
            json,
        }
    }
}

/// The events of an operation for one listener.
#[napi]
pub struct Events {
    stream: Mutex<EventStream>,
    json: EventJson,
}

#[napi]
impl Events {
    /// Waits for events and returns those that have happened, each as JSON; none when there will be no more.
    #[napi]
    pub async fn next(&self) -> Result<Vec<String>> {
        let mut stream = self.stream.lock().await;
        let mut lines = Vec::new();
        if let Some(event) = stream.next().await {
            lines.push(self.json.line(&event));
            while lines.len() < BATCH
                && let Some(event) = stream.try_next()
            {
                lines.push(self.json.line(&event));
            }
        }
        Ok(lines)
    }
}
