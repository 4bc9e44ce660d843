//! Journals that do not extend the checkpoint: their steps become pending operations.

use super::{crashes::faulty_storage, *};

/// A resource that a provider manages.
pub(super) fn real(name: &str, id: &str) -> Arc<ResourceState> {
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
    let found = journal.with_replay(|replay| {
        let mut records = replay.records();
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
        elide_write: false,
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

/// A stack with x, y and z, of which an interrupted update has created a, changed x and deleted y; the creation of b
/// and the deletion of z were in flight.
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
async fn steps_that_a_foreign_checkpoint_does_not_contain_are_pending() {
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
    // It is in the checkpoint that all programs read.
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
            let (faulty, faulty_stack) = faulty_storage(&store, fault, at);
            let begun = operation(&faulty_stack).await.map(drop);
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
                    at, 6,
                    "the copy, the previous checkpoint, the checkpoint, the journal, and the record with its state"
                );
                break;
            }
        }
    }
}

#[tokio::test]
async fn steps_that_a_foreign_checkpoint_contains_are_not_pending() {
    let store = memory();
    let stack = interrupted(&store).await;
    let shown = vec![resized(&real("x", "x1")), real("a", "a1")];
    replace_checkpoint(&store, shown).await;
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(pending(&loaded.snapshot), ["Creating b "]);
}

/// Dies after three creations and two refreshes, then another program writes its checkpoint. Returns the pending
/// operations.
async fn pending_after_another_s_checkpoint(resources: Vec<Arc<ResourceState>>) -> Vec<String> {
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
    replace_checkpoint(&store, resources).await;
    pending(&stack.load(&Base64Provider).await.unwrap().snapshot)
}

#[tokio::test]
async fn steps_that_a_refreshed_checkpoint_contained_are_not_pending() {
    // Whether the second refresh has replaced the checkpoint is unknown.
    let pending = pending_after_another_s_checkpoint(vec![real("a", "a")]).await;
    assert_eq!(pending, ["Creating b b", "Creating c c"]);
}

#[tokio::test]
async fn a_checkpoint_without_a_refreshed_predecessor_contains_no_steps_of_the_journal() {
    for older in [Vec::new(), vec![real("z", "z")], vec![real("a", "another")]] {
        let pending = pending_after_another_s_checkpoint(older).await;
        assert_eq!(pending, ["Creating a a", "Creating b b", "Creating c c"]);
    }
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
        let session = StackSession::begin(&stack, loaded, &mut snapshot, "update")
            .await
            .unwrap();
        let journal = Journal::start(JournalReplay::new(snapshot), session.sink(), &runtime());
        create_thing(&journal, real("a", "a1")).await;
    }
    let other = r#"{"version":3,"checkpoint":{"stack":"organization/shop/dev","latest":null}}"#;
    store.put(CHECKPOINT, other.into(), Condition::Any).await.unwrap();
    let other = PassphraseProvider::new("two", runtime());
    let loaded = stack.load(&other).await.unwrap();
    assert_eq!(pending(&loaded.snapshot), ["Creating a a1"]);
}
