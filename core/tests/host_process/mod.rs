//! Shared parts of the tests of plugin processes: a shell script as a plugin, and a host in a separate process.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use stackwright::plugin::{HostEnvironment, PluginCommand, PluginTimeouts, Start};

/// The environment variable with the path of the fifo that the plugin opens.
pub(crate) const FIFO: &str = "HOST_PROCESS_FIFO";

/// Returns the start of a plugin that is a shell script.
pub(crate) fn script(script: impl Into<std::ffi::OsString>) -> Start {
    Start {
        label: "test (resource)".into(),
        command: PluginCommand {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), script.into(), "plugin".into()],
            ..PluginCommand::default()
        },
        engine_address: String::new(),
        operands: Vec::new(),
        directory: None,
        host_environment: HostEnvironment::now(),
        environment: Vec::new(),
        visible: false,
        sink: None,
        guard_shell: Some(PathBuf::from("/bin/sh")),
        timeouts: PluginTimeouts::default(),
    }
}

/// Returns the command of the host: this test's executable, which runs only its ignored test `host`.
pub(crate) fn host() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "host", "--ignored", "--nocapture"])
        .stdin(Stdio::null());
    command
}
