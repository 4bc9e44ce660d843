//! Replacements: the reasons that forbid one, and the order of its two halves.

use std::sync::Arc;

use crate::{
    generator::{
        Purpose, RunEnded,
        ask_provider::{check, inputs_with_ignored_changes},
        context::Context,
        delete_first::delete_first,
        diff::Difference,
        policies::PolicyChecks,
        registration::{Next, Registering},
        steps::create_before_delete,
    },
    message::Message,
    plan::Checked,
    property::{PropertyMap, in_braces, path::PropertyPath},
    resource::{Goal, ResourceState},
    state::StateRef,
};

/// The order of the two halves of a replacement.
#[derive(Debug, PartialEq, Eq)]
enum Order {
    /// The old resource and its dependents are deleted now.
    DeleteFirst,
    /// The old resource is deleted at the end of the run.
    CreateFirst,
}

impl Order {
    /// Decides the order: the goal overrides the provider. A run that only reads, or that deletes at its end, must not
    /// delete the dependents of a provider.
    fn of(purpose: Purpose, goal: &Goal, difference: &Difference) -> Self {
        let wanted = goal.delete_before_replace;
        if purpose == Purpose::Update && wanted.unwrap_or(difference.delete_before_replace) {
            Self::DeleteFirst
        } else {
            Self::CreateFirst
        }
    }
}

/// Finds the steps of a replacement. `is_targeted`: the user demands it, or the record is tainted.
pub(super) async fn replace(
    context: &Context,
    policies: Option<&PolicyChecks>,
    registering: &Registering,
    old: &StateRef,
    mut new: Arc<ResourceState>,
    difference: Difference,
    is_targeted: bool,
) -> Result<Next, RunEnded> {
    refuse(context, registering, &old.state, &new, &difference)?;
    let Registering { goal, provider, .. } = registering;
    if let Some(provider) = provider.as_ref().filter(|_| !is_targeted) {
        // Defaults and computed names of the old resource must not be reused. Each Check reports paths that could not
        // be ignored.
        inputs_with_ignored_changes(context, registering, Some(&old.state.inputs));
        let inputs = check(context, registering, provider, None, goal.inputs.clone()).await?;
        context
            .plans
            .check_inputs(registering, &inputs, false, Checked::Anew)?;
        Arc::make_mut(&mut new).inputs = inputs;
        if let Some(policies) = policies {
            policies.remediate(registering, &mut new).await?;
        }
    }
    match Order::of(context.options.purpose, goal, &difference) {
        Order::DeleteFirst => delete_first(context, registering, old, new, &difference).await,
        Order::CreateFirst => {
            let steps = create_before_delete(old, &new, provider.clone(), &difference);
            Ok(Next::Run(registering.chain(new, steps)))
        }
    }
}

/// Refuses to replace a protected or an imported resource. A preview continues, to find further errors; it fails at its
/// end if the resource is protected.
fn refuse(
    context: &Context,
    registering: &Registering,
    old: &ResourceState,
    new: &ResourceState,
    difference: &Difference,
) -> Result<(), RunEnded> {
    let (run, urn) = (&context.run, &registering.urn);
    let preview = run.executor.is_preview();
    if new.protect && old.protect && !run.executor.options().ignore_protect {
        let text = Message::ProtectedFromReplacement { urn: urn.as_str() };
        if !preview {
            return Err(run.bail(urn, text));
        }
        run.fault(urn, text);
    }
    if !registering.goal.options.import_id.is_empty() {
        let text = replaced_import(difference, &old.inputs, &new.inputs);
        if !preview {
            return Err(run.bail(urn, text));
        }
        run.warn(urn, text);
    }
    Ok(())
}

/// Returns the refusal to replace an imported resource, with the properties that demand it. The message text matches
/// the reference engine; tools match on it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goal_decides_the_order_before_the_provider_and_only_in_an_update() {
        use Purpose::{Destroy, Refresh, Update};
        let table = [
            (Update, None, false, Order::CreateFirst),
            (Update, None, true, Order::DeleteFirst),
            (Update, Some(true), false, Order::DeleteFirst),
            (Update, Some(false), true, Order::CreateFirst),
            (Refresh, Some(true), true, Order::CreateFirst),
            (Destroy, Some(true), true, Order::CreateFirst),
        ];
        for (row, (purpose, wanted, by_provider, expected)) in table.into_iter().enumerate() {
            let goal = Goal {
                delete_before_replace: wanted,
                ..Goal::default()
            };
            let difference = Difference {
                delete_before_replace: by_provider,
                ..Difference::default()
            };
            assert_eq!(Order::of(purpose, &goal, &difference), expected, "row {row}");
        }
    }
}
