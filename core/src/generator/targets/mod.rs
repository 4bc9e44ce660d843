//! Targets and excludes: which resources an operation selects, and how it treats the others.
//!
//! A skipped resource keeps its record unchanged; one without a record is not created. The snapshot stays valid: the
//! dependencies of a kept record stay, too, and no resource may depend on one that was not created.

mod cycle;
mod former_urns;
mod glob;
mod protect_dependencies;
mod select;
mod set;
mod skip;
mod skip_create;

pub(super) use cycle::refuse_cycles;
pub(crate) use former_urns::References;
pub(super) use former_urns::{record_of, refer_to_registered, registered_urn, resolve_former_urns};
pub(super) use protect_dependencies::{is_live, protect_dependencies};
pub(super) use select::Targets;
pub(crate) use set::TargetSet;
pub(super) use skip::refuse_lost_provider;
pub(super) use skip_create::{needs_skipped, skip_create};

use crate::urn::Urn;

/// The targets and excludes of the user's options.
///
/// Targets name the selected resources, excludes those to skip; excludes are ignored beside targets. Providers and the
/// root stack are always selected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targeting {
    /// The only selected resources.
    pub targets: TargetSet,
    /// Dependents of targets are targets, too.
    pub target_dependents: bool,
    /// Resources to skip.
    pub excludes: TargetSet,
    /// Dependents of skipped resources are skipped, too.
    pub exclude_dependents: bool,
    /// Resources to replace regardless of Diff.
    pub replaced: TargetSet,
}

impl Targeting {
    /// Returns whether no option is given.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.replaced.is_empty() && !self.is_limited()
    }

    /// Returns whether some resources may be skipped.
    #[must_use]
    pub(crate) fn is_limited(&self) -> bool {
        !(self.targets.is_empty() && self.excludes.is_empty())
    }

    /// Returns whether the effective set, targets or excludes, names a resource.
    fn names(&self, urn: &Urn) -> bool {
        if self.targets.is_empty() {
            self.excludes.contains(urn)
        } else {
            self.targets.contains(urn)
        }
    }

    /// Returns whether dependents of named resources count as named.
    fn follows_dependents(&self) -> bool {
        if self.targets.is_empty() {
            self.exclude_dependents
        } else {
            self.target_dependents
        }
    }

    /// Returns whether a resource is selected; `named` is true when the effective set names it.
    fn includes(&self, named: bool) -> bool {
        !self.is_limited() || named != self.targets.is_empty()
    }

    /// Returns excludes and replace targets, by the names of the options; excludes only where they are effective.
    pub(crate) fn excluded_and_replaced(&self) -> impl Iterator<Item = (&'static str, &TargetSet)> {
        let excludes = self.targets.is_empty().then_some(("excludes", &self.excludes));
        excludes.into_iter().chain([("replaceTargets", &self.replaced)])
    }

    /// Returns the targets that do not exist; globs may match nothing.
    pub(crate) fn missing_targets(&self, is_known: impl Fn(&Urn) -> bool) -> Vec<&str> {
        let is_missing = |target: &&str| !Urn::parse(target).is_ok_and(|urn| is_known(&urn));
        self.targets.literals().filter(is_missing).collect()
    }
}
