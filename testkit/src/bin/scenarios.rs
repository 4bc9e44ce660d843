//! Plays every scenario of a folder through one binding and prints how many passed.

use std::{
    collections::VecDeque,
    io::Write as _,
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use stackwright_testkit::{
    director::{ActorCommand, Cast, play},
    scenario::{COVERAGE_FILE, RULES_FILE, Rules, Scenario, ScenarioError, read_directory},
};
use tokio::fs::File;

const USAGE: &str = "\
usage: scenarios --dir FOLDER [--binding rust|c|python|node|relay] [--runner COMMAND] [--python PROGRAM] [--jobs N]
                 [--only TEXT] [--scope all|binding|sample:K/N] [--verbose]
       scenarios --dir FOLDER --coverage

Plays the scenarios of FOLDER. COMMAND starts the binding's actor (see scenarios/PROTOCOL.md); the one of the
Rust binding is this program itself. In a relay each operation of a scenario is another binding's, all on one stack.
PROGRAM runs Python's actor, and is python3 otherwise. TEXT keeps the scenarios whose path contains it. The scope
`binding` keeps the scenarios that depend on the binding, `sample:K/N` also the K-th of N parts of the others.
With --coverage none is played: FOLDER/COVERAGE.md is written, from FOLDER/rules.yaml and the scenarios.";

const BINDINGS: [&str; 4] = ["rust", "c", "python", "node"];

#[derive(Debug)]
struct Arguments {
    dir: PathBuf,
    binding: String,
    runner: Option<String>,
    python: String,
    jobs: usize,
    only: String,
    scope: Scope,
    verbose: bool,
    coverage: bool,
}

/// Which scenarios of a folder are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    /// Those that depend on the binding.
    Binding,
    /// Those that depend on the binding, and one of `parts` equal parts of the others.
    Sample {
        part: u64,
        parts: u64,
    },
}

impl Scope {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("--scope: {text} is not all, binding or sample:K/N\n\n{USAGE}");
        match text {
            "all" => Ok(Self::All),
            "binding" => Ok(Self::Binding),
            _ => {
                let numbers = text.strip_prefix("sample:").and_then(|rest| rest.split_once('/'));
                let (part, parts) = numbers.ok_or_else(wrong)?;
                let part: u64 = part.parse().map_err(|_| wrong())?;
                match parts.parse() {
                    Ok(parts) if parts > 0 => Ok(Self::Sample {
                        part: part % parts,
                        parts,
                    }),
                    _ => Err(wrong()),
                }
            }
        }
    }

    /// Returns whether a scenario is played. A file that is not a scenario always is, since its error must be seen.
    fn holds(self, number: u64, scenario: &Result<Scenario, ScenarioError>) -> bool {
        let binding = scenario.as_ref().map_or(true, |scenario| scenario.binding);
        match self {
            Self::All => true,
            Self::Binding => binding,
            Self::Sample { part, parts } => binding || number % parts == part,
        }
    }
}

/// Returns a standard stream as a file of its own.
fn own(stream: impl AsFd) -> Result<File, String> {
    let owned = stream.as_fd().try_clone_to_owned();
    Ok(File::from_std(owned.map_err(|error| error.to_string())?.into()))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new();
    let work = async {
        if words.first().is_some_and(|word| word == "--act") {
            stackwright_testkit::actor::log_to_stderr()?;
            let (reader, writer) = (own(std::io::stdin())?, own(std::io::stdout())?);
            return stackwright_testkit::actor::serve(reader, writer).await;
        }
        let arguments = parse(words)?;
        if arguments.coverage {
            return write_coverage(&arguments.dir);
        }
        let Tally {
            passed,
            failed,
            skipped,
        } = run(&arguments).await?;
        if skipped > 0 {
            print(&format!("{skipped} skipped: an actor has no hooks\n"));
        }
        print(&format!("{passed} passed, {failed} failed\n"));
        if failed > 0 { Err(String::new()) } else { Ok(()) }
    };
    match runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let result = runtime.block_on(work);
        // A thread that is still blocked, on standard input for instance, must not keep the process alive.
        runtime.shutdown_background();
        result
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                print(&format!("{message}\n"));
            }
            ExitCode::FAILURE
        }
    }
}

/// Writes which scenarios test each rule of a folder.
fn write_coverage(folder: &Path) -> Result<(), String> {
    let rules = Rules::read(folder).map_err(|error| error.to_string())?;
    let rules = rules.ok_or_else(|| format!("{} has no {RULES_FILE}", folder.display()))?;
    let scenarios = read_directory(folder).map_err(|error| error.to_string())?;
    let scenarios: Result<Vec<_>, _> = scenarios.into_iter().collect();
    let scenarios = scenarios.map_err(|error| error.to_string())?;
    let path = folder.join(COVERAGE_FILE);
    std::fs::write(&path, rules.coverage(&scenarios, folder).to_markdown())
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // A failed write to standard output cannot be reported.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

fn parse(words: Vec<String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        dir: PathBuf::new(),
        binding: "rust".into(),
        runner: None,
        python: "python3".into(),
        jobs: 2,
        only: String::new(),
        scope: Scope::All,
        verbose: false,
        coverage: false,
    };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("{word} needs a value\n\n{USAGE}"))
        };
        match word.as_str() {
            "--dir" => arguments.dir = value()?.into(),
            "--binding" => arguments.binding = value()?,
            "--python" => arguments.python = value()?,
            "--runner" => arguments.runner = Some(value()?),
            "--jobs" => arguments.jobs = value()?.parse().map_err(|error| format!("--jobs: {error}"))?,
            "--only" => arguments.only = value()?,
            "--scope" => arguments.scope = Scope::parse(&value()?)?,
            "--verbose" => arguments.verbose = true,
            "--coverage" => arguments.coverage = true,
            _ => return Err(format!("unknown argument {word}\n\n{USAGE}")),
        }
    }
    if arguments.dir.as_os_str().is_empty() {
        return Err(USAGE.into());
    }
    Ok(arguments)
}

/// Returns how to start the actors that take turns; mostly it is one.
fn commands(arguments: &Arguments) -> Result<Vec<ActorCommand>, String> {
    match (arguments.binding.as_str(), &arguments.runner) {
        ("relay", None) => BINDINGS
            .into_iter()
            .map(|binding| command(binding, arguments))
            .collect(),
        ("relay", Some(_)) => Err(format!("a relay has a runner for each binding\n\n{USAGE}")),
        (binding, None) => Ok(vec![command(binding, arguments)?]),
        (binding, Some(runner)) => Ok(vec![ActorCommand {
            binding: binding.to_owned(),
            words: split(runner),
        }]),
    }
}

fn command(binding: &str, arguments: &Arguments) -> Result<ActorCommand, String> {
    let words = match binding {
        "rust" => {
            let program = std::env::current_exe().map_err(|error| error.to_string())?;
            vec![program.display().to_string(), "--act".into()]
        }
        "python" => {
            let mut words = split(&arguments.python);
            words.push("bindings-python/tests/scenario_runner.py".into());
            words
        }
        "node" => split("node bindings-node/tests/scenario_runner.mjs"),
        "c" => split("target/scenario_runner_c"),
        other => return Err(format!("unknown binding {other}\n\n{USAGE}")),
    };
    Ok(ActorCommand {
        binding: binding.to_owned(),
        words,
    })
}

fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// How many scenarios passed, failed, or were not played.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

async fn run(arguments: &Arguments) -> Result<Tally, String> {
    let commands = commands(arguments)?;
    let mut scenarios = read_directory(&arguments.dir).map_err(|error| error.to_string())?;
    scenarios.retain(|scenario| path(scenario).contains(&arguments.only));
    let bindings: Vec<_> = commands.iter().map(|command| command.binding.as_str()).collect();
    scenarios.retain(|scenario| {
        scenario
            .as_ref()
            .map_or(true, |scenario| scenario.is_for(&bindings))
    });
    let mut number = 0;
    scenarios.retain(|scenario| {
        number += 1;
        arguments.scope.holds(number, scenario)
    });
    if scenarios.is_empty() {
        return Err(format!("there are no scenarios in {}", arguments.dir.display()));
    }
    let waiting = Mutex::new(VecDeque::from(scenarios));
    let workers = (0..arguments.jobs.max(1)).map(|_| work(&waiting, &commands, arguments.verbose));
    let mut total = Tally::default();
    for part in futures::future::join_all(workers).await {
        total.passed += part.passed;
        total.failed += part.failed;
        total.skipped += part.skipped;
    }
    Ok(total)
}

fn path(scenario: &Result<Scenario, ScenarioError>) -> String {
    match scenario {
        Ok(scenario) => scenario.path.display().to_string(),
        Err(error) => error.path.display().to_string(),
    }
}

/// Plays scenarios until none is left.
async fn work(
    waiting: &Mutex<VecDeque<Result<Scenario, ScenarioError>>>,
    commands: &[ActorCommand],
    verbose: bool,
) -> Tally {
    let mut cast = Cast::new(commands);
    let mut tally = Tally::default();
    loop {
        let scenario = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(scenario) = scenario else { break };
        let name = path(&scenario);
        let failures = match scenario {
            Ok(scenario) if scenario.has_hooks() => match cast.has_hooks().await {
                Ok(true) => play(&scenario, &mut cast).await,
                Ok(false) => {
                    tally.skipped += 1;
                    continue;
                }
                Err(text) => vec![text],
            },
            Ok(scenario) => play(&scenario, &mut cast).await,
            Err(error) => vec![error.to_string()],
        };
        if failures.is_empty() {
            tally.passed += 1;
            if verbose {
                print(&format!("ok      {name}\n"));
            }
        } else {
            tally.failed += 1;
            print(&format!(
                "FAILED  {name}\n        {}\n",
                failures.join("\n        ")
            ));
        }
    }
    cast.end().await;
    tally
}
