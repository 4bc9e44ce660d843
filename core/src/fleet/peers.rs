//! How the operation of a stack waits for other stacks of its set.

use std::sync::Arc;

use async_trait::async_trait;
use rustc_hash::FxHashMap;
use tokio::sync::{mpsc, oneshot};

use super::schedule::Place;
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, Result},
    event::EventSink,
    operation::Peers,
    property::PropertyMap,
    store::StackName,
};

/// What a stack that reads another one receives: an error, or the outputs that no recorded state has.
pub(super) type Answer = Result<Option<PropertyMap>>;

/// The request of a stack for another one.
pub(super) struct Request {
    pub(super) stack: Place,
    pub(super) other: Place,
    pub(super) answer: oneshot::Sender<Answer>,
    /// Reports that the request is not answered at once.
    pub(super) events: EventSink,
}

/// A message of a stack to the driver.
pub(super) enum Message {
    Requested(Request),
    /// The stack waits no longer for an answer.
    GivenUp {
        stack: Place,
        other: Place,
    },
}

/// The places of the stacks by name.
pub(super) type Places = FxHashMap<StackName, Place>;

/// The other stacks of the set, for one of them.
pub(super) struct Members {
    pub(super) stack: Place,
    pub(super) places: Arc<Places>,
    pub(super) driver: mpsc::UnboundedSender<Message>,
}

#[async_trait]
impl Peers for Members {
    async fn wait_for(&self, name: &StackName, events: &EventSink) -> Answer {
        let other = match self.places.get(name) {
            Some(other) if *other != self.stack => *other,
            _ => return Ok(None),
        };
        let (answer, answered) = oneshot::channel();
        let request = Request {
            stack: self.stack,
            other,
            answer,
            events: events.clone(),
        };
        let ended = |_| Error::internal("the set of stacks has ended before one of its operations");
        self.driver
            .send(Message::Requested(request))
            .map_err(|_| ended(()))?;
        let mut guard = GivesUp {
            members: self,
            other,
            is_answered: false,
        };
        let answer = answered.await;
        guard.is_answered = true;
        answer.map_err(|_| ended(()))?
    }
}

/// Withdraws a request whose future is dropped.
struct GivesUp<'members> {
    members: &'members Members,
    other: Place,
    is_answered: bool,
}

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            let (stack, other) = (self.members.stack, self.other);
            // A driver that has ended needs no message.
            drop(self.members.driver.send(Message::GivenUp { stack, other }));
        }
    }
}

impl Request {
    /// Reports that the stack waits.
    pub(super) fn report(&self, other: &StackName) {
        let text = format!("waiting for the stack '{other}'");
        self.events.diagnostic(Diagnostic {
            // Once the stack goes on, it means nothing.
            ephemeral: true,
            ..Diagnostic::new(Severity::Info, text)
        });
    }
}
