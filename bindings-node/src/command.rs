//! The reference engine's command as an object of the façade, which takes what an invocation writes piece by piece.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use napi::Result;
use napi_derive::napi;
use stackwright::{
    Error, Language,
    binding::{self, PluginDocument},
    runtime::in_place,
};
use stackwright_command::{Cancellation, Invocation, Output};
use tokio::{runtime::Handle, sync::Semaphore};

use crate::{
    bridge::{Answer, Bridge, CommandOutput, Message, Shared},
    engine::Engine,
    errors,
    host::JsHost,
    logs,
    program::ProgramEntry,
};

/// Runs a command line of the command `stackwright` on the process's own streams, environment and signals, and returns its exit
/// code; nothing else of the process runs meanwhile.
#[napi(catch_unwind)]
pub fn run_command(arguments: Vec<String>) -> i32 {
    stackwright_cli::run(arguments.into_iter().map(Into::into))
}

/// The stream of events.
const EVENT: &str = "event";

/// The output of an invocation that JavaScript has not taken.
struct Outputs {
    shared: Arc<Shared>,
    /// Whether texts are handed over as they are written, and not with the next event or the end.
    is_live: bool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    outputs: Vec<CommandOutput>,
    /// The call that waits for more.
    call: Option<u32>,
    /// Whether the next call is answered at once.
    is_due: bool,
    /// Whether nothing will be written any more.
    has_ended: bool,
}

impl Outputs {
    /// Adds output, and hands it over when JavaScript waits for it.
    fn write(&self, output: CommandOutput) {
        let mut waiting = self.lock();
        waiting.is_due |= match &output {
            CommandOutput::Text { stream, .. } => self.is_live || *stream == EVENT,
            CommandOutput::End(_) => true,
        };
        waiting.outputs.push(output);
        if waiting.is_due
            && let Some(call) = waiting.call.take()
        {
            self.answer(call, &mut waiting);
        }
    }

    /// Answers a call with what there is, at once or with the next output.
    fn request(&self, call: u32) {
        let mut waiting = self.lock();
        match waiting.is_due {
            true => self.answer(call, &mut waiting),
            false => waiting.call = Some(call),
        }
    }

    fn answer(&self, call: u32, waiting: &mut Waiting) {
        let answer = match std::mem::take(&mut waiting.outputs) {
            outputs if outputs.is_empty() => {
                Answer::Failed(Error::internal("the engine ended before the command"))
            }
            outputs => Answer::Outputs(outputs),
        };
        waiting.is_due = waiting.has_ended;
        self.shared.send(Message::Answer { call, answer });
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the output of an invocation that is dropped before its end.
struct Writer(Arc<Outputs>);

impl Drop for Writer {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        (waiting.is_due, waiting.has_ended) = (true, true);
        if let Some(call) = waiting.call.take() {
            self.0.answer(call, &mut waiting);
        }
    }
}

/// Where an invocation runs.
#[napi(object)]
pub struct CommandPlace {
    /// The working directory.
    pub directory: String,
    /// The variables, of which it sees no others: an object, as JSON.
    pub environment: String,
    /// What it reads from standard input.
    pub input: Option<String>,
    /// Whether it also writes the events of its event log.
    pub events: bool,
    /// Whether the package takes texts as they are written; otherwise it gets all of them with the next event, or with the end.
    pub live: bool,
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
        logs::install();
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
    ) -> Result<CommandRun> {
        let CommandPlace {
            directory,
            environment,
            input,
            events,
            live,
            key_service,
        } = place;
        // Taken first: the package releases taken objects when they are dropped.
        let key_service = key_service.map(|number| JsHost::new(&self.shared, number) as _);
        let program = program.map(|program| program.take(&self.shared));
        let environment: BTreeMap<String, String> = serde_json::from_str(&environment).map_err(|error| {
            let message = format!("the environment of a command is not JSON: {error}");
            errors::to_napi(&Error::internal(message))
        })?;
        let outputs = Arc::new(Outputs {
            shared: Arc::clone(&self.shared),
            is_live: live,
            waiting: Mutex::default(),
        });
        let cancellation = Cancellation::default();
        let output = |stream: &'static str| -> Output {
            let outputs = Arc::clone(&outputs);
            Arc::new(move |text: &str| {
                let text = text.to_owned();
                outputs.write(CommandOutput::Text { stream, text });
            })
        };
        let invocation = Invocation {
            environment,
            stdout: output("stdout"),
            stderr: output("stderr"),
            events: events.then(|| output(EVENT)),
            cancellation: cancellation.clone(),
            program,
            key_service,
            stdin: Arc::new(move || Ok(input.clone().unwrap_or_default().into_bytes())),
            ..Invocation::new(arguments, directory)
        };
        let command = self.command.clone();
        let writer = Writer(Arc::clone(&outputs));
        let run = async move {
            let code = command.run(invocation).await;
            writer.0.write(CommandOutput::End(code));
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
        Ok(CommandRun {
            outputs,
            cancellation,
        })
    }
}

fn handle(shared: &Shared) -> Handle {
    shared.handle().clone()
}

/// A running invocation.
#[napi]
pub struct CommandRun {
    outputs: Arc<Outputs>,
    cancellation: Cancellation,
}

#[napi]
impl CommandRun {
    /// Waits for more output, and answers with all there is: a flat list of `stream, text`, of which the last pair of a run is `end` and the
    /// exit code.
    #[napi(catch_unwind)]
    pub fn next(&self, call: u32) {
        self.outputs.request(call);
    }

    /// Cancels the operation: running steps complete. A second call abandons the running calls of providers.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }
}
