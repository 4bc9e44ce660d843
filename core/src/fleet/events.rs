//! The events of all stacks of a set as one stream.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{
    FutureExt as _, Stream, StreamExt as _,
    stream::{BoxStream, SelectAll},
};

use crate::{
    event::{EngineEvent, EventJson, EventStream},
    store::StackName,
};

/// An event of a stack.
#[derive(Clone)]
pub struct FleetEvent {
    /// The stack.
    pub stack: Arc<StackName>,
    /// The event. Its sequence number is that of the stack's operation.
    pub event: Arc<EngineEvent>,
    json: EventJson,
}

impl FleetEvent {
    /// Returns the JSON writer of the events of the stack's operation; `show_secrets` keeps secret values, base64-encoded.
    #[must_use]
    pub fn json(&self, show_secrets: bool) -> EventJson {
        EventJson {
            show_secrets,
            ..self.json.clone()
        }
    }
}

/// The events of all stacks of a set for one listener: those of each stack in their order, which ends with its cancel event.
///
/// Dropping it ends the subscription.
pub struct FleetEvents(SelectAll<BoxStream<'static, FleetEvent>>);

impl FleetEvents {
    pub(super) fn new(streams: impl Iterator<Item = (Arc<StackName>, EventStream)>) -> Self {
        let tagged = streams.map(|(stack, events)| {
            let json = events.json(false);
            events
                .map(move |event| FleetEvent {
                    stack: Arc::clone(&stack),
                    event,
                    json: json.clone(),
                })
                .boxed()
        });
        Self(futures::stream::select_all(tagged))
    }

    /// Waits for the next event; `None` when every stack has ended.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future takes no event.
    pub async fn next(&mut self) -> Option<FleetEvent> {
        self.0.next().await
    }

    /// Returns the next event that has come; `None` when there is none, or every stack has ended.
    pub fn try_next(&mut self) -> Option<FleetEvent> {
        self.0.next().now_or_never().flatten()
    }
}

impl Stream for FleetEvents {
    type Item = FleetEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}
