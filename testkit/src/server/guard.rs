//! A server process that ends with its owner, even when that is killed.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
};

use crate::wait::TEST_TIMEOUT;

/// Runs `$@` until the standard input ends; removes the folder `$0` afterwards. The first signal is PostgreSQL's request for a fast
/// end, which other processes in the background of a shell ignore.
const GUARD: &str = "\"$@\" < /dev/null & server=$!\n\
                     while read -r _; do :; done\n\
                     kill -INT $server; kill -TERM $server; wait $server; [ -z \"$0\" ] || rm -rf \"$0\"";

/// A running server.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
}

/// Who runs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// The user of the tests.
    Own,
    /// The user without rights, where the tests run as root.
    Unprivileged(u32),
}

impl Guard {
    /// Starts a server. `folder` is removed when it has ended. Returns the first line of its output that contains `announces`,
    /// which must come in time; `None` as `announces` waits for none.
    ///
    /// # Errors
    /// The reason why it did not start.
    pub(super) fn start(
        command: &[&str],
        folder: Option<&Path>,
        user: User,
        announces: Option<&str>,
    ) -> Result<(Self, String), String> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", GUARD])
            .arg(folder.unwrap_or(Path::new("")))
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A signal to the tests, from a terminal for instance, does not end it before them.
            .process_group(0);
        if let User::Unprivileged(user) = user {
            shell.uid(user).gid(user).current_dir("/");
        }
        let mut shell = shell
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let output = shell.stdout.take();
        let guard = Self { shell };
        let Some((announces, output)) = announces.zip(output) else {
            return Ok((guard, String::new()));
        };
        let (sender, receiver) = mpsc::channel();
        let announces = announces.to_owned();
        #[expect(clippy::disallowed_methods, reason = "the output is read until it ends")]
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            if let Some(line) = lines.find(|line| line.contains(&announces)) {
                sender.send(line).ok();
            }
            // A full pipe would stop the server.
            lines.for_each(drop);
        });
        match receiver.recv_timeout(TEST_TIMEOUT) {
            Ok(line) => Ok((guard, line)),
            Err(_) => Err(format!("{command:?} did not start")),
        }
    }

    /// Returns whether it still runs.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.shell.try_wait(), Ok(None))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The shell ends the server; a test need not wait for that.
        drop(self.shell.stdin.take());
    }
}

/// Returns a port of loopback that is free at the moment.
pub(super) fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
