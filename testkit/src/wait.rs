//! Waits with a deadline: a fault of the engine fails a test with a message, and never hangs it.

use std::{
    future::Future,
    panic::Location,
    process::{Command, Output, Stdio},
    sync::{Arc, mpsc},
    time::Duration,
};

use stackwright::operation::{Operation, OperationResult};

/// The limit of a wait in a test: far more than any takes on a loaded machine.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The interval at which [`until`] checks its condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits for `future` no longer than `limit`.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's clock is part of what is tested here"
)]
pub async fn at_most<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, future).await.ok()
}

/// A wait of a test, with [`TEST_TIMEOUT`] as its limit.
pub trait Within: Future + Sized {
    /// Waits for the future; `what` names the awaited event.
    ///
    /// # Panics
    /// With `what` and the place of the call, after [`TEST_TIMEOUT`].
    #[track_caller]
    fn within(self, what: &str) -> impl Future<Output = Self::Output> {
        let place = Location::caller();
        async move {
            match at_most(TEST_TIMEOUT, self).await {
                Some(output) => output,
                None => failed(what, place),
            }
        }
    }
}

impl<F: Future> Within for F {}

/// The end of an operation.
pub trait Ended {
    /// Waits for the end of the operation.
    ///
    /// # Panics
    /// After [`TEST_TIMEOUT`].
    fn ended(&self) -> impl Future<Output = Arc<OperationResult>> + Send;
}

impl Ended for Operation {
    #[track_caller]
    fn ended(&self) -> impl Future<Output = Arc<OperationResult>> + Send {
        self.wait().within("the end of the operation")
    }
}

/// Waits until a condition holds; `what` names it.
///
/// # Panics
/// With `what`, after [`TEST_TIMEOUT`].
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let polls = async move {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        while !holds() {
            interval.tick().await;
        }
    };
    polls.within(what)
}

/// Runs blocking work on its own thread, and waits for it; `what` names the awaited event.
///
/// # Panics
/// With `what`, after [`TEST_TIMEOUT`] or when the work panics.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "the thread remains when the work never ends"
)]
pub fn blocking<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let place = Location::caller();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(TEST_TIMEOUT) {
        Ok(done) => done,
        Err(_) => failed(what, place),
    }
}

/// Runs a command to its end, and returns the status, the output and the errors. The command is empty afterwards. Not
/// for the tasks of a runtime.
///
/// # Panics
/// After `limit`, with the command, which is killed; or when it cannot be run.
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn output(command: &mut Command, limit: Duration) -> Output {
    let what = format!("{command:?}");
    let command = std::mem::replace(command, Command::new(""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    let output = runtime.block_on(async {
        let child = tokio::process::Command::from(command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .output();
        at_most(limit, child).await
    });
    match output {
        Some(Ok(output)) => output,
        Some(Err(error)) => panic!("cannot run {what}: {error}"),
        None => panic!("gave up waiting for the end of {what}"),
    }
}

#[expect(clippy::panic, reason = "a test fails by panicking")]
fn failed(what: &str, place: &Location<'_>) -> ! {
    panic!("gave up waiting for {what}, at {place}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_command_has_both_streams() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = output(&mut command, TEST_TIMEOUT);
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            (output.stdout, output.stderr),
            (b"out\n".to_vec(), b"err\n".to_vec())
        );
    }

    #[test]
    #[should_panic(expected = "gave up waiting for the end of \"sleep\" \"600\"")]
    fn a_command_that_does_not_end_is_named() {
        output(Command::new("sleep").arg("600"), Duration::from_millis(50));
    }

    #[test]
    #[should_panic(expected = "gave up waiting for the thread")]
    fn blocking_work_that_panics_is_named() {
        blocking("the thread", || panic!("on purpose"));
    }

    #[tokio::test]
    async fn a_wait_returns_the_output() {
        assert_eq!(std::future::ready(1).within("a number").await, 1);
        let mut polls = 0;
        until("the third poll", || {
            polls += 1;
            polls == 3
        })
        .await;
    }

    #[tokio::test]
    async fn a_wait_with_a_limit_ends() {
        let never = std::future::pending::<()>();
        assert_eq!(at_most(Duration::from_millis(1), never).await, None);
    }
}
