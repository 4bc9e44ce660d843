//! `checkpoint.load.100000`: the time in which a stack with a state of so many resources is opened and read, divided by that in which
//! `serde_json` parses the same file. `checkpoint.memory.100000`: the memory that the loaded state holds, divided by the file's bytes;
//! `checkpoint.memory.peak.100000` counts what loading takes meanwhile.
//!
//! Memory is measured in a process of its own, so that nothing that ran before counts.

use std::{io::Write as _, path::Path, process::Command};

use stackwright::{Error, Result, operation::OperationKind};

use crate::{
    figure::{Selection, Stopwatch},
    memory::status,
    stack,
};

/// The argument that makes this program the measured process; a folder with the state follows it.
pub(crate) const CHILD: &str = "--checkpoint-child";

const RESOURCES: usize = 100_000;
const ROUNDS: usize = 5;

/// The checkpoint below the folder of the store.
const FILE: &str = ".pulumi/stacks/bench/dev.json";

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let names = ["load", "memory", "memory.peak"].map(|figure| format!("checkpoint.{figure}.{RESOURCES}"));
    if !names.iter().any(|name| selection.selects(name)) {
        return Ok(());
    }
    let folder = stack::folder()?;
    stack::executor()?.block_on(write(folder.path()))?;
    let file = folder.path().join(FILE);
    let size = std::fs::metadata(&file)
        .map_err(|error| failed("size", &error))?
        .len();
    if selection.selects(&names[0]) {
        let factor = stack::executor()?.block_on(load(folder.path(), &file))?;
        selection.print(&names[0], factor, "x")?;
    }
    if names[1..].iter().any(|name| selection.selects(name)) {
        for (name, bytes) in names[1..].iter().zip(held(folder.path())?) {
            #[expect(clippy::cast_precision_loss, reason = "no memory has so many bytes")]
            let factor = bytes as f64 / size as f64;
            selection.print(name, factor, "x")?;
        }
    }
    Ok(())
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("the {what} of the state cannot be measured: {error}"))
}

/// Writes the state of a folder.
async fn write(folder: &Path) -> Result<()> {
    let engine = stack::instant_engine(folder)?;
    let thing = stack::open(&engine, "bench/dev").await?;
    let program = Some(stack::tree(stack::values(RESOURCES)));
    stack::run(&thing, OperationKind::Update, stack::unbounded(), program).await?;
    Ok(())
}

/// Returns the time of loading, divided by that of parsing. Both read the file, and alternate.
async fn load(folder: &Path, file: &Path) -> Result<f64> {
    let [mut loading, mut parsing] = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        // An engine of its own: nothing of the last round is kept.
        let engine = stack::instant_engine(folder)?;
        let watch = Stopwatch::start();
        let thing = stack::open(&engine, "bench/dev").await?;
        let snapshot = thing.snapshot().await?;
        loading.push(watch.seconds());
        if snapshot.resources.len() <= RESOURCES {
            return Err(Error::invalid("the state lacks resources"));
        }
        drop(snapshot);
        let watch = Stopwatch::start();
        let text = std::fs::read(file).map_err(|error| failed("file", &error))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| failed("file", &error))?;
        parsing.push(watch.seconds());
        drop(value);
    }
    Ok(median(loading) / median(parsing))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the bytes that a process of its own holds after loading, and at most meanwhile.
fn held(folder: &Path) -> Result<[u64; 2]> {
    let executable = std::env::current_exe().map_err(|error| failed("process", &error))?;
    let output = Command::new(executable)
        .arg(CHILD)
        .arg(folder)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| failed("process", &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    <[u64; 2]>::try_from(numbers).map_err(|_| failed("process", &format!("it printed {text:?}")))
}

/// Runs in the measured process: prints the held bytes, and the most.
pub(crate) fn child(folder: &Path) -> Result<()> {
    let executor = stack::executor()?;
    let (snapshot, before) = executor.block_on(async {
        let engine = stack::instant_engine(folder)?;
        let thing = stack::open(&engine, "bench/dev").await?;
        let before = status("VmRSS:")?;
        Ok::<_, Error>((thing.snapshot().await?, before))
    })?;
    let most = status("VmHWM:")?.saturating_sub(before);
    // Memory that the allocator keeps for later is given back, that of ended threads included: only what is held counts.
    drop(executor);
    // SAFETY: It takes no pointers, and can be called at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
    let held = status("VmRSS:")?.saturating_sub(before);
    drop(snapshot);
    writeln!(std::io::stdout(), "{held} {most}").map_err(|error| failed("memory", &error))
}
