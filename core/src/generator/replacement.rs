//! Replacements: what speaks against one, and in which order it is done.

use std::sync::Arc;

use crate::{
    diagnostic::Diagnostic,
    generator::{
        Generator, Purpose, RegisterOutcome, Unanswered, difference::Difference, questions::in_braces,
        register::Registering,
    },
    message::Message,
    plan::Checked,
    property::{PropertyMap, path::PropertyPath},
    resource::ResourceState,
    state::StateRef,
};

impl Generator {
    /// Replaces a resource, in the order that the goal or the provider asks for.
    pub(super) async fn replace(
        &self,
        registering: &Registering,
        old: &StateRef,
        mut new: Arc<ResourceState>,
        difference: Difference,
        targeted: bool,
    ) -> Result<RegisterOutcome, Unanswered> {
        let Registering {
            urn, goal, provider, ..
        } = registering;
        if new.protect && old.state.protect && !self.executor.options().ignore_protect {
            let text = Message::ProtectedFromReplacement { urn: urn.as_str() };
            if !self.executor.is_preview() {
                return Err(self.bail(Some(urn), text));
            }
            // A preview goes on, so that everything else that is wrong is seen too; it fails in the end.
            self.fault(Some(urn), text);
        }
        if !goal.options.import_id.is_empty() {
            let text = replaced_import(&difference, &old.state.inputs, &new.inputs);
            if !self.executor.is_preview() {
                return Err(self.bail(Some(urn), text));
            }
            self.executor
                .diagnose(Diagnostic::warning(text).about(urn.clone()));
        }
        if let Some(provider) = provider.as_ref().filter(|_| !targeted) {
            // Defaults and names of the old one must not be taken over. What cannot be ignored is reported at each Check.
            self.with_ignored_changes(registering, Some(&old.state.inputs));
            let inputs = self
                .check(registering, provider, None, goal.inputs.clone())
                .await?;
            self.plan_inputs(registering, &inputs, false, Checked::Anew)?;
            Arc::make_mut(&mut new).inputs = inputs;
            if let Some(policies) = &self.policies {
                // What they have rewritten was checked with the old inputs at hand, and has been checked anew.
                self.remediate(policies, registering, &mut new).await?;
            }
        }
        // A run that only reads, or that deletes at the end, must not delete the dependents of a provider now.
        let may_delete = self.options.purpose == Purpose::Update;
        if may_delete
            && goal
                .delete_before_replace
                .unwrap_or(difference.delete_before_replace)
        {
            return self
                .delete_before_create(registering, old, new, &difference)
                .await;
        }
        let chain = self.create_before_delete(old, &new, provider.clone(), &difference);
        self.run(registering.planned(new, chain)).await
    }
}

/// Returns the refusal to replace what is imported, with what demands that, in the words that existing tools match on.
fn replaced_import(difference: &Difference, old: &PropertyMap, new: &PropertyMap) -> String {
    let mut text =
        "previously-imported resources that still specify an ID may not be replaced; please remove the \
                    `import` declaration from your program"
            .to_owned();
    if !difference.keys.is_empty() {
        text.push(';');
    }
    for key in &difference.keys {
        let path = PropertyPath::parse(key).ok();
        let value = |map| in_braces(path.as_ref().and_then(|path| path.get(map)));
        text.push_str(&format!("\n{key}: {} => {}", value(old), value(new)));
    }
    text
}
