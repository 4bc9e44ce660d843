//! The change of a stack's name in its state.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::rewrite_snapshot;
use crate::{state::Snapshot, urn::Urn};

/// The names of a project and a stack.
pub(crate) type Names<'a> = (&'a str, &'a str);

/// Rewrites all URNs of the stack `from` to those of the stack `to`, and returns the new ones by the former ones. URNs of
/// other stacks stay. The root stack has the usual name afterwards.
pub(crate) fn rename_stack(snapshot: &mut Snapshot, from: Names<'_>, to: Names<'_>) -> FxHashMap<Urn, Urn> {
    let renamed: RefCell<FxHashMap<Urn, Urn>> = RefCell::default();
    let map = |urn: &Urn| {
        if (urn.project(), urn.stack()) != from {
            return None;
        }
        if let Some(known) = renamed.borrow().get(urn) {
            return Some(known.clone());
        }
        let (project, stack) = to;
        let new = match urn.is_root_stack() {
            true => Urn::root_stack(stack, project),
            false => Urn::new(stack, project, "", urn.qualified_type(), urn.name()),
        };
        renamed.borrow_mut().insert(urn.clone(), new.clone());
        Some(new)
    };
    rewrite_snapshot(snapshot, &map);
    renamed.into_inner()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::resource::ResourceState;

    #[test]
    fn only_urns_of_the_stack_and_its_project_are_rewritten() {
        let urn = |stack: &str, project: &str| Urn::new(stack, project, "a:b:C", "pkg:index:Type", "x");
        let mut state = ResourceState::new(urn("dev", "shop"), "pkg:index:Type".into(), true);
        state.aliases = vec![urn("dev", "other"), urn("prod", "shop"), urn("dev", "shop")];
        let root = ResourceState::new(
            Urn::root_stack("dev", "shop"),
            "pulumi:pulumi:Stack".into(),
            false,
        );
        let mut snapshot = Snapshot {
            resources: vec![Arc::new(root), Arc::new(state)],
            ..Snapshot::default()
        };
        rename_stack(&mut snapshot, ("shop", "dev"), ("store", "live"));
        assert_eq!(snapshot.resources[0].urn, Urn::root_stack("live", "store"));
        assert_eq!(snapshot.resources[1].urn, urn("live", "store"));
        let aliases = [urn("dev", "other"), urn("prod", "shop"), urn("live", "store")];
        assert_eq!(snapshot.resources[1].aliases, aliases);
    }
}
