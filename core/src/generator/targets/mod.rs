//! Targets and excludes: which resources an operation works on, and what becomes of the others.
//!
//! What is left out keeps its record to the letter; what is left out and has no record is not created. Both keep the
//! snapshot valid: what a record that is left out needs stays, too, and nothing may come to depend on what is not there.

mod aim;
mod decide;
mod glob;
mod leave_out;
mod names;
mod set;
mod spare;

pub(super) use leave_out::untargeted;
pub(crate) use names::References;
pub(crate) use set::TargetSet;

use crate::urn::Urn;

/// Which resources an operation works on, as the user's options say it.
///
/// Targets name what is worked on, excludes what is not; where there are targets, excludes say nothing. Providers and
/// the root stack are always worked on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targeting {
    /// The only resources to be worked on.
    pub targets: TargetSet,
    /// What depends on a target is a target, too.
    pub target_dependents: bool,
    /// Resources to be left alone.
    pub excludes: TargetSet,
    /// What depends on something that is left alone is left alone, too.
    pub exclude_dependents: bool,
    /// Resources to be replaced whatever Diff says.
    pub replaced: TargetSet,
}

impl Targeting {
    /// Tells whether nothing is said at all.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.replaced.is_empty() && !self.is_limited()
    }

    /// Tells whether some resources may be left out.
    #[must_use]
    pub(crate) fn is_limited(&self) -> bool {
        !(self.targets.is_empty() && self.excludes.is_empty())
    }

    /// Tells whether a resource is named as what the set that counts is about: a target, or an exclude.
    fn names(&self, urn: &Urn) -> bool {
        if self.targets.is_empty() {
            self.excludes.contains(urn)
        } else {
            self.targets.contains(urn)
        }
    }

    /// Tells whether dependents of what is named count as named.
    fn follows_dependents(&self) -> bool {
        if self.targets.is_empty() {
            self.exclude_dependents
        } else {
            self.target_dependents
        }
    }

    /// Tells whether a resource is worked on; `named` says whether the set that counts has it.
    fn includes(&self, named: bool) -> bool {
        !self.is_limited() || named != self.targets.is_empty()
    }

    /// Returns what is left alone and what is replaced, by the names of the options; excludes only where they count.
    pub(crate) fn spared_and_replaced(&self) -> impl Iterator<Item = (&'static str, &TargetSet)> {
        let excludes = self.targets.is_empty().then_some(("excludes", &self.excludes));
        excludes.into_iter().chain([("replaceTargets", &self.replaced)])
    }

    /// Returns the targets that are nowhere; globs may match nothing.
    pub(crate) fn missing_targets(&self, is_known: impl Fn(&Urn) -> bool) -> Vec<&str> {
        let is_missing = |target: &&str| !Urn::parse(target).is_ok_and(|urn| is_known(&urn));
        self.targets.literals().filter(is_missing).collect()
    }
}
