//! `engine.refreshing`: the time of a long update with checkpoint refreshes, divided by that of one without.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use stackwright::{
    Engine, Error, Result,
    operation::OperationKind,
    program::{Program, from_fn},
    secrets::Base64Provider,
};

use crate::{
    figure::{Selection, Stopwatch},
    observed::{Observed, Request},
    provider::Echo,
    stack,
};

/// The duration of each Create.
const CREATE_DURATION: Duration = Duration::from_millis(200);

/// The number of concurrent strands, and of sequential resources in each: 12 s of waiting for the provider.
const STRANDS: usize = 32;
const LENGTH: usize = 60;

/// With fewer refreshes, the figure is meaningless and an error is returned.
const MIN_REFRESHES: u64 = 5;

const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let name = "engine.refreshing";
    if selection.selects(name) {
        let (without, none) = stack::executor()?.block_on(update(None))?;
        let (with, refreshes) = stack::executor()?.block_on(update(Some(REFRESH_INTERVAL)))?;
        if none != 0 || refreshes < MIN_REFRESHES {
            return Err(Error::invalid(format!(
                "{refreshes} refreshes of the checkpoint with the interval, and {none} without"
            )));
        }
        selection.print(name, with / without, "x")?;
    }
    Ok(())
}

/// Returns the seconds of a first update, and how often its checkpoint was refreshed.
async fn update(interval: Option<Duration>) -> Result<(f64, u64)> {
    let folder = stack::folder()?;
    let runtime = stack::runtime();
    let written = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&written);
    let store = Observed {
        inner: stack::file_store(folder.path(), &runtime)?,
        observe: move |request: &Request<'_>| {
            let is_checkpoint = request.key.starts_with(".pulumi/stacks/") && request.key.ends_with(".json");
            if is_checkpoint && request.written.is_some() {
                total.fetch_add(1, Ordering::Relaxed);
            }
        },
    };
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(store))
        .secrets(Arc::new(Base64Provider))
        .provider(
            stack::PACKAGE,
            Arc::new(Echo::slow_creation(runtime.clock, CREATE_DURATION)),
        )
        .checkpoint_interval(interval)
        .build()?;
    let thing = stack::open(&engine, "bench/dev").await?;
    let before = written.load(Ordering::Relaxed);
    let watch = Stopwatch::start();
    stack::run(&thing, OperationKind::Update, stack::unbounded(), Some(strands())).await?;
    let seconds = watch.seconds();
    let refreshes = written.load(Ordering::Relaxed) - before;
    // The commit at the end is not a refresh.
    Ok((seconds, refreshes.saturating_sub(1)))
}

/// Registers strands beside each other; in each, a resource is registered when the one before it is there.
fn strands() -> Arc<dyn Program> {
    from_fn(|context| async move {
        let mut running = tokio::task::JoinSet::new();
        for strand in 0..STRANDS {
            let monitor = context.monitor.clone();
            running.spawn(async move {
                let mut before = Vec::new();
                for place in 0..LENGTH {
                    let number = strand * LENGTH + place;
                    let registration = stack::registration(number, stack::inputs(number), before);
                    before = vec![monitor.register(registration).await?.urn];
                }
                Ok(())
            });
        }
        while let Some(strand) = running.join_next().await {
            let strand: std::result::Result<(), stackwright::monitor::WireStatus> =
                strand.map_err(|error| Error::invalid(format!("a strand died: {error}")))?;
            strand?;
        }
        Ok(())
    })
}
