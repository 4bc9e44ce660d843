//! `engine.bytes_per_step.N`: bytes that reach the journal for each step of a first update.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Result,
    operation::OperationKind,
    store::{Condition, LockGuard, Object, ObjectInfo, Store, Version},
};

use crate::{figure::Selection, provider::Echo, stack};

const SIZES: [usize; 2] = [1000, 100_000];

/// A store that counts what is written into journals.
struct Counting {
    inner: Arc<dyn Store>,
    journaled: Arc<AtomicU64>,
}

impl Counting {
    fn count(&self, key: &str, bytes: &Bytes) {
        if key.ends_with(".journal") {
            self.journaled.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
    }
}

#[async_trait]
impl Store for Counting {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.count(key, &bytes);
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.count(key, &bytes);
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.inner.copy(from, to).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    for size in SIZES {
        let name = format!("engine.bytes_per_step.{size}");
        if selection.wants(&name) {
            let bytes = stack::executor()?.block_on(bytes_per_step(size))?;
            selection.print(&name, bytes, "bytes")?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a journal has fewer bytes than that")]
async fn bytes_per_step(size: usize) -> Result<f64> {
    let folder = stack::folder()?;
    let runtime = stack::runtime();
    let journaled = Arc::new(AtomicU64::new(0));
    let store = Counting {
        inner: stack::file_store(folder.path(), &runtime)?,
        journaled: Arc::clone(&journaled),
    };
    let engine = stack::engine(Arc::new(store), Echo::instant(runtime.clock))?;
    let thing = stack::open(&engine, "bench/dev").await?;
    let program = Some(stack::tree(stack::values(size)));
    let result = stack::run(&thing, OperationKind::Update, stack::unbounded(), program).await?;
    let steps: u64 = result.changes.values().sum();
    Ok(journaled.load(Ordering::Relaxed) as f64 / steps as f64)
}
