//! The plugins of a killed host, and their child processes, end with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod host_process;

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use host_process::{FIFO, script};
use stackwright::{plugin::PluginProcess, runtime::Runtime};
use stackwright_testkit::wait::blocking;

/// Not a separate test: the host process that the test below starts and kills.
#[tokio::test]
#[ignore = "the host process of the other test"]
#[expect(clippy::disallowed_methods, reason = "the environment carries the argument")]
async fn host() {
    let fifo = std::env::var(FIFO).unwrap();
    // Ignores signals, and has a child; both hold the fifo open while they run.
    let start = script(format!(
        "trap '' INT HUP TERM; exec 9>'{fifo}'; sleep 600 & echo 1; wait"
    ));
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let process = PluginProcess::start(start, &runtime).await.unwrap();
    std::fs::write(format!("{fifo}.ready"), "plugin is up\n").unwrap();
    process.exited().await;
}

#[test]
fn a_killed_host_leaves_no_plugin_and_no_child_of_a_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("alive");
    let ready = folder.path().join("alive.ready");
    for path in [&fifo, &ready] {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    let mut host = host_process::host()
        .env(FIFO, &fifo)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut alive, line) = blocking("the start of the plugin", move || {
        let alive = File::open(&fifo).unwrap();
        let mut line = String::new();
        BufReader::new(File::open(&ready).unwrap())
            .read_line(&mut line)
            .unwrap();
        (alive, line)
    });
    assert_eq!(line, "plugin is up\n");

    host.kill().unwrap();
    blocking("the end of the host", move || host.wait().unwrap());

    // The fifo ends when the last process that holds it open has ended.
    let rest = blocking("the end of the plugin and its child", move || {
        let mut rest = Vec::new();
        alive.read_to_end(&mut rest).unwrap();
        rest
    });
    assert_eq!(rest, b"");
}
