//! The actor's end of the link: lines out, and the calls that wait for an answer.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::provider::AnswerSource;

/// The actor's end of the link.
pub(super) struct Wire {
    lines: Mutex<Option<mpsc::UnboundedSender<String>>>,
    next: AtomicU64,
    calls: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
}

impl Wire {
    pub(super) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let (lines, outgoing) = mpsc::unbounded_channel();
        let wire = Self {
            lines: Mutex::new(Some(lines)),
            next: AtomicU64::new(1),
            calls: Mutex::default(),
        };
        (Arc::new(wire), outgoing)
    }

    pub(super) fn send(&self, message: &Value) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = lines.as_ref() {
            // Fails only after the reading end was closed.
            drop(lines.send(message.to_string()));
        }
    }

    pub(super) fn close(&self) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, Value>>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the director's answer to a call.
    pub(super) fn answered(&self, number: u64, message: &Value) {
        let Some(sender) = self.calls().remove(&number) else {
            return;
        };
        let answer = match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["ok"].clone()),
        };
        // Fails when the call was cancelled in the meantime.
        drop(sender.send(answer));
    }
}

#[async_trait]
impl AnswerSource for Arc<Wire> {
    async fn answer(&self, package: &str, method: &str, request: Value) -> Result<Value, Value> {
        let number = self.number();
        let (sender, receiver) = oneshot::channel();
        self.calls().insert(number, sender);
        let waiting = Waiting {
            wire: Self::clone(self),
            number,
        };
        self.send(&json!({ "call": number, "package": package, "method": method, "request": request }));
        let answer = receiver.await;
        drop(waiting);
        answer.unwrap_or_else(|_| Err(json!({ "status": 14, "message": "the director is gone" })))
    }
}

/// A pending call. Dropping it before its answer sends `abandoned` to the director.
struct Waiting {
    wire: Arc<Wire>,
    number: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let was_waiting = self.wire.calls().remove(&self.number).is_some();
        if was_waiting {
            self.wire.send(&json!({ "abandoned": self.number }));
        }
    }
}
