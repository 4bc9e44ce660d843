//! A destroy without a program, which cannot run the hooks that a program has bound to deletions and does not pass over
//! them either.

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    executor::StepOp,
    generator::{Generator, deletion::Condemned},
};

impl Generator {
    /// Deletes every record, where no program runs.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] when something is to be deleted that has hooks for that: which, has been said then, and
    /// nothing has been deleted. Failures of deletions have been reported when this returns.
    pub async fn delete_without_program(&self) -> Result<()> {
        let condemned = self.condemned(&self.still_needed());
        let Some((condemned, _)) = self.spare(condemned, Vec::new()).await else {
            return Ok(());
        };
        self.refuse_hooked(&condemned)?;
        self.delete_in_order(condemned).await;
        Ok(())
    }

    /// Refuses, in the words that existing tools match on.
    fn refuse_hooked(&self, condemned: &[Condemned]) -> Result<()> {
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
        Err(Error::new(
            ErrorKind::Failed,
            "You must run with the `--run-program` flag to use delete hooks during destroy.",
        ))
    }
}
