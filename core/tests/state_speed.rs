//! Speed of state: measured only when asked for (`cargo test --release --test state_speed -- --ignored --nocapture`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{io::Write as _, sync::Arc, time::Duration};

use stackwright::{
    executor::StepOp,
    property::{PropertyMap, PropertyValue},
    resource::ResourceState,
    runtime::{Clock as _, Runtime, SystemClock},
    secrets::PassphraseProvider,
    secrets::SecretsProvider as _,
    state::{
        DependencyGraph, Journal, JournalRecord, Ledger, OperationId, Snapshot, StateRef,
        deployment::{SecretsAccess, SecretsShown, read_checkpoint, write_checkpoint},
        journal::NoJournal,
    },
    urn::Urn,
};

const RECORDS: usize = 100_000;

fn record(number: usize) -> ResourceState {
    let root = Urn::root_stack("dev", "shop");
    let name = |number: usize| Urn::new("dev", "shop", "", "pkg:index:Thing", &format!("thing-{number}"));
    if number == 0 {
        return ResourceState::new(root, "pulumi:pulumi:Stack".into(), false);
    }
    let mut state = ResourceState::new(name(number), "pkg:index:Thing".into(), true);
    state.id = format!("id-{number}").into();
    state.parent = Some(root);
    if number > 1 {
        state.dependencies = vec![name(number / 2)];
        state.property_dependencies = [("size".into(), vec![name(number / 2)])].into();
    }
    let tags = [("owner", PropertyValue::from("team")), ("size", 3.0.into())];
    state.inputs = PropertyMap::from_iter([
        ("name", PropertyValue::from(format!("thing-{number}"))),
        ("size", (number as f64).into()),
        ("tags", PropertyMap::from_iter(tags).into()),
    ]);
    if number.is_multiple_of(10) {
        state.inputs.insert(
            "password",
            PropertyValue::secret(format!("secret-{number}").into()),
        );
    }
    state.outputs = state.inputs.clone();
    state
}

fn report(what: &str, since: Duration) -> Duration {
    let took = SystemClock.elapsed() - since;
    let mut out = std::io::stdout();
    writeln!(out, "{what}: {took:?}").unwrap();
    took
}

#[tokio::test]
#[ignore = "a measurement for release builds"]
async fn a_hundred_thousand_records_are_written_and_read_in_time() {
    let provider = PassphraseProvider::new("p", Runtime::system(tokio::runtime::Handle::current()));
    let resources: Vec<_> = (0..RECORDS).map(|number| Arc::new(record(number))).collect();
    let snapshot = Snapshot {
        resources,
        secrets: Some(provider.create().await.unwrap()),
        ..Snapshot::default()
    };
    let start = SystemClock.elapsed();
    let bytes = write_checkpoint("organization/shop/dev", &snapshot, SecretsShown::Encrypted)
        .await
        .unwrap();
    let first = report("write, 10,000 secrets encrypted", start);
    let start = SystemClock.elapsed();
    let again = write_checkpoint("organization/shop/dev", &snapshot, SecretsShown::Encrypted)
        .await
        .unwrap();
    report("write again", start);
    assert_eq!(again, bytes);
    let start = SystemClock.elapsed();
    let read = read_checkpoint(&bytes, SecretsAccess::Open(&provider), true)
        .await
        .unwrap()
        .snapshot
        .unwrap();
    let reading = report(
        &format!("read {} bytes, verified and decrypted", bytes.len()),
        start,
    );
    assert_eq!(read.resources.len(), RECORDS);
    let start = SystemClock.elapsed();
    let graph = DependencyGraph::new(&read.resources);
    let layers = graph.antichains(&(0..RECORDS).collect::<Vec<_>>());
    report(&format!("graph and {} layers", layers.len()), start);
    let start = SystemClock.elapsed();
    let ledger = Ledger::new(read);
    drop(ledger.compose().unwrap());
    report("ledger composed", start);
    assert!(first < Duration::from_millis(1500) && reading < Duration::from_millis(1500));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement for release builds"]
async fn thousands_of_tasks_append_two_hundred_thousand_entries_a_second() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let journal = Journal::start(Ledger::new(Snapshot::default()), Arc::new(NoJournal), &runtime);
    let records: Vec<_> = (0..4000).map(|number| Arc::new(record(number))).collect();
    let start = SystemClock.elapsed();
    let tasks: Vec<_> = records
        .into_iter()
        .map(|state| {
            let journal = journal.clone();
            tokio::spawn(async move {
                for _ in 0..100 {
                    let new = StateRef {
                        id: journal.next_state_id(),
                        state: Arc::clone(&state),
                    };
                    let record = JournalRecord::Success {
                        op: StepOp::Create,
                        result_op: StepOp::Create,
                        removed: Vec::new(),
                        marked: Vec::new(),
                        new: Some(new),
                        in_place: false,
                        elided: false,
                        untargeted: false,
                        skipped_create: None,
                        view: false,
                    };
                    journal.append(OperationId(1), record).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let took = report("400,000 entries", start);
    assert_eq!(journal.finish().await.unwrap().records().count(), 400_000);
    assert!(took < Duration::from_secs(2));
}
