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
//! In output and files, `<dir>` stands for the folder, `<user>` and `<host>` for those of the process, `<time>` for any time,
//! `<cipher>` for any ciphertext or salt, `<uuid>` for any UUID, `<number>` for any number, and `...` at the end of a line for any rest of it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod transcript;

use std::{fs, path::Path};

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

/// Plays the transcripts of a folder, each with a player of its own.
async fn play(folder: &str, player: impl Fn() -> Player) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
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
