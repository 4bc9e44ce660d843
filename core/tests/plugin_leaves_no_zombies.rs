//! A host that inherits the orphans of its plugins, as the first process of a container does, reaps them.
//! The test starts a separate host, which registers as subreaper.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[expect(dead_code, reason = "this test needs no fifo")]
mod host_process;

use std::process::Command;

use host_process::script;
use rustix::process::{WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};
use stackwright::{plugin::PluginProcess, runtime::Runtime};
use stackwright_testkit::wait::{TEST_TIMEOUT, Within as _, output};

/// Not a separate test: the host process that the test below starts.
#[tokio::test]
#[ignore = "the host process of the other test"]
async fn host() {
    set_child_subreaper(Some(getpid())).unwrap();
    // A child of the host, which only the host may reap.
    let mut own = Command::new("true").spawn().unwrap();
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    for text in [
        // Ends on request, and leaves a child and a grandchild that ignore signals.
        "trap '' INT TERM; (trap '' INT TERM; sleep 600 & sleep 600) & trap 'exit 0' INT TERM; echo 1; while :; do sleep 0.01; done",
        // Is killed, with its children.
        "(sleep 600 & sleep 600) & echo 1; kill -KILL $$",
    ] {
        let process = PluginProcess::start(script(text), &runtime).await.unwrap();
        process.close().within("the end of the plugin").await;
        assert!(process.exit().is_some());
    }
    // The only remaining child, dead or alive, is the host's own process.
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    assert!(own.wait().unwrap().success());
    assert_eq!(waitid(WaitId::All, any).unwrap_err(), rustix::io::Errno::CHILD);
}

#[test]
fn a_host_that_inherits_orphans_keeps_no_zombies_of_plugins() {
    let host = output(&mut host_process::host(), TEST_TIMEOUT);
    assert!(
        host.status.success(),
        "{}{}",
        String::from_utf8_lossy(&host.stdout),
        String::from_utf8_lossy(&host.stderr)
    );
    assert!(String::from_utf8_lossy(&host.stdout).contains("1 passed"));
}
