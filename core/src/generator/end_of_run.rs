//! The end of a run, with or without a program.

use super::{Generator, refresh, refusals};
use crate::{property::PropertyMap, urn::Urn};

/// Failures have been reported when these return; the control records whether there were any.
impl Generator {
    /// Deletes every record that this run has not dealt with, and the old copies of its replacements.
    pub(crate) async fn delete_leftovers(&self) {
        drop(self.deletions.delete_leftovers(&self.context).await);
    }

    /// Deletes everything that the program has registered, and everything else.
    pub(crate) async fn delete_everything(&self) {
        drop(self.deletions.delete_everything(&self.context).await);
    }

    /// Deletes every record, in a run without the program.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed) when a record to delete has delete hooks: nothing has been
    /// deleted then.
    pub(crate) async fn delete_without_program(&self) -> crate::error::Result<()> {
        self.deletions.delete_without_program(&self.context).await
    }

    /// Reads the records that the program has not registered.
    pub(crate) async fn refresh_leftovers(&self) {
        drop(refresh::refresh_leftovers(&self.context).await);
    }

    /// Removes references to resources that no longer exist, and interrupted operations other than creations.
    pub(crate) async fn settle_refresh(&self) {
        refresh::settle_refresh(&self.context).await;
    }

    /// Records the stack's outputs, after all steps, and returns them.
    pub(crate) async fn finish_stack_outputs(&self) -> Option<PropertyMap> {
        self.outputs.finish_stack(&self.context).await
    }

    /// Has policy packs analyze all resources together.
    pub(crate) async fn analyze_stack(&self) {
        if let Some(policies) = &self.policies {
            let options = &self.context.options;
            let root = Urn::root_stack(&options.stack, &options.project);
            policies.analyze_stack(&root).await;
        }
    }

    /// Reports planned steps that did not occur.
    pub(crate) fn end_plan(&self) {
        self.context.plans.finish(&self.context.base);
    }

    /// Adds each refused registration and deletion of this run to the result.
    pub(crate) fn keep_refusals(&self) {
        refusals::keep_refusals(&self.context);
    }
}
