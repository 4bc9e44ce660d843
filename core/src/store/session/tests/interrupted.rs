//! The history record of an interrupted operation: it is there once, whenever the operation and its recovery end.

use super::*;

/// Returns the results of the history, the newest first.
async fn results(stack: &StackStorage) -> Vec<String> {
    let history = stack.history().await.unwrap();
    history.into_iter().map(|entry| entry.result).collect()
}

/// A stack whose update has created a resource and was killed, after a refresh of the checkpoint or before it.
async fn killed(store: &Arc<dyn Store>, is_refreshed: bool) -> StackStorage {
    let stack = storage(store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    create(&journal, "a").await;
    if is_refreshed {
        session.refresh(&journal).await.unwrap();
    }
    stack
}

#[tokio::test]
async fn an_operation_whose_checkpoint_has_all_its_steps_has_a_record() {
    let store = memory();
    let stack = killed(&store, true).await;
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(loaded.leftover, Leftover::Discard);
    drop(operation(&stack).await.unwrap());
    assert_eq!(results(&stack).await, [IN_PROGRESS]);
    let copy = stack.read_copy(&HistoryPoint::Version(1)).await.unwrap();
    assert_eq!(copy, stack.read().await.unwrap().checkpoint);
}

#[tokio::test]
async fn a_recovery_that_ends_at_any_write_leaves_one_record() {
    for fault in [Fault::DeathBefore, Fault::DeathWithin, Fault::DeathAfter] {
        for is_refreshed in [false, true] {
            for at in 0..16 {
                let store = memory();
                let stack = killed(&store, is_refreshed).await;
                let (faulty, faulty_stack) = faulty_storage(&store, fault, at);
                drop(operation(&faulty_stack).await);
                drop(operation(&stack).await.unwrap());
                let case = format!("{fault:?} at write {at}, refreshed: {is_refreshed}");
                assert_eq!(results(&stack).await, [IN_PROGRESS], "{case}");
                let copy = stack.read_copy(&HistoryPoint::Version(1)).await.unwrap();
                let access = SecretsAccess::Open(&Base64Provider);
                let copied = read_checkpoint(&copy, access, true).await.unwrap();
                assert_eq!(names(&copied.snapshot.unwrap()), ["a"], "{case}");
                if at >= faulty.writes() {
                    assert!(at >= 3, "the record, its state and the journal");
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn an_operation_that_could_not_write_its_checkpoint_has_its_own_record_alone() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    create(&journal, "a").await;
    let failed = HistoryRecord {
        kind: "update",
        message: String::new(),
        started: session.started(),
        ended: session.started(),
        succeeded: false,
        changes: BTreeMap::new(),
        config: Config::new(),
        environment: BTreeMap::new(),
    };
    session.record_history(failed).await.unwrap();
    let (session, _) = operation(&stack).await.unwrap();
    assert!(session.notes().is_empty(), "{:?}", session.notes());
    assert_eq!(results(&stack).await, ["failed"]);
}

#[tokio::test]
async fn a_history_that_cannot_be_written_does_not_refuse_the_next_operation() {
    let store = memory();
    let stack = killed(&store, false).await;
    let (_, faulty_stack) = faulty_storage(&store, Fault::Refused, 0);
    let (session, _) = operation(&faulty_stack).await.unwrap();
    let notes: Vec<String> = (session.notes().iter())
        .map(|note| note.message.to_string())
        .collect();
    assert!(
        notes[0].contains("the history has no record of the interrupted update"),
        "{notes:?}"
    );
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["a"]);
}

/// Creates a resource, commits it, and concludes the operation.
async fn concluded(stack: &StackStorage) -> Result<()> {
    let (session, journal) = operation(stack).await?;
    let operation = journal.next_operation_id();
    let new = StateRef {
        id: journal.next_state_id(),
        state: thing("a"),
    };
    journal.append(operation, created(new)).await?;
    let (replay, written) = journal.close().await?;
    written?;
    session.commit(&mut replay.to_snapshot()?).await?;
    let record = HistoryRecord {
        kind: "update",
        message: String::new(),
        started: session.started(),
        ended: session.started(),
        succeeded: true,
        changes: BTreeMap::new(),
        config: Config::new(),
        environment: BTreeMap::new(),
    };
    session.conclude(record).await
}

#[tokio::test]
async fn an_operation_whose_process_ends_at_any_write_after_its_first_step_has_one_record() {
    for fault in [Fault::DeathBefore, Fault::DeathWithin, Fault::DeathAfter] {
        let (mut unrecorded, mut at) = (0, 1);
        loop {
            let store = memory();
            let stack = storage(&store, "shop/dev");
            stack.create().await.unwrap();
            let (faulty, faulty_stack) = faulty_storage(&store, fault, at);
            let ended = concluded(&faulty_stack).await;
            let before = results(&stack).await.len();
            drop(operation(&stack).await.unwrap());
            let case = format!("{fault:?} at write {at}: {ended:?}");
            assert_eq!(results(&stack).await.len(), 1, "{case}");
            unrecorded += 1 - before;
            if at >= faulty.writes() {
                ended.unwrap();
                break;
            }
            at += 1;
        }
        assert!(
            unrecorded >= 2,
            "{fault:?}: the checkpoint or its record was not written"
        );
    }
}

#[tokio::test]
async fn an_operation_whose_record_is_refused_fails_and_leaves_no_journal() {
    let mut refused = 0;
    for at in 1..16 {
        let store = memory();
        let stack = storage(&store, "shop/dev");
        stack.create().await.unwrap();
        let (_, faulty_stack) = faulty_storage(&store, Fault::Refused, at);
        let ended = concluded(&faulty_stack).await;
        let is_recorded = !results(&stack).await.is_empty();
        let has_journal = stack.read().await.unwrap().has_journal();
        assert!(ended.is_err() || is_recorded && !has_journal, "write {at}");
        refused += usize::from(!is_recorded && !has_journal);
    }
    assert!(refused >= 1, "the record was refused");
}
