//! What sets report: cycles, skipped stacks, the error of the whole.

use super::schedule::{Cycle, Reason};
use crate::{
    error::{Error, ErrorKind},
    operation::OperationKind,
    store::StackName,
};

/// How many stacks an error lists.
const MAX_LISTED: usize = 5;

/// Returns the error of stacks that need each other, of a set of this kind.
pub(super) fn cycle_error<'name>(
    kind: OperationKind,
    Cycle(stacks): &Cycle,
    name: impl Fn(usize) -> &'name StackName,
) -> Error {
    let following = stacks.iter().cycle().skip(1);
    let links = stacks.iter().zip(following).map(|((stack, reason), (other, _))| {
        // The needs of a destroy are those of the stacks, reversed.
        let (stack, other) = match kind {
            OperationKind::Destroy => (*other, *stack),
            _ => (*stack, *other),
        };
        let verb = match reason {
            Reason::Stated => "depends on",
            Reason::Recorded => "has a recorded reference to",
            Reason::Read => "reads",
        };
        format!("'{}' {verb} '{}'", name(stack), name(other))
    });
    let links: Vec<String> = links.collect();
    let text = format!("the stacks of the set need each other: {}", links.join(", "));
    Error::invalid(text).with_hint("run one of them in a call of its own, or remove one of these references")
}

/// Returns the error of a dependency on a stack that is not in the set.
pub(super) fn outside(stack: &StackName, other: &StackName) -> Error {
    let text = format!("the stack '{stack}' depends on '{other}', which is not in the set");
    Error::invalid(text).with_hint("add that stack to the set, or leave the dependency out")
}

/// Returns the error of a set that contains a stack twice.
pub(super) fn twice(stack: &StackName) -> Error {
    Error::invalid(format!("the set contains the stack '{stack}' twice"))
}

/// Returns the error of a stack that was not run for this reason.
pub(super) fn skip_error(kind: OperationKind, is_preview: bool, stack: &StackName, reason: &str) -> Error {
    let participle = match kind {
        _ if is_preview => "previewed",
        OperationKind::Refresh => "refreshed",
        OperationKind::Destroy => "destroyed",
        _ => "updated",
    };
    let text = format!("the stack '{stack}' was not {participle}: {reason}");
    Error::new(ErrorKind::Cancelled, text)
}

/// The end of a stack, for the error of its set.
pub(super) struct Ended<'end> {
    pub(super) name: &'end StackName,
    pub(super) error: Option<&'end Error>,
    pub(super) is_skipped: bool,
    /// Whether its end is not known.
    pub(super) is_unknown: bool,
}

/// Returns the error of a set whose stacks ended so.
pub(super) fn error_of(ends: &[Ended<'_>], was_cancelled: bool) -> Option<Error> {
    let unsuccessful = ends.iter().filter(|end| end.error.is_some()).count();
    if unsuccessful == 0 {
        return None;
    }
    let of = ends.len();
    let skipped = ends.iter().filter(|end| end.is_skipped).count();
    let unknown: Vec<&Ended<'_>> = ends.iter().filter(|end| end.is_unknown).collect();
    let has_failed = |end: &&Ended<'_>| end.error.is_some() && !end.is_skipped && !end.is_unknown;
    let failed: Vec<&Ended<'_>> = ends.iter().filter(has_failed).collect();
    let mut text = match was_cancelled {
        true => format!("the set was cancelled: {unsuccessful} of {of} stacks did not succeed"),
        false => format!("{} of {of} stacks failed", failed.len()),
    };
    let of_them = if was_cancelled { " of them" } else { "" };
    if !unknown.is_empty() {
        text.push_str(&format!(", the end of {}{of_them} is unknown", unknown.len()));
    }
    if skipped > 0 {
        text.push_str(&format!(", {skipped}{of_them} did not begin"));
    }
    let listed: Vec<&&Ended<'_>> = failed.iter().chain(&unknown).collect();
    for end in listed.iter().take(MAX_LISTED) {
        if let Some(error) = &end.error {
            text.push_str(&format!("; {}: {}", end.name, error.message()));
        }
    }
    if listed.len() > MAX_LISTED {
        text.push_str(&format!("; and {} more", listed.len() - MAX_LISTED));
    }
    let kind = if was_cancelled {
        ErrorKind::Cancelled
    } else {
        ErrorKind::Failed
    };
    Some(Error::new(kind, text))
}
