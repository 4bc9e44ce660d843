//! Every prefix of a journal: an update that was interrupted after any line is loaded, valid, and continued.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Result,
    runtime::Runtime,
    state::integrity,
    store::{Condition, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version as ObjectVersion},
};
use stackwright_testkit::fake::EchoProvider;

use super::{essence, open, programs::Version, update};

const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";
const JOURNAL: &str = ".pulumi/journals/shop/dev.journal";

/// A memory store that records every byte of the journal, even after its removal.
pub(crate) struct JournalRecorder {
    inner: MemoryStore,
    journal: Mutex<Vec<u8>>,
}

impl JournalRecorder {
    pub(crate) fn new() -> Self {
        Self {
            inner: MemoryStore::new(Runtime::system(tokio::runtime::Handle::current())),
            journal: Mutex::default(),
        }
    }

    /// Takes the recorded journal.
    pub(crate) fn take_journal(&self) -> Vec<u8> {
        std::mem::take(&mut self.journal.lock().unwrap())
    }

    fn remember(&self, key: &str, bytes: &Bytes) {
        if key == JOURNAL {
            self.journal.lock().unwrap().extend_from_slice(bytes);
        }
    }
}

#[async_trait]
impl Store for JournalRecorder {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<ObjectVersion> {
        self.remember(key, &bytes);
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<ObjectVersion> {
        self.remember(key, &bytes);
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}

pub(crate) async fn checkpoint_of(store: &dyn Store) -> Bytes {
    store.get(CHECKPOINT).await.unwrap().unwrap().bytes
}

/// Creates a store whose stack has this checkpoint and this journal.
pub(crate) async fn interrupted(checkpoint: Bytes, journal: &[u8]) -> Arc<dyn Store> {
    let store = MemoryStore::new(Runtime::system(tokio::runtime::Handle::current()));
    let any = Condition::Any;
    store
        .put(".pulumi/meta.yaml", "version: 1\n".into(), any.clone())
        .await
        .unwrap();
    store.put(CHECKPOINT, checkpoint, any.clone()).await.unwrap();
    store
        .put(JOURNAL, Bytes::copy_from_slice(journal), any)
        .await
        .unwrap();
    Arc::new(store)
}

/// Returns the ends of the lines.
pub(crate) fn ends_of_lines(journal: &[u8]) -> Vec<usize> {
    let bytes = journal.iter().enumerate();
    let ends = bytes.filter(|(_, byte)| **byte == b'\n');
    ends.map(|(place, _)| place + 1).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_continues_from_every_prefix_of_a_journal() {
    let store = Arc::new(JournalRecorder::new());
    let stack = open(Arc::clone(&store) as _, Arc::new(EchoProvider::default())).await;
    let known = essence(&update(&stack, Version::Before).await.snapshot);
    let before = checkpoint_of(&*store).await;
    drop(store.take_journal());
    let wanted = essence(&update(&stack, Version::After).await.snapshot);
    let after = checkpoint_of(&*store).await;
    let journal = store.take_journal();
    let ends = ends_of_lines(&journal);
    // A begin and an end for each of 30 created, 10 changed and 10 deleted resources, and more.
    assert!(ends.len() > 100, "{} lines", ends.len());
    let mut grown = 0;
    for end in &ends {
        // At the line's end, and in the middle of the next line.
        for length in [*end, (*end + 9).min(journal.len())] {
            let interrupted = interrupted(before.clone(), &journal[..length]).await;
            let stack = open(Arc::clone(&interrupted), Arc::new(EchoProvider::default())).await;
            let snapshot = stack.snapshot().await.unwrap();
            integrity::verify(&snapshot).unwrap();
            let lost = known.keys().filter(|urn| {
                !snapshot.resources.iter().any(|state| state.urn == **urn) && wanted.contains_key(*urn)
            });
            assert_eq!(lost.count(), 0, "at byte {length}");
            grown += usize::from(essence(&snapshot) != known);
            let done = update(&stack, Version::After).await;
            assert_eq!(essence(&done.snapshot), wanted, "at byte {length}");
            integrity::verify(&stack.snapshot().await.unwrap()).unwrap();
            assert!(interrupted.get(JOURNAL).await.unwrap().is_none());
        }
    }
    assert!(
        grown > ends.len() / 2,
        "the journals have changed the state {grown} times only"
    );

    // Killed between the new checkpoint and the journal's removal: the checkpoint has everything.
    let checkpointed = interrupted(after, &journal).await;
    let stack = open(checkpointed, Arc::new(EchoProvider::default())).await;
    assert_eq!(essence(&stack.snapshot().await.unwrap()), wanted);
    assert!(update(&stack, Version::After).await.steps.is_empty());
}
