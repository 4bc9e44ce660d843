//! `engine.bytes_per_step.N`: bytes that reach the journal for each step of a first update.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use stackwright::{Result, operation::OperationKind};

use crate::{
    figure::Selection,
    observed::{Observed, Request},
    provider::Echo,
    stack,
};

const SIZES: [usize; 2] = [1000, 100_000];

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    for size in SIZES {
        let name = format!("engine.bytes_per_step.{size}");
        if selection.selects(&name) {
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
    let total = Arc::clone(&journaled);
    let store = Observed {
        inner: stack::file_store(folder.path(), &runtime)?,
        observe: move |request: &Request<'_>| {
            if let Some(bytes) = request.written.filter(|_| request.key.ends_with(".journal")) {
                total.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        },
    };
    let engine = stack::engine(Arc::new(store), Echo::instant(runtime.clock))?;
    let thing = stack::open(&engine, "bench/dev").await?;
    let program = Some(stack::tree(stack::values(size)));
    let result = stack::run(&thing, OperationKind::Update, stack::unbounded(), program).await?;
    let steps: u64 = result.changes.values().sum();
    Ok(journaled.load(Ordering::Relaxed) as f64 / steps as f64)
}
