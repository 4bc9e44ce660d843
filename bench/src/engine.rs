//! `engine.{create,noop,destroy}.N` and `engine.growth.*`: resources per second, and the growth of the time.

use std::collections::BTreeMap;

use stackwright::{
    Result,
    operation::{OperationKind, OperationOptions},
};

use crate::{
    figure::{Selection, Stopwatch},
    stack,
};

const VERBS: [&str; 3] = ["create", "noop", "destroy"];
const SIZES: [usize; 3] = [1000, 10_000, 100_000];

/// The number of rounds by size; the median is printed, since single runs of small sizes vary.
const fn rounds(size: usize) -> usize {
    match size {
        0..=1000 => 9,
        _ => 3,
    }
}

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let growth = VERBS
        .iter()
        .any(|verb| selection.selects(&format!("engine.growth.{verb}")));
    let mut times = BTreeMap::new();
    for size in SIZES {
        let wanted = VERBS
            .iter()
            .any(|verb| selection.selects(&format!("engine.{verb}.{size}")));
        let needed = growth && size > 1000;
        if !wanted && !needed {
            continue;
        }
        let mut rounds: Vec<_> = (0..rounds(size))
            .map(|_| stack::executor()?.block_on(round(size)))
            .collect::<Result<_>>()?;
        for (place, verb) in VERBS.iter().enumerate() {
            rounds.sort_by(|one, other| one[place].total_cmp(&other[place]));
            let time = rounds[rounds.len() / 2][place];
            times.insert((*verb, size), time);
            selection.print(
                &format!("engine.{verb}.{size}"),
                as_float(size) / time,
                "resources/s",
            )?;
        }
    }
    for verb in VERBS {
        if let (Some(large), Some(small)) = (times.get(&(verb, 100_000)), times.get(&(verb, 10_000))) {
            selection.print(&format!("engine.growth.{verb}"), large / small, "x")?;
        }
    }
    Ok(())
}

/// Creates, leaves alone and destroys `size` resources in a new stack; returns the seconds that each took.
async fn round(size: usize) -> Result<[f64; 3]> {
    let folder = stack::folder()?;
    let engine = stack::instant_engine(folder.path())?;
    let thing = stack::open(&engine, "bench/dev").await?;
    let values = stack::values(size);
    let mut times = [0.0; 3];
    let work = [
        (OperationKind::Update, Some(stack::tree(values.clone()))),
        (OperationKind::Update, Some(stack::tree(values))),
        (OperationKind::Destroy, None),
    ];
    for (time, (kind, program)) in times.iter_mut().zip(work) {
        // Flushes the writes of earlier operations; the operation itself waits for its own.
        rustix::fs::sync();
        let watch = Stopwatch::start();
        let result = stack::run(&thing, kind, stack::unbounded(), program).await?;
        *time = watch.seconds();
        drop(result);
    }
    let left = stack::run(&thing, OperationKind::Destroy, OperationOptions::default(), None).await?;
    debug_assert!(left.snapshot.resources.is_empty());
    Ok(times)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of resources are small")]
const fn as_float(number: usize) -> f64 {
    number as f64
}
