//! `list.10000`: milliseconds of listing 10,000 stacks of 20 resources in a file store, with their last updates and locks.

use std::{fs, path::Path};

use stackwright::{Engine, Error, Result, operation::OperationKind};

use crate::{
    figure::{Selection, Stopwatch},
    stack,
};

const STACKS: usize = 10_000;
const RESOURCES: usize = 20;
const ROUNDS: usize = 5;

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    stack::executor()?.block_on(async {
        let folder = stack::folder()?;
        let engine = stack::instant_engine(folder.path())?;
        let first = stack::open(&engine, "bench/dev").await?;
        let program = stack::tree(stack::values(RESOURCES));
        stack::run(&first, OperationKind::Update, stack::unbounded(), Some(program)).await?;
        copy(folder.path())
            .map_err(|error| Error::invalid(format!("the stacks cannot be copied: {error}")))?;
        selection.print(&format!("list.{STACKS}"), median(&engine, false).await?, "ms")?;
        selection.print(
            &format!("list.counts.{STACKS}"),
            median(&engine, true).await?,
            "ms",
        )
    })
}

async fn median(engine: &Engine, counts: bool) -> Result<f64> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        let stacks = engine.stacks(None, counts).await?;
        times.push(watch.seconds() * 1000.0);
        let is_whole = stacks.iter().all(|stack| {
            stack.last_update.is_some()
                && stack.problems.is_empty()
                && stack.resource_count.is_some() == counts
        });
        if stacks.len() != STACKS || !is_whole {
            return Err(Error::invalid("a stack or its last update was not listed"));
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// Copies the files of the stack `dev` for the other ones, under their names.
fn copy(folder: &Path) -> std::io::Result<()> {
    let (stacks, history) = (
        folder.join(".pulumi/stacks/bench"),
        folder.join(".pulumi/history/bench"),
    );
    let checkpoint = fs::read_to_string(stacks.join("dev.json"))?;
    let mut records = Vec::new();
    for entry in fs::read_dir(history.join("dev"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".attrs") {
            records.push((name, fs::read_to_string(entry.path())?));
        }
    }
    let renamed = |text: &str, stack: &str| {
        let of_urns = text.replace("urn:pulumi:dev::", &format!("urn:pulumi:{stack}::"));
        of_urns.replace("bench/dev", &format!("bench/{stack}"))
    };
    for number in 1..STACKS {
        let stack = format!("s{number}");
        fs::write(stacks.join(format!("{stack}.json")), renamed(&checkpoint, &stack))?;
        let own = history.join(&stack);
        fs::create_dir(&own)?;
        for (name, text) in &records {
            let name = name.replacen("dev-", &format!("{stack}-"), 1);
            fs::write(own.join(name), renamed(text, &stack))?;
        }
    }
    Ok(())
}
