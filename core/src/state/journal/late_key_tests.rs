//! Journals of a new stack, whose key is derived while the first steps run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use stackwright_testkit::wait::Within as _;

use super::*;
use crate::{
    property::{PropertyMap, PropertyValue},
    resource::{PendingOperationKind, ResourceState},
    runtime::Runtime,
    secrets::{Base64Provider, SecretsManager, SecretsProvider},
    state::{JournalRecord, JournalReplay, Snapshot},
    step::StepOp,
    store::{MemoryStore, Store, StoreJournal},
    urn::Urn,
};

const KEY: &str = "stacks/shop/dev.journal";

/// Encodes secrets, and has no state before its key is derived.
struct LateKey {
    derived: tokio::sync::watch::Receiver<bool>,
    inner: Arc<dyn SecretsManager>,
}

#[async_trait::async_trait]
impl SecretsManager for LateKey {
    fn kind(&self) -> &str {
        "late"
    }

    async fn ready(&self) -> Result<()> {
        let mut derived = self.derived.clone();
        let is_derived = derived.wait_for(|is_derived| *is_derived).await;
        is_derived.map(drop).map_err(|_| crate::Error::internal("no key"))
    }

    fn state(&self) -> Option<serde_json::Value> {
        self.derived
            .borrow()
            .then(|| serde_json::json!({ "salt": "new" }))
    }

    fn identity(&self) -> Arc<str> {
        "late:new".into()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.ready().await?;
        self.inner.encrypt(plaintexts).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.ready().await?;
        self.inner.decrypt(ciphertexts).await
    }
}

/// Opens the manager of the salt, and records whether that was asked for.
#[derive(Default)]
struct Opens(AtomicBool);

#[async_trait::async_trait]
impl SecretsProvider for Opens {
    async fn open(&self, kind: &str, state: Option<&serde_json::Value>) -> Result<Arc<dyn SecretsManager>> {
        assert_eq!(kind, "late");
        assert_eq!(state, Some(&serde_json::json!({ "salt": "new" })));
        self.0.store(true, Ordering::Relaxed);
        Base64Provider.open("b64", None).await
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Base64Provider.create().await
    }
}

struct Stack {
    store: Arc<dyn Store>,
    journal: Journal,
    derived: tokio::sync::watch::Sender<bool>,
}

impl Stack {
    async fn new() -> Self {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime.clone()));
        let (derived, receiver) = tokio::sync::watch::channel(false);
        let secrets: Arc<dyn SecretsManager> = Arc::new(LateKey {
            derived: receiver,
            inner: Base64Provider.open("b64", None).await.unwrap(),
        });
        let base = Snapshot {
            secrets: Some(Arc::clone(&secrets)),
            ..Snapshot::default()
        };
        let header = JournalHeader::new(String::new(), "update", runtime.clock.now(), "0.1.0");
        let sink = StoreJournal::new(Arc::clone(&store), KEY, header, Some(secrets));
        let journal = Journal::start(JournalReplay::new(base), Arc::new(sink), &runtime);
        Self {
            store,
            journal,
            derived,
        }
    }

    /// Begins the creation of a resource; returns when that is durable.
    async fn begin(&self, name: &str, secret: Option<&str>) {
        let urn = Urn::new("dev", "shop", "", "shop:index:Box", name);
        let mut state = ResourceState::new(urn, "shop:index:Box".into(), false);
        state.inputs =
            PropertyMap::from_iter(secret.map(|secret| ("password", PropertyValue::secret(secret.into()))));
        let record = JournalRecord::Begin {
            op: StepOp::Create,
            pending: Some(PendingOperationKind::Creating),
            old: None,
            new: Some(Arc::new(state)),
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
        };
        let appended = self.journal.append(self.journal.next_operation_id(), record);
        appended.within("the entry becomes durable").await.unwrap();
    }

    async fn recover(&self, provider: &dyn SecretsProvider) -> Snapshot {
        let bytes = self.store.get(KEY).await.unwrap().unwrap().bytes;
        match recover(None, &bytes, provider).await.unwrap() {
            Recovery::Extends(recovered) => recovered.snapshot().unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn entries_without_secrets_do_not_wait_for_the_key() {
    let stack = Stack::new().await;
    stack.begin("a", None).await;
    stack.begin("b", None).await;
    let provider = Opens::default();
    let snapshot = stack.recover(&provider).await;
    assert_eq!(snapshot.pending_operations.len(), 2);
    assert!(
        snapshot.secrets.is_none(),
        "a later operation derives another key"
    );
    assert!(!provider.0.load(Ordering::Relaxed), "nothing is encrypted");
}

#[tokio::test]
async fn the_manager_is_named_before_the_first_entry_that_it_encrypts() {
    let stack = Stack::new().await;
    stack.begin("a", None).await;
    stack.derived.send_replace(true);
    stack.begin("b", Some("hunter2")).await;
    stack.begin("c", Some("hunter3")).await;
    let bytes = stack.store.get(KEY).await.unwrap().unwrap().bytes;
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("hunter"), "{text}");
    assert_eq!(text.matches(r#"{"secrets":"#).count(), 1, "{text}");
    let provider = Opens::default();
    let snapshot = stack.recover(&provider).await;
    assert!(provider.0.load(Ordering::Relaxed));
    let password = |index: usize| {
        let pending: &crate::resource::PendingOperation = &snapshot.pending_operations[index];
        pending.resource.inputs.get("password").cloned()
    };
    assert_eq!(password(0), None);
    assert_eq!(password(1), Some(PropertyValue::secret("hunter2".into())));
    assert_eq!(password(2), Some(PropertyValue::secret("hunter3".into())));
}

#[tokio::test]
async fn a_header_that_is_written_after_the_derivation_names_the_manager() {
    let stack = Stack::new().await;
    stack.derived.send_replace(true);
    stack.begin("a", None).await;
    let bytes = stack.store.get(KEY).await.unwrap().unwrap().bytes;
    let expected = Some(("late".to_owned(), Some(serde_json::json!({ "salt": "new" }))));
    assert_eq!(secrets_of_journal(&bytes), expected);
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!(text.lines().count(), 2, "{text}");
}
