//! Tests of the writer: grouping, order, failure.

use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use stackwright_testkit::wait::Within as _;
use tokio::sync::Semaphore;

use super::*;
use crate::{
    error::ErrorKind,
    resource::{PendingOperationKind, ResourceState},
    state::{Snapshot, StateRef, journal::MemoryJournal},
    step::StepOp,
    urn::Urn,
};

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

fn created(journal: &Journal, name: &str) -> JournalRecord {
    let urn = Urn::new("dev", "shop", "", "shop:index:Box", name);
    let state = Arc::new(ResourceState::new(urn, "shop:index:Box".into(), false));
    JournalRecord::Success {
        op: StepOp::Create,
        result_op: StepOp::Create,
        removed: Vec::new(),
        marked: Vec::new(),
        new: Some(StateRef {
            id: journal.next_state_id(),
            state,
        }),
        in_place: false,
        elide_write: false,
        untargeted: false,
        skipped_create: None,
        view: false,
    }
}

/// Accepts batches one by one, and fails those from a given number on.
struct Gate {
    permits: Semaphore,
    batches: Mutex<Vec<usize>>,
    refuse_from: usize,
    calls: AtomicUsize,
}

impl Gate {
    fn new(permits: usize, refuse_from: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Semaphore::new(permits),
            batches: Mutex::default(),
            refuse_from,
            calls: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl JournalSink for Gate {
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        if call >= self.refuse_from {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
        }
        self.batches.lock().unwrap().push(entries.len());
        Ok(())
    }
}

#[tokio::test]
async fn entries_queued_during_a_write_are_written_as_one_batch() {
    let gate = Gate::new(0, usize::MAX);
    let journal = Journal::start(JournalReplay::new(Snapshot::default()), gate.clone(), &runtime());
    let first = journal.append(journal.next_operation_id(), created(&journal, "first"));
    let writing = async {
        while gate.calls.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    writing.within("the first write").await;
    let rest: Vec<_> = (0..100)
        .map(|number| journal.append(OperationId(2), created(&journal, &format!("r{number}"))))
        .collect();
    gate.permits.add_permits(2);
    first.await.unwrap();
    for appended in rest {
        appended.await.unwrap();
    }
    assert_eq!(*gate.batches.lock().unwrap(), [1, 100]);
    assert_eq!(journal.finish().await.unwrap().records().count(), 101);
}

#[tokio::test]
async fn after_a_failed_write_every_append_fails_alike_and_nothing_more_is_written() {
    let gate = Gate::new(10, 1);
    let journal = Journal::start(JournalReplay::new(Snapshot::default()), gate.clone(), &runtime());
    journal
        .append(OperationId(1), created(&journal, "a"))
        .await
        .unwrap();
    let refused = journal
        .append(OperationId(2), created(&journal, "b"))
        .await
        .unwrap_err();
    assert_eq!(refused.message(), "the disk is full");
    let later = journal
        .append(OperationId(3), created(&journal, "c"))
        .await
        .unwrap_err();
    assert_eq!(later.message(), "the disk is full");
    assert_eq!(gate.calls.load(Ordering::SeqCst), 2);
    let (replay, result) = journal.close().await.unwrap();
    assert_eq!(result.unwrap_err().message(), "the disk is full");
    assert_eq!(replay.records().count(), 3);
}

fn begun(name: &str) -> JournalRecord {
    let urn = Urn::new("dev", "shop", "", "shop:index:Box", name);
    JournalRecord::Begin {
        op: StepOp::Create,
        pending: Some(PendingOperationKind::Creating),
        old: None,
        new: Some(Arc::new(ResourceState::new(urn, "shop:index:Box".into(), false))),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
    }
}

#[tokio::test]
async fn a_begin_that_did_not_become_durable_leaves_nothing_pending() {
    let gate = Gate::new(10, 1);
    let journal = Journal::start(JournalReplay::new(Snapshot::default()), gate.clone(), &runtime());
    journal.append(OperationId(1), begun("durable")).await.unwrap();
    for (operation, name) in [(2, "refused"), (3, "too late")] {
        let refused = journal.append(OperationId(operation), begun(name)).await;
        assert_eq!(refused.unwrap_err().message(), "the disk is full");
    }
    let (replay, _) = journal.close().await.unwrap();
    let pending: Vec<_> = replay.pending().map(|(operation, _)| operation).collect();
    assert_eq!(pending, [OperationId(1)]);
}

struct Panics;

#[async_trait]
impl JournalSink for Panics {
    async fn append(&self, _entries: &[Arc<JournalEntry>]) -> Result<()> {
        panic!("a bug in the sink")
    }
}

#[tokio::test]
async fn a_panic_in_the_sink_fails_the_waiting_appends() {
    let journal = Journal::start(
        JournalReplay::new(Snapshot::default()),
        Arc::new(Panics),
        &runtime(),
    );
    let error = journal
        .append(OperationId(1), created(&journal, "a"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    let later = journal.append(OperationId(2), created(&journal, "b")).await;
    assert_eq!(later.unwrap_err().kind(), ErrorKind::Internal);
    assert!(journal.finish().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_of_many_tasks_are_numbered_without_gaps_and_written_in_order() {
    let sink = Arc::new(MemoryJournal::default());
    let journal = Journal::start(JournalReplay::new(Snapshot::default()), sink.clone(), &runtime());
    let tasks: Vec<_> = (0..50)
        .map(|task| {
            let journal = journal.clone();
            tokio::spawn(async move {
                for number in 0..20 {
                    let operation = journal.next_operation_id();
                    journal
                        .append(operation, created(&journal, &format!("{task}-{number}")))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let sequence: Vec<_> = sink.entries().iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequence, (0..1000).collect::<Vec<_>>());
    drop(journal.finish().await.unwrap());
    assert!(
        journal
            .append(OperationId(1), created(&journal, "late"))
            .await
            .is_err()
    );
}
