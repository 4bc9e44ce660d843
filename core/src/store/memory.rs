//! The memory store: objects that exist as long as the process, for tests and for hosts that persist state themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Condition, LockGuard, Object, ObjectInfo, Store, Version, changed, check_key, locked, not_found,
};
use crate::{
    error::Result,
    runtime::{Runtime, Timestamp},
};

/// A store in memory. A clone is another handle of the same store.
#[derive(Clone)]
pub struct MemoryStore {
    runtime: Runtime,
    content: Arc<Mutex<Content>>,
}

#[derive(Default)]
struct Content {
    objects: BTreeMap<String, Entry>,
    locks: BTreeSet<String>,
    writes: u64,
}

struct Entry {
    data: Data,
    write: u64,
    modified: Timestamp,
}

/// An object written by a put is shared with its readers; an appended one has spare capacity.
enum Data {
    Whole(Bytes),
    Growing(Vec<u8>),
}

impl Entry {
    fn bytes(&self) -> Bytes {
        match &self.data {
            Data::Whole(bytes) => bytes.clone(),
            Data::Growing(bytes) => Bytes::copy_from_slice(bytes),
        }
    }

    fn len(&self) -> usize {
        match &self.data {
            Data::Whole(bytes) => bytes.len(),
            Data::Growing(bytes) => bytes.len(),
        }
    }

    fn version(&self) -> Version {
        self.write.to_string().into()
    }
}

impl Content {
    fn check(&self, key: &str, condition: &Condition) -> Result<()> {
        let present = self.objects.get(key).map(Entry::version);
        let holds = match (condition, &present) {
            (Condition::Any, _) | (Condition::Absent, None) => true,
            (Condition::Match(expected), Some(version)) => expected == version,
            (Condition::Absent, Some(_)) | (Condition::Match(_), None) => false,
        };
        if holds { Ok(()) } else { Err(changed(key)) }
    }
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            content: Arc::default(),
        }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, content: &mut Content, key: &str, bytes: Bytes) -> Version {
        content.writes += 1;
        let entry = Entry {
            data: Data::Whole(bytes),
            write: content.writes,
            modified: self.runtime.clock.now(),
        };
        let version = entry.version();
        content.objects.insert(key.to_owned(), entry);
        version
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn url(&self) -> String {
        "memory://".to_owned()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        Ok(self.content().objects.get(key).map(|entry| Object {
            bytes: entry.bytes(),
            version: entry.version(),
        }))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        check_key(key)?;
        let mut content = self.content();
        content.check(key, &condition)?;
        Ok(self.set(&mut content, key, bytes))
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        check_key(key)?;
        let mut content = self.content();
        content.check(key, &condition)?;
        content.writes += 1;
        let write = content.writes;
        let modified = self.runtime.clock.now();
        let entry = content.objects.entry(key.to_owned()).or_insert_with(|| Entry {
            data: Data::Growing(Vec::new()),
            write,
            modified,
        });
        if let Data::Whole(whole) = &entry.data {
            entry.data = Data::Growing(whole.to_vec());
        }
        if let Data::Growing(grown) = &mut entry.data {
            grown.extend_from_slice(&bytes);
        }
        entry.write = write;
        entry.modified = modified;
        Ok(entry.version())
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        Ok(self
            .content()
            .objects
            .range(prefix.to_owned()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, entry)| ObjectInfo {
                key: key.clone(),
                size: entry.len() as u64,
                modified: entry.modified,
            })
            .collect())
    }

    async fn delete(&self, key: &str) -> Result<()> {
        check_key(key)?;
        self.content().objects.remove(key);
        Ok(())
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        check_key(from)?;
        check_key(to)?;
        let mut content = self.content();
        let Some(bytes) = content.objects.get(from).map(Entry::bytes) else {
            return Err(not_found(from));
        };
        self.set(&mut content, to, bytes);
        Ok(())
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        if !self.content().locks.insert(name.to_owned()) {
            return Err(locked(name));
        }
        Ok(Box::new(MemoryLock {
            content: Arc::clone(&self.content),
            name: name.to_owned(),
        }))
    }
}

struct MemoryLock {
    content: Arc<Mutex<Content>>,
    name: String,
}

impl LockGuard for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.content
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .locks
            .remove(&self.name);
    }
}
