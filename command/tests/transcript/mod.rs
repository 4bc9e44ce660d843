//! The player of transcripts.

mod notes;
mod pattern;

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    sync::{Arc, Mutex},
};

use stackwright::{
    Engine,
    program::Program,
    runtime::Runtime,
    secrets::PassphraseProvider,
    store::{HostFacts, MemoryStore},
};
use stackwright_command::{Ask, Command, Invocation, Output, Terminal};

use notes::Notes;
use pattern::matches;

/// The variables that each transcript begins with.
const PASSPHRASE: (&str, &str) = ("PULUMI_CONFIG_PASSPHRASE", "correct horse");

/// Any number of lines.
const LINES: &str = "[...]";

/// A step of a transcript: its first line with its number, and the lines that belong to it.
struct Step<'a> {
    number: usize,
    first: &'a str,
    rest: Vec<&'a str>,
}

/// Plays one transcript in a folder of its own.
pub(crate) struct Player {
    command: Command,
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
    /// What `--client` stands for.
    program: Option<Arc<dyn Program>>,
}

impl Player {
    /// Creates a player whose folder has a project file and an empty store.
    pub(crate) fn new(command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("state")).unwrap();
        fs::create_dir(path("shop")).unwrap();
        fs::write(path("shop/Pulumi.yaml"), "name: shop\nruntime: python\n").unwrap();
        let text = |name: &str| path(name).display().to_string();
        let environment = [
            (
                "PULUMI_BACKEND_URL".to_owned(),
                format!("file://{}", text("state")),
            ),
            ("PULUMI_HOME".to_owned(), text("home")),
            (PASSPHRASE.0.to_owned(), PASSPHRASE.1.to_owned()),
        ];
        Self {
            command,
            environment: environment.into(),
            folder,
            program: None,
        }
    }

    /// Creates a player whose command has an engine of the host, with a provider and a program that work as files of the folder say.
    pub(crate) fn hosted() -> Self {
        let handle = tokio::runtime::Handle::current();
        let runtime = Runtime::system(handle.clone());
        let folder = Self::new(Command::new(handle.clone()));
        let shop = folder.folder.path().join("shop");
        let engine = Engine::builder(handle.clone())
            .store(Arc::new(MemoryStore::new(runtime.clone())))
            .secrets(Arc::new(PassphraseProvider::new(PASSPHRASE.1, runtime)))
            .provider("notes", Arc::new(Notes(shop.clone())))
            .build()
            .unwrap();
        Self {
            command: Command::with_engine(handle, engine),
            program: Some(notes::program(shop)),
            ..folder
        }
    }

    /// Plays the steps; returns what differs, each with the number of its line.
    pub(crate) async fn play(&mut self, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for step in steps(text) {
            let fault = match step.first.split_at(2) {
                ("$ ", line) => self.run(line, &step.rest).await,
                ("@ ", directive) => self.direct(directive, &step.rest),
                _ => panic!("line {}: {:?} begins no step", step.number, step.first),
            };
            faults.extend(fault.map(|fault| format!("{}: {}\n{fault}", step.number, step.first)));
        }
        faults
    }

    async fn run(&self, line: &str, expected: &[&str]) -> Option<String> {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let output = |mark: &'static str| -> Output {
            let seen = Arc::clone(&seen);
            let heartbeats = Mutex::new(Heartbeats::default());
            Arc::new(move |text: &str| {
                let text = heartbeats.lock().unwrap().without(text);
                let lines = text
                    .lines()
                    .map(|line| format!("{mark} {line}").trim_end().to_owned());
                seen.lock().unwrap().extend(lines);
            })
        };
        let begins = |mark: &'static str| move |line: &&&str| line.starts_with(mark);
        let given = |mark| {
            expected
                .iter()
                .filter(begins(mark))
                .map(|line| line[2..].to_owned())
        };
        let answers: Arc<Mutex<VecDeque<String>>> = Arc::new(Mutex::new(given("> ").collect()));
        let is_terminal = !answers.lock().unwrap().is_empty();
        let ask = |mark: &'static str| -> Option<Ask> {
            let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
            let ask = move |question: &str| {
                let lines = question.trim_end().lines();
                let lines = lines.map(|line| format!("{mark} {line}").trim_end().to_owned());
                seen.lock().unwrap().extend(lines);
                Ok(answers.lock().unwrap().pop_front().map(|answer| answer + "\n"))
            };
            is_terminal.then(|| Arc::new(ask) as Ask)
        };
        let stdin: String = given("< ").map(|line| line + "\n").collect();
        let invocation = Invocation {
            environment: self.environment.clone(),
            stdin: Arc::new(move || Ok(stdin.clone().into_bytes())),
            stdout: output("|"),
            stderr: output("!"),
            terminal: Terminal {
                size: None,
                ask: ask("*"),
                ask_hidden: ask("*#"),
            },
            program: self.program.clone(),
            ..Invocation::new(words(&self.expanded(line)), self.folder.path().join("shop"))
        };
        let code = self.command.run(invocation).await;
        let mut seen = std::mem::take(&mut *seen.lock().unwrap());
        if code != 0 {
            seen.push(format!("? {code}"));
        }
        let is_output = |line: &&&str| !line.starts_with(['<', '>']);
        let expected: Vec<&str> = expected.iter().filter(is_output).copied().collect();
        self.difference(&expected, &seen)
    }

    fn direct(&mut self, directive: &str, content: &[&str]) -> Option<String> {
        let words = words(&self.expanded(directive));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let path = |name: &str| self.folder.path().join("shop").join(name);
        match words[..] {
            ["write", file] => {
                let lines = content
                    .iter()
                    .map(|line| line.strip_prefix("+ ").unwrap_or_default());
                let text: String = lines.map(|line| format!("{}\n", self.expanded(line))).collect();
                fs::create_dir_all(path(file).parent().unwrap()).unwrap();
                fs::write(path(file), text).unwrap();
                None
            }
            ["show", file] => {
                let text = fs::read_to_string(path(file)).unwrap_or_else(|error| format!("{file}: {error}"));
                let seen: Vec<String> = text
                    .lines()
                    .map(|line| format!("+ {line}").trim_end().to_owned())
                    .collect();
                self.difference(content, &seen)
            }
            ["absent", file] => path(file).exists().then(|| format!("    {file} exists")),
            ["set", name, value] => {
                self.environment.insert(name.to_owned(), value.to_owned());
                None
            }
            ["unset", name] => {
                self.environment.remove(name);
                None
            }
            _ => panic!("there is no directive {directive:?}"),
        }
    }

    fn expanded(&self, text: &str) -> String {
        text.replace("<dir>", &self.folder.path().display().to_string())
    }

    fn difference(&self, expected: &[&str], seen: &[String]) -> Option<String> {
        let facts = HostFacts::system();
        let expected: Vec<String> = expected
            .iter()
            .map(|line| {
                let line = self.expanded(line);
                line.replace("<user>", &facts.username)
                    .replace("<host>", &facts.hostname)
            })
            .collect();
        let is_same = are_matched(&expected, seen);
        let shown =
            |lines: &[String]| -> String { lines.iter().map(|line| format!("    {line}\n")).collect() };
        (!is_same).then(|| format!("  expected:\n{}  seen:\n{}", shown(&expected), shown(seen)))
    }
}

/// Leaves heartbeats out of the output: a slow machine has more of them.
#[derive(Default)]
struct Heartbeats {
    has_begun: bool,
}

impl Heartbeats {
    /// Returns a piece of the output without its heartbeats.
    fn without<'a>(&mut self, piece: &'a str) -> &'a str {
        match (self.has_begun, piece) {
            (true, ".") => "",
            (true, piece) => {
                self.has_begun = false;
                piece.strip_prefix('\n').unwrap_or(piece)
            }
            (false, piece) if piece.starts_with("@ ") && piece.ends_with("....") => {
                self.has_begun = true;
                ""
            }
            (false, piece) => piece,
        }
    }
}

/// Returns whether lines have the forms of patterns, in order.
fn are_matched(patterns: &[String], lines: &[String]) -> bool {
    match (patterns.split_first(), lines.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((pattern, rest)), _) if pattern.ends_with(LINES) => {
            (0..=lines.len()).any(|count| are_matched(rest, &lines[count..]))
        }
        (Some((pattern, patterns)), Some((line, lines))) => {
            matches(pattern, line) && are_matched(patterns, lines)
        }
        (Some(_), None) => false,
    }
}

/// Splits a transcript into steps. Empty lines and lines with `#` at their beginning separate them.
fn steps(text: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match (line.starts_with(['$', '@']), steps.last_mut()) {
            (false, Some(step)) => step.rest.push(line.trim_end()),
            _ => steps.push(Step {
                number: index + 1,
                first: line,
                rest: Vec::new(),
            }),
        }
    }
    steps
}

/// Splits a line into words; single quotes keep blanks.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_word, mut is_quoted) = (String::new(), false, false);
    for character in line.chars() {
        match character {
            '\'' => {
                is_quoted = !is_quoted;
                is_word = true;
            }
            ' ' if !is_quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => {
                word.push(other);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}
