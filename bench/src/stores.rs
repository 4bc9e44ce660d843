//! `store.{file,s3,postgres}.*`: operations over each store, beside the same resources with the whole checkpoint written twice a step.
//!
//! Servers are started on loopback where the environment names them, as for the tests of stores; the line of a missing one is on the
//! standard error, and its figures are left out.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Error, Result, Stack,
    operation::OperationKind,
    state::deployment::{SecretsShown, write_checkpoint},
    store::{
        Condition, Credentials, LockGuard, LockOwner, Md5Digest, Object, ObjectInfo, Store, StoreSettings,
        Version, open_with,
    },
};
use stackwright_testkit::server::{Moto, Postgres};

use crate::{
    figure::{Selection, Stopwatch},
    provider::Echo,
    stack,
};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// The sizes that are also measured with whole checkpoints.
const MAX_WHOLE_SIZE: usize = 1_000;
/// The number of whole checkpoints that are written; their time stands for that of all.
const WHOLE_SAMPLES: usize = 20;

/// What the writes of whole checkpoints are measured with.
const WHOLE: &str = ".pulumi/stacks/bench/whole.json";

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let executor = stack::executor()?;
    if selection.overlaps("store.file.") {
        executor.block_on(async {
            let folder = stack::folder()?;
            let open = |part: &str| stack::file_store(&folder.path().join(part), &stack::runtime());
            figures(selection, "file", &open).await
        })?;
    }
    if selection.overlaps("store.s3.") {
        executor.block_on(async {
            match Moto::start().await {
                Ok(server) => figures(selection, "s3", &|part| remote(&server.url(part))).await,
                Err(missing) => left_out("s3", &missing.0),
            }
        })?;
    }
    if selection.overlaps("store.postgres.") {
        executor.block_on(async {
            match Postgres::start().await {
                Ok(server) => figures(selection, "postgres", &|part| remote(&server.url(part))).await,
                Err(missing) => left_out("postgres", &missing.0),
            }
        })?;
    }
    Ok(())
}

fn left_out(kind: &str, why: &str) -> Result<()> {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "store.{kind}: not measured: {why}")
        .map_err(|error| Error::invalid(format!("cannot write to the standard error: {error}")))
}

fn remote(url: &str) -> Result<Arc<dyn Store>> {
    let keys = [("AWS_ACCESS_KEY_ID", "bench"), ("AWS_SECRET_ACCESS_KEY", "bench")];
    let keys = keys.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = StoreSettings {
        credentials: Credentials::Environment(Arc::new(keys.into())),
        ..StoreSettings::default()
    };
    open_with(url, Path::new("/"), &stack::runtime(), &settings)
}

/// What one operation has cost.
struct Cost {
    seconds: f64,
    bytes: u64,
    requests: u64,
    /// The seconds of requests that refresh the checkpoint while steps run.
    background: f64,
}

async fn figures(
    selection: &Selection,
    kind: &str,
    open: &dyn Fn(&str) -> Result<Arc<dyn Store>>,
) -> Result<()> {
    let mut steps = Vec::new();
    for size in SIZES {
        let name = |figure: &str| format!("store.{kind}.{figure}.{size}");
        let growth = ["time", "bytes", "requests"].map(|figure| format!("store.{kind}.growth.{figure}"));
        let all = [
            "create",
            "create.bytes",
            "create.requests",
            "create.background",
            "noop",
            "whole",
        ]
        .map(name);
        if !all.iter().chain(&growth).any(|name| selection.selects(name)) {
            continue;
        }
        let measured = Arc::new(Measured::new(open(&format!("of{size}"))?));
        let engine = stack::engine(
            Arc::clone(&measured) as Arc<dyn Store>,
            Echo::instant(stack::runtime().clock),
        )?;
        let thing = stack::open(&engine, "bench/dev").await?;
        let create = update(&thing, &measured, size).await?;
        let noop = update(&thing, &measured, size).await?;
        #[expect(clippy::cast_precision_loss, reason = "no operation writes so much")]
        let each = |count: u64| count as f64 / size as f64;
        #[expect(clippy::cast_precision_loss, reason = "there are few resources")]
        let rate = |seconds: f64| size as f64 / seconds;
        selection.print(&all[0], rate(create.seconds), "resources/s")?;
        selection.print(&all[1], each(create.bytes), "bytes")?;
        selection.print(&all[2], each(create.requests), "requests")?;
        selection.print(&all[3], 100.0 * create.background / create.seconds, "%")?;
        selection.print(&all[4], rate(noop.seconds), "resources/s")?;
        if size <= MAX_WHOLE_SIZE && selection.selects(&all[5]) {
            let seconds = whole(&thing, &*measured.inner, size).await?;
            selection.print(&all[5], rate(seconds), "resources/s")?;
        }
        steps.push([
            1.0 / rate(create.seconds),
            each(create.bytes),
            each(create.requests),
        ]);
        engine.close().await;
    }
    if let ([first, _, last], growth) = (&steps[..], ["time", "bytes", "requests"]) {
        for (index, figure) in growth.into_iter().enumerate() {
            selection.print(
                &format!("store.{kind}.growth.{figure}"),
                last[index] / first[index],
                "x",
            )?;
        }
    }
    Ok(())
}

async fn update(thing: &Stack, measured: &Measured, size: usize) -> Result<Cost> {
    measured.reset();
    let program = Some(stack::tree(stack::values(size)));
    let watch = Stopwatch::start();
    stack::run(thing, OperationKind::Update, stack::unbounded(), program).await?;
    Ok(measured.cost(watch.seconds()))
}

/// Returns the seconds in which each of so many steps writes the checkpoint as a whole, at its begin and at its end.
async fn whole(thing: &Stack, store: &dyn Store, size: usize) -> Result<f64> {
    let snapshot = thing.snapshot().await?;
    let mut seconds = 0.0;
    for sample in 1..=WHOLE_SAMPLES {
        let mut part = snapshot.clone();
        part.resources.truncate(size * sample / WHOLE_SAMPLES);
        let watch = Stopwatch::start();
        for _ in 0..2 {
            let text = write_checkpoint("organization/bench/dev", &part, SecretsShown::Encrypted).await?;
            store.put(WHOLE, Bytes::from(text), Condition::Any).await?;
        }
        seconds += watch.seconds();
    }
    #[expect(clippy::cast_precision_loss, reason = "there are few resources")]
    let steps = size as f64 / WHOLE_SAMPLES as f64;
    Ok(seconds * steps)
}

/// A store that counts the requests of steps, and measures those that refresh the checkpoint.
struct Measured {
    inner: Arc<dyn Store>,
    bytes: AtomicU64,
    requests: AtomicU64,
    checkpoints: Mutex<Vec<Duration>>,
}

/// Returns whether an object belongs to a checkpoint or to the history, which an operation writes at its end as well.
fn is_checkpoint(key: &str) -> bool {
    key.starts_with(".pulumi/stacks/") || key.starts_with(".pulumi/history/")
}

impl Measured {
    fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            checkpoints: Mutex::default(),
        }
    }

    fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.requests.store(0, Ordering::Relaxed);
        self.checkpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn cost(&self, seconds: f64) -> Cost {
        let checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        // The last one is the checkpoint of the ended operation.
        let background = checkpoints.iter().rev().skip(1).sum::<Duration>();
        Cost {
            seconds,
            bytes: self.bytes.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            background: background.as_secs_f64(),
        }
    }

    fn count(&self, key: &str, bytes: usize) {
        if !is_checkpoint(key) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Notes the time of a write of the checkpoint.
    async fn timed<T>(&self, key: &str, write: impl Future<Output = Result<T>>) -> Result<T> {
        let watch = Stopwatch::start();
        let written = write.await;
        if key.starts_with(".pulumi/stacks/") {
            let mut checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
            checkpoints.push(watch.elapsed());
        }
        written
    }
}

#[async_trait]
impl Store for Measured {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.count(key, 0);
        self.inner.get(key).await
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        self.count(key, 0);
        self.inner.get_with_digest(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.count(key, bytes.len());
        self.timed(key, self.inner.put(key, bytes, condition)).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        self.count(key, bytes.len());
        self.timed(key, self.inner.put_keeping(key, bytes, condition, kept))
            .await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.count(key, bytes.len());
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.count(prefix, 0);
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.count(key, 0);
        self.inner.delete(key).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.count(key, 0);
        self.inner.delete_version(key, version).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.count(to, 0);
        self.inner.copy(from, to).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }

    async fn lock_for(&self, name: &str, operation: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock_for(name, operation).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.inner.break_lock(name, owner).await
    }

    fn shortens_journals(&self) -> bool {
        self.inner.shortens_journals()
    }

    fn rewrite_interval(&self) -> Duration {
        self.inner.rewrite_interval()
    }

    async fn tidy(&self, prefix: &str) {
        self.inner.tidy(prefix).await;
    }
}
