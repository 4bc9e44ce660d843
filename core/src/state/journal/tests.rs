//! Tests of the journal's file form and of recovery, cut at every byte.

use std::sync::Arc;

use super::{recover::Recovered, *};
use crate::{
    error::ErrorKind,
    property::{PropertyMap, PropertyValue},
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    runtime::Runtime,
    secrets::{Base64Provider, SecretsManager, SecretsProvider as _},
    state::{
        JournalRecord, JournalReplay, OperationId, Snapshot, StateRef,
        deployment::{SecretsShown, content_hash, write_checkpoint},
        integrity,
    },
    step::StepOp,
    store::{Condition, MemoryStore, Store, StoreJournal},
    urn::Urn,
};

const KEY: &str = "stacks/shop/dev.journal";
const STACK: &str = "organization/shop/dev";

fn thing(name: &str) -> ResourceState {
    let urn = Urn::new("dev", "shop", "", "shop:index:Box", name);
    let mut state = ResourceState::new(urn, "shop:index:Box".into(), false);
    state.outputs =
        PropertyMap::from_iter([("password", PropertyValue::secret(format!("hunter-{name}").into()))]);
    state
}

struct Stack {
    store: Arc<dyn Store>,
    sink: Arc<StoreJournal>,
    journal: Journal,
    checkpoint: Vec<u8>,
}

async fn stack() -> Stack {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime.clone()));
    let secrets: Arc<dyn SecretsManager> = Base64Provider.open("b64", None).await.unwrap();
    let base = Snapshot {
        secrets: Some(Arc::clone(&secrets)),
        resources: vec![Arc::new(thing("base"))],
        ..Snapshot::default()
    };
    let checkpoint = write_checkpoint(STACK, &base, SecretsShown::Encrypted)
        .await
        .unwrap();
    let header = JournalHeader::new(content_hash(&checkpoint), "update", runtime.clock.now(), "0.1.0");
    let sink = Arc::new(StoreJournal::new(Arc::clone(&store), KEY, header, Some(secrets)));
    let journal = Journal::start(JournalReplay::new(base), sink.clone(), &runtime);
    Stack {
        store,
        sink,
        journal,
        checkpoint,
    }
}

impl Stack {
    async fn create(&self, name: &str) {
        let operation = self.begin(name, StepOp::Create).await;
        let new = StateRef {
            id: self.journal.next_state_id(),
            state: Arc::new(thing(name)),
        };
        let record = JournalRecord::Success {
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
        };
        self.journal.append(operation, record).await.unwrap();
    }

    async fn begin(&self, name: &str, op: StepOp) -> OperationId {
        let operation = self.journal.next_operation_id();
        let record = JournalRecord::Begin {
            op,
            pending: Some(PendingOperationKind::Creating),
            old: None,
            new: Some(Arc::new(thing(name))),
            keys: vec!["size".to_owned()],
            diffs: Vec::new(),
            detailed_diff: Some(
                [(
                    "size".to_owned(),
                    crate::event::PropertyDiff {
                        kind: crate::event::DiffKind::Add,
                        input_diff: true,
                    },
                )]
                .into(),
            ),
        };
        self.journal.append(operation, record).await.unwrap();
        operation
    }

    async fn bytes(&self) -> Vec<u8> {
        self.store.get(KEY).await.unwrap().unwrap().bytes.to_vec()
    }
}

async fn recovered(checkpoint: &[u8], journal: &[u8]) -> Option<Box<Recovered>> {
    match recover(Some(checkpoint), journal, &Base64Provider).await.unwrap() {
        Recovery::Extends(recovered) => Some(recovered),
        Recovery::Empty(..) => None,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_journal_cut_anywhere_recovers_what_was_durable_before_the_cut() {
    let stack = stack().await;
    assert!(
        stack.store.get(KEY).await.unwrap().is_none(),
        "nothing happened, so nothing is written"
    );
    stack.create("a").await;
    stack.create("b").await;
    stack.begin("c", StepOp::Create).await;
    let bytes = stack.bytes().await;
    assert!(
        !String::from_utf8_lossy(&bytes).contains("hunter"),
        "secrets are encrypted"
    );
    for cut in 0..=bytes.len() {
        let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let Some(recovered) = recovered(&stack.checkpoint, &bytes[..cut]).await else {
            assert!(lines < 2, "cut at {cut}");
            continue;
        };
        assert_eq!(recovered.entries, lines - 1);
        let intact = bytes[..cut].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(recovered.end.length, intact);
        let torn = (cut > intact).then(|| Torn {
            line: lines + 1,
            bytes: cut - intact,
        });
        assert_eq!(recovered.torn, torn);
        let snapshot = recovered.snapshot().unwrap();
        integrity::verify(&snapshot).unwrap();
        assert_eq!(snapshot.resources.len(), 1 + (lines - 1) / 2);
        assert_eq!(snapshot.pending_operations.len(), (lines - 1) % 2);
    }
    let whole = recovered(&stack.checkpoint, &bytes).await.unwrap();
    let live = stack.journal.finish().await.unwrap();
    assert_eq!(
        whole.snapshot().unwrap().resources,
        live.to_snapshot().unwrap().resources
    );
    assert_eq!(
        whole.snapshot().unwrap().pending_operations,
        live.to_snapshot().unwrap().pending_operations
    );
}

#[tokio::test]
async fn pending_operations_of_a_written_base_are_recovered_with_their_secrets_encrypted_in_the_journal() {
    let stack = stack().await;
    let record = StateRef {
        id: crate::state::StateId(0),
        state: Arc::new(thing("other")),
    };
    for pending in [None, Some(vec!["a", "b"]), Some(Vec::new())] {
        let begun = stack.begin("c", StepOp::Create).await;
        stack
            .journal
            .append(begun, JournalRecord::Failure { op: StepOp::Create })
            .await
            .unwrap();
        let pending = pending.map(|names| {
            let operations = names.into_iter().map(|name| PendingOperation {
                resource: Arc::new(thing(name)),
                kind: PendingOperationKind::Deleting,
            });
            operations.collect::<Vec<_>>()
        });
        let record = JournalRecord::BaseWritten {
            resources: vec![record.clone()],
            pending: pending.clone(),
        };
        stack.journal.append(OperationId(0), record).await.unwrap();
        let bytes = stack.bytes().await;
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter"), "{text}");
        assert_eq!(text.contains("pendingOperations"), pending.is_some());
        let recovered = recovered(&stack.checkpoint, &bytes).await.unwrap();
        let snapshot = recovered.snapshot().unwrap();
        assert_eq!(snapshot.pending_operations, pending.unwrap_or_default());
        assert_eq!(snapshot.resources, [Arc::new(thing("other"))]);
    }
}

/// Encrypts with the inner manager, and records the size of each batch.
struct Counting {
    inner: Arc<dyn SecretsManager>,
    batches: std::sync::Mutex<Vec<usize>>,
}

#[async_trait::async_trait]
impl SecretsManager for Counting {
    fn kind(&self) -> &str {
        self.inner.kind()
    }

    fn state(&self) -> Option<serde_json::Value> {
        self.inner.state()
    }

    fn identity(&self) -> Arc<str> {
        self.inner.identity()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.batches.lock().unwrap().push(plaintexts.len());
        self.inner.encrypt(plaintexts).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.inner.decrypt(ciphertexts).await
    }
}

#[tokio::test]
async fn the_secrets_of_entries_that_are_written_together_are_encrypted_in_one_batch() {
    let stack = stack().await;
    let kept = Arc::new(MemoryJournal::default());
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let journal = Journal::start(
        JournalReplay::new(Snapshot::default()),
        Arc::clone(&kept) as _,
        &runtime,
    );
    let other = Stack { journal, ..stack };
    for name in ["a", "b", "c"] {
        other.create(name).await;
    }
    let entries = kept.entries();
    assert_eq!(entries.len(), 6);
    let secrets = Counting {
        inner: Base64Provider.open("b64", None).await.unwrap(),
        batches: std::sync::Mutex::default(),
    };
    let ciphertexts = codec::encrypt_entries(&entries, Some(&secrets)).await.unwrap();
    let lines = codec::encode_entries(&entries, &ciphertexts, &mut Chain::default()).unwrap();
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 6);
    let batches = secrets.batches.lock().unwrap().clone();
    assert_eq!(batches, [6], "one secret for each entry, and one call for all");
}

#[tokio::test]
async fn a_checkpointed_journal_is_distinguished_from_an_orphan() {
    let stack = stack().await;
    stack.create("a").await;
    let snapshot = stack.journal.finish().await.unwrap().to_snapshot().unwrap();
    let new = write_checkpoint(STACK, &snapshot, SecretsShown::Encrypted)
        .await
        .unwrap();
    stack.sink.announce_checkpoint(&content_hash(&new)).await.unwrap();
    let bytes = stack.bytes().await;
    let outcome = |checkpoint: Vec<u8>| {
        let bytes = bytes.clone();
        async move { recover(Some(&checkpoint), &bytes, &Base64Provider).await.unwrap() }
    };
    assert!(matches!(outcome(new).await, Recovery::Checkpointed(_)));
    assert!(matches!(
        outcome(stack.checkpoint.clone()).await,
        Recovery::Extends(_)
    ));
    let Recovery::Orphan(orphan) = outcome(b"{}".to_vec()).await else {
        panic!("another program wrote the checkpoint");
    };
    assert_eq!(orphan.header.operation, "update");
    stack.sink.discard().await.unwrap();
    assert!(stack.store.get(KEY).await.unwrap().is_none());
}

#[tokio::test]
async fn a_journal_that_was_not_recovered_is_never_overwritten() {
    let stack = stack().await;
    stack
        .store
        .append(KEY, bytes::Bytes::from_static(b"left behind"), Condition::Any)
        .await
        .unwrap();
    let record = JournalRecord::Failure { op: StepOp::Create };
    let error = stack.journal.append(OperationId(1), record).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(stack.bytes().await, b"left behind");
}

#[test]
fn an_entry_s_json_for_hosts_names_old_records_by_identity() {
    let entry = JournalEntry {
        sequence: 3,
        operation: OperationId(2),
        record: JournalRecord::Begin {
            op: StepOp::Delete,
            pending: Some(PendingOperationKind::Deleting),
            old: Some(StateRef {
                id: crate::state::StateId(7),
                state: Arc::new(thing("a")),
            }),
            new: None,
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
        },
    };
    let text = entry_to_json(&entry, json::SecretForm::Plaintext).unwrap();
    assert_eq!(
        text,
        r#"{"sequence":3,"operation":2,"kind":"begin","op":"delete","pending":"deleting","old":{"id":7}}"#
    );
}
