//! Actor processes: an engine behind one of its bindings, started and ended by the director.

use std::{process::Stdio, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
};

use super::{
    goal::References,
    link::{Link, Told},
};
use crate::trace::within;

/// How long an actor may take to say hello, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The command line that starts an actor.
#[derive(Clone, Debug)]
pub struct ActorCommand {
    /// The binding that its engine is behind.
    pub binding: String,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// A running actor.
#[derive(Debug)]
pub struct ActorProcess {
    /// Speaks with it.
    pub link: Arc<Link>,
    /// What it tells by itself.
    pub told: mpsc::UnboundedReceiver<Told>,
    /// Who turns references into values.
    pub references: References,
    /// Whether it can hold an operation to the plan of a result that it has kept.
    pub keeps_plans: bool,
    child: Child,
}

impl ActorCommand {
    /// Starts an actor and greets it.
    ///
    /// # Errors
    /// A text when it cannot be started, or does not speak the protocol.
    pub async fn start(&self) -> Result<ActorProcess, String> {
        let (program, arguments) = self
            .words
            .split_first()
            .ok_or("there is no command for this binding")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program} has no standard input or output"));
        };
        let (sender, told) = mpsc::unbounded_channel();
        let link = Link::start(stdout, stdin, sender);
        let hello = within(PATIENCE, link.ask("hello", json!({ "protocol": 1 }))).await;
        let hello = match hello {
            Some(Ok(hello)) => hello,
            Some(Err(error)) => return Err(format!("{program}: {}", error.message)),
            None => return Err(format!("{program} does not say hello")),
        };
        let references = match hello.get("references").and_then(Value::as_str) {
            Some("native") => References::Native,
            Some("resolved") => References::Resolved,
            _ => return Err(format!("{program} does not say who resolves references: {hello}")),
        };
        let keeps_plans = hello.get("plans").and_then(Value::as_str) == Some("kept");
        Ok(ActorProcess {
            link,
            told,
            references,
            keeps_plans,
            child,
        })
    }
}

impl ActorProcess {
    /// Ends the actor by closing its input, or by force when it does not go.
    pub async fn end(self) {
        let Self { link, mut child, .. } = self;
        drop(link.ask("bye", json!({})).await);
        drop(link);
        if within(PATIENCE, child.wait()).await.is_none() {
            // It may have gone in between.
            drop(child.kill().await);
        }
    }

    /// Kills the actor without warning.
    pub async fn kill(mut self) {
        // It may have gone by itself.
        drop(self.child.kill().await);
    }
}
