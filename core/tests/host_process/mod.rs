//! What tests of plugins' processes share: a shell script as a plugin, and a host in a process of its own.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use stackwright::plugin::{Inheritance, PluginCommand, PluginTimeouts, Start};

/// Names the variable that tells the host process which fifo the plugin opens.
pub(crate) const FIFO: &str = "HOST_PROCESS_FIFO";

/// Returns how a plugin starts that is a shell script.
pub(crate) fn script(script: impl Into<std::ffi::OsString>) -> Start {
    Start {
        label: "test (resource)".into(),
        command: PluginCommand {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), script.into(), "plugin".into()],
            environment: Vec::new(),
        },
        engine_address: String::new(),
        directory: None,
        inheritance: Inheritance::now(),
        environment: Vec::new(),
        visible: false,
        sink: None,
        guard_shell: Some(PathBuf::from("/bin/sh")),
        timeouts: PluginTimeouts::default(),
    }
}

/// Returns the command of the host: this test's own executable, which runs its ignored test `host` alone.
pub(crate) fn host() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "host", "--ignored", "--nocapture"])
        .stdin(Stdio::null());
    command
}
