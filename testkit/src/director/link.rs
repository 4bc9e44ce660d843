//! The link to an actor: JSON lines in both directions, requests with answers, and the actor's own messages.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{mpsc, oneshot},
};

use crate::{
    script::{CallFailure, ProviderCall},
    value::secret,
};

/// A message of an actor that is not an answer.
#[derive(Debug)]
pub enum ActorMessage {
    /// A provider is called.
    Call {
        /// The call's number, to be answered with.
        number: u64,
        /// The call.
        call: ProviderCall,
    },
    /// The engine cancelled a call.
    Abandoned(u64),
    /// The engine runs the program.
    Program {
        /// The run's number.
        number: u64,
        /// Whether it is a preview.
        preview: bool,
        /// The stack whose program it is.
        stack: String,
        /// The component or the method whose code runs: `package`, `method`, `token`, `name` and `inputs`; null for
        /// the stack's program.
        body: Value,
        /// The configuration that a stack's program has received, in the form of scenarios.
        config: Value,
    },
    /// The engine ended a run of the program.
    ProgramEnded(u64),
    /// The actor has ended, with the reason.
    Gone(String),
}

/// An answer that is an error, as the binding gave it.
#[derive(Clone, Debug)]
pub struct ActorError {
    /// The error's kind by name; `actor` when the actor itself failed.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The whole error.
    pub whole: Value,
}

/// A link to one actor.
#[derive(Debug)]
pub struct Link {
    lines: mpsc::UnboundedSender<String>,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, ActorError>>>>,
}

impl Link {
    /// Opens the link over an actor's streams; messages that are not answers go to `messages`.
    pub fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
        messages: mpsc::UnboundedSender<ActorMessage>,
    ) -> Arc<Self> {
        let (lines, mut outgoing) = mpsc::unbounded_channel::<String>();
        let link = Arc::new(Self {
            lines,
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
        });
        tokio::spawn(async move {
            while let Some(mut line) = outgoing.recv().await {
                line.push('\n');
                // The reader detects the end of the actor.
                if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                    break;
                }
            }
        });
        let receiver = Arc::downgrade(&link);
        tokio::spawn(async move {
            let mut incoming = BufReader::new(reader).lines();
            let reason = loop {
                let line = match incoming.next_line().await {
                    Ok(Some(line)) => line,
                    Ok(None) => break "the actor has ended".to_owned(),
                    Err(error) => break format!("the actor cannot be read: {error}"),
                };
                let Some(link) = receiver.upgrade() else { return };
                if let Err(reason) = link.take(&line, &messages) {
                    break reason;
                }
            };
            if let Some(link) = receiver.upgrade() {
                link.fail_all(&reason);
            }
            // Fails when the receiver was dropped.
            drop(messages.send(ActorMessage::Gone(reason)));
        });
        link
    }

    /// Sends a request to the actor; the line is queued when this returns.
    pub fn request(&self, verb: &str, mut members: Value) -> oneshot::Receiver<Result<Value, ActorError>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(id, sender);
        members["id"] = id.into();
        members["do"] = verb.into();
        self.send(&members);
        receiver
    }

    /// Sends a request to the actor and waits for the answer.
    ///
    /// # Errors
    /// What the binding answered, or that the actor is gone.
    pub async fn ask(&self, verb: &str, members: Value) -> Result<Value, ActorError> {
        answer(self.request(verb, members)).await
    }

    /// Answers a provider's call.
    pub fn reply(&self, number: u64, answer: Result<Value, CallFailure>) {
        self.send(&match answer {
            Ok(value) => json!({ "call": number, "ok": value }),
            Err(failure) => json!({ "call": number, "error": failure.to_json() }),
        });
    }

    fn send(&self, message: &Value) {
        // Fails when the actor has ended, which the reader reports.
        drop(self.lines.send(message.to_string()));
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, ActorError>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail_all(&self, reason: &str) {
        for (_, sender) in self.waiting().drain() {
            drop(sender.send(Err(ActorError::of_actor(reason))));
        }
    }

    fn take(&self, line: &str, messages: &mpsc::UnboundedSender<ActorMessage>) -> Result<(), String> {
        let mut message: Value =
            serde_json::from_str(line).map_err(|error| format!("the actor wrote {line:?}: {error}"))?;
        let number = |name: &str| message.get(name).and_then(Value::as_u64);
        if let Some(id) = number("id") {
            let sender = self
                .waiting()
                .remove(&id)
                .ok_or_else(|| format!("the actor answered an unknown request: {line}"))?;
            let answer = match message.get_mut("error").map(Value::take) {
                Some(error) => Err(ActorError::of_binding(error)),
                None => Ok(message.get_mut("ok").map(Value::take).unwrap_or_default()),
            };
            // Fails when the caller has dropped its receiver.
            drop(sender.send(answer));
            return Ok(());
        }
        let text = |name: &str| {
            message
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let received = if let Some(number) = number("call") {
            let call = ProviderCall {
                package: text("package"),
                method: text("method"),
                request: message["request"].clone(),
                engine: None,
            };
            ActorMessage::Call { number, call }
        } else if let Some(number) = number("abandoned") {
            ActorMessage::Abandoned(number)
        } else if let Some(number) = number("program") {
            let preview = message["preview"] == json!(true);
            let stack = text("stack");
            ActorMessage::Program {
                number,
                preview,
                stack,
                body: message["body"].take(),
                config: config_of(&message),
            }
        } else if let Some(number) = number("programEnded") {
            ActorMessage::ProgramEnded(number)
        } else {
            return Err(format!(
                "the actor wrote {line:?}, which is no message of the protocol"
            ));
        };
        // The scenario may be over.
        drop(messages.send(received));
        Ok(())
    }
}

impl ActorError {
    fn of_actor(message: &str) -> Self {
        Self {
            kind: "actor".into(),
            message: message.into(),
            whole: Value::Null,
        }
    }

    fn of_binding(whole: Value) -> Self {
        let text = |name: &str| {
            whole
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            kind: text("kind"),
            message: text("message"),
            whole,
        }
    }
}

/// Returns the configuration that a program has received: texts by key, secret ones as `{$secret: text}`.
fn config_of(message: &Value) -> Value {
    let secret_keys = message["configSecretKeys"].as_array();
    let is_secret = |key: &String| secret_keys.is_some_and(|keys| keys.contains(&json!(key)));
    let entries = message["config"].as_object().into_iter().flatten();
    let entries = entries.map(|(key, text)| match is_secret(key) {
        true => (key.clone(), secret(text.clone())),
        false => (key.clone(), text.clone()),
    });
    entries.collect::<Map<_, _>>().into()
}

/// Waits for an answer.
///
/// # Errors
/// What the binding answered, or that the actor is gone.
pub(super) async fn answer(
    receiver: oneshot::Receiver<Result<Value, ActorError>>,
) -> Result<Value, ActorError> {
    let gone = || Err(ActorError::of_actor("the actor is gone"));
    receiver.await.unwrap_or_else(|_| gone())
}
