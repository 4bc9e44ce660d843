//! The command `stackwright` of a process: arguments in, exit code out, on the process's own streams, environment and signals.
//!
//! The executable and the packages for Python and Node run it. It is for processes that do nothing else: it handles signals.

#![forbid(unsafe_code)]

mod streams;
mod echo;
mod signals;

use std::{ffi::OsString, io::IsTerminal as _, path::PathBuf, sync::Arc};

use console::Term;
use stackwright::runtime::in_place;
use stackwright_command::{Ask, Cancellation, Command, Invocation, Terminal, display::ScreenSize};

use signals::Signals;
use streams::Stream;

/// The exit code of a process that cannot start.
const UNSTARTED: i32 = 1;
/// How many threads the engine has.
const THREADS: usize = 4;
/// Terminals that cannot move their cursor.
const DUMB: &str = "dumb";

/// The name of the command, and that of the reference engine's, under which it can be installed, too.
const NAME: &str = "stackwright";
const REFERENCE_NAME: &str = "pulumi";

/// Runs a command line without the name of the command, and returns its exit code.
///
/// On a terminal, operations show a tree that is updated in place, and ask before they act. The first interrupt or termination
/// signal cancels an operation, so that running steps complete; the second abandons these; the third ends the process. Other
/// commands end with the first one. A closed pipe ends the output, and not the command.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    run_as(NAME, arguments)
}

/// Runs a command line that begins with the path of the command, as [`run`] does. The text of `--help` has the name `pulumi` where
/// the executable has it.
pub fn run_executable(line: impl IntoIterator<Item = OsString>) -> i32 {
    let mut line = line.into_iter();
    let path = line.next().map(PathBuf::from).unwrap_or_default();
    let is_reference = path.file_stem().is_some_and(|name| name == REFERENCE_NAME);
    run_as(if is_reference { REFERENCE_NAME } else { NAME }, line)
}

fn run_as(name: &str, arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return unstarted(&format!(
                "the threads of the engine could not be started: {error}"
            ));
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the working directory of the process is that of the command"
    )]
    let directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => return unstarted(&format!("the working directory: {error}")),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment of the process is that of the command"
    )]
    let environment = std::env::vars_os();
    // What is no text is of no use to the command.
    let environment =
        environment.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let arguments = arguments.into_iter();
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let (stdout, stderr) = (Stream::stdout(), Stream::stderr());
    let cancellation = Cancellation::default();
    let mut invocation = Invocation::new(arguments, directory);
    invocation.name = name.to_owned();
    invocation.environment = environment.collect();
    invocation.terminal = terminal(invocation.environment.get("TERM").map(String::as_str));
    let is_drawn_on = invocation.terminal.size.is_some();
    invocation.stdin = Arc::new(streams::read_all);
    invocation.stdout = stdout.output();
    invocation.stderr = stderr.output();
    invocation.cancellation = cancellation.clone();
    let signals = match Signals::handle(cancellation, (!is_drawn_on).then_some(stderr)) {
        Ok(signals) => signals,
        Err(error) => return unstarted(&format!("signals cannot be handled: {error}")),
    };
    let command = Command::new(runtime.handle().clone());
    let code = runtime.block_on(in_place(command.run(invocation)));
    signals.close();
    // A question for a secret that was left alone hides what is typed.
    echo::restore();
    // A question that was left alone still reads.
    runtime.shutdown_background();
    code
}

/// Returns what the process has of a terminal.
fn terminal(kind: Option<&str>) -> Terminal {
    let stdout = Term::stdout();
    if !stdout.is_term() {
        return Terminal::default();
    }
    let is_asked = std::io::stdin().is_terminal();
    let ask = |ask: fn(&str) -> std::io::Result<Option<String>>| is_asked.then(|| Arc::new(ask) as Ask);
    let size = move || {
        let (rows, columns) = stdout.size_checked().unwrap_or_default();
        ScreenSize { columns, rows }
    };
    Terminal {
        size: kind
            .is_some_and(|kind| kind != DUMB)
            .then(|| Arc::new(size) as Arc<dyn Fn() -> ScreenSize + Send + Sync>),
        ask: ask(streams::ask),
        ask_hidden: ask(echo::ask),
    }
}

fn unstarted(message: &str) -> i32 {
    Stream::stderr().write(&format!("error: {message}\n"));
    UNSTARTED
}
