//! The targets of an operation, and the check that they exist.

use std::{collections::BTreeSet, sync::Arc};

use super::{OperationOptions, OperationRun, StackContext, options::styled_name};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    event::EventSink,
    executor::Failure,
    generator::Targeting,
    message::{Message, Text, flag},
    state::{ResourceGraph, Snapshot},
    urn::Urn,
};

/// The glob of all resources.
const ALL: &str = "**";

/// The resources of a state that a destroy with [`OperationOptions::exclude_protected`] deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unprotected {
    /// All: none is protected.
    All,
    /// These, by URN.
    Some(Vec<Urn>),
    /// None. The number is that of the protected ones.
    None(usize),
}

impl Unprotected {
    /// Returns those of a state: all but the protected ones, and those to which records of these refer, directly or through others.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let records = &snapshot.resources;
        let mut kept: Vec<bool> = records.iter().map(|record| record.protect).collect();
        let protected = kept.iter().filter(|kept| **kept).count();
        if protected == 0 {
            return Self::All;
        }
        let graph = ResourceGraph::new(records.clone());
        // A record stands after all that it refers to, so that the last sources come first.
        for edge in graph.edges.iter().rev() {
            kept[edge.target] |= kept[edge.source];
        }
        let kept: BTreeSet<&Urn> = (records.iter().zip(kept))
            .filter_map(|(record, kept)| kept.then_some(&record.urn))
            .collect();
        let urns = records.iter().map(|record| &record.urn);
        let free: Vec<Urn> = urns.filter(|urn| !kept.contains(urn)).cloned().collect();
        match free.is_empty() {
            true => Self::None(protected),
            false => Self::Some(free),
        }
    }
}

/// Returns the targets, excludes and replace targets of the options for a state; `None` without any.
pub(super) fn targeting(options: &OperationOptions, snapshot: &Snapshot) -> Option<Arc<Targeting>> {
    let unprotected = options.exclude_protected.then(|| Unprotected::of(snapshot));
    let (free, excluded) = match unprotected {
        Some(Unprotected::Some(urns)) => (urns, None),
        Some(Unprotected::None(_)) => (Vec::new(), Some(ALL)),
        Some(Unprotected::All) | None => (Vec::new(), None),
    };
    let free = free.iter().map(Urn::as_str);
    let targeting = Targeting {
        targets: options.targets.iter().map(String::as_str).chain(free).collect(),
        target_dependents: options.target_dependents,
        excludes: options
            .excludes
            .iter()
            .map(String::as_str)
            .chain(excluded)
            .collect(),
        exclude_dependents: options.exclude_dependents,
        replaced: options.replace_targets.iter().collect(),
    };
    (!targeting.is_empty()).then(|| Arc::new(targeting))
}

/// Warns of globs that match no resource. Only the result has the warning: the reference engine ignores such globs.
pub(super) fn warn_of_idle_globs<'a>(
    events: &EventSink,
    targeting: Option<&Targeting>,
    resources: impl Iterator<Item = &'a Urn> + Clone,
) {
    let Some(targeting) = targeting else { return };
    let targets = std::iter::once(("targets", &targeting.targets));
    for (option, set) in targets.chain(targeting.excluded_and_replaced()) {
        for glob in set.idle_globs(resources.clone()) {
            let text = format!(
                "no resource matches '{glob}' of the option {}",
                styled_name(option)
            );
            events.keep_for_result(Diagnostic::warning(text));
        }
    }
}

/// Warns of excludes and replace targets that name no resource: a misspelt exclude has no effect. The reference engine
/// ignores them.
///
/// It is called before the verb with those that can never name one, and once more when a program has ended.
pub(super) fn warn_of_idle_literals(
    events: &EventSink,
    targeting: Option<&Targeting>,
    is_idle: impl Fn(&str) -> bool,
) {
    let Some(targeting) = targeting else { return };
    for (option, set) in targeting.excluded_and_replaced() {
        for literal in set.literals().filter(|literal| is_idle(literal)) {
            let matches_none = |name: &str| format!("no resource matches '{literal}' of the option {name}");
            let text = Text::pair(matches_none(flag(option)), matches_none(&styled_name(option)));
            events.diagnostic(Diagnostic::warning(text));
        }
    }
}

/// Returns whether a text can be the URN of a resource of this stack.
pub(super) fn is_of_stack(stack: &StackContext, text: &str) -> bool {
    Urn::parse(text).is_ok_and(|urn| urn.stack() == stack.stack && urn.project() == stack.project)
}

/// Returns whether every target that is named literally is a resource; the run fails when one is not.
pub(super) fn targets_exist(
    run: &OperationRun,
    targeting: Option<&Targeting>,
    is_known: impl Fn(&Urn) -> bool,
) -> bool {
    let Some(targeting) = targeting else { return true };
    let missing = targeting.missing_targets(is_known);
    let mut first = None;
    for target in &missing {
        let text = Text::from(Message::TargetNotFound { target });
        run.events.diagnostic(Diagnostic::error(text.clone()));
        first.get_or_insert(text);
    }
    let Some(text) = first else { return true };
    let of_bail = |_: &str| "one or more targets could not be found in the stack".to_owned();
    let text = text.map(of_bail, str::to_owned);
    let error = Error::new(ErrorKind::Failed, text);
    run.control.fail(Failure::Bail(error), true);
    false
}
