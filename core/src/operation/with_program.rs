//! Whether an operation runs a program, and what for; and states that it would not leave as they are.

use super::{
    OperationKind, OperationOptions, OperationRun,
    prepare::{Prepared, urns_of},
    reading::Reading,
};
use crate::{
    error::{Error, Result},
    generator::{Generator, Purpose, Targeting},
    property::PropertyMap,
    state::Snapshot,
    urn::Urn,
};

impl OperationOptions {
    /// Tells what an operation of `kind` runs its program for; `None` when it runs none.
    pub(crate) const fn program_purpose(&self, kind: OperationKind) -> Option<Purpose> {
        match kind {
            OperationKind::Update => Some(Purpose::Update),
            OperationKind::Refresh if self.refresh_program => Some(Purpose::Refresh),
            OperationKind::Destroy if self.destroy_program => Some(Purpose::Destroy),
            OperationKind::Refresh | OperationKind::Destroy => None,
        }
    }

    /// Tells whether each record is read when the program registers it, instead of all of them before anything else.
    pub(crate) const fn reads_with_program(&self, kind: OperationKind) -> bool {
        let asked = matches!(kind, OperationKind::Refresh) || self.refresh;
        asked && self.refresh_program && self.program_purpose(kind).is_some()
    }
}

impl OperationRun {
    /// Runs the program over what has been read, and all that follows from it; returns the stack's outputs.
    pub(super) async fn with_program(
        &self,
        prepared: Prepared,
        purpose: Purpose,
        reading: Reading,
    ) -> Result<Option<PropertyMap>> {
        // A program may still register what the operation is about.
        self.warn_of_idle_literals(prepared.targeting.as_deref(), |literal| {
            !self.is_of_this_stack(literal)
        });
        let Some(prepared) = self.read(prepared, reading).await else {
            return Ok(None);
        };
        let generator = self.generator(&prepared, purpose);
        let outputs = self.run_program(&generator, prepared.info).await;
        if !(self.control.has_failed() || self.control.is_cancelled()) {
            self.check_targets(&generator, prepared.targeting.as_deref());
        }
        generator.keep_refusals();
        Ok(outputs)
    }

    /// Reports targets that neither the records nor the program know.
    fn check_targets(&self, generator: &Generator, targeting: Option<&Targeting>) {
        let is_known = |urn: &Urn| generator.base().live(urn).is_some() || generator.is_registered(urn);
        self.targets_exist(targeting, is_known);
        self.warn_of_idle_literals(targeting, |literal| {
            self.is_of_this_stack(literal) && !Urn::parse(literal).is_ok_and(|urn| is_known(&urn))
        });
        if targeting.is_some() {
            let registered = generator.registered();
            self.warn_of_idle_globs(targeting, urns_of(generator.base()).chain(&registered));
        }
    }

    /// Refuses to run a program beside snippets, which nobody would run: what they register would be deleted.
    pub(super) fn refuse_snippets(&self, snapshot: &Snapshot) -> Result<()> {
        let snippets = snapshot
            .extra
            .get("snippets")
            .and_then(serde_json::Value::as_array);
        if snippets.is_none_or(Vec::is_empty) || self.options.program_purpose(self.kind).is_none() {
            return Ok(());
        }
        let text = "the stack has snippets, which this engine does not run: an operation with a program would delete what \
                    they have registered; a refresh and a destroy without one are possible";
        Err(Error::invalid(text))
    }

    /// Refuses a state with resources that need an extension of their provider: it would not be there for their calls,
    /// and those registered anew would be recorded without it.
    pub(super) fn refuse_extensions(snapshot: &Snapshot) -> Result<()> {
        let mut resources = snapshot.resources.iter();
        let Some(user) = resources.find(|state| !state.extension_ref.is_empty()) else {
            return Ok(());
        };
        let extension = &user.extension_ref;
        let text = format!(
            "the resource needs the extension {extension} of its provider, and this engine loads none"
        );
        Err(Error::invalid(text).with_urn(user.urn.clone()))
    }

    /// Refuses an option that needs a program, when there is none.
    pub(super) fn check_program(&self) -> Result<()> {
        let option = match self.options.program_purpose(self.kind) {
            Some(Purpose::Refresh) => "refreshProgram",
            Some(Purpose::Destroy) => "destroyProgram",
            Some(Purpose::Update) | None => return Ok(()),
        };
        if self.program.is_some() {
            return Ok(());
        }
        let (project, stack) = (&self.stack.project, &self.stack.stack);
        Err(Error::invalid(format!(
            "the option {option} needs a program, and the stack {project}/{stack} has none"
        )))
    }
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
