//! The targets of an operation: what its options say of them, and whether they exist.

use std::sync::Arc;

use super::{OperationRun, options::told};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    executor::Failure,
    generator::Targeting,
    message::{Message, Text},
    urn::Urn,
};

impl OperationRun {
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
        let targets = std::iter::once(("targets", &targeting.targets));
        for (option, set) in targets.chain(targeting.spared_and_replaced()) {
            for glob in set.idle_globs(resources.clone()) {
                let text = format!("no resource matches '{glob}' of the option {}", told(option));
                self.events.remark(Diagnostic::warning(text));
            }
        }
    }

    /// Warns of excludes and replace targets that are named literally and are nobody's: a misspelt one leaves nothing alone.
    /// The reference engine passes over them.
    ///
    /// It is called before the work with what can never be anybody's, and once more when a program has had its say.
    pub(super) fn warn_of_idle_literals(
        &self,
        targeting: Option<&Targeting>,
        is_idle: impl Fn(&str) -> bool,
    ) {
        let Some(targeting) = targeting else { return };
        for (option, set) in targeting.spared_and_replaced() {
            for literal in set.literals().filter(|literal| is_idle(literal)) {
                let text = format!("no resource matches '{literal}' of the option {}", told(option));
                self.events.diagnostic(Diagnostic::warning(text));
            }
        }
    }

    /// Tells whether a text can be the URN of a resource of this stack.
    pub(super) fn is_of_this_stack(&self, text: &str) -> bool {
        Urn::parse(text)
            .is_ok_and(|urn| urn.stack() == self.stack.stack && urn.project() == self.stack.project)
    }

    /// Tells whether every target that is named literally is a resource; the run fails when one is not.
    pub(super) fn targets_exist(
        &self,
        targeting: Option<&Targeting>,
        is_known: impl Fn(&Urn) -> bool,
    ) -> bool {
        let Some(targeting) = targeting else { return true };
        let missing = targeting.missing_targets(is_known);
        let mut first = None;
        for target in &missing {
            let text = Text::from(Message::TargetNotFound { target });
            self.events.diagnostic(Diagnostic::error(text.clone()));
            first.get_or_insert(text);
        }
        let Some(text) = first else { return true };
        let of_bail = |_: &str| "one or more targets could not be found in the stack".to_owned();
        let text = text.map(of_bail, str::to_owned);
        let error = Error::new(ErrorKind::Failed, text);
        self.control.fail(Failure::Bail(error), true);
        false
    }
}
