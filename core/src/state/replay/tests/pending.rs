//! Tests of pending operations: those of an earlier run stay recorded until a run has settled them.

use super::*;

fn pending(name: &str, kind: PendingOperationKind) -> PendingOperation {
    PendingOperation {
        resource: Arc::new(record(name, false)),
        kind,
    }
}

/// Returns a replay of the records a, b and c, with these operations pending.
fn replay_with_pending(pending_operations: Vec<PendingOperation>) -> JournalReplay {
    let names = ["a", "b", "c"];
    JournalReplay::new(Snapshot {
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

fn apply(replay: &mut JournalReplay, records: impl IntoIterator<Item = JournalRecord>) {
    for (sequence, record) in (0..).zip(records) {
        replay.apply(&entry(sequence, 1, record)).unwrap();
    }
}

fn pending_of(replay: &JournalReplay) -> Vec<(String, PendingOperationKind)> {
    let pending = replay.to_snapshot().unwrap().pending_operations;
    let named = |pending: PendingOperation| (pending.resource.urn.name().to_owned(), pending.kind);
    pending.into_iter().map(named).collect()
}

#[test]
fn a_pending_operation_stays_until_a_step_on_its_resource_ends() {
    use PendingOperationKind::{Creating, Deleting, Updating};
    let base = [("a", Deleting), ("b", Updating), ("y", Creating)];
    let mut replay = replay_with_pending(base.map(|(name, kind)| pending(name, kind)).to_vec());
    assert!(!replay.is_dirty());
    let failure = |op| JournalRecord::Failure { op };

    apply(
        &mut replay,
        [begin(StepOp::Create, Creating, "z"), failure(StepOp::Create)],
    );
    assert_eq!(
        pending_of(&replay),
        base.map(|(name, kind)| (name.to_owned(), kind))
    );
    assert!(!replay.is_dirty(), "a step on another resource settles nothing");

    apply(
        &mut replay,
        [begin(StepOp::Update, Updating, "b"), failure(StepOp::Update)],
    );
    assert_eq!(
        pending_of(&replay),
        [("a".to_owned(), Deleting), ("y".to_owned(), Creating)]
    );
    assert!(replay.is_dirty());

    replay.settle_pending();
    assert_eq!(pending_of(&replay), [("y".to_owned(), Creating)]);
    replay.settle_creations();
    assert_eq!(pending_of(&replay), []);
}

#[test]
fn an_operation_that_is_interrupted_again_is_pending_once() {
    use PendingOperationKind::{Deleting, Updating};
    let mut replay = replay_with_pending(vec![pending("a", Deleting), pending("b", Updating)]);
    apply(&mut replay, [begin(StepOp::Delete, Deleting, "a")]);
    assert_eq!(
        pending_of(&replay),
        [("a".to_owned(), Deleting), ("b".to_owned(), Updating)]
    );
    replay.forget(OperationId(1));
    assert_eq!(
        pending_of(&replay).len(),
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
    let mut replay = JournalReplay::new(Snapshot {
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
    apply(&mut replay, [begin, failure]);
    assert_eq!(pending_of(&replay), [("a".to_owned(), Updating)]);
}

#[test]
fn the_end_of_a_refresh_settles_the_resources_that_it_read() {
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
        elide_write: false,
        untargeted: false,
        skipped_create: None,
        view: false,
    };
    let mut replay = replay_with_pending(vec![
        pending("a", Deleting),
        pending("b", Updating),
        pending("gone", Deleting),
    ]);
    apply(&mut replay, [refreshed(0, "a")]);
    let rebuilt = replay.rebuild_base();
    apply(&mut replay, [rebuilt]);
    assert_eq!(
        pending_of(&replay),
        [("b".to_owned(), Updating), ("gone".to_owned(), Deleting)],
        "b could not be read"
    );
    apply(&mut replay, [refreshed(1, "b")]);
    let rebuilt = replay.rebuild_base();
    apply(&mut replay, [rebuilt]);
    assert_eq!(pending_of(&replay), []);
}

#[test]
fn a_refreshed_checkpoint_keeps_pending_operations_until_the_step_in_flight_ends() {
    use PendingOperationKind::Deleting;
    for succeeds in [false, true] {
        let state = Arc::new(record("a", true));
        let mut live = JournalReplay::new(Snapshot {
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
        let (snapshot, rebase) = live.to_rebase(1).unwrap();
        let mut resumed = JournalReplay::resume(snapshot, &rebase).unwrap();
        assert_eq!(pending_of(&resumed), pending_of(&live));
        let ended = if succeeds {
            deleted("a")
        } else {
            JournalRecord::Failure { op: StepOp::Delete }
        };
        for replay in [&mut live, &mut resumed] {
            replay.apply(&entry(1, 1, ended.clone())).unwrap();
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
        elide_write: false,
        untargeted: false,
        skipped_create: None,
        view: false,
    }
}

#[test]
fn what_is_dropped_is_neither_resolved_nor_processed() {
    use PendingOperationKind::{Creating, Deleting, Updating};
    let base = [
        ("a", Updating),
        ("b", Updating),
        ("y", Creating),
        ("z", Creating),
        ("x", Deleting),
    ];
    let mut replay = replay_with_pending(base.map(|(name, kind)| pending(name, kind)).to_vec());
    let dropped = |replay: &JournalReplay| -> Vec<String> {
        let dropped = replay.dropped_pending();
        dropped
            .map(|pending| pending.resource.urn.name().to_owned())
            .collect()
    };
    assert!(dropped(&replay).is_empty());
    apply(
        &mut replay,
        [
            begin(StepOp::Update, Updating, "a"),
            JournalRecord::Failure { op: StepOp::Update },
        ],
    );
    replay.resolve_pending(2);
    replay.keep_pending(4);
    assert!(dropped(&replay).is_empty());
    replay.settle_pending();
    assert_eq!(dropped(&replay), ["b"]);
    let left = [("z".to_owned(), Creating), ("x".to_owned(), Deleting)];
    assert_eq!(pending_of(&replay), left);
    replay.settle_creations();
    assert_eq!(dropped(&replay), ["b", "z"]);
    assert_eq!(pending_of(&replay), left[1..]);
}
