//! Transcripts of command lines with what they print: each file of `transcripts/` is played in a folder of its own. Those in
//! `transcripts/hosted/` have a program, which `--client` stands for, and a provider: `transcript/notes.rs` has the files that these read.
//!
//! | line | meaning |
//! | --- | --- |
//! | `$ stack init dev` | runs the command; words can be in single quotes |
//! | `\| text` | the next line of standard output |
//! | `! text` | the next line of standard error |
//! | `? 6` | the exit code, where it is not 0 |
//! | `< text` | before the output: the next line of the standard input |
//! | `> text` | before the output: the next answer of the terminal, at which the command runs then |
//! | `* text` | a question at the terminal; `*# text` one whose answer is not shown |
//! | `@ write FILE` | writes the following lines, which begin with `+ `, into a file |
//! | `@ show FILE` | compares a file with the following lines, which begin with `+ ` |
//! | `@ absent FILE` | checks that there is no such file |
//! | `@ set NAME VALUE`, `@ unset NAME` | changes the environment |
//!
//! Lines that begin with `#` are comments. `#: ID ID…` names the rows of `rows.yaml` that the following steps cover.
//!
//! In output and files, `<dir>` stands for the folder, `<user>` and `<host>` for those of the process, `<time>` for any time,
//! `<cipher>` for any ciphertext or salt, `<uuid>` for any UUID, `<number>` for any number, `<seconds>` for a time in seconds, and `...` at the end of a line for any rest of it. `| [...]` stands for any number of lines.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod transcript;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use stackwright_command::Command;
use tokio::runtime::Handle;
use transcript::Player;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_transcript_plays_as_it_is_written() {
    play("tests/transcripts", || {
        Player::new(Command::new(Handle::current()))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_transcript_with_a_program_and_a_provider_plays_as_it_is_written() {
    play("tests/transcripts/hosted", Player::hosted).await;
}

/// The rows of the reference of the command's output.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    title: String,
    /// Tests beside the transcripts: `<file>::<function>`.
    #[serde(default)]
    tests: Vec<String>,
    /// Why nothing covers the row.
    reason: Option<String>,
}

/// Returns the fault of a test's name: there is no such file, or no such function in it.
fn test_fault(test: &str) -> Option<String> {
    let (file, function) = test.split_once("::")?;
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file));
    let text = text.unwrap_or_default();
    let forms = [format!("fn {function}("), format!("def {function}(")];
    let is_there = forms.iter().any(|form| text.contains(form));
    (!is_there).then(|| format!("there is no test {test}"))
}

#[test]
fn every_row_of_the_reference_is_covered_or_has_a_reason() {
    let text = fs::read_to_string(folder_of("tests").join("rows.yaml")).unwrap();
    let Rows { rows } = serde_norway::from_str(&text).unwrap();
    let marked: BTreeSet<String> = ["tests/transcripts", "tests/transcripts/hosted"]
        .into_iter()
        .flat_map(files)
        .flat_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let marks = text.lines().filter_map(|line| line.strip_prefix("#: "));
            let ids = marks.flat_map(str::split_whitespace).map(str::to_owned);
            ids.collect::<Vec<_>>()
        })
        .collect();
    let mut faults = Vec::new();
    let mut known = BTreeSet::new();
    for Row {
        id,
        title,
        tests,
        reason,
    } in &rows
    {
        if !known.insert(id.clone()) {
            faults.push(format!("{id} occurs twice"));
        }
        if !title.ends_with('.') {
            faults.push(format!("the title of {id} is no sentence"));
        }
        let is_covered = marked.contains(id) || !tests.is_empty();
        match (is_covered, reason) {
            (false, None) => faults.push(format!("nothing covers {id}: {title}")),
            (true, Some(_)) => faults.push(format!("{id} is covered, and has a reason why it is not")),
            _ => {}
        }
        faults.extend(tests.iter().filter_map(|test| test_fault(test)));
    }
    let unknown = marked.difference(&known);
    faults.extend(unknown.map(|id| format!("a transcript names {id}, which rows.yaml does not have")));
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns the transcripts of a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder_of(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// Plays the transcripts of a folder, each with a player of its own.
async fn play(folder: &str, player: impl Fn() -> Player) {
    let files = files(folder);
    assert!(!files.is_empty(), "there are no transcripts");
    let mut faults = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for fault in player().play(&text).await {
            faults.push(format!("{}:{fault}", file.display()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n\n"));
}
