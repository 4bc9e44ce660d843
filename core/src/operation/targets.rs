//! The targets of an operation: what its options say of them, and whether they exist.

use std::sync::Arc;

use super::{Frame, options::told};
use crate::{diagnostic::Diagnostic, executor::Failure, generator::Targeting, urn::Urn};

impl Frame {
    /// Returns what the options say of which resources are worked on; `None` when they say nothing.
    pub(super) fn targeting(&self) -> Option<Arc<Targeting>> {
        let options = &self.options;
        let targeting = Targeting {
            targets: options.targets.iter().collect(),
            target_dependents: options.target_dependents,
            excludes: options.excludes.iter().collect(),
            exclude_dependents: options.exclude_dependents,
            replaced: options.replace_targets.iter().collect(),
        };
        (!targeting.is_empty()).then(|| Arc::new(targeting))
    }

    /// Warns of globs that match no resource. Only the result has the warning: the reference engine passes over such globs,
    /// and its events have nothing like it.
    pub(super) fn warn_of_idle_globs<'a>(
        &self,
        targeting: Option<&Targeting>,
        resources: impl Iterator<Item = &'a Urn> + Clone,
    ) {
        let Some(targeting) = targeting else { return };
        let excludes = targeting
            .targets
            .is_empty()
            .then_some(("excludes", &targeting.excludes));
        let sets = [
            ("targets", &targeting.targets),
            ("replaceTargets", &targeting.replaced),
        ];
        for (option, set) in sets.into_iter().chain(excludes) {
            for glob in set.idle_globs(resources.clone()) {
                let text = format!("no resource matches '{glob}' of the option {}", told(option));
                self.events.remark(Diagnostic::warning(text));
            }
        }
    }

    /// Tells whether every target that is named literally is a resource; the run fails when one is not.
    pub(super) fn targets_exist(
        &self,
        targeting: Option<&Targeting>,
        is_known: impl Fn(&Urn) -> bool,
    ) -> bool {
        let Some(targeting) = targeting else { return true };
        let missing = targeting.missing_targets(is_known);
        for target in &missing {
            let mut text = format!("Target '{target}' could not be found in the stack.");
            if !target.contains('$') {
                text.push_str(" Did you forget to escape $ in your shell?");
            }
            self.events.diagnostic(Diagnostic::error(text));
        }
        if missing.is_empty() {
            return true;
        }
        self.control.fail(Failure::Bail(None), true);
        false
    }
}
