//! The lines of steps: what happens to which resource.

use std::collections::BTreeMap;

use stackwright::{
    event::{DiffKind, StepMetadata},
    property::PropertyValue,
    step::StepOp,
};

/// The sign of a step, and its verb: while it runs, when it has ended, and in previews.
struct Words {
    sign: &'static str,
    running: &'static str,
    done: &'static str,
    planned: &'static str,
}

const fn words(op: StepOp) -> Words {
    let (sign, running, done, planned) = match op {
        StepOp::Same | StepOp::RemovePendingReplace => ("  ", "", "", ""),
        StepOp::Create => ("+ ", "creating", "created", "create"),
        StepOp::Update => ("~ ", "updating", "updated", "update"),
        StepOp::Delete => ("- ", "deleting", "deleted", "delete"),
        StepOp::Replace => ("+-", "replacing", "replaced", "replace"),
        StepOp::CreateReplacement => (
            "++",
            "creating replacement",
            "created replacement",
            "create replacement",
        ),
        StepOp::DeleteReplaced => ("--", "deleting original", "deleted original", "delete original"),
        StepOp::Read => ("> ", "reading", "read", "read"),
        StepOp::ReadReplacement => (
            ">>",
            "reading for replacement",
            "read for replacement",
            "read for replacement",
        ),
        StepOp::Refresh => ("~ ", "refreshing", "", "refresh"),
        StepOp::Discard => ("< ", "discarding", "discarded", "discard"),
        StepOp::DiscardReplaced => (
            "<<",
            "discarding original",
            "discarded original",
            "discard original",
        ),
        StepOp::Import => ("= ", "importing", "imported", "import"),
        StepOp::ImportReplacement => (
            "=>",
            "importing replacement",
            "imported replacement",
            "import replacement",
        ),
    };
    Words {
        sign,
        running,
        done,
        planned,
    }
}

/// Returns the sign of a kind of step.
pub(super) const fn sign(op: StepOp) -> &'static str {
    words(op).sign
}

/// Returns the verb of a kind of step in a summary.
pub(super) const fn summary_verb(op: StepOp, is_preview: bool) -> &'static str {
    let Words { done, planned, .. } = words(op);
    if is_preview { planned } else { done }
}

/// Where a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Begun,
    Done,
    Failed,
}

/// Returns what happens to a resource, in words: `creating`, `created`, or in a preview `create`; empty for an unchanged one.
pub(super) fn status(op: StepOp, stage: Stage, planning: bool) -> String {
    let Words {
        running,
        done,
        planned,
        ..
    } = words(op);
    match (stage, planning) {
        (Stage::Failed, true) => format!("{planned} failed"),
        (Stage::Failed, false) => format!("{running} failed"),
        (Stage::Begun | Stage::Done, true) => planned.to_owned(),
        (Stage::Begun, false) => running.to_owned(),
        (Stage::Done, false) => done.to_owned(),
    }
}

/// Returns the line of a step of a resource with this name, with the seconds since it began; `None` for a step that is not shown.
pub(super) fn line(
    step: &StepMetadata,
    name: &str,
    stage: Stage,
    planning: bool,
    seconds: f64,
) -> Option<String> {
    let Words {
        sign,
        running,
        done,
        planned,
    } = words(step.op);
    let time = if seconds == 0.0 {
        "(0s)".to_owned()
    } else {
        format!("({seconds:.2}s)")
    };
    let verb = match (stage, planning) {
        (Stage::Failed, false) => format!("**{running} failed**"),
        (Stage::Failed, true) => format!("**{planned} failed**"),
        (Stage::Begun, true) => planned.to_owned(),
        (Stage::Done, true) => return None,
        (Stage::Begun, false) => format!("{running} {time}"),
        (Stage::Done, false) if done.is_empty() => return None,
        (Stage::Done, false) => format!("{done} {time}"),
    };
    if running.is_empty() {
        return None;
    }
    let mut line = format!(" {sign} {} {name} {verb} ", step.resource_type);
    if let Some(diff) = difference(step) {
        line.push_str(&diff);
        line.push(' ');
    }
    if step.new.as_ref().is_some_and(|state| state.0.retain_on_delete) && step.op == StepOp::Delete {
        line.push_str("[retain] ");
    }
    Some(line)
}

/// Returns the properties that a step changes: `[diff: +a~b-c]`.
pub(super) fn difference(step: &StepMetadata) -> Option<String> {
    let mut names: BTreeMap<&str, char> = BTreeMap::new();
    for name in &step.diffs {
        names.insert(top_level(name), '~');
    }
    for (path, property) in step.detailed_diff.iter().flatten() {
        let is_whole = top_level(path) == path.as_str();
        let sign = match property.kind {
            DiffKind::Add | DiffKind::AddReplace if is_whole => '+',
            DiffKind::Delete | DiffKind::DeleteReplace if is_whole => '-',
            _ => '~',
        };
        names.insert(top_level(path), sign);
    }
    if names.is_empty() {
        names.extend(changed_inputs(step).map(|input| (input.name, input.sign())));
    }
    if names.is_empty() {
        return None;
    }
    let mut shown = String::new();
    for wanted in ['+', '~', '-'] {
        let of_sign: Vec<&str> = names
            .iter()
            .filter(|(_, sign)| **sign == wanted)
            .map(|(name, _)| *name)
            .collect();
        if !of_sign.is_empty() {
            shown.push(wanted);
            shown.push_str(&of_sign.join(","));
        }
    }
    Some(format!("[diff: {shown}]"))
}

/// An input that differs.
pub(super) struct ChangedInput<'a> {
    pub(super) name: &'a str,
    pub(super) old: Option<&'a PropertyValue>,
    pub(super) new: Option<&'a PropertyValue>,
}

impl ChangedInput<'_> {
    pub(super) const fn sign(&self) -> char {
        match (self.old, self.new) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        }
    }
}

/// Returns the inputs that differ between two states: for providers that report a difference without its properties.
pub(super) fn changed_inputs(step: &StepMetadata) -> impl Iterator<Item = ChangedInput<'_>> {
    let states = step.old.as_ref().zip(step.new.as_ref());
    states.into_iter().flat_map(|(old, new)| {
        let (old, new) = (&old.0.inputs, &new.0.inputs);
        let kept = old
            .iter()
            .map(move |(name, value)| (name, Some(value), new.get(name)));
        let added = new.iter().filter(move |(name, _)| !old.contains_key(name));
        let added = added.map(|(name, value)| (name, None, Some(value)));
        let all = kept.chain(added).filter(|(_, old, new)| old != new);
        all.map(|(name, old, new)| ChangedInput { name, old, new })
    })
}

fn top_level(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}
