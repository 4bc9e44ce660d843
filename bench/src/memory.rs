//! `engine.memory.100000`: peak bytes that a first update takes for each resource, beside the resource's values.
//!
//! A process of its own is measured, so that nothing that ran before counts: the growth of its peak resident memory
//! from the moment at which the program's values stand to the end of the update.

use std::process::Command;

use stackwright::{Error, Result, operation::OperationKind};

use crate::{figure::Selection, stack};

/// The argument that makes this program the measured process.
pub(crate) const CHILD: &str = "--memory-child";

const RESOURCES: usize = 100_000;

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let name = format!("engine.memory.{RESOURCES}");
    if !selection.selects(&name) {
        return Ok(());
    }
    let failed = |what: &str| Error::invalid(format!("the measured process {what}"));
    let executable = std::env::current_exe().map_err(|error| failed(&format!("has no program: {error}")))?;
    let output = Command::new(executable)
        .arg(CHILD)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| failed(&format!("cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(&format!("failed with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let bytes: f64 = text
        .trim()
        .parse()
        .map_err(|_| failed(&format!("printed {text:?} instead of a number")))?;
    selection.print(&name, bytes, "bytes")
}

/// Runs in the measured process; prints the bytes for each resource.
#[expect(clippy::cast_precision_loss, reason = "no memory has so many bytes")]
pub(crate) fn child() -> Result<()> {
    use std::io::Write as _;
    let grown = stack::executor()?.block_on(async {
        let folder = stack::folder()?;
        let engine = stack::instant_engine(folder.path())?;
        // Warms up, so that one-time allocations (threads, for instance) do not count.
        let warm = stack::open(&engine, "warm/dev").await?;
        let program = Some(stack::tree(stack::values(100)));
        stack::run(&warm, OperationKind::Update, stack::unbounded(), program).await?;
        let thing = stack::open(&engine, "bench/dev").await?;
        let values = stack::values(RESOURCES);
        let before = status("VmRSS:")?;
        let program = Some(stack::tree(values));
        stack::run(&thing, OperationKind::Update, stack::unbounded(), program).await?;
        Ok::<_, Error>(status("VmHWM:")?.saturating_sub(before))
    })?;
    writeln!(std::io::stdout(), "{}", grown as f64 / RESOURCES as f64)
        .map_err(|error| Error::invalid(format!("cannot write to the standard output: {error}")))
}

/// Reads one of the memory figures of this process, in bytes.
pub(crate) fn status(field: &str) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| Error::invalid(format!("this system does not report the peak memory: {error}")))?;
    let kibibytes = text.lines().find_map(|line| {
        line.strip_prefix(field)?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .ok_or_else(|| Error::invalid(format!("this system does not report {field}")))
}
