//! An operation that runs: its end, its events, its cancellation.

use std::sync::Arc;

use napi::Result;
use napi_derive::napi;
use stackwright::{
    Error, Language, binding,
    event::{EngineEvent, EventJson, EventStream},
    operation::OperationResult,
    plan::Plan,
};
use stackwright_command::display::{FleetFollowing, Following, Form, Lines, Paint, ScreenSize, Title};
use tokio::sync::Mutex;

use crate::{
    bridge::{Shared, Values},
    errors,
    picture::Picture,
};

/// The maximum number of events in one batch.
pub(crate) const BATCH: usize = 512;

/// An operation.
#[napi]
pub struct Operation {
    operation: Arc<stackwright::operation::Operation>,
    show_secrets: bool,
    title: Title,
    shared: Arc<Shared>,
}

impl Operation {
    /// Returns the result of an operation that has ended.
    pub(crate) fn result(&self) -> Option<Arc<OperationResult>> {
        self.operation.result()
    }

    /// Returns the plan that an operation left.
    pub(crate) fn plan(&self) -> Option<Arc<Plan>> {
        self.operation.result()?.plan.clone()
    }

    /// Wraps a started operation.
    pub(crate) fn new(
        operation: stackwright::operation::Operation,
        show_secrets: bool,
        title: Title,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            operation: Arc::new(operation),
            show_secrets,
            title,
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

    /// Returns the resources with what an operation that has ended did, or would do; undefined before.
    #[napi(catch_unwind)]
    pub fn picture(&self) -> Option<Picture> {
        Some(Picture(self.operation.result()?.picture()))
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

    /// Adds a listener; the first one receives all events, others those still to come; on request with the lines that each adds
    /// to a plain display.
    #[napi(catch_unwind)]
    pub fn events(&self, with_lines: bool) -> Events {
        let stream = self.operation.events();
        Events {
            followed: Mutex::new(Followed {
                // Only the operation's own writers have its secrets.
                json: stream.json(self.show_secrets),
                masked: stream.json(false),
                lines: with_lines.then(|| Lines::new(self.title.clone())),
                stream,
            }),
        }
    }

    /// Returns what shows the operation: as a tree that is updated in place, or as lines.
    #[napi(catch_unwind)]
    pub fn display(&self, is_screen: bool, coloured: bool) -> Display {
        let form = if is_screen { Form::Screen } else { Form::Lines };
        let paint = if coloured { Paint::COLOURED } else { Paint::PLAIN };
        Display {
            shown: Mutex::new(Shown::One(Box::new(Following::new(
                &self.operation,
                self.title.clone(),
                form,
                paint,
            )))),
        }
    }
}

/// What is shown: an operation, or one on a set of stacks.
enum Shown {
    One(Box<Following>),
    Set(FleetFollowing),
}

/// What shows an operation, piece by piece.
#[napi]
pub struct Display {
    shown: Mutex<Shown>,
}

impl Display {
    /// Creates the display of an operation on a set of stacks.
    pub(crate) fn of_set(following: FleetFollowing) -> Self {
        Self {
            shown: Mutex::new(Shown::Set(following)),
        }
    }
}

#[napi]
impl Display {
    /// Waits for the next piece, for a terminal of this size; null after the last one.
    #[napi]
    pub async fn next(&self, columns: u16, rows: u16) -> Result<Option<String>> {
        let size = ScreenSize { columns, rows };
        Ok(match &mut *self.shown.lock().await {
            Shown::One(following) => following.next(size).await,
            Shown::Set(following) => following.next(size).await,
        })
    }
}

/// An event as JSON, and the lines that it adds to a plain display.
#[napi(object)]
pub struct WrittenEvent {
    /// The event.
    pub event: String,
    /// The lines; empty without any.
    pub lines: String,
}

/// The events of an operation for one listener.
#[napi]
pub struct Events {
    followed: Mutex<Followed>,
}

#[napi]
impl Events {
    /// Waits for events and returns those that have happened; none when there will be no more.
    #[napi]
    pub async fn next(&self) -> Result<Vec<WrittenEvent>> {
        let mut followed = self.followed.lock().await;
        let mut events = Vec::new();
        if let Some(event) = followed.stream.next().await {
            events.push(followed.written(&event));
            while events.len() < BATCH
                && let Some(event) = followed.stream.try_next()
            {
                events.push(followed.written(&event));
            }
        }
        Ok(events)
    }
}

/// The events of a listener, and how they are written.
struct Followed {
    stream: EventStream,
    json: EventJson,
    /// Lines are for display, and mask secrets also where the listener gets them.
    masked: EventJson,
    lines: Option<Lines>,
}

impl Followed {
    fn written(&mut self, event: &EngineEvent) -> WrittenEvent {
        let lines = self.lines.as_mut();
        let lines = lines.map(|lines| lines.event(event, &self.masked));
        WrittenEvent {
            event: self.json.line(event),
            lines: lines.unwrap_or_default(),
        }
    }
}
