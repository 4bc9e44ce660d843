//! `observability.create` and `observability.export`: what it costs to observe an operation.
//!
//! `observability.off` compares `observability.create` with the same figure of a build without spans; `bench/run` makes both.

use std::sync::Arc;

use stackwright::{Engine, Result, operation::OperationKind, secrets::Base64Provider, telemetry::Telemetry};
use stackwright_testkit::server::collector::Collector;

use crate::{
    figure::{Selection, Stopwatch},
    provider::Echo,
    stack,
};

/// How many resources an operation creates.
const SIZE: usize = 1000;
const RESOURCES: f64 = 1000.0;
/// How often each way is measured, by turns.
const ROUNDS: usize = 21;

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let executor = stack::executor()?;
    executor.block_on(async {
        let exports = selection.selects("observability.export");
        let collector = match exports {
            true => Some(Collector::start().await),
            false => None,
        };
        let (mut plain, mut exported) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(create(None).await?);
            if let Some(collector) = &collector {
                exported.push(create(Some(collector)).await?);
            }
        }
        let time = median(&mut plain);
        selection.print("observability.create", RESOURCES / time, "resources/s")?;
        match exports {
            true => selection.print("observability.export", median(&mut exported) / time, "x"),
            false => Ok(()),
        }
    })
}

/// Creates resources in a new stack; returns the seconds until the operation has ended and its spans are sent.
async fn create(collector: Option<&Collector>) -> Result<f64> {
    let folder = stack::folder()?;
    let runtime = stack::runtime();
    let builder = Engine::builder(tokio::runtime::Handle::current())
        .store(stack::file_store(folder.path(), &runtime)?)
        .secrets(Arc::new(Base64Provider))
        .provider(stack::PACKAGE, Arc::new(Echo::instant(runtime.clock)));
    let engine = match collector {
        Some(collector) => builder.telemetry(Telemetry::to(collector.url())),
        None => builder,
    }
    .build()?;
    let opened = stack::open(&engine, "bench/dev").await?;
    let program = stack::tree(stack::values(SIZE));
    // Flushes the writes of earlier operations; the operation itself waits for its own.
    rustix::fs::sync();
    let watch = Stopwatch::start();
    let result = stack::run(&opened, OperationKind::Update, stack::unbounded(), Some(program)).await?;
    engine.close().await;
    let time = watch.seconds();
    drop(result);
    Ok(time)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
