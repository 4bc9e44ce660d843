//! Hooks that a program has bound to deletions: they cannot be run, and are not passed over either.

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    generator::{Generator, Unanswered, deletion::Condemned, dependents::Dependent},
    message::Message,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

impl Generator {
    /// Deletes every record, where no program runs.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] when something is to be deleted that has hooks for that: which, has been said then, and
    /// nothing has been deleted. Failures of deletions have been reported when this returns.
    pub(crate) async fn delete_without_program(&self) -> crate::error::Result<()> {
        let condemned = self.condemned(&self.still_needed());
        let Some((condemned, _)) = self.spare(condemned, Vec::new()).await else {
            return Ok(());
        };
        self.refuse_hooked(&condemned)?;
        self.delete_in_order(condemned).await;
        Ok(())
    }

    /// Refuses a replacement for which something is to be deleted first that has hooks for that, before any of it is.
    pub(super) fn refuse_hooked_replacement(
        &self,
        urn: &Urn,
        old: &StateRef,
        dependents: &[Dependent],
    ) -> Result<(), Unanswered> {
        let root = (!old.state.pending_replacement).then_some(old);
        let dependents = dependents.iter().map(|dependent| &dependent.record);
        let mut hooks = root
            .into_iter()
            .chain(dependents)
            .flat_map(|record| record.state.options.delete_hooks());
        match hooks.next() {
            Some(hook) => Err(self.bail(Some(urn), format!("hook \"{hook}\" was not registered"))),
            None => Ok(()),
        }
    }

    /// Refuses, in the words that existing tools match on.
    fn refuse_hooked(&self, condemned: &[Condemned]) -> crate::error::Result<()> {
        let mut refused = false;
        for (_, record, op) in condemned {
            if !matches!(op, StepOp::Delete | StepOp::DeleteReplaced) {
                continue;
            }
            let names: Vec<&str> = record.state.options.delete_hooks().collect();
            if names.is_empty() {
                continue;
            }
            let text = format!(
                "Resource has delete hooks registered, but the program is not running. Hooks: {}",
                names.join(", ")
            );
            let diagnostic = Diagnostic::error(text).about(record.state.urn.clone());
            self.executor.diagnose(diagnostic);
            refused = true;
        }
        if !refused {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Failed, Message::DeleteHooksWithoutProgram))
    }
}
