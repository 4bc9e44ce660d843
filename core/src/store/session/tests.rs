//! Operations over stored state: recovery, commits, crashes at every write, export and import.

use super::*;
use crate::secrets::SecretsProvider as _;
use crate::{
    executor::StepOp,
    property::{PropertyMap, PropertyValue},
    resource::{PendingOperationKind, ResourceState},
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider},
    state::{
        Journal, JournalRecord, Ledger, OperationId, StateRef,
        deployment::{SecretsAccess, read_checkpoint},
    },
    store::{
        Condition, HostFacts, MemoryStore, StackName, Store,
        faulty::{Fault, FaultyStore},
    },
    urn::Urn,
};

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(runtime()))
}

fn storage(store: &Arc<dyn Store>, name: &str) -> StackStorage {
    let name = StackName::parse(name).unwrap();
    StackStorage::new(Arc::clone(store), name, HostFacts::system(), runtime())
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .resources
        .iter()
        .map(|record| record.urn.name())
        .collect()
}

fn thing(name: &str) -> Arc<ResourceState> {
    let urn = Urn::new("dev", "shop", "", "shop:index:Box", name);
    let mut state = ResourceState::new(urn, "shop:index:Box".into(), false);
    state.outputs = PropertyMap::from_iter([("password", PropertyValue::secret("hunter2".into()))]);
    Arc::new(state)
}

async fn begin(journal: &Journal, name: &str) -> OperationId {
    let operation = journal.next_operation_id();
    journal.append(operation, beginning(name)).await.unwrap();
    operation
}

fn beginning(name: &str) -> JournalRecord {
    JournalRecord::Begin {
        op: StepOp::Create,
        pending: Some(PendingOperationKind::Creating),
        old: None,
        new: Some(thing(name)),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
    }
}

async fn create(journal: &Journal, name: &str) {
    create_thing(journal, thing(name)).await;
}

async fn create_thing(journal: &Journal, state: Arc<ResourceState>) {
    let operation = begin(journal, state.urn.name()).await;
    let new = StateRef {
        id: journal.next_state_id(),
        state,
    };
    journal.append(operation, created(new)).await.unwrap();
}

fn created(new: StateRef) -> JournalRecord {
    JournalRecord::Success {
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
    }
}

/// Begins an update of a stack, as an operation does.
async fn operation(stack: &StackStorage) -> Result<(StackSession, Journal)> {
    let loaded = stack.load(&Base64Provider).await?;
    let mut snapshot = loaded.snapshot.clone();
    if snapshot.secrets.is_none() {
        snapshot.secrets = Some(Base64Provider.create().await?);
    }
    let session = stack.begin(loaded, &mut snapshot, "update").await?;
    let journal = Journal::start(Ledger::new(snapshot), session.sink(), &runtime());
    Ok((session, journal))
}

#[tokio::test]
async fn what_an_operation_commits_is_loaded_again() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    create(&journal, "a").await;
    let ledger = journal.finish().await.unwrap();
    session.commit(&mut ledger.compose().unwrap()).await.unwrap();
    session
        .record_history(HistoryRecord {
            kind: "update",
            message: String::new(),
            started: Timestamp::UNIX_EPOCH,
            ended: Timestamp::UNIX_EPOCH,
            succeeded: true,
            changes: [("create", 1)].into(),
            config: Config::parse(r#"{"shop:size": "1"}"#).unwrap(),
        })
        .await
        .unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["a"]);
    assert!(loaded.warnings.is_empty() && loaded.stored.journal.is_none());
    let history = stack.history().await.unwrap();
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(
        text,
        r#"[{"kind":"update","startTime":0,"message":"","environment":{},"config":{"shop:size":"1"},"version":0,"result":"succeeded","endTime":0,"resourceChanges":{"create":1}}]"#
    );
}

#[tokio::test]
async fn what_a_dead_process_had_journaled_is_loaded_and_folded() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
        begin(&journal, "b").await;
    }
    for _ in 0..2 {
        // Looking changes nothing.
        let loaded = stack.load(&Base64Provider).await.unwrap();
        assert_eq!(names(&loaded.snapshot), ["a"]);
        assert_eq!(loaded.snapshot.pending_operations.len(), 1);
        assert!(
            matches!(loaded.leftover, Leftover::Fold { .. }),
            "{:?}",
            loaded.leftover
        );
    }
    let (session, journal) = operation(&stack).await.unwrap();
    assert!(store.get(&stack.name().journal()).await.unwrap().is_none());
    let ledger = journal.finish().await.unwrap();
    assert!(!ledger.is_dirty());
    session.discard().await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(
        (names(&loaded.snapshot), loaded.leftover),
        (vec!["a"], Leftover::Discard)
    );
    assert_eq!(loaded.snapshot.pending_operations.len(), 1);
}

#[tokio::test]
async fn a_journal_that_leads_to_an_invalid_state_replaces_nothing_and_can_be_imported_over() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        let mut odd = ResourceState::clone(&thing("odd"));
        odd.dependencies = vec![thing("nowhere").urn.clone()];
        create_thing(&journal, Arc::new(odd)).await;
    }
    let key = stack.name().journal();
    let journal = store.get(&key).await.unwrap().unwrap().bytes;
    let checkpoint = stack.read().await.unwrap().checkpoint;
    let error = operation(&stack).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.message().contains("leads to an invalid state"), "{error}");
    assert_eq!(stack.read().await.unwrap().checkpoint, checkpoint);
    assert_eq!(store.get(&key).await.unwrap().unwrap().bytes, journal);

    let document = br#"{"version": 3, "deployment": {"manifest": {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""}}}"#;
    stack.import(&Base64Provider, document).await.unwrap();
    assert!(names(&stack.load(&Base64Provider).await.unwrap().snapshot).is_empty());
    // What nobody could use is kept all the same.
    let kept = store.list("").await.unwrap();
    assert!(
        kept.iter()
            .any(|object| object.key != key && object.key.starts_with(&key)),
        "{kept:?}"
    );
}

/// Runs an operation that creates something, as far as its store lets it. What was acknowledged is noted.
async fn run(stack: &StackStorage, name: &'static str, acknowledged: &mut Vec<&'static str>) -> Result<()> {
    let (session, journal) = operation(stack).await?;
    let operation = journal.next_operation_id();
    let new = StateRef {
        id: journal.next_state_id(),
        state: thing(name),
    };
    journal.append(operation, created(new)).await?;
    acknowledged.push(name);
    let (ledger, written) = journal.close().await?;
    session.commit(&mut ledger.compose()?).await?;
    written
}

/// As [`run`], with refreshes of the checkpoint in between, whose failures are no failures of the operation.
async fn run_refreshing(
    stack: &StackStorage,
    names: [&'static str; 2],
    acknowledged: &mut Vec<&'static str>,
) -> Result<()> {
    let (session, journal) = operation(stack).await?;
    let begun = journal.next_operation_id();
    journal.append(begun, beginning(names[0])).await?;
    drop(session.refresh(&journal).await);
    for name in names {
        let new = StateRef {
            id: journal.next_state_id(),
            state: thing(name),
        };
        journal.append(begun, created(new)).await?;
        acknowledged.push(name);
        drop(session.refresh(&journal).await);
    }
    let (ledger, written) = journal.close().await?;
    session.commit(&mut ledger.compose()?).await?;
    written
}

/// Returns an operation's store, which fails at the write `at`.
fn shaken(store: &Arc<dyn Store>, fault: Fault, at: usize) -> (Arc<FaultyStore>, StackStorage) {
    let faulty = Arc::new(FaultyStore::new(Arc::clone(store), fault, at));
    let stack = storage(&(Arc::clone(&faulty) as Arc<dyn Store>), "shop/dev");
    (faulty, stack)
}

/// Checks that a stack opens with what was acknowledged, and that an operation can go on from there.
async fn check(stack: &StackStorage, acknowledged: &[&'static str], fault: Fault, case: &str) {
    let loaded = stack.load(&Base64Provider).await;
    let loaded = loaded.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(
        loaded.warnings.is_empty() || matches!(fault, Fault::DeathWithin | Fault::TornOnce),
        "{case}: {:?}",
        loaded.warnings
    );
    let found = names(&loaded.snapshot);
    for name in acknowledged {
        assert_eq!(
            found.iter().filter(|found| *found == name).count(),
            1,
            "{case}: {found:?}"
        );
    }
}

#[tokio::test]
async fn operations_that_fail_at_any_write_one_after_another_leave_a_stack_that_opens() {
    for fault in Fault::ALL {
        let mut longest = 0;
        for first in 0..64 {
            let mut ended = false;
            for second in 0..64 {
                let store = memory();
                let stack = storage(&store, "shop/dev");
                stack.create().await.unwrap();
                let mut acknowledged = Vec::new();
                {
                    let (_session, journal) = operation(&stack).await.unwrap();
                    create(&journal, "a").await;
                    acknowledged.push("a");
                }
                let case = format!("{fault:?} at writes {first} and {second}");
                let (one, shaken_once) = shaken(&store, fault, first);
                drop(run(&shaken_once, "b", &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                let (two, shaken_twice) = shaken(&store, fault, second);
                drop(run(&shaken_twice, "c", &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                run(&stack, "d", &mut acknowledged).await.unwrap();
                check(&stack, &acknowledged, fault, &case).await;
                assert!(stack.read().await.unwrap().journal.is_none(), "{case}");
                ended = first >= one.writes();
                longest = longest.max(one.writes());
                if second >= two.writes() {
                    break;
                }
            }
            if ended {
                break;
            }
        }
        assert!(
            longest >= 8,
            "recovery has four writes, and so has the operation: {longest}"
        );
    }
}

// A store that is full for a while: commits fail one after another, and none of them is the last.
#[tokio::test]
async fn any_number_of_failed_commits_in_a_row_is_survived() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let mut acknowledged = Vec::new();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
    }
    for _ in 0..5 {
        // The announcement is written, the copy of the checkpoint is not.
        let (_, full) = shaken(&store, Fault::DeathAfter, 0);
        run(&full, "b", &mut acknowledged).await.unwrap_err();
    }
    let journal = store.get(&stack.name().journal()).await.unwrap().unwrap();
    let text = String::from_utf8(journal.bytes.to_vec()).unwrap();
    assert_eq!(text.matches(r#"{"folded":"#).count(), 5);
    assert_eq!(names(&stack.load(&Base64Provider).await.unwrap().snapshot), ["a"]);
    run(&stack, "b", &mut acknowledged).await.unwrap();
    assert_eq!(
        names(&stack.load(&Base64Provider).await.unwrap().snapshot),
        ["b", "a"]
    );
}

#[tokio::test]
async fn a_torn_line_is_cut_off_before_anything_is_appended_and_is_warned_of() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
    }
    let key = stack.name().journal();
    let intact = store.get(&key).await.unwrap().unwrap().bytes;
    let torn = br#"01234567 {"sequence":2,"opera"#;
    store
        .append(&key, torn.as_slice().into(), Condition::Any)
        .await
        .unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["a"]);
    let [warning] = &loaded.warnings[..] else {
        panic!("{:?}", loaded.warnings);
    };
    assert!(warning.message.contains(&key), "{warning:?}");
    assert!(
        warning.message.contains("within line 4") && warning.message.contains("29 bytes"),
        "{warning:?}"
    );
    // Cut, announced, and dead before the checkpoint.
    let (_, dying) = shaken(&store, Fault::DeathAfter, 1);
    run(&dying, "b", &mut Vec::new()).await.unwrap_err();
    let bytes = store.get(&key).await.unwrap().unwrap().bytes;
    let announced = bytes.strip_prefix(&intact[..]).unwrap();
    assert!(
        announced.ends_with(b"\"}\n") && announced.iter().filter(|byte| **byte == b'\n').count() == 1,
        "{announced:?}"
    );
    assert!(stack.load(&Base64Provider).await.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn a_failed_append_of_which_something_was_written_is_followed_by_whole_lines() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    // The second entry is written in part, and the store can be written to again.
    let faulty = Arc::new(FaultyStore::new(Arc::clone(&store), Fault::TornOnce, 1));
    let shaken = storage(&(Arc::clone(&faulty) as Arc<dyn Store>), "shop/dev");
    let (session, journal) = operation(&shaken).await.unwrap();
    let new = |name| StateRef {
        id: journal.next_state_id(),
        state: thing(name),
    };
    let append = |name| journal.append(journal.next_operation_id(), created(new(name)));
    append("a").await.unwrap();
    append("b").await.unwrap_err();
    let (ledger, written) = journal.close().await.unwrap();
    written.unwrap_err();
    session.journal.fold("another").await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["a"]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    session.commit(&mut ledger.compose().unwrap()).await.unwrap();
    assert_eq!(
        names(&stack.load(&Base64Provider).await.unwrap().snapshot),
        ["a", "b"]
    );
}

/// Reads a checkpoint as a program does that knows no journal: its records, and what is in flight.
async fn seen_by_others(store: &Arc<dyn Store>, key: &str) -> (Vec<String>, Vec<String>) {
    let bytes = store.get(key).await.unwrap().unwrap().bytes;
    let access = SecretsAccess::Open(&Base64Provider);
    let checkpoint = read_checkpoint(&bytes, access, true).await.unwrap();
    let snapshot = checkpoint.snapshot.unwrap_or_default();
    let pending = snapshot.pending_operations.iter();
    let pending = pending.map(|pending| pending.resource.urn.name().to_owned());
    let records = names(&snapshot).into_iter().map(str::to_owned);
    (records.collect(), pending.collect())
}

const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";
const PREVIOUS: &str = ".pulumi/stacks/shop/dev.json.bak";

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn a_refreshed_checkpoint_shows_what_was_done_and_what_is_in_flight() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    run(&stack, "before", &mut Vec::new()).await.unwrap();
    {
        let (session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
        begin(&journal, "b").await;
        session.refresh(&journal).await.unwrap();
        assert_eq!(
            seen_by_others(&store, CHECKPOINT).await,
            (owned(&["a", "before"]), owned(&["b"]))
        );
        create(&journal, "c").await;
        session.refresh(&journal).await.unwrap();
        create(&journal, "d").await;
        // Killed here: the entries after the last refresh are in the journal alone.
    }
    assert_eq!(
        seen_by_others(&store, CHECKPOINT).await.0,
        owned(&["a", "c", "before"])
    );
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["d", "a", "c", "before"]);
    assert_eq!(loaded.snapshot.pending_operations.len(), 1);
    // Recovered, the copy is still that of the state before the operation.
    drop(operation(&stack).await.unwrap());
    assert_eq!(
        seen_by_others(&store, PREVIOUS).await,
        (owned(&["before"]), owned(&[]))
    );
    assert!(store.list(".pulumi/history").await.unwrap().is_empty());
    assert!(store.get(&stack.name().journal()).await.unwrap().is_none());
}

#[tokio::test]
async fn the_commit_goes_on_from_a_refreshed_checkpoint_and_keeps_the_state_before_the_operation() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    run(&stack, "before", &mut Vec::new()).await.unwrap();
    let mut acknowledged = Vec::new();
    run_refreshing(&stack, ["a", "b"], &mut acknowledged)
        .await
        .unwrap();
    assert_eq!(
        seen_by_others(&store, CHECKPOINT).await,
        (owned(&["a", "b", "before"]), owned(&[]))
    );
    assert_eq!(
        seen_by_others(&store, PREVIOUS).await,
        (owned(&["before"]), owned(&[]))
    );
}

#[tokio::test]
async fn operations_with_refreshes_that_fail_at_any_write_one_after_another_lose_nothing() {
    for fault in Fault::ALL {
        for first in 0..64 {
            let mut ended = false;
            for second in 0..64 {
                let store = memory();
                let stack = storage(&store, "shop/dev");
                stack.create().await.unwrap();
                let case = format!("{fault:?} at writes {first} and {second}");
                let mut acknowledged = Vec::new();
                let (one, shaken_once) = shaken(&store, fault, first);
                drop(run_refreshing(&shaken_once, ["a", "b"], &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                let (two, shaken_twice) = shaken(&store, fault, second);
                drop(run_refreshing(&shaken_twice, ["c", "d"], &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                run_refreshing(&stack, ["e", "f"], &mut acknowledged)
                    .await
                    .unwrap();
                check(&stack, &acknowledged, fault, &case).await;
                assert!(stack.read().await.unwrap().journal.is_none(), "{case}");
                ended = first >= one.writes();
                if second >= two.writes() {
                    break;
                }
            }
            if ended {
                assert!(
                    first >= 11,
                    "{fault:?}: two refreshes and a commit are {first} writes"
                );
                break;
            }
        }
    }
}

#[tokio::test]
async fn an_operation_that_has_changed_nothing_refreshes_nothing() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (faulty, counted) = shaken(&store, Fault::Refused, usize::MAX);
    let (session, journal) = operation(&counted).await.unwrap();
    session.refresh(&journal).await.unwrap();
    assert_eq!((faulty.writes(), session.has_refreshed()), (0, false));
    create(&journal, "a").await;
    session.refresh(&journal).await.unwrap();
    let writes = faulty.writes();
    session.refresh(&journal).await.unwrap();
    assert_eq!(faulty.writes(), writes, "nothing has happened since");
}

#[tokio::test]
async fn a_step_that_fails_after_a_refresh_is_not_pending_in_the_end() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    let begun = begin(&journal, "a").await;
    session.refresh(&journal).await.unwrap();
    let failed = JournalRecord::Failure { op: StepOp::Create };
    journal.append(begun, failed).await.unwrap();
    let ledger = journal.finish().await.unwrap();
    assert!(!ledger.is_dirty() && session.has_refreshed());
    session.commit(&mut ledger.compose().unwrap()).await.unwrap();
    assert_eq!(seen_by_others(&store, CHECKPOINT).await, (owned(&[]), owned(&[])));
}

#[tokio::test]
async fn a_checkpoint_changed_during_an_operation_is_a_conflict_of_refresh_and_commit() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    create(&journal, "a").await;
    session.refresh(&journal).await.unwrap();
    let other = r#"{"version":3,"checkpoint":{"stack":"organization/shop/dev","latest":null}}"#;
    store.put(CHECKPOINT, other.into(), Condition::Any).await.unwrap();
    create(&journal, "b").await;
    let error = session.refresh(&journal).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let ledger = journal.finish().await.unwrap();
    let error = session.commit(&mut ledger.compose().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let left = store.get(CHECKPOINT).await.unwrap().unwrap().bytes;
    assert_eq!(&left[..], other.as_bytes());
}

#[tokio::test]
async fn a_writer_whose_journal_became_another_s_writes_nothing_more() {
    for taken in ["removed", "replaced", "extended"] {
        let store = memory();
        let stack = storage(&store, "shop/dev");
        stack.create().await.unwrap();
        let (session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
        let key = stack.name().journal();
        let bytes = store.get(&key).await.unwrap().unwrap().bytes;
        match taken {
            "removed" => store.delete(&key).await.unwrap(),
            "replaced" => {
                store.delete(&key).await.unwrap();
                store.put(&key, bytes, Condition::Absent).await.unwrap();
            }
            _ => drop(store.append(&key, "more\n".into(), Condition::Any).await.unwrap()),
        }
        let theirs = store.get(&key).await.unwrap().map(|object| object.version);
        let checkpoint = stack.read().await.unwrap().base;
        let new = StateRef {
            id: journal.next_state_id(),
            state: thing("b"),
        };
        let error = journal.append(OperationId(9), created(new)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{taken}");
        assert!(error.message().contains(&key), "{taken}: {error}");
        let (ledger, _) = journal.close().await.unwrap();
        let error = session.commit(&mut ledger.compose().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{taken}");
        assert_eq!(
            session.discard().await.unwrap_err().kind(),
            ErrorKind::Conflict,
            "{taken}"
        );
        let left = store.get(&key).await.unwrap().map(|object| object.version);
        assert_eq!(left, theirs, "{taken}");
        assert_eq!(stack.read().await.unwrap().base, checkpoint, "{taken}");
    }
}

/// A resource that a provider manages.
fn real(name: &str, id: &str) -> Arc<ResourceState> {
    let mut state = ResourceState::clone(&thing(name));
    state.custom = true;
    state.id = id.into();
    Arc::new(state)
}

fn resized(state: &Arc<ResourceState>) -> Arc<ResourceState> {
    let mut state = ResourceState::clone(state);
    state.outputs = PropertyMap::from_iter([("size", PropertyValue::from("large"))]);
    Arc::new(state)
}

/// Writes the checkpoint as another program would.
async fn replace_checkpoint(store: &Arc<dyn Store>, resources: Vec<Arc<ResourceState>>) {
    let snapshot = Snapshot {
        secrets: Some(Base64Provider.create().await.unwrap()),
        resources,
        ..Snapshot::default()
    };
    let bytes = write_checkpoint("organization/shop/dev", &snapshot, SecretsShown::Encrypted)
        .await
        .unwrap();
    store.put(CHECKPOINT, bytes.into(), Condition::Any).await.unwrap();
}

fn kept(journal: &Journal, name: &str) -> StateRef {
    let found = journal.with_ledger(|ledger| {
        let mut records = ledger.records();
        records.find(|record| record.state.urn.name() == name).cloned()
    });
    found.flatten().unwrap()
}

async fn begin_step(
    journal: &Journal,
    op: StepOp,
    pending: PendingOperationKind,
    old: StateRef,
) -> OperationId {
    let operation = journal.next_operation_id();
    let record = JournalRecord::Begin {
        op,
        pending: Some(pending),
        new: (op == StepOp::Update).then(|| Arc::clone(&old.state)),
        old: Some(old),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
    };
    journal.append(operation, record).await.unwrap();
    operation
}

fn ended(op: StepOp, removed: StateRef, new: Option<Arc<ResourceState>>) -> JournalRecord {
    JournalRecord::Success {
        op,
        result_op: op,
        removed: vec![removed.id],
        marked: Vec::new(),
        new: new.map(|state| StateRef {
            id: removed.id,
            state,
        }),
        in_place: false,
        elided: false,
        untargeted: false,
        skipped_create: None,
        view: false,
    }
}

fn pending(snapshot: &Snapshot) -> Vec<String> {
    let pending = snapshot.pending_operations.iter();
    let mut pending: Vec<_> = pending
        .map(|pending| {
            format!(
                "{:?} {} {}",
                pending.kind,
                pending.resource.urn.name(),
                pending.resource.id
            )
        })
        .collect();
    pending.sort();
    pending
}

/// A stack with x, y and z, of which an interrupted update has created a, changed x and deleted y; the creation of b and the
/// deletion of z were in flight.
async fn interrupted(store: &Arc<dyn Store>) -> StackStorage {
    let stack = storage(store, "shop/dev");
    stack.create().await.unwrap();
    replace_checkpoint(store, vec![real("x", "x1"), real("y", "y1"), real("z", "z1")]).await;
    let (_session, journal) = operation(&stack).await.unwrap();
    create_thing(&journal, real("a", "a1")).await;
    let x = kept(&journal, "x");
    let step = begin_step(
        &journal,
        StepOp::Update,
        PendingOperationKind::Updating,
        x.clone(),
    )
    .await;
    let new = resized(&x.state);
    journal
        .append(step, ended(StepOp::Update, x, Some(new)))
        .await
        .unwrap();
    let y = kept(&journal, "y");
    let step = begin_step(
        &journal,
        StepOp::Delete,
        PendingOperationKind::Deleting,
        y.clone(),
    )
    .await;
    journal
        .append(step, ended(StepOp::Delete, y, None))
        .await
        .unwrap();
    begin(&journal, "b").await;
    let z = kept(&journal, "z");
    begin_step(&journal, StepOp::Delete, PendingOperationKind::Deleting, z).await;
    stack
}

const UNSEEN: [&str; 5] = [
    "Creating a a1",
    "Creating b ",
    "Deleting y y1",
    "Deleting z z1",
    "Updating x x1",
];

#[tokio::test]
async fn what_a_journal_did_and_a_foreign_checkpoint_does_not_show_is_pending() {
    let store = memory();
    let stack = interrupted(&store).await;
    let key = stack.name().journal();
    let other = vec![real("x", "x1"), real("y", "y1"), real("z", "z1"), real("a", "a2")];
    replace_checkpoint(&store, other).await;
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(pending(&loaded.snapshot), UNSEEN);
    // The live record with the same URN stays.
    assert_eq!(names(&loaded.snapshot), ["x", "y", "z", "a"]);
    let [warning] = &loaded.warnings[..] else {
        panic!("{:?}", loaded.warnings);
    };
    for part in [
        key.as_str(),
        "does not belong to its checkpoint",
        "5 of its operations",
        "::a (id a1); the state has this resource with the id a2",
        "deleting urn:pulumi:dev::shop::shop:index:Box::y (id y1)",
    ] {
        assert!(warning.message.contains(part), "{part}: {}", warning.message);
    }
    let (session, _journal) = operation(&stack).await.unwrap();
    let aside = format!("{key}.orphan-1");
    let [note] = session.notes() else {
        panic!("{:?}", session.notes());
    };
    assert!(note.message.contains(&aside), "{note:?}");
    assert!(store.get(&aside).await.unwrap().is_some());
    assert!(store.get(&key).await.unwrap().is_none());
    // It is in the checkpoint that everyone reads.
    assert_eq!(seen_by_others(&store, CHECKPOINT).await.1.len(), 5);
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(pending(&loaded.snapshot), UNSEEN);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[tokio::test]
async fn a_journal_without_its_checkpoint_is_adopted_once_wherever_that_fails() {
    for fault in Fault::ALL {
        for at in 0..16 {
            let store = memory();
            let stack = interrupted(&store).await;
            let mut other = vec![real("x", "x1"), real("y", "y1"), real("z", "z1")];
            other.push(real("other", "o1"));
            replace_checkpoint(&store, other).await;
            let (faulty, shaken) = shaken(&store, fault, at);
            let begun = operation(&shaken).await.map(drop);
            let loaded = stack.load(&Base64Provider).await.unwrap();
            assert_eq!(pending(&loaded.snapshot), UNSEEN, "{fault:?} at write {at}");
            drop(operation(&stack).await.unwrap());
            let loaded = stack.load(&Base64Provider).await.unwrap();
            assert_eq!(pending(&loaded.snapshot), UNSEEN, "{fault:?} at write {at}");
            let prefix = format!("{}.orphan-", stack.name().journal());
            let asides = store.list(&prefix);
            assert_eq!(asides.await.unwrap().len(), 1, "{fault:?} at write {at}");
            if at >= faulty.writes() {
                begun.unwrap();
                assert_eq!(
                    at, 4,
                    "the copy, the previous checkpoint, the checkpoint and the journal"
                );
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_a_foreign_checkpoint_shows_is_not_pending() {
    let store = memory();
    let stack = interrupted(&store).await;
    let shown = vec![resized(&real("x", "x1")), real("a", "a1")];
    replace_checkpoint(&store, shown).await;
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(pending(&loaded.snapshot), ["Creating b "]);
}

#[tokio::test]
async fn what_a_refreshed_checkpoint_is_known_to_have_shown_is_left_to_who_replaced_it() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    {
        let (session, journal) = operation(&stack).await.unwrap();
        for name in ["a", "b", "c"] {
            create_thing(&journal, real(name, name)).await;
            if name != "c" {
                session.refresh(&journal).await.unwrap();
            }
        }
    }
    replace_checkpoint(&store, Vec::new()).await;
    let loaded = stack.load(&Base64Provider).await.unwrap();
    // Whether the second refresh has replaced the checkpoint is not known.
    assert_eq!(pending(&loaded.snapshot), ["Creating b b", "Creating c c"]);
}

#[tokio::test]
async fn ids_are_not_lost_where_the_secrets_of_a_journal_cannot_be_read() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let written = PassphraseProvider::new("one", runtime());
    {
        let loaded = stack.load(&written).await.unwrap();
        let mut snapshot = loaded.snapshot.clone();
        snapshot.secrets = Some(written.create().await.unwrap());
        let session = stack.begin(loaded, &mut snapshot, "update").await.unwrap();
        let journal = Journal::start(Ledger::new(snapshot), session.sink(), &runtime());
        create_thing(&journal, real("a", "a1")).await;
    }
    let other = r#"{"version":3,"checkpoint":{"stack":"organization/shop/dev","latest":null}}"#;
    store.put(CHECKPOINT, other.into(), Condition::Any).await.unwrap();
    let other = PassphraseProvider::new("two", runtime());
    let loaded = stack.load(&other).await.unwrap();
    assert_eq!(pending(&loaded.snapshot), ["Creating a a1"]);
}

#[tokio::test]
async fn an_export_needs_no_passphrase_and_an_import_restores_it() {
    let store = memory();
    let golden =
        include_bytes!("../../../tests/fixtures/states/killed-with-lock/dot-pulumi/stacks/fixtures/dev.json");
    let key = ".pulumi/stacks/fixtures/dev.json";
    store
        .put(key, golden.as_slice().into(), Condition::Any)
        .await
        .unwrap();
    let stack = storage(&store, "fixtures/dev");
    let right = PassphraseProvider::new("correct horse", runtime());
    let wrong = PassphraseProvider::new("wrong horse", runtime());
    let sealed = stack.export(&wrong, false).await.unwrap();
    let error = stack.export(&wrong, true).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    let place =
        "the state of stack 'organization/fixtures/dev' is .pulumi/stacks/fixtures/dev.json in memory://";
    assert!(
        error.hints().iter().any(|hint| hint == place),
        "{:?}",
        error.hints()
    );
    let shown = stack.export(&right, true).await.unwrap();
    let parse = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    assert_eq!(
        parse(&sealed)["deployment"],
        parse(golden)["checkpoint"]["latest"]
    );
    assert!(!String::from_utf8(sealed.clone()).unwrap().contains("plaintext"));
    assert!(!String::from_utf8(shown.clone()).unwrap().contains("ciphertext"));
    for document in [&sealed, &shown] {
        let elsewhere = memory();
        let foreign = storage(&store, "fixtures/another");
        foreign.create().await.unwrap();
        let error = foreign.import(&right, document).await.unwrap_err();
        assert!(error.message().contains("belongs to stack"), "{error}");
        foreign.remove(false).await.unwrap();
        let fresh = storage(&elsewhere, "fixtures/dev");
        fresh.create().await.unwrap();
        fresh.import(&right, document).await.unwrap();
        let mut again = parse(&fresh.export(&right, true).await.unwrap());
        let mut expected = parse(&shown);
        for document in [&mut again, &mut expected] {
            document["deployment"]["manifest"].take();
            document["deployment"]["secrets_providers"].take();
        }
        assert_eq!(again, expected);
        assert!(fresh.import(&right, b"{\"version\":3}").await.is_err());
        fresh.remove(true).await.unwrap();
    }
}
