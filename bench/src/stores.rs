//! `store.{file,s3,postgres}.*`: operations over each store, beside the same resources with the whole checkpoint written twice a step.
//!
//! Servers are started on loopback where the environment names them, as for the tests of stores; the line of a missing one is on the
//! standard error, and its figures are left out.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use stackwright::{
    Error, Result, Stack,
    operation::OperationKind,
    state::deployment::{SecretsShown, write_checkpoint},
    store::{Condition, Credentials, Store, StoreSettings, open_with},
};
use stackwright_testkit::server::{Moto, Postgres};

use crate::{
    figure::{Selection, Stopwatch},
    observed::{Observed, Request},
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
        let inner = open(&format!("of{size}"))?;
        let totals = Arc::new(Totals::default());
        let noting = Arc::clone(&totals);
        let store = Observed {
            inner: Arc::clone(&inner),
            observe: move |request: &Request<'_>| noting.note(request),
        };
        let engine = stack::engine(Arc::new(store), Echo::instant(stack::runtime().clock))?;
        let thing = stack::open(&engine, "bench/dev").await?;
        let create = update(&thing, &totals, size).await?;
        let noop = update(&thing, &totals, size).await?;
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
            let seconds = whole(&thing, &*inner, size).await?;
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

async fn update(thing: &Stack, totals: &Totals, size: usize) -> Result<Cost> {
    totals.reset();
    let program = Some(stack::tree(stack::values(size)));
    let watch = Stopwatch::start();
    stack::run(thing, OperationKind::Update, stack::unbounded(), program).await?;
    Ok(totals.cost(watch.seconds()))
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

/// What the requests of an operation have cost.
#[derive(Default)]
struct Totals {
    bytes: AtomicU64,
    requests: AtomicU64,
    /// The times of writes of the checkpoint.
    checkpoints: Mutex<Vec<Duration>>,
}

/// The objects of checkpoints, and of the history, which an operation writes at its end as well.
const CHECKPOINTS: &str = ".pulumi/stacks/";
const HISTORY: &str = ".pulumi/history/";

impl Totals {
    fn note(&self, request: &Request<'_>) {
        if request.key.starts_with(CHECKPOINTS) {
            if request.written.is_some() {
                self.checkpoints().push(request.took);
            }
        } else if !request.key.starts_with(HISTORY) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let bytes = request.written.unwrap_or_default();
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    fn checkpoints(&self) -> MutexGuard<'_, Vec<Duration>> {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.requests.store(0, Ordering::Relaxed);
        self.checkpoints().clear();
    }

    fn cost(&self, seconds: f64) -> Cost {
        // The last one is the checkpoint of the ended operation.
        let background = self.checkpoints().iter().rev().skip(1).sum::<Duration>();
        Cost {
            seconds,
            bytes: self.bytes.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            background: background.as_secs_f64(),
        }
    }
}
