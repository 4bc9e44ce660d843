//! Actor processes: an engine behind one of its bindings, started and ended by the director.

use std::{
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
    sync::mpsc,
};

use super::{
    goal::References,
    link::{ActorMessage, Link},
};
use crate::{plugin::HOST_VARIABLE, wait::at_most};

/// How long an actor may take for `hello`, or to exit.
const ACTOR_TIMEOUT: Duration = Duration::from_secs(30);

/// The command line that starts an actor.
#[derive(Clone, Debug)]
pub struct ActorCommand {
    /// The binding of its engine.
    pub binding: String,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// What an actor has written to its standard error: logs of its binding.
#[derive(Debug, Default)]
pub struct ActorLog(Mutex<String>);

impl ActorLog {
    /// Returns what was written since the last time.
    #[must_use]
    pub fn text(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the lines of a stream, up to its end.
    async fn listen(self: Arc<Self>, stream: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(&line);
            text.push('\n');
        }
    }
}

/// A running actor.
#[derive(Debug)]
pub struct ActorProcess {
    /// The link to it.
    pub link: Arc<Link>,
    /// Its messages that are not answers.
    pub messages: mpsc::UnboundedReceiver<ActorMessage>,
    /// Which side resolves references.
    pub references: References,
    /// Whether it keeps plans of results, for operations that are constrained by them.
    pub keeps_plans: bool,
    /// Whether its programs can register hooks.
    pub has_hooks: bool,
    /// Its standard error.
    pub logged: Arc<ActorLog>,
    child: Child,
}

impl ActorCommand {
    /// Starts an actor and sends `hello`.
    ///
    /// # Errors
    /// A text when it cannot be started, or violates the protocol.
    pub async fn start(&self) -> Result<ActorProcess, String> {
        let (program, arguments) = self
            .words
            .split_first()
            .ok_or("there is no command for this binding")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env(HOST_VARIABLE.0, HOST_VARIABLE.1)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program} has no standard input or output"));
        };
        let logged = Arc::<ActorLog>::default();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(Arc::clone(&logged).listen(stderr));
        }
        let (sender, messages) = mpsc::unbounded_channel();
        let link = Link::start(stdout, stdin, sender);
        let hello = at_most(ACTOR_TIMEOUT, link.ask("hello", json!({ "protocol": 1 }))).await;
        let hello = match hello {
            Some(Ok(hello)) => hello,
            Some(Err(error)) => return Err(format!("{program}: {}\n{}", error.message, logged.text())),
            None => return Err(format!("{program} does not answer hello")),
        };
        let references = match hello.get("references").and_then(Value::as_str) {
            Some("native") => References::Native,
            Some("resolved") => References::Resolved,
            _ => {
                return Err(format!(
                    "{program} does not state which side resolves references: {hello}"
                ));
            }
        };
        let keeps_plans = hello.get("plans").and_then(Value::as_str) == Some("kept");
        let has_hooks = hello.get("hooks") == Some(&Value::Bool(true));
        Ok(ActorProcess {
            link,
            messages,
            references,
            keeps_plans,
            has_hooks,
            logged,
            child,
        })
    }
}

impl ActorProcess {
    /// Ends the actor by closing its input; kills it after `ACTOR_TIMEOUT`.
    pub async fn end(self) {
        let Self { link, mut child, .. } = self;
        drop(at_most(ACTOR_TIMEOUT, link.ask("bye", json!({}))).await);
        drop(link);
        if at_most(ACTOR_TIMEOUT, child.wait()).await.is_none() {
            // Fails when it has exited in the meantime.
            drop(child.kill().await);
        }
    }

    /// Kills the actor without warning.
    pub async fn kill(mut self) {
        // Fails when it has exited already.
        drop(self.child.kill().await);
    }
}
