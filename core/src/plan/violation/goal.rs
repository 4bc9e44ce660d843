//! Goals whose options differ from the plan.

use std::collections::BTreeSet;

use crate::{
    plan::GoalPlan,
    resource::{Alias, Goal, ProviderReference, UNKNOWN_ID},
    urn::Urn,
};

/// Returns how a goal violates the plan; inputs are compared by [`super::of_properties`].
pub(in crate::plan) fn of_goal(urn: &Urn, planned: &GoalPlan, goal: &Goal) -> Option<String> {
    let options = &goal.options;
    of_identity(planned, goal)
        .or_else(|| {
            (planned.protect != goal.protect.unwrap_or(false)).then(|| changed("protect", planned.protect))
        })
        .or_else(|| of_delete_before_replace(planned.delete_before_replace, goal.delete_before_replace))
        .or_else(|| (planned.import_id != options.import_id).then(|| changed("importID", &planned.import_id)))
        .or_else(|| of_timeouts(planned, goal))
        .or_else(|| of_sets("ignoreChanges", &planned.ignore_changes, &options.ignore_changes))
        .or_else(|| {
            of_sets(
                "additionalSecretOutputs",
                &planned.additional_secret_outputs,
                &options.additional_secret_outputs,
            )
        })
        .or_else(|| of_aliases(urn, planned, goal))
        .or_else(|| of_sets("dependencies", &planned.dependencies, &goal.dependencies))
        .or_else(|| of_property_dependencies(planned, goal))
}

fn changed(what: &str, expected: impl std::fmt::Display) -> String {
    format!("{what} changed (expected {expected})")
}

fn of_identity(planned: &GoalPlan, goal: &Goal) -> Option<String> {
    if planned.custom != goal.custom {
        let expected = if planned.custom { "custom" } else { "component" };
        return Some(changed("resource kind", expected));
    }
    if planned.resource_type != goal.resource_type {
        return Some(changed("type", &planned.resource_type));
    }
    if !same_provider(&planned.provider, &goal.provider) {
        return Some(changed("provider", &planned.provider));
    }
    if planned.parent != goal.parent {
        let expected = planned.parent.as_ref().map_or("no parent", |urn| urn.as_str());
        return Some(changed("parent", expected));
    }
    None
}

/// The id of a planned provider is unknown.
fn same_provider(planned: &str, real: &str) -> bool {
    if planned == real {
        return true;
    }
    match (ProviderReference::parse(planned), ProviderReference::parse(real)) {
        (Ok(planned), Ok(real)) => {
            let is_unknown = |reference: &ProviderReference| reference.id.as_str() == UNKNOWN_ID;
            planned.urn == real.urn && (is_unknown(&planned) || is_unknown(&real))
        }
        _ => false,
    }
}

fn of_delete_before_replace(planned: Option<bool>, real: Option<bool>) -> Option<String> {
    match (planned, real) {
        (planned, real) if planned == real => None,
        (None, _) => Some(changed("deleteBeforeReplace", "no value")),
        (Some(planned), _) => Some(changed("deleteBeforeReplace", planned)),
    }
}

fn of_timeouts(planned: &GoalPlan, goal: &Goal) -> Option<String> {
    let (planned, real) = (planned.custom_timeouts, goal.options.custom_timeouts);
    [
        ("create timeout", planned.create, real.create),
        ("update timeout", planned.update, real.update),
        ("delete timeout", planned.delete, real.delete),
        ("read timeout", planned.read, real.read),
    ]
    .into_iter()
    // None and zero both mean the default.
    .find(|(_, planned, real)| planned.unwrap_or_default().to_bits() != real.unwrap_or_default().to_bits())
    .map(|(what, planned, _)| changed(what, planned.unwrap_or_default()))
}

fn of_property_dependencies(planned: &GoalPlan, goal: &Goal) -> Option<String> {
    // A value that was unknown in the plan may be absent now, and vice versa.
    goal.property_dependencies.iter().find_map(|(key, real)| {
        let planned = planned.property_dependencies.get(key)?;
        of_sets(&format!("dependencies for {key}"), planned, real)
    })
}

/// Lists added and removed items.
fn of_sets<T: ToString>(
    what: &str,
    planned: impl IntoIterator<Item = T>,
    real: impl IntoIterator<Item = T>,
) -> Option<String> {
    let planned: BTreeSet<String> = planned.into_iter().map(|item| item.to_string()).collect();
    let real: BTreeSet<String> = real.into_iter().map(|item| item.to_string()).collect();
    let list =
        |word: &str, items: Vec<&str>| (!items.is_empty()).then(|| format!("{word} {}", items.join(", ")));
    let added = list("added", real.difference(&planned).map(String::as_str).collect());
    let deleted = list("deleted", planned.difference(&real).map(String::as_str).collect());
    let parts: Vec<String> = added.into_iter().chain(deleted).collect();
    (!parts.is_empty()).then(|| format!("{what} changed: {}", parts.join("; ")))
}

/// One alias has several forms: they are compared by their URNs.
fn of_aliases(urn: &Urn, planned: &GoalPlan, goal: &Goal) -> Option<String> {
    let stands_for = |alias: &Alias, parent: &Option<Urn>| alias.urn(urn, parent.as_ref());
    let is_planned = |real: &&Alias| {
        let real = stands_for(real, &goal.parent);
        let mut aliases = planned.aliases.iter();
        !aliases.any(|planned_alias| stands_for(planned_alias, &planned.parent) == real)
    };
    let is_real = |planned_alias: &&Alias| {
        let planned_urn = stands_for(planned_alias, &planned.parent);
        let mut aliases = goal.aliases.iter();
        !aliases.any(|real| stands_for(real, &goal.parent) == planned_urn)
    };
    let added = goal.aliases.iter().filter(is_planned).map(alias_text);
    let deleted = planned.aliases.iter().filter(is_real).map(alias_text);
    of_sets("aliases", deleted.collect::<Vec<_>>(), added.collect::<Vec<_>>())
}

fn alias_text(alias: &Alias) -> String {
    match alias {
        Alias::Urn(urn) => urn.to_string(),
        Alias::Spec {
            name,
            resource_type,
            stack,
            project,
            parent,
            no_parent,
        } => {
            let parts = [
                ("name", name.as_deref()),
                ("type", resource_type.as_deref()),
                ("stack", stack.as_deref()),
                ("project", project.as_deref()),
                ("parent", parent.as_ref().map(|urn| urn.as_str())),
                ("noParent", no_parent.then_some("true")),
            ];
            let set = parts.iter().filter_map(|(key, value)| {
                let value = value.filter(|value| !value.is_empty())?;
                Some(format!("{key}={value}"))
            });
            set.collect::<Vec<_>>().join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanDiff;

    #[test]
    fn a_violation_names_the_options_that_differ() {
        let goal = Goal {
            resource_type: "test:index:Thing".into(),
            name: "a".to_owned(),
            custom: true,
            ..Goal::default()
        };
        let planned = GoalPlan::of(&goal, PlanDiff::default());
        let urn = Urn::new("dev", "shop", "", "test:index:Thing", "a");
        assert_eq!(of_goal(&urn, &planned, &goal), None);
        let diff = |change: &dyn Fn(&mut Goal)| {
            let mut goal = goal.clone();
            change(&mut goal);
            of_goal(&urn, &planned, &goal).unwrap()
        };
        assert_eq!(
            diff(&|goal| goal.custom = false),
            "resource kind changed (expected custom)"
        );
        assert_eq!(
            diff(&|goal| goal.protect = Some(true)),
            "protect changed (expected false)"
        );
        assert_eq!(
            diff(&|goal| goal.delete_before_replace = Some(true)),
            "deleteBeforeReplace changed (expected no value)"
        );
        assert_eq!(
            diff(&|goal| goal.options.ignore_changes.push("v".into())),
            "ignoreChanges changed: added v"
        );
        assert_eq!(
            diff(&|goal| goal.options.custom_timeouts.create = Some(5.0)),
            "create timeout changed (expected 0)"
        );
    }

    #[test]
    fn an_alias_is_as_planned_however_it_is_written() {
        let named = |name: &str| Alias::Spec {
            name: Some(name.to_owned()),
            resource_type: None,
            stack: None,
            project: None,
            parent: None,
            no_parent: false,
        };
        let parent = Urn::new("dev", "shop", "", "box:index:Box", "b");
        let former = |name: &str| Urn::new("dev", "shop", "box:index:Box", "test:index:Thing", name);
        let goal = |aliases| Goal {
            resource_type: "test:index:Thing".into(),
            name: "a".to_owned(),
            custom: true,
            parent: Some(parent.clone()),
            aliases,
            ..Goal::default()
        };
        let planned = GoalPlan::of(&goal(vec![Alias::Urn(former("old"))]), PlanDiff::default());
        let diff = |aliases| of_goal(&former("a"), &planned, &goal(aliases));
        assert_eq!(diff(vec![named("old")]), None);
        assert_eq!(diff(vec![named("old"), Alias::Urn(former("old"))]), None);
        assert_eq!(
            diff(vec![named("older")]),
            Some(format!(
                "aliases changed: added name=older; deleted {}",
                former("old")
            ))
        );
    }

    #[test]
    fn the_id_of_a_provider_that_was_only_planned_may_be_any() {
        let urn = "urn:pulumi:dev::shop::pulumi:providers:test::default";
        assert!(same_provider(
            &format!("{urn}::{UNKNOWN_ID}"),
            &format!("{urn}::x")
        ));
        assert!(!same_provider(&format!("{urn}::y"), &format!("{urn}::x")));
        assert!(!same_provider(
            &format!("{urn}_2::{UNKNOWN_ID}"),
            &format!("{urn}::x")
        ));
    }
}
