//! `latency.{flat,chain,layers}.1000`: a no-op update whose provider is slow, as a multiple of its critical path.

use std::{sync::Arc, time::Duration};

use stackwright::{
    Result,
    operation::OperationKind,
    program::{Program, ProgramContext, from_fn},
};

use crate::{
    figure::{Selection, Stopwatch},
    provider::Echo,
    stack,
};

/// The duration of each Check and Diff.
const CALL_DURATION: Duration = Duration::from_millis(50);

/// The number of resources of each shape.
const RESOURCES: usize = 1000;

/// A dependency graph: `layers` of equal size, each of which depends on the layer before.
struct Shape {
    name: &'static str,
    layers: usize,
    /// True when each resource depends on its counterpart only, false when it depends on the whole layer.
    strands: bool,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "flat",
        layers: 1,
        strands: false,
    },
    Shape {
        name: "chain",
        layers: 100,
        strands: true,
    },
    Shape {
        name: "layers",
        layers: 10,
        strands: false,
    },
];

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    for shape in &SHAPES {
        let name = format!("latency.{}.{RESOURCES}", shape.name);
        if selection.selects(&name) {
            let ratio = stack::executor()?.block_on(ratio(shape))?;
            selection.print(&name, ratio, "x")?;
        }
    }
    Ok(())
}

async fn ratio(shape: &Shape) -> Result<f64> {
    let folder = stack::folder()?;
    // The stack is created with an instant provider; only the measured update has the slow one.
    let thing = stack::open(&stack::instant_engine(folder.path())?, "bench/dev").await?;
    stack::run(
        &thing,
        OperationKind::Update,
        stack::unbounded(),
        Some(program(shape)),
    )
    .await?;
    let runtime = stack::runtime();
    let store = stack::file_store(folder.path(), &runtime)?;
    let slow = stack::engine(store, Echo::slow_questions(runtime.clock, CALL_DURATION))?;
    let thing = stack::open(&slow, "bench/dev").await?;
    let watch = Stopwatch::start();
    stack::run(
        &thing,
        OperationKind::Update,
        stack::unbounded(),
        Some(program(shape)),
    )
    .await?;
    let layers = u32::try_from(shape.layers).unwrap_or(u32::MAX);
    Ok(watch.seconds() / (CALL_DURATION * 2 * layers).as_secs_f64())
}

fn program(shape: &Shape) -> Arc<dyn Program> {
    let (layers, strands) = (shape.layers, shape.strands);
    from_fn(move |context| async move {
        if strands {
            register_strands(context, layers).await
        } else {
            register_layers(context, layers).await
        }
    })
}

/// Registers layer after layer; each resource depends on the whole layer before its own.
async fn register_layers(context: ProgramContext, layers: usize) -> Result<()> {
    let width = RESOURCES / layers;
    let mut before = Vec::new();
    for layer in 0..layers {
        let mut running = tokio::task::JoinSet::new();
        for place in 0..width {
            let number = layer * width + place;
            let registration = stack::registration(number, stack::inputs(number), before.clone());
            running.spawn(context.monitor.register(registration));
        }
        before.clear();
        while let Some(registered) = running.join_next().await {
            before.push(stack::settle(registered)?.urn);
        }
    }
    Ok(())
}

/// Registers strands beside each other; in each, a resource is registered when the one before it is there.
async fn register_strands(context: ProgramContext, length: usize) -> Result<()> {
    let mut running = tokio::task::JoinSet::new();
    for strand in 0..RESOURCES / length {
        let monitor = context.monitor.clone();
        running.spawn(async move {
            let mut before = Vec::new();
            let mut last = None;
            for place in 0..length {
                let number = strand * length + place;
                let registration = stack::registration(number, stack::inputs(number), before);
                let registered = monitor.register(registration).await?;
                before = vec![registered.urn.clone()];
                last = Some(registered);
            }
            Ok(last)
        });
    }
    while let Some(strand) = running.join_next().await {
        let strand: std::result::Result<_, stackwright::monitor::WireStatus> =
            strand.map_err(|error| stackwright::Error::invalid(format!("a strand died: {error}")))?;
        drop(strand?);
    }
    Ok(())
}
