//! Operations over stored state: recovery, commits, other writers, export and import.

mod crashes;
mod interrupted;
mod orphans;
mod overwritten;
mod refreshing;
mod takeovers;

use super::*;
use crate::secrets::SecretsProvider as _;
use crate::{
    property::{PropertyMap, PropertyValue},
    resource::{PendingOperationKind, ResourceState},
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider},
    state::{
        Journal, JournalRecord, JournalReplay, OperationId, StateRef,
        deployment::{SecretsAccess, read_checkpoint},
    },
    step::StepOp,
    store::{
        Condition, HistoryPoint, HostFacts, MemoryStore, StackName, Store, encrypted,
        faulty::{Fault, FaultyStore},
        remove_stack,
        sealed::tests::reversing,
    },
    urn::Urn,
};
use crashes::{faulty_storage, run};

use super::interrupted::IN_PROGRESS;

const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";

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
        elide_write: false,
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
    let session = StackSession::begin(stack, loaded, &mut snapshot, "update").await?;
    let journal = Journal::start(JournalReplay::new(snapshot), session.sink(), &runtime());
    Ok((session, journal))
}

/// Reads a checkpoint without the journal, as other programs do: its records, and its pending operations.
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

#[tokio::test]
async fn a_committed_state_is_loaded_again() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    create(&journal, "a").await;
    let replay = journal.finish().await.unwrap();
    session.commit(&mut replay.to_snapshot().unwrap()).await.unwrap();
    session
        .record_history(HistoryRecord {
            kind: "update",
            message: String::new(),
            started: Timestamp::UNIX_EPOCH,
            ended: Timestamp::UNIX_EPOCH,
            succeeded: true,
            changes: [("create", 1)].into(),
            config: [(
                "shop:size".parse().unwrap(),
                crate::config::ConfigValue::plain("1"),
            )]
            .into_iter()
            .collect(),
            environment: [("exec.kind".to_owned(), "host".to_owned())].into(),
        })
        .await
        .unwrap();
    session.discard().await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["a"]);
    assert!(loaded.warnings.is_empty() && loaded.stored.journal.is_none());
    let history = stack.history().await.unwrap();
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(
        text,
        r#"[{"kind":"update","startTime":0,"message":"","environment":{"exec.kind":"host"},"config":{"shop:size":"1"},"version":1,"result":"succeeded","endTime":0,"resourceChanges":{"create":1}}]"#
    );
}

#[tokio::test]
async fn the_journal_of_a_dead_process_is_loaded_and_merged() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
        begin(&journal, "b").await;
    }
    for _ in 0..2 {
        // A read changes nothing.
        let loaded = stack.load(&Base64Provider).await.unwrap();
        assert_eq!(names(&loaded.snapshot), ["a"]);
        assert_eq!(loaded.snapshot.pending_operations.len(), 1);
        assert!(
            matches!(loaded.leftover, Leftover::Merge { .. }),
            "{:?}",
            loaded.leftover
        );
    }
    let (session, journal) = operation(&stack).await.unwrap();
    assert!(store.get(&stack.name().journal()).await.unwrap().is_none());
    let replay = journal.finish().await.unwrap();
    assert!(!replay.is_dirty());
    session.discard().await.unwrap();
    // The history has it once, and the state that it has left.
    let history = stack.history().await.unwrap();
    let recorded: Vec<_> = (history.iter())
        .map(|entry| (entry.kind.as_str(), entry.result.as_str()))
        .collect();
    assert_eq!(recorded, [("update", IN_PROGRESS)]);
    let copy = stack.read_copy(&HistoryPoint::Version(1)).await.unwrap();
    assert_eq!(copy, stack.read().await.unwrap().checkpoint);
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
    stack.import(&Base64Provider, document, false).await.unwrap();
    assert!(names(&stack.load(&Base64Provider).await.unwrap().snapshot).is_empty());
    // The journal that yields it is kept under another name.
    let kept = store.list("").await.unwrap();
    assert!(
        kept.iter()
            .any(|object| object.key != key && object.key.starts_with(&key)),
        "{kept:?}"
    );
}

#[tokio::test]
async fn a_forced_removal_keeps_the_journal_of_an_interrupted_operation() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
    }
    let journal = store.get(&stack.name().journal()).await.unwrap().unwrap().bytes;
    assert_eq!(
        remove_stack(&stack, false).await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    remove_stack(&stack, true).await.unwrap();
    assert!(store.get(&stack.name().journal()).await.unwrap().is_none());
    let kept = store.get(&stack.name().orphan(1)).await.unwrap().unwrap().bytes;
    assert_eq!(kept, journal);
    // A new stack of the same name starts without it.
    stack.create().await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert!(names(&loaded.snapshot).is_empty() && loaded.warnings.is_empty());
}

#[tokio::test]
async fn a_torn_line_is_truncated_before_an_append_and_reported() {
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
    // The operation is recorded with its state, the journal truncated, the checkpoint announced, and the process dies before writing it.
    let (_, dying) = faulty_storage(&store, Fault::DeathAfter, 3);
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
async fn a_partial_append_is_truncated_before_the_next_line() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    // The second entry is written in part; later writes succeed.
    let faulty = Arc::new(FaultyStore::new(Arc::clone(&store), Fault::TornOnce, 1));
    let faulty_stack = storage(&(Arc::clone(&faulty) as Arc<dyn Store>), "shop/dev");
    let (session, journal) = operation(&faulty_stack).await.unwrap();
    let new = |name| StateRef {
        id: journal.next_state_id(),
        state: thing(name),
    };
    let append = |name| journal.append(journal.next_operation_id(), created(new(name)));
    append("a").await.unwrap();
    append("b").await.unwrap_err();
    let (replay, written) = journal.close().await.unwrap();
    written.unwrap_err();
    session.journal.announce_checkpoint("another").await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["a"]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    session.commit(&mut replay.to_snapshot().unwrap()).await.unwrap();
    assert_eq!(
        names(&stack.load(&Base64Provider).await.unwrap().snapshot),
        ["a", "b"]
    );
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
    let replay = journal.finish().await.unwrap();
    let error = session
        .commit(&mut replay.to_snapshot().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let left = store.get(CHECKPOINT).await.unwrap().unwrap().bytes;
    assert_eq!(&left[..], other.as_bytes());
}

#[tokio::test]
async fn a_writer_stops_when_its_journal_belongs_to_another_writer() {
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
        let (replay, _) = journal.close().await.unwrap();
        let error = session
            .commit(&mut replay.to_snapshot().unwrap())
            .await
            .unwrap_err();
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

#[tokio::test]
async fn an_export_needs_no_passphrase_and_an_import_restores_it() {
    let store = memory();
    let golden = include_bytes!(
        "../../../../tests/fixtures/states/killed-with-lock/dot-pulumi/stacks/fixtures/dev.json"
    );
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
        let error = foreign.import(&right, document, false).await.unwrap_err();
        assert!(error.message().contains("belongs to stack"), "{error}");
        remove_stack(&foreign, false).await.unwrap();
        let fresh = storage(&elsewhere, "fixtures/dev");
        fresh.create().await.unwrap();
        fresh.import(&right, document, false).await.unwrap();
        let mut again = parse(&fresh.export(&right, true).await.unwrap());
        let mut expected = parse(&shown);
        for document in [&mut again, &mut expected] {
            document["deployment"]["manifest"].take();
            document["deployment"]["secrets_providers"].take();
        }
        assert_eq!(again, expected);
        assert!(fresh.import(&right, b"{\"version\":3}", false).await.is_err());
        remove_stack(&fresh, true).await.unwrap();
    }
}
