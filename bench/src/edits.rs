//! `edit.{rename,unprotect,move}.*`: the time of an edit of a state, divided by that of loading and writing the state; a move
//! edits two states, which are loaded and written both.

use bytes::Bytes;
use stackwright::{
    Error, Result, Stack,
    operation::OperationKind,
    state::{
        deployment::{SecretsShown, write_checkpoint},
        edit::{Move, Rename, Selection as Selected, StateEdit},
    },
    store::{Condition, Store},
    urn::Urn,
};

use crate::{
    figure::{Selection, Stopwatch},
    stack,
};

const SIZES: [usize; 2] = [1_000, 100_000];
const ROUNDS: usize = 5;

/// The object that the written state is measured with.
const WRITTEN: &str = ".pulumi/stacks/bench/written.bak";

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    for size in SIZES {
        let names = ["rename", "unprotect", "move"].map(|edit| format!("edit.{edit}.{size}"));
        if names.iter().any(|name| selection.selects(name)) {
            let factors = stack::executor()?.block_on(factors(size))?;
            for (name, factor) in names.iter().zip(factors) {
                if selection.selects(name) {
                    selection.print(name, factor, "x")?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the factors of a rename of the resource that most others depend on, of an unprotection of all, and of a move of that
/// resource to another stack.
async fn factors(size: usize) -> Result<[f64; 3]> {
    let folder = stack::folder()?;
    let engine = stack::instant_engine(folder.path())?;
    let store = stack::file_store(folder.path(), &stack::runtime())?;
    let thing = stack::open(&engine, "bench/dev").await?;
    let program = stack::tree(stack::values(size));
    stack::run(&thing, OperationKind::Update, stack::unbounded(), Some(program)).await?;
    let needed = most_needed(&thing).await?;
    let other = stack::open(&engine, "bench/other").await?;
    let [mut base, mut base_of_move] = [const { Vec::new() }; 2];
    let [mut rename, mut unprotect, mut moving] = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        base.push(load_and_write(&*store, &[&thing]).await?);
        let from = needed.with_name(&format!("{}-{round}", needed.name()));
        let from = if round == 0 { needed.clone() } else { from };
        let to = format!("{}-{}", needed.name(), round + 1);
        rename.push(timed(&thing, &StateEdit::Rename(Rename::to_name(from, to))).await?);
        let all = || Selected {
            all: true,
            ..Selected::default()
        };
        timed(&thing, &StateEdit::Protect(all())).await?;
        unprotect.push(timed(&thing, &StateEdit::Unprotect(all())).await?);
    }
    for _ in 0..ROUNDS {
        base_of_move.push(load_and_write(&*store, &[&thing, &other]).await?);
        let edit = Move::of([most_needed(&thing).await?]);
        let watch = Stopwatch::start();
        let report = thing.move_resources(&other, &edit, false).await?;
        moving.push(watch.seconds());
        if report.destination.is_empty() {
            return Err(Error::invalid("a move has moved nothing"));
        }
    }
    let base = median(base);
    let [rename, unprotect] = [rename, unprotect].map(|times| median(times) / base);
    Ok([rename, unprotect, median(moving) / median(base_of_move)])
}

/// Returns the seconds in which states are loaded and written.
async fn load_and_write(store: &dyn Store, things: &[&Stack]) -> Result<f64> {
    let watch = Stopwatch::start();
    for thing in things {
        let snapshot = thing.snapshot().await?;
        let text = write_checkpoint("organization/bench/dev", &snapshot, SecretsShown::Encrypted).await?;
        store.put(WRITTEN, Bytes::from(text), Condition::Any).await?;
    }
    Ok(watch.seconds())
}

/// Returns the seconds of an edit, which must change something.
async fn timed(thing: &Stack, edit: &StateEdit) -> Result<f64> {
    let watch = Stopwatch::start();
    let report = thing.edit(edit, false).await?;
    let seconds = watch.seconds();
    match report.is_empty() {
        true => Err(Error::invalid("an edit has changed nothing")),
        false => Ok(seconds),
    }
}

/// Returns the resource that the most others depend on.
async fn most_needed(thing: &Stack) -> Result<Urn> {
    let snapshot = thing.snapshot().await?;
    let mut counts = std::collections::HashMap::new();
    for urn in snapshot.resources.iter().flat_map(|record| &record.dependencies) {
        *counts.entry(urn).or_insert(0_usize) += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let (urn, _) = most.ok_or_else(|| Error::invalid("no resource depends on another"))?;
    Ok(urn.clone())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
