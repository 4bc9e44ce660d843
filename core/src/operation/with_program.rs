//! Operations with a program: whether an operation runs one and for which purpose, and states that it refuses.

use super::{
    OperationKind, OperationOptions, OperationRun,
    prepare::{Prepared, generator, read, urns_of},
    reading::Reading,
    run_program::run_program,
    targets::{is_of_stack, targets_exist, warn_of_idle_globs, warn_of_idle_literals},
};
use crate::{
    error::{Error, Result},
    generator::{Generator, Purpose, Targeting},
    property::PropertyMap,
    state::Snapshot,
    urn::Urn,
};

impl OperationOptions {
    /// Returns the purpose for which an operation of `kind` runs its program; `None` when it runs none.
    pub(crate) const fn program_purpose(&self, kind: OperationKind) -> Option<Purpose> {
        match kind {
            OperationKind::Update => Some(Purpose::Update),
            OperationKind::Refresh if self.refresh_program => Some(Purpose::Refresh),
            OperationKind::Destroy if self.destroy_program => Some(Purpose::Destroy),
            OperationKind::Refresh
            | OperationKind::Destroy
            | OperationKind::Import
            | OperationKind::Adopt => None,
        }
    }

    /// Returns whether every resource is read before an update or a destroy.
    pub(crate) const fn refreshes(&self) -> bool {
        matches!(self.refresh, Some(true))
    }

    /// Returns whether each record is read when the program registers it, instead of all of them before anything else.
    pub(crate) const fn reads_with_program(&self, kind: OperationKind) -> bool {
        let asked = matches!(kind, OperationKind::Refresh) || self.refreshes();
        asked && self.refresh_program && self.program_purpose(kind).is_some()
    }
}

/// Reads records, runs the program, and all that follows from it; returns the stack's outputs.
pub(super) async fn with_program(
    run: &OperationRun,
    prepared: Prepared,
    purpose: Purpose,
    reading: Reading,
) -> Result<Option<PropertyMap>> {
    // A program can still register the others.
    warn_of_idle_literals(&run.events, prepared.targeting.as_deref(), |literal| {
        !is_of_stack(&run.stack, literal)
    });
    let Some(prepared) = read(run, prepared, reading).await else {
        return Ok(None);
    };
    let generator = generator(run, &prepared, purpose);
    let outputs = run_program(run, &generator, prepared.info).await;
    if !(run.control.has_failed() || run.control.is_cancelled()) {
        check_targets(run, &generator, prepared.targeting.as_deref());
    }
    generator.keep_refusals();
    Ok(outputs)
}

/// Reports targets that are neither recorded nor registered.
fn check_targets(run: &OperationRun, generator: &Generator, targeting: Option<&Targeting>) {
    let is_known = |urn: &Urn| generator.base().live(urn).is_some() || generator.is_registered(urn);
    targets_exist(run, targeting, is_known);
    warn_of_idle_literals(&run.events, targeting, |literal| {
        is_of_stack(&run.stack, literal) && !Urn::parse(literal).is_ok_and(|urn| is_known(&urn))
    });
    if targeting.is_some() {
        let registered = generator.registered();
        let urns = urns_of(generator.base()).chain(&registered);
        warn_of_idle_globs(&run.events, targeting, urns);
    }
}

/// Refuses to run a program beside snippets: this engine does not run them, and would delete their resources.
pub(super) fn refuse_snippets(run: &OperationRun, snapshot: &Snapshot) -> Result<()> {
    let snippets = snapshot
        .extra
        .get("snippets")
        .and_then(serde_json::Value::as_array);
    if snippets.is_none_or(Vec::is_empty) || run.options.program_purpose(run.kind).is_none() {
        return Ok(());
    }
    let text = "the stack has snippets, which this engine does not run: an operation with a program would delete what \
                they have registered; a refresh and a destroy without one are possible";
    Err(Error::invalid(text))
}

/// Refuses an option that needs a program, when there is none.
pub(super) fn check_program(run: &OperationRun) -> Result<()> {
    let option = match run.options.program_purpose(run.kind) {
        Some(Purpose::Refresh) => "refreshProgram",
        Some(Purpose::Destroy) => "destroyProgram",
        Some(Purpose::Update) | None => return Ok(()),
    };
    if run.program.is_some() {
        return Ok(());
    }
    let (project, stack) = (&run.stack.project, &run.stack.stack);
    Err(Error::invalid(format!(
        "the option {option} needs a program, and the stack {project}/{stack} has none"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> OperationOptions {
        serde_json::from_str::<OperationOptions>(text).unwrap()
    }

    #[test]
    fn only_an_update_runs_a_program_without_being_asked() {
        let plain = OperationOptions::default();
        assert_eq!(
            plain.program_purpose(OperationKind::Update),
            Some(Purpose::Update)
        );
        assert_eq!(plain.program_purpose(OperationKind::Refresh), None);
        assert_eq!(plain.program_purpose(OperationKind::Destroy), None);
    }

    #[test]
    fn each_option_is_about_its_own_kind_of_operation() {
        let (refresh, destroy) = (
            options(r#"{"refreshProgram":true}"#),
            options(r#"{"destroyProgram":true}"#),
        );
        assert_eq!(
            refresh.program_purpose(OperationKind::Refresh),
            Some(Purpose::Refresh)
        );
        assert_eq!(refresh.program_purpose(OperationKind::Destroy), None);
        assert_eq!(
            destroy.program_purpose(OperationKind::Destroy),
            Some(Purpose::Destroy)
        );
        assert_eq!(destroy.program_purpose(OperationKind::Refresh), None);
    }

    #[test]
    fn records_are_read_with_the_program_only_where_they_are_read_and_there_is_one() {
        let both = options(r#"{"refresh":true,"refreshProgram":true}"#);
        assert!(both.reads_with_program(OperationKind::Update));
        assert!(both.reads_with_program(OperationKind::Refresh));
        assert!(!both.reads_with_program(OperationKind::Destroy));
        let all = options(r#"{"refresh":true,"refreshProgram":true,"destroyProgram":true}"#);
        assert!(all.reads_with_program(OperationKind::Destroy));
        assert!(!options(r#"{"refreshProgram":true}"#).reads_with_program(OperationKind::Update));
    }
}
