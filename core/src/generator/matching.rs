//! Matching: the former URNs by which the record of a resource is found.

use rustc_hash::FxHashMap;

use crate::{
    resource::{Alias, Goal},
    urn::Urn,
};

/// Returns the URNs to search, in order and without repetition; the resource's own URN is not among them.
///
/// `parent_alias` is the former URN under which the parent was found in this run; `former` maps every resource of
/// this run that was found under an alias to that alias.
pub(crate) fn candidates(
    goal: &Goal,
    own: &Urn,
    stack: &str,
    project: &str,
    parent_alias: Option<&Urn>,
    former: &FxHashMap<Urn, Urn>,
) -> Vec<Urn> {
    let mut found = Vec::new();
    let mut add = |urn: Urn| {
        if urn != *own && !found.contains(&urn) {
            found.push(urn);
        }
    };
    let own_aliases: Vec<Urn> = goal
        .aliases
        .iter()
        .flat_map(|alias| collapse(alias, goal, stack, project, former))
        .collect();
    own_aliases.iter().cloned().for_each(&mut add);
    if let Some(parent_alias) = parent_alias {
        let inherit = |name: &str, resource_type: &str| {
            let name = inherited_name(name, goal.parent.as_ref(), parent_alias);
            Urn::new(
                stack,
                project,
                parent_alias.qualified_type(),
                resource_type,
                &name,
            )
        };
        add(inherit(&goal.name, goal.resource_type.as_str()));
        for alias in &own_aliases {
            add(inherit(alias.name(), alias.resource_type()));
        }
    }
    found
}

/// A child with its parent's name as prefix had the parent's former name as prefix.
fn inherited_name(name: &str, parent: Option<&Urn>, parent_alias: &Urn) -> String {
    match parent.and_then(|parent| name.strip_prefix(parent.name())) {
        Some(rest) => format!("{}{rest}", parent_alias.name()),
        None => name.to_owned(),
    }
}

/// Returns the URNs that an alias denotes, possibly with duplicates.
///
/// Where there is a parent, the reference engine takes stack and project from the parent's URN; those of the alias
/// itself come second.
fn collapse(
    alias: &Alias,
    goal: &Goal,
    stack: &str,
    project: &str,
    former: &FxHashMap<Urn, Urn>,
) -> impl Iterator<Item = Urn> + use<> {
    let (by_parent, named) = match alias {
        Alias::Urn(urn) => (None, urn.clone()),
        Alias::Spec {
            name,
            resource_type,
            stack: other_stack,
            project: other_project,
            parent,
            no_parent,
        } => {
            let parent = match parent {
                _ if *no_parent => None,
                // An explicit parent that was itself found under an alias denotes that alias.
                Some(parent) => Some(former.get(parent).unwrap_or(parent)),
                None => goal.parent.as_ref(),
            };
            let parent = parent.filter(|parent| !parent.is_root_stack());
            let stand = |stack: &str, project: &str| {
                Urn::new(
                    stack,
                    project,
                    parent.map_or("", Urn::qualified_type),
                    resource_type.as_deref().unwrap_or(goal.resource_type.as_str()),
                    name.as_deref().unwrap_or(&goal.name),
                )
            };
            let (stack, project) =
                parent.map_or((stack, project), |parent| (parent.stack(), parent.project()));
            let named = stand(
                other_stack.as_deref().unwrap_or(stack),
                other_project.as_deref().unwrap_or(project),
            );
            (parent.map(|_| stand(stack, project)), named)
        }
    };
    by_parent.into_iter().chain(std::iter::once(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(name: &str, parent: Option<&Urn>) -> Goal {
        Goal {
            resource_type: "pkg:index:Child".into(),
            name: name.to_owned(),
            parent: parent.cloned(),
            ..Goal::default()
        }
    }

    fn names(urns: &[Urn]) -> Vec<&str> {
        urns.iter().map(Urn::as_str).collect()
    }

    #[test]
    fn a_former_name_keeps_type_and_parent() {
        let mut goal = goal("new", None);
        goal.aliases.push(Alias::Spec {
            name: Some("old".into()),
            resource_type: None,
            stack: None,
            project: None,
            parent: None,
            no_parent: false,
        });
        let own = Urn::new("dev", "shop", "", "pkg:index:Child", "new");
        let found = candidates(&goal, &own, "dev", "shop", None, &FxHashMap::default());
        assert_eq!(names(&found), ["urn:pulumi:dev::shop::pkg:index:Child::old"]);
    }

    #[test]
    fn a_child_named_after_its_renamed_parent_is_found() {
        let parent = Urn::new("dev", "shop", "", "pkg:index:Parent", "p2");
        let former = Urn::new("dev", "shop", "", "pkg:index:Parent", "p1");
        let goal = goal("p2-child", Some(&parent));
        let own = Urn::new("dev", "shop", "pkg:index:Parent", "pkg:index:Child", "p2-child");
        let found = candidates(&goal, &own, "dev", "shop", Some(&former), &FxHashMap::default());
        assert_eq!(
            names(&found),
            ["urn:pulumi:dev::shop::pkg:index:Parent$pkg:index:Child::p1-child"]
        );
    }

    fn under(parent: Urn, project: Option<&str>) -> Alias {
        Alias::Spec {
            name: None,
            resource_type: None,
            stack: None,
            project: project.map(ToOwned::to_owned),
            parent: Some(parent),
            no_parent: false,
        }
    }

    #[test]
    fn an_alias_under_a_parent_of_another_project_stands_in_that_project() {
        let mut goal = goal("c", None);
        let parent = Urn::new("prod", "old", "", "pkg:index:Parent", "p");
        goal.aliases.push(under(parent.clone(), None));
        goal.aliases.push(under(parent, Some("older")));
        let own = Urn::new("dev", "shop", "", "pkg:index:Child", "c");
        let found = candidates(&goal, &own, "dev", "shop", None, &FxHashMap::default());
        assert_eq!(
            names(&found),
            [
                "urn:pulumi:prod::old::pkg:index:Parent$pkg:index:Child::c",
                "urn:pulumi:prod::older::pkg:index:Parent$pkg:index:Child::c",
            ]
        );
    }

    #[test]
    fn an_alias_under_the_root_stack_of_another_project_stands_in_the_present_one() {
        let mut goal = goal("new", None);
        goal.aliases.push(under(Urn::root_stack("dev", "old"), None));
        let own = Urn::new("dev", "shop", "", "pkg:index:Child", "c");
        let found = candidates(&goal, &own, "dev", "shop", None, &FxHashMap::default());
        assert_eq!(names(&found), ["urn:pulumi:dev::shop::pkg:index:Child::new"]);
    }
}
