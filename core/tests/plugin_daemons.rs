//! Processes outside of a plugin's process group end with the plugin, where its host may create control groups.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and reports that it was skipped"
)]

mod host_process;

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use host_process::{FIFO, script};
use rustix::fs::{Mode, OFlags, open};
use stackwright::{
    plugin::{PluginProcess, Start},
    runtime::Runtime,
};
use stackwright_testkit::{
    control_group::writable_control_group,
    wait::{Within as _, blocking, until},
};

/// Returns the control groups of plugins that the process `pid` has created.
fn control_groups(own: &Path, pid: u32) -> Vec<PathBuf> {
    let prefix = format!("stackwright-{pid}-");
    std::fs::read_dir(own)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

/// Returns a plugin that starts a daemon: a new session, whose parent ends. The daemon holds the fifo open while it
/// runs.
fn plugin_with_daemon(fifo: &Path) -> Start {
    script(format!(
        "(exec 9>'{0}'; setsid sh -c 'echo up >&9; sleep 600 & wait' & sleep 0.2) & wait; echo 1; exec sleep 600",
        fifo.display()
    ))
}

/// Creates a fifo, whose reader gets the end of the file when the last process that holds it open has ended.
fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("alive");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Opens the reading end of a fifo and reads a line.
fn first_line(fifo: &Path) -> String {
    let fifo = fifo.to_owned();
    blocking("a line of the plugin", move || {
        let mut line = String::new();
        let file = File::open(fifo).unwrap();
        BufReader::new(file).read_line(&mut line).unwrap();
        line
    })
}

/// Waits until no process holds the fifo open.
async fn until_closed(fifo: &Path) {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut reader = File::from(open(fifo, flags, Mode::empty()).unwrap());
    until("the end of the daemon", || {
        matches!(reader.read(&mut [0; 64]), Ok(0))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_of_a_plugin_ends_when_the_plugin_is_closed_or_dropped() {
    let Some(own) = writable_control_group() else {
        eprintln!("skipped: this process can make no control group");
        return;
    };
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    for closes in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let fifo = fifo(folder.path());
        let (path, starting) = (fifo.clone(), plugin_with_daemon(&fifo));
        let opening = tokio::task::spawn_blocking(move || first_line(&path));
        let process = PluginProcess::start(starting, &runtime).await.unwrap();
        assert_eq!(opening.within("a line of the plugin").await.unwrap(), "up\n");
        assert_eq!(control_groups(&own, std::process::id()).len(), 1);
        if closes {
            process.close().within("the end of the plugin").await;
            assert_eq!(control_groups(&own, std::process::id()), [] as [PathBuf; 0]);
        }
        drop(process);
        until_closed(&fifo).await;
    }
}

/// Not a separate test: the host process that the test below starts and kills.
#[tokio::test]
#[ignore = "the host process of the other test"]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment carries the argument of the child process"
)]
async fn host() {
    let fifo = std::env::var(FIFO).unwrap();
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let starting = plugin_with_daemon(Path::new(&fifo));
    let process = PluginProcess::start(starting, &runtime).await.unwrap();
    std::fs::write(format!("{fifo}.started"), "").unwrap();
    process.exited().await;
}

#[tokio::test]
async fn a_daemon_of_a_plugin_ends_with_a_host_that_is_killed() {
    let Some(own) = writable_control_group() else {
        eprintln!("skipped: this process can make no control group");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    let mut host = host_process::host()
        .env(FIFO, &fifo)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(first_line(&fifo), "up\n");
    let started = folder.path().join("alive.started");
    until("the start of the plugin", || started.exists()).await;
    let [group] = control_groups(&own, host.id()).try_into().unwrap();
    host.kill().unwrap();
    blocking("the end of the host", move || host.wait().unwrap());
    until_closed(&fifo).await;
    // The guard ends last, after removing the control group.
    until("the removal of the control group", || !group.exists()).await;
}
