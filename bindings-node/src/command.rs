//! The reference engine's command as an object of the façade, which takes what an invocation writes piece by piece.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use napi::Result;
use napi_derive::napi;
use stackwright::{
    Error, Language,
    binding::{self, PluginDocument},
    runtime::in_place,
};
use stackwright_command::{Cancellation, Invocation, Output};
use tokio::{
    runtime::Handle,
    sync::{Mutex, Semaphore, mpsc},
};

use crate::{
    bridge::{Bridge, Shared},
    engine::Engine,
    errors,
    host::JsHost,
    program::ProgramEntry,
};

/// Runs a command line of the command `stackwright` on the process's own streams, environment and signals, and returns its exit
/// code; nothing else of the process runs meanwhile.
#[napi(catch_unwind)]
pub fn run_command(arguments: Vec<String>) -> i32 {
    stackwright_cli::run(arguments.into_iter().map(Into::into))
}

/// What a running invocation writes, or its end.
#[napi(object)]
pub struct CommandOutput {
    /// Whole lines; left out at the end.
    pub text: Option<String>,
    /// What the text belongs to: `stdout`, `stderr`, or the log of `event`s.
    pub stream: String,
    /// The exit code, at the end.
    pub code: Option<i32>,
}

/// Where an invocation runs.
#[napi(object)]
pub struct CommandPlace {
    /// The working directory.
    pub directory: String,
    /// The variables, of which it sees no others.
    pub environment: HashMap<String, String>,
    /// What it reads from standard input.
    pub input: Option<String>,
    /// Whether it also writes the events of its event log.
    pub events: bool,
    /// The package's number of the object that wraps data keys.
    pub key_service: Option<u32>,
}

/// A command.
#[napi]
pub struct Command {
    command: stackwright_command::Command,
    shared: Arc<Shared>,
}

/// The threads that invocations can have for themselves. Operations need others of the same runtime, which is that of the process and has 512.
static COMMAND_THREADS: Semaphore = Semaphore::const_new(64);

#[napi]
impl Command {
    /// Creates a command on what the environment of each invocation names; `plugins` has settings of plugins, as JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(bridge: &Bridge, plugins: String) -> Result<Self> {
        let napi = |error: Error| errors::to_napi(&error);
        let document: PluginDocument =
            binding::read(plugins.as_bytes(), Language::Node, "the plugins of a command").map_err(napi)?;
        let (plugins, _) = document.into_settings().map_err(napi)?;
        let shared = Arc::clone(&bridge.shared);
        let command = stackwright_command::Command::with_plugins(handle(&shared), plugins);
        Ok(Self { command, shared })
    }

    /// Creates a command on an engine.
    #[napi(factory, catch_unwind)]
    pub fn on_engine(engine: &Engine) -> Self {
        let shared = Arc::clone(engine.shared());
        let command = stackwright_command::Command::with_engine(handle(&shared), engine.core());
        Self { command, shared }
    }

    /// Returns the version of the reference engine that the command is compatible with.
    #[napi(catch_unwind)]
    pub fn version() -> String {
        stackwright_command::Command::version().to_owned()
    }

    /// Starts an invocation. `program` takes the place of the language runtime that its command line names.
    #[napi(catch_unwind)]
    pub fn start(
        &self,
        arguments: Vec<String>,
        place: CommandPlace,
        program: Option<ProgramEntry>,
    ) -> CommandRun {
        let CommandPlace {
            directory,
            environment,
            input,
            events,
            key_service,
        } = place;
        let key_service = key_service.map(|number| JsHost::new(&self.shared, number) as _);
        // Taken first: the package releases taken objects when they are dropped.
        let program = program.map(|program| program.take(&self.shared));
        let (sender, receiver) = mpsc::unbounded_channel();
        let cancellation = Cancellation::default();
        let output = |stream: &'static str| -> Output {
            let sender = sender.clone();
            Arc::new(move |text: &str| {
                // A caller that is gone needs no output.
                drop(sender.send(CommandOutput {
                    text: Some(text.to_owned()),
                    stream: stream.to_owned(),
                    code: None,
                }));
            })
        };
        let invocation = Invocation {
            environment: environment.into_iter().collect::<BTreeMap<_, _>>(),
            stdout: output("stdout"),
            stderr: output("stderr"),
            events: events.then(|| output("event")),
            cancellation: cancellation.clone(),
            program,
            key_service,
            stdin: Arc::new(move || Ok(input.clone().unwrap_or_default().into_bytes())),
            ..Invocation::new(arguments, directory)
        };
        let command = self.command.clone();
        let run = async move {
            let code = command.run(invocation).await;
            drop(sender.send(CommandOutput {
                text: None,
                stream: "stdout".to_owned(),
                code: Some(code),
            }));
        };
        match COMMAND_THREADS.try_acquire() {
            // One change of threads instead of one for each file.
            Ok(thread) => {
                let handle = handle(&self.shared);
                drop(self.shared.handle().spawn_blocking(move || {
                    handle.block_on(in_place(run));
                    drop(thread);
                }));
            }
            Err(_) => self.shared.spawn(run),
        }
        CommandRun {
            receiver: Arc::new(Mutex::new(receiver)),
            cancellation,
        }
    }
}

fn handle(shared: &Shared) -> Handle {
    shared.handle().clone()
}

/// A running invocation.
#[napi]
pub struct CommandRun {
    receiver: Arc<Mutex<mpsc::UnboundedReceiver<CommandOutput>>>,
    cancellation: Cancellation,
}

#[napi]
impl CommandRun {
    /// Waits for the next output. That with the exit code is the last one.
    #[napi]
    pub async fn next(&self) -> Result<CommandOutput> {
        let received = self.receiver.lock().await.recv().await;
        received.ok_or_else(|| errors::to_napi(&Error::internal("the engine ended before the command")))
    }

    /// Cancels the operation: running steps complete. A second call abandons the running calls of providers.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }
}
