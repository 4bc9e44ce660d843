//! Updates that would delete every resource because the program registered none, most often because it did not run.

use super::{context::Context, deletions::PendingDeletion};
use crate::{diagnostic::Diagnostic, error::Error, executor::Failure, resource::ResourceState, urn::Urn};

/// The treatment of an update that would delete every resource because the program has registered none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EmptyProgram {
    /// It deletes them.
    #[default]
    Allowed,
    /// A preview computes the deletions and warns.
    Warned,
    /// It fails before anything is deleted.
    Refused,
}

/// The probable reason why a program registers no resources.
const CACHED: &str = "a module that registers resources when it is imported registers them only in the first operation of a \
                      process, because later imports take it from the module cache: register them in a function that the \
                      program calls";

impl EmptyProgram {
    /// Returns the treatment according to an operation's options.
    #[must_use]
    pub(crate) const fn of(allowed: Option<bool>, is_preview: bool) -> Self {
        match (allowed, is_preview) {
            (Some(true), _) | (None, false) => Self::Allowed,
            (_, true) => Self::Warned,
            (Some(false), false) => Self::Refused,
        }
    }
}

/// Applies [`EmptyProgram`] to the deletions at the end of an update; false when it refuses them.
pub(super) fn check_empty(context: &Context, pending: &[PendingDeletion]) -> bool {
    let treatment = context.options.empty;
    if treatment == EmptyProgram::Allowed || pending.is_empty() {
        return true;
    }
    if context.claims.seen().iter().any(counts) {
        return true;
    }
    let is_counted = |state: &ResourceState| !state.delete && counts(&state.urn);
    let recorded = context.base.records().iter().map(|record| &*record.state);
    let total = recorded
        .filter(|state| state.view_of.is_none() && is_counted(state))
        .count();
    let deleted = pending.iter().map(|deletion| &*deletion.record.state);
    if total == 0 || deleted.filter(|state| is_counted(state)).count() < total {
        return true;
    }
    let text = message(total);
    let executor = &context.run.executor;
    if treatment == EmptyProgram::Warned {
        executor.diagnose(Diagnostic::warning(format!("{text}; {CACHED}")));
        return true;
    }
    let error = Error::invalid(text).with_hint(CACHED);
    executor.control().fail(Failure::Fatal(error), true);
    false
}

fn message(total: usize) -> String {
    let resources = match total {
        1 => "the only resource".to_owned(),
        total => format!("all {total} resources"),
    };
    format!(
        "the program registered no resources, so the update would delete {resources} of the stack; if this is intended, set \
         the option allowEmpty (allow_empty in Python and Rust)"
    )
}

/// Returns whether a resource is registered by the program itself, unlike default providers and the root stack.
fn counts(urn: &Urn) -> bool {
    !urn.is_root_stack() && !urn.is_default_provider()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(text: &str) -> Urn {
        Urn::parse(text).unwrap()
    }

    #[test]
    fn only_an_update_that_forbids_it_refuses_an_empty_program() {
        assert_eq!(EmptyProgram::of(Some(false), false), EmptyProgram::Refused);
        assert_eq!(EmptyProgram::of(Some(false), true), EmptyProgram::Warned);
        assert_eq!(EmptyProgram::of(None, true), EmptyProgram::Warned);
        assert_eq!(EmptyProgram::of(None, false), EmptyProgram::Allowed);
        assert_eq!(EmptyProgram::of(Some(true), true), EmptyProgram::Allowed);
        assert_eq!(EmptyProgram::of(Some(true), false), EmptyProgram::Allowed);
    }

    #[test]
    fn the_stack_and_default_providers_do_not_count() {
        assert!(!counts(&urn(
            "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"
        )));
        assert!(!counts(&urn(
            "urn:pulumi:dev::shop::pulumi:providers:test::default"
        )));
        assert!(!counts(&urn(
            "urn:pulumi:dev::shop::pulumi:providers:test::default_1_0_0"
        )));
        assert!(counts(&urn("urn:pulumi:dev::shop::pulumi:providers:test::own")));
        assert!(counts(&urn("urn:pulumi:dev::shop::test:index:Thing::default")));
    }

    #[test]
    fn the_message_counts_what_would_be_deleted() {
        assert!(message(1).contains("would delete the only resource of the stack"));
        assert!(message(3).contains("would delete all 3 resources of the stack"));
    }
}
