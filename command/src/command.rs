//! The command: it parses the arguments of an invocation, and runs the subcommand.

use std::{path::PathBuf, sync::Arc};

use serde::Serialize;
use stackwright::{COMPATIBLE_VERSION, Engine, plugin::PluginSettings, store::HostFacts};
use tokio::runtime::Handle;

use crate::{
    about, account,
    arguments::{
        Arguments, CancelArguments, GivenFlag, InstallArguments, OutputForm, Parsers, Refusal, Verb,
    },
    completion, config, dependencies, doctor, downloads,
    failure::{Failure, Result},
    invocation::Invocation,
    operation, plugins,
    printer::Printer,
    project_plugins,
    session::{Components, Session},
    stack, state, text,
};

/// The exit code of refused arguments.
const REFUSED: i32 = 1;

/// The reference engine's command, as a value of this process. Cloning is cheap. Any number of invocations can run at a time.
///
/// The store, the passphrase and the folder of plugins are those of each invocation's environment, as the reference engine's command
/// has them. With [`Self::with_engine`], they are those of an engine.
#[derive(Clone)]
pub struct Command(Arc<Components>);

impl Command {
    /// Creates a command whose engines run on the host's Tokio runtime.
    #[must_use]
    pub fn new(handle: Handle) -> Self {
        Self::with_plugins(handle, PluginSettings::default())
    }

    /// Creates a command with settings of plugins. Path, cache and environment of plugins are those of the invocations.
    #[must_use]
    pub fn with_plugins(handle: Handle, plugins: PluginSettings) -> Self {
        Self(Arc::new(Components {
            handle,
            engine: None,
            plugins,
            passphrases: Arc::default(),
            running: Arc::default(),
            parsers: Parsers::shared(),
        }))
    }

    /// Creates a command on an engine: its store, its secrets, its providers.
    #[must_use]
    pub fn with_engine(handle: Handle, engine: Engine) -> Self {
        Self(Arc::new(Components {
            handle,
            engine: Some(engine),
            plugins: PluginSettings::default(),
            passphrases: Arc::default(),
            running: Arc::default(),
            parsers: Parsers::shared(),
        }))
    }

    /// Returns the version of the reference engine that the command is compatible with: `3.260.0`.
    #[must_use]
    pub fn version() -> &'static str {
        COMPATIBLE_VERSION.strip_prefix('v').unwrap_or(COMPATIBLE_VERSION)
    }

    /// Runs an invocation, and returns its exit code. All that is written has been passed on by then.
    ///
    /// # Cancel safety
    /// A dropped future cancels the operation that the command runs; running steps complete and are recorded.
    pub async fn run(&self, invocation: Invocation) -> i32 {
        let (arguments, flags) = match self.0.parsers.parse(&invocation.name, &invocation.arguments) {
            Ok(parsed) => parsed,
            Err(Refusal::Help(text)) => {
                (invocation.stdout)(&text);
                return 0;
            }
            Err(Refusal::Usage { help, text }) => {
                write_help(&invocation, &help);
                invocation.note(format!("error: {text}"));
                return REFUSED;
            }
            Err(Refusal::Error(text)) => {
                invocation.note(format!("error: {text}"));
                return REFUSED;
            }
        };
        let invocation = match arguments
            .global
            .cwd
            .as_deref()
            .map(|folder| moved(&invocation, folder))
        {
            Some(Ok(directory)) => Invocation {
                directory,
                ..invocation
            },
            Some(Err(Failure { code, message, .. })) => {
                invocation.note(format!("error: {message}"));
                return code;
            }
            None => invocation,
        };
        let invocation = match arguments.global.non_interactive {
            true => invocation.without_questions(),
            false => invocation,
        };
        if arguments.global.disable_integrity_checking {
            invocation.note(
                "error: --disable-integrity-checking is not supported: `stack export` reads a damaged state, and `state repair` mends it",
            );
            return REFUSED;
        }
        warn_of_logs(&invocation, &arguments);
        match self.dispatch(&invocation, &arguments, &flags).await {
            Ok(()) => 0,
            Err(Failure { code, message, help }) => {
                if let Some(subcommand) = help {
                    write_help(&invocation, &self.0.parsers.help(&invocation.name, subcommand));
                }
                if !message.is_empty() {
                    invocation.note(format!("error: {message}"));
                }
                code
            }
        }
    }

    async fn dispatch(&self, invocation: &Invocation, arguments: &Arguments, flags: &[GivenFlag]) -> Result {
        match &arguments.verb {
            Verb::Version(form) => version(invocation, form),
            Verb::Whoami(form) => {
                let is_verbose = arguments.global.verbose.is_some();
                account::whoami(&self.0, invocation, form, is_verbose).await
            }
            Verb::Doctor(form) => Box::pin(doctor::doctor(&self.0, invocation, form)).await,
            Verb::Completion { shell, form } => completion::print(invocation, *shell, form),
            Verb::Login(arguments) => account::login(&self.0, invocation, arguments),
            Verb::Logout(arguments) => account::logout(invocation, arguments),
            Verb::Org(command) => account::organization(command),
            Verb::Plugin(command) => plugins::run(&self.0, invocation, command).await,
            Verb::Install(arguments) => self.install(invocation, arguments).await,
            Verb::New(_) => Err(Failure::new(
                "`new` is not supported: this engine makes no projects from templates",
            )),
            Verb::Convert(_) => Err(Failure::new(
                "`convert` is not supported: this engine converts no programs",
            )),
            Verb::Policy(arguments) => Err(Failure::new(match arguments.rest.first().map(String::as_str) {
                Some("new") => {
                    "`policy new` is not supported: this engine makes no policy packs from templates"
                }
                _ => "DIY backend does not support resource policy",
            })),
            Verb::Env(_) => Err(Failure::no_environments()),
            verb => {
                let session = Session::open(&self.0, invocation).await?;
                let session = session.with_flags(&arguments.global);
                let session = match verb {
                    Verb::Stack(arguments) => session.with_default_stack(arguments.stack.as_deref()),
                    _ => session,
                };
                let ended = with_session(&session, verb, flags).await;
                session.close().await;
                ended
            }
        }
    }

    /// Installs the packages of the program's language, and the plugins of the project, which these can name.
    async fn install(&self, invocation: &Invocation, arguments: &InstallArguments) -> Result {
        let printer = Printer::new(invocation, arguments.form.is_json());
        if !arguments.no_dependencies {
            let found = project_plugins::required_project(invocation)?;
            let uses_version_tools = arguments.use_language_version_tools;
            dependencies::install(&printer.aside(), &found, uses_version_tools).await?;
        }
        let installed = match arguments.no_plugins {
            true => Vec::new(),
            false => {
                let cache = downloads::cache(&self.0.handle, invocation)?;
                project_plugins::install(invocation, &cache, arguments.reinstall).await?
            }
        };
        printer.document(&plugins::rows(installed))
    }
}

/// Writes the help that precedes an error: to the standard output, as the reference engine does, unless that is for a document.
fn write_help(invocation: &Invocation, help: &str) {
    let mut words = invocation.arguments.iter().map(String::as_str).peekable();
    let mut is_document = false;
    while let Some(word) = words.next() {
        is_document |= matches!(word, "--json" | "-j" | "--output=json");
        is_document |= word == "--output" && words.peek() == Some(&"json");
    }
    match is_document {
        true => (invocation.stderr)(help),
        false => (invocation.stdout)(help),
    }
}

/// Returns the working directory that `--cwd` names. It has no `..`, so that the folders above it are those of its path.
fn moved(invocation: &Invocation, folder: &str) -> Result<PathBuf> {
    let moved = std::fs::canonicalize(invocation.path(folder));
    moved.map_err(|error| Failure::new(format!("chdir {folder}: {}", text::reason(&error))))
}

/// Runs a subcommand. Its future is large: it has a place of its own, so that the stacks of small threads suffice.
async fn with_session(session: &Session<'_>, verb: &Verb, flags: &[GivenFlag]) -> Result {
    match verb {
        Verb::Stack(arguments) => Box::pin(stack::run(session, arguments)).await,
        Verb::About(arguments) => Box::pin(about::about(session, arguments)).await,
        Verb::State(command) => Box::pin(state::run(session, command)).await,
        Verb::Config(arguments) => Box::pin(config::run(session, arguments)).await,
        Verb::Preview(arguments) => Box::pin(operation::preview(session, arguments, flags)).await,
        Verb::Up(arguments) => Box::pin(operation::up(session, arguments, flags)).await,
        Verb::Refresh(arguments) => Box::pin(operation::refresh(session, arguments, flags)).await,
        Verb::Destroy(arguments) => Box::pin(operation::destroy(session, arguments, flags)).await,
        Verb::Import(arguments) => Box::pin(operation::import(session, arguments, flags)).await,
        Verb::Cancel(arguments) => Box::pin(cancel(session, arguments)).await,
        _ => Ok(()),
    }
}

/// The document of `version`.
#[derive(Serialize)]
struct Versions {
    /// That of the reference engine.
    version: &'static str,
    /// That of this engine.
    stackwright: &'static str,
}

/// Prints the version of the reference engine that this one is compatible with.
fn version(invocation: &Invocation, form: &OutputForm) -> Result {
    let document = Versions {
        version: Command::version(),
        stackwright: env!("CARGO_PKG_VERSION"),
    };
    Printer::new(invocation, form.is_json()).end(COMPATIBLE_VERSION, &document)
}

/// The document of `cancel`.
#[derive(Serialize)]
struct Canceled {
    name: String,
    canceled: bool,
}

/// Cancels the operation that runs on a stack in this process. Without one, removes the locks of the stack.
async fn cancel(session: &Session<'_>, arguments: &CancelArguments) -> Result {
    let given = arguments.name.as_deref().or(arguments.stack.stack.as_deref());
    let named = session.stack_or_selected(given)?;
    let name = named.name.stack();
    let consequence = format!(
        "This cancels the operation on the stack '{name}', or removes its locks where another process runs one."
    );
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    printer.confirm_by_name(arguments.yes, &consequence, name).await?;
    if !session.running.cancel(&session.place(&named.name)) {
        let stack = session.stack(&named).await?;
        stack.unlock().await?;
    }
    printer.end(
        format!(
            "The currently running update for '{}' has been canceled!",
            named.shown
        ),
        &Canceled {
            name: session.shown(&named.name),
            canceled: true,
        },
    )
}

/// Names the flags of logs: this engine writes its log where the host does.
fn warn_of_logs(invocation: &Invocation, Arguments { global, verb }: &Arguments) {
    let is_verbose = global.verbose.is_some() && !matches!(verb, Verb::Whoami(_));
    for (flag, is_given) in [
        ("--logflow", global.logflow),
        ("--logtostderr", global.logtostderr),
        ("--verbose", is_verbose),
    ] {
        if is_given {
            invocation.warn(format!(
                "{flag} has no effect: the engine's log is that of its host"
            ));
        }
    }
    for (flag, is_given) in [
        ("--tracing", global.tracing.is_some()),
        ("--tracing-header", global.tracing_header.is_some()),
        ("--otel-traces", global.otel_traces.is_some()),
        ("--profiling", global.profiling.is_some()),
        ("--memprofilerate", global.memprofilerate.is_some()),
    ] {
        if is_given {
            invocation.warn(format!(
                "{flag} has no effect: the engine's spans and profiles are those of its host"
            ));
        }
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Command")
            .field("engine", &self.0.engine.as_ref().map(Engine::store_url))
            .field("host", &HostFacts::system())
            .finish_non_exhaustive()
    }
}
