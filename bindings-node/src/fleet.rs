//! Operations on a set of stacks.

use std::sync::{Arc, Mutex, PoisonError};

use napi::Result;
use napi_derive::napi;
use stackwright::{
    Language, StackName, binding,
    fleet::{FleetEvent, FleetEvents, StackRun},
    operation::OperationKind,
};
use stackwright_command::display::{FleetFollowing, FleetLines, Form, Paint, Title};

use crate::{
    bridge::Shared,
    operation::{BATCH, Display, Operation},
};

/// A stack of a set, with what its operation needs.
pub(crate) struct Part {
    pub(crate) run: StackRun,
    pub(crate) kind: OperationKind,
}

/// The stacks of a set, before its operation starts.
#[napi]
#[derive(Default)]
pub struct StackSet {
    parts: Mutex<Vec<Part>>,
}

#[napi]
impl StackSet {
    /// Creates an empty set.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stack.
    pub(crate) fn add(&self, part: Part) {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(part);
    }

    /// Removes all stacks and returns them.
    pub(crate) fn take(&self) -> Vec<Part> {
        std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A stack of an operation on a set.
pub(crate) struct Described {
    name: StackName,
    title: Title,
    show_secrets: bool,
}

impl From<&Part> for Described {
    fn from(part: &Part) -> Self {
        let StackRun { stack, options, .. } = &part.run;
        Self {
            name: stack.name().clone(),
            title: Title::new(part.kind, options.dry_run, stack.name()),
            show_secrets: options.show_secrets,
        }
    }
}

/// An operation on a set of stacks.
#[napi]
pub struct FleetOperation {
    operation: stackwright::fleet::FleetOperation,
    stacks: Vec<Described>,
    shared: Arc<Shared>,
}

impl FleetOperation {
    /// Wraps a started operation on these stacks.
    pub(crate) const fn new(
        operation: stackwright::fleet::FleetOperation,
        stacks: Vec<Described>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            operation,
            stacks,
            shared,
        }
    }
}

#[napi]
impl FleetOperation {
    /// Returns the operation of the stack with this place in the call; null for others.
    #[napi(catch_unwind)]
    pub fn operation(&self, place: u32) -> Option<Operation> {
        let place = usize::try_from(place).ok()?;
        let described = self.stacks.get(place)?;
        let (_, operation) = self.operation.operations().nth(place)?;
        let (title, shared) = (described.title.clone(), Arc::clone(&self.shared));
        Some(Operation::new(
            operation.clone(),
            described.show_secrets,
            title,
            shared,
        ))
    }

    /// Waits for the end and returns the result without those of the stacks, as JSON. Never rejects: the result contains the error.
    #[napi]
    pub async fn wait(&self) -> Result<String> {
        let result = self.operation.wait().await;
        Ok(binding::fleet_document(&result, Language::Node).to_string())
    }

    /// Draws what each stack came to, of an operation that has ended; undefined before.
    #[napi(catch_unwind)]
    pub fn tree(&self) -> Option<String> {
        Some(self.operation.result()?.tree())
    }

    /// Returns what shows the operation: as a table that is updated in place, or as lines.
    #[napi(catch_unwind)]
    pub fn display(&self, is_screen: bool, coloured: bool) -> Display {
        let form = if is_screen { Form::Screen } else { Form::Lines };
        let paint = if coloured { Paint::COLOURED } else { Paint::PLAIN };
        let titles = self.stacks.iter().map(|it| (it.name.clone(), it.title.clone()));
        Display::of_set(FleetFollowing::new(&self.operation, titles, form, paint))
    }

    /// Asks for an end; a second time, running provider calls are given up.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.operation.cancel();
    }

    /// Adds a listener; the first one receives all events, others those still to come; on request with the lines that each adds
    /// to a plain display.
    #[napi(catch_unwind)]
    pub fn events(&self, with_lines: bool) -> StackEvents {
        let titles = || self.stacks.iter().map(|it| (it.name.clone(), it.title.clone()));
        let shown = self.stacks.iter().filter(|it| it.show_secrets);
        StackEvents {
            followed: tokio::sync::Mutex::new(Followed {
                stream: self.operation.events(),
                lines: with_lines.then(|| FleetLines::new(titles())),
                shown: shown.map(|it| it.name.clone()).collect(),
            }),
        }
    }
}

/// An event of a stack as JSON, and the lines that it adds to a plain display.
#[napi(object)]
pub struct StackEvent {
    /// The name of the stack.
    pub stack: String,
    /// The event.
    pub event: String,
    /// The lines; empty without any.
    pub lines: String,
}

/// The events of a set for one listener.
#[napi]
pub struct StackEvents {
    followed: tokio::sync::Mutex<Followed>,
}

#[napi]
impl StackEvents {
    /// Waits for events and returns those that have happened; none when there will be no more.
    #[napi]
    pub async fn next(&self) -> Result<Vec<StackEvent>> {
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
    stream: FleetEvents,
    lines: Option<FleetLines>,
    /// The stacks whose options show secrets.
    shown: Vec<StackName>,
}

impl Followed {
    fn written(&mut self, event: &FleetEvent) -> StackEvent {
        let lines = self.lines.as_mut().map(|lines| lines.event(event));
        let json = event.json(self.shown.contains(&event.stack));
        StackEvent {
            stack: event.stack.to_string(),
            event: json.line(&event.event),
            lines: lines.unwrap_or_default(),
        }
    }
}
