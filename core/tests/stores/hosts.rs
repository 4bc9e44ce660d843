//! Hosts that are killed at any create or write, and hosts that are suspended for longer than their lease.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use stackwright::{
    ErrorKind,
    operation::{OperationKind, OperationOptions},
    store::{Credentials, Store, StoreSettings, open_with},
};
use stackwright_testkit::wait::{Ended as _, TEST_TIMEOUT, blocking, output};

use super::{
    mortal::{Death, Moment, MortalStore},
    operations::{Files, RESOURCES, announce, check_nothing_lost, check_secrets, plain, run, stack},
    places,
};

/// The lease of the hosts.
const LEASE: Duration = Duration::from_secs(2);

/// How often hosts are killed and suspended for each store. `make test-stores` does it more often.
const KILLS: &str = "STACKWRIGHT_TEST_KILLS";
const SUSPENSIONS: &str = "STACKWRIGHT_TEST_SUSPENSIONS";

/// The arguments of a host process.
const FOLDER: &str = "STORES_FOLDER";
const PLACE: &str = "STORES_PLACE";
const DEATH: &str = "STORES_DEATH";
const PAUSE: &str = "STORES_PAUSE";
const WRITE: &str = "STORES_WRITE";
const WORK: &str = "STORES_WORK";

/// The writes of an operation at which hosts are killed.
const WRITES: usize = 16;

/// The place of a store, in a form that a host process can be given.
fn open_place(place: &str) -> Arc<dyn Store> {
    let credentials = match place.split_once(':') {
        Some(("s3", _)) => Credentials::Given(places::aws_keys()),
        Some(("azblob", _)) => Credentials::Given(places::azure_key()),
        _ => Credentials::None,
    };
    let settings = StoreSettings {
        credentials,
        lease: LEASE,
        ..StoreSettings::default()
    };
    open_with(place, Path::new("/"), &places::runtime(), &settings).unwrap()
}

/// Not a separate test: the host process of the tests below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the host process of the other tests"]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment carries the arguments of the child process"
)]
async fn host() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let files = Files {
        folder: std::env::var(FOLDER).unwrap().into(),
        death: number(DEATH),
        pause: number(PAUSE),
    };
    let mut store = open_place(&std::env::var(PLACE).unwrap());
    if let Ok(death) = std::env::var(WRITE) {
        store = Arc::new(MortalStore::new(store, Death::parse(&death)));
    }
    let kind = match std::env::var(WORK).is_ok() {
        true => OperationKind::Destroy,
        false => OperationKind::Update,
    };
    let stack = stack(store, files).await;
    let result = run(&stack, kind, "one").await;
    let end = result
        .error
        .as_ref()
        .map(|error| format!("{} {error:?}", error.kind().name()));
    announce(&format!("ended {}", end.unwrap_or_default().replace('\n', " ")));
}

fn host_process(place: &str, folder: &Path, variable: &str, value: impl ToString) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "hosts::host", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .env(FOLDER, folder)
        .env(variable, value.to_string());
    command
}

#[expect(clippy::disallowed_methods, reason = "the build sets the number")]
fn times(variable: &str, default: usize) -> usize {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Kills hosts after each number of creates in turn; the next host goes on.
async fn survives_kills(place: impl Fn(usize) -> String) {
    for round in 0..times(KILLS, 2) {
        let folder = tempfile::tempdir().unwrap();
        let (place, death) = (place(round), round % RESOURCES + 1);
        let mut command = host_process(&place, folder.path(), DEATH, death);
        let host = tokio::task::spawn_blocking(move || output(&mut command, TEST_TIMEOUT));
        let host = host.await.unwrap();
        assert_eq!(
            host.status.signal(),
            Some(9),
            "{}",
            String::from_utf8_lossy(&host.stdout)
        );
        goes_on(&place, folder.path()).await;
        is_killed_at_a_write(&place, folder.path(), round, round % 2 == 1).await;
        goes_on(&place, folder.path()).await;
    }
}

/// Runs a host that is killed at a write, unless it has fewer, of a destroy or of an update that creates everything again.
async fn is_killed_at_a_write(place: &str, folder: &Path, round: usize, is_destroy: bool) {
    if !is_destroy {
        let stack = stack(open_place(place), plain(folder)).await;
        let destroyed = run(&stack, OperationKind::Destroy, "").await;
        assert!(destroyed.error.is_none(), "round {round}: {:?}", destroyed.error);
    }
    let death = Death {
        // Writes that follow each other in rounds of one kind are far apart.
        write: (round / 2 * 5 + 3) % WRITES,
        moment: match round / 4 % 2 {
            0 => Moment::After,
            _ => Moment::Before,
        },
    };
    let mut command = host_process(place, folder, WRITE, death);
    if is_destroy {
        command.env(WORK, "destroy");
    }
    let host = tokio::task::spawn_blocking(move || output(&mut command, TEST_TIMEOUT));
    let host = host.await.unwrap();
    let is_killed = host.status.signal() == Some(9);
    assert!(
        is_killed || host.status.success(),
        "round {round}: {}",
        String::from_utf8_lossy(&host.stdout)
    );
    assert!(is_killed || death.write > 4, "{death} was not reached");
}

/// Lets another host go on after a killed one.
async fn goes_on(place: &str, folder: &Path) {
    let store = open_place(place);
    let next = stack(Arc::clone(&store), plain(folder)).await;
    check_nothing_lost(&next.snapshot().await.unwrap(), folder);
    next.refresh(OperationOptions::default()).ended().await;
    let result = run(&next, OperationKind::Update, "one").await;
    assert!(result.error.is_none(), "{place}: {:?}", result.error);
    let snapshot = next.snapshot().await.unwrap();
    assert_eq!(snapshot.resources.len(), RESOURCES + 2);
    check_nothing_lost(&snapshot, folder);
    check_secrets(&store, &snapshot).await;
}

/// Ends a child process that is still there.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Suspends hosts within a create for longer than their lease; another host takes over and goes on. Then the first one wakes, and can
/// commit nothing.
async fn survives_suspensions(place: impl Fn(usize) -> String) {
    for round in 0..times(SUSPENSIONS, 1) {
        let folder = tempfile::tempdir().unwrap();
        let (place, pause) = (place(round), round % RESOURCES + 1);
        let mut command = host_process(&place, folder.path(), PAUSE, pause);
        let mut host = Killed(
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let lines = BufReader::new(host.0.stdout.take().unwrap()).lines();
        let lines = tokio::task::spawn_blocking(move || {
            blocking("the suspension of the host", move || {
                let mut lines = lines.map_while(std::io::Result::ok);
                assert!(lines.any(|line| line.contains("host: paused")));
                lines
            })
        });
        let lines = lines.await.unwrap();
        let next = stack(open_place(&place), plain(folder.path())).await;
        let before = places::runtime().clock.elapsed();
        let result = run(&next, OperationKind::Update, "one").await;
        assert!(result.error.is_none(), "round {round}: {:?}", result.error);
        assert!(
            places::runtime().clock.elapsed() - before >= LEASE,
            "the lease was respected"
        );
        let committed = next.snapshot().await.unwrap();
        let process = rustix::process::Pid::from_child(&host.0);
        rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
        let ended = tokio::task::spawn_blocking(move || {
            blocking("the end of the host", move || {
                lines.into_iter().find(|line| line.contains("host: ended"))
            })
        });
        let ended = ended.await.unwrap().unwrap();
        assert!(ended.contains(ErrorKind::Conflict.name()), "{ended}");
        let after = next.snapshot().await.unwrap();
        assert_eq!(after.resources.len(), committed.resources.len(), "round {round}");
        assert_eq!(after.resources.len(), RESOURCES + 2);
        check_nothing_lost(&after, folder.path());
        check_secrets(&open_place(&place), &after).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_leave_a_stack_that_the_next_continues_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    survives_kills(|round| postgres.url(&format!("killed_{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_leave_a_stack_that_the_next_continues_over_s3() {
    let Some(moto) = places::moto().await else { return };
    survives_kills(|round| moto.url(&format!("killed-{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_suspended_are_taken_over_and_commit_nothing_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    survives_suspensions(|round| postgres.url(&format!("suspended_{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_suspended_are_taken_over_and_commit_nothing_over_s3() {
    let Some(moto) = places::moto().await else { return };
    survives_suspensions(|round| moto.url(&format!("suspended-{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_leave_a_stack_that_the_next_continues_over_minio() {
    let Some(minio) = places::minio().await else {
        return;
    };
    survives_kills(|round| minio.url(&format!("killed-{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_leave_a_stack_that_the_next_continues_over_azure() {
    let Some(azurite) = places::azurite().await else {
        return;
    };
    survives_kills(|round| azurite.url(&format!("killed-{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_suspended_are_taken_over_and_commit_nothing_over_minio() {
    let Some(minio) = places::minio().await else {
        return;
    };
    survives_suspensions(|round| minio.url(&format!("suspended-{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_suspended_are_taken_over_and_commit_nothing_over_azure() {
    let Some(azurite) = places::azurite().await else {
        return;
    };
    survives_suspensions(|round| azurite.url(&format!("suspended-{round}"))).await;
}
