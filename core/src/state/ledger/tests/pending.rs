//! Tests of pending operations: what an earlier run left stays on record until a run has dealt with it.

use super::*;

fn pending(name: &str, kind: PendingOperationKind) -> PendingOperation {
    PendingOperation {
        resource: Arc::new(record(name, false)),
        kind,
    }
}

/// A ledger over the records a, b and c, with these operations pending.
fn ledger_with_pending(pending_operations: Vec<PendingOperation>) -> Ledger {
    let names = ["a", "b", "c"];
    Ledger::new(Snapshot {
        resources: names.map(|name| Arc::new(record(name, false))).to_vec(),
        pending_operations,
        ..Snapshot::default()
    })
}

fn begin(op: StepOp, kind: PendingOperationKind, name: &str) -> JournalRecord {
    let state = Arc::new(record(name, false));
    let id = StateId(u64::from(name.as_bytes()[0] - b'a'));
    JournalRecord::Begin {
        op,
        pending: Some(kind),
        old: (op != StepOp::Create).then(|| StateRef {
            id,
            state: Arc::clone(&state),
        }),
        new: (op != StepOp::Delete).then_some(state),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
    }
}

fn apply(ledger: &mut Ledger, records: impl IntoIterator<Item = JournalRecord>) {
    for (sequence, record) in (0..).zip(records) {
        ledger.apply(&entry(sequence, 1, record)).unwrap();
    }
}

fn pending_of(ledger: &Ledger) -> Vec<(String, PendingOperationKind)> {
    let composed = ledger.compose().unwrap().pending_operations;
    let named = |pending: PendingOperation| (pending.resource.urn.name().to_owned(), pending.kind);
    composed.into_iter().map(named).collect()
}

#[test]
fn a_pending_operation_stays_until_a_step_has_worked_on_its_resource() {
    use PendingOperationKind::{Creating, Deleting, Updating};
    let base = [("a", Deleting), ("b", Updating), ("y", Creating)];
    let mut ledger = ledger_with_pending(base.map(|(name, kind)| pending(name, kind)).to_vec());
    assert!(!ledger.is_dirty());
    let failure = |op| JournalRecord::Failure { op };

    apply(
        &mut ledger,
        [begin(StepOp::Create, Creating, "z"), failure(StepOp::Create)],
    );
    assert_eq!(
        pending_of(&ledger),
        base.map(|(name, kind)| (name.to_owned(), kind))
    );
    assert!(!ledger.is_dirty(), "a step on another resource settles nothing");

    apply(
        &mut ledger,
        [begin(StepOp::Update, Updating, "b"), failure(StepOp::Update)],
    );
    assert_eq!(
        pending_of(&ledger),
        [("a".to_owned(), Deleting), ("y".to_owned(), Creating)]
    );
    assert!(ledger.is_dirty());

    ledger.settle_pending();
    assert_eq!(pending_of(&ledger), [("y".to_owned(), Creating)]);
    ledger.settle_creations();
    assert_eq!(pending_of(&ledger), []);
}

#[test]
fn an_operation_that_is_interrupted_again_is_pending_once() {
    use PendingOperationKind::{Deleting, Updating};
    let mut ledger = ledger_with_pending(vec![pending("a", Deleting), pending("b", Updating)]);
    apply(&mut ledger, [begin(StepOp::Delete, Deleting, "a")]);
    assert_eq!(
        pending_of(&ledger),
        [("a".to_owned(), Deleting), ("b".to_owned(), Updating)]
    );
    ledger.forget(OperationId(1));
    assert_eq!(
        pending_of(&ledger).len(),
        2,
        "a begin that was not durable settles nothing"
    );
}

#[test]
fn a_step_on_an_old_copy_settles_nothing_of_its_successor() {
    use PendingOperationKind::{Deleting, Updating};
    let mut copy = record("a", false);
    copy.delete = true;
    copy.id = "old-copy".into();
    let copy = StateRef {
        id: StateId(1),
        state: Arc::new(copy),
    };
    let mut ledger = Ledger::new(Snapshot {
        resources: vec![Arc::new(record("a", false)), Arc::clone(&copy.state)],
        pending_operations: vec![pending("a", Updating)],
        ..Snapshot::default()
    });
    let begin = JournalRecord::Begin {
        op: StepOp::DeleteReplaced,
        pending: Some(Deleting),
        old: Some(copy),
        new: None,
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
    };
    let failure = JournalRecord::Failure {
        op: StepOp::DeleteReplaced,
    };
    apply(&mut ledger, [begin, failure]);
    assert_eq!(pending_of(&ledger), [("a".to_owned(), Updating)]);
}

#[test]
fn the_end_of_a_refresh_settles_what_it_has_read() {
    use PendingOperationKind::{Deleting, Updating};
    let refreshed = |id: u64, name: &str| JournalRecord::Success {
        op: StepOp::Refresh,
        result_op: StepOp::Same,
        removed: vec![StateId(id)],
        marked: Vec::new(),
        new: Some(StateRef {
            id: StateId(id),
            state: Arc::new(record(name, false)),
        }),
        in_place: true,
        elided: false,
        untargeted: false,
        skipped_create: None,
        view: false,
    };
    let mut ledger = ledger_with_pending(vec![
        pending("a", Deleting),
        pending("b", Updating),
        pending("gone", Deleting),
    ]);
    apply(&mut ledger, [refreshed(0, "a")]);
    let rebuilt = ledger.rebuild_base();
    apply(&mut ledger, [rebuilt]);
    assert_eq!(
        pending_of(&ledger),
        [("b".to_owned(), Updating), ("gone".to_owned(), Deleting)],
        "b could not be read"
    );
    apply(&mut ledger, [refreshed(1, "b")]);
    let rebuilt = ledger.rebuild_base();
    apply(&mut ledger, [rebuilt]);
    assert_eq!(pending_of(&ledger), []);
}

#[test]
fn a_snapshot_from_the_middle_keeps_what_is_pending_until_a_step_in_flight_has_ended() {
    use PendingOperationKind::Deleting;
    for succeeds in [false, true] {
        let state = Arc::new(record("a", true));
        let mut live = Ledger::new(Snapshot {
            resources: vec![Arc::clone(&state)],
            pending_operations: vec![PendingOperation {
                resource: Arc::clone(&state),
                kind: Deleting,
            }],
            ..Snapshot::default()
        });
        let begun = JournalRecord::Begin {
            op: StepOp::Delete,
            pending: Some(Deleting),
            old: Some(StateRef {
                id: StateId(0),
                state,
            }),
            new: None,
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
        };
        live.apply(&entry(0, 1, begun)).unwrap();
        let (snapshot, rebase) = live.compose_base(1).unwrap();
        let mut resumed = Ledger::resume(snapshot, &rebase).unwrap();
        assert_eq!(pending_of(&resumed), pending_of(&live));
        let ended = if succeeds {
            deleted("a")
        } else {
            JournalRecord::Failure { op: StepOp::Delete }
        };
        for ledger in [&mut live, &mut resumed] {
            ledger.apply(&entry(1, 1, ended.clone())).unwrap();
        }
        assert_eq!(pending_of(&resumed), pending_of(&live), "succeeds: {succeeds}");
    }
}

fn deleted(name: &str) -> JournalRecord {
    JournalRecord::Success {
        op: StepOp::Delete,
        result_op: StepOp::Delete,
        removed: vec![StateId(u64::from(name.as_bytes()[0] - b'a'))],
        marked: Vec::new(),
        new: None,
        in_place: false,
        elided: false,
        untargeted: false,
        skipped_create: None,
        view: false,
    }
}
