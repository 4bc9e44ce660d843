//! Which recorded resources the options are about, found in the order of their dependencies.

use rustc_hash::FxHashSet;

use super::Targeting;
use crate::{state::StateRef, urn::Urn};

impl Targeting {
    /// Tells of each of `records`, which stand after all that they depend on, whether it is worked on.
    pub(crate) fn chosen(&self, records: &[StateRef]) -> Vec<bool> {
        let follows = self.follows_dependents();
        let mut named: FxHashSet<&Urn> = FxHashSet::default();
        let mut chosen = Vec::with_capacity(records.len());
        for record in records {
            let state = &record.state;
            let mut is_named = self.names(&state.urn);
            if follows && !is_named {
                let provider = state.provider_urn();
                is_named = provider.is_some_and(|provider| named.contains(&provider));
                state.for_each_dependency(|urn| is_named |= named.contains(urn));
            }
            if is_named {
                named.insert(&state.urn);
            }
            chosen.push(self.includes(is_named));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::TargetSet;
    use super::*;
    use crate::{resource::ResourceState, state::StateId, token::TypeToken};

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    /// `b` depends on `a`, `c` is the child of `b`, `d` stands alone.
    fn records() -> Vec<StateRef> {
        let mut states = ["a", "b", "c", "d"]
            .map(|name| ResourceState::new(urn(name), TypeToken::from("pkg:index:Type"), true));
        states[1].dependencies = vec![urn("a")];
        states[2].parent = Some(urn("b"));
        let records = (0..).zip(states).map(|(id, state)| StateRef {
            id: StateId(id),
            state: Arc::new(state),
        });
        records.collect()
    }

    fn set(names: &[&str]) -> TargetSet {
        names.iter().map(|name| urn(name).to_string()).collect()
    }

    #[test]
    fn without_limits_everything_is_worked_on() {
        assert_eq!(Targeting::default().chosen(&records()), [true; 4]);
    }

    #[test]
    fn targets_are_worked_on_and_with_them_what_depends_on_them() {
        let mut targeting = Targeting {
            targets: set(&["a"]),
            ..Targeting::default()
        };
        assert_eq!(targeting.chosen(&records()), [true, false, false, false]);
        targeting.target_dependents = true;
        assert_eq!(targeting.chosen(&records()), [true, true, true, false]);
    }

    #[test]
    fn excludes_are_left_alone_and_with_them_what_depends_on_them() {
        let mut targeting = Targeting {
            excludes: set(&["b"]),
            ..Targeting::default()
        };
        assert_eq!(targeting.chosen(&records()), [true, false, true, true]);
        targeting.exclude_dependents = true;
        assert_eq!(targeting.chosen(&records()), [true, false, false, true]);
    }

    #[test]
    fn where_there_are_targets_excludes_say_nothing() {
        let targeting = Targeting {
            targets: set(&["a", "d"]),
            excludes: set(&["a"]),
            exclude_dependents: true,
            ..Targeting::default()
        };
        assert_eq!(targeting.chosen(&records()), [true, false, false, true]);
    }

    #[test]
    fn a_target_that_is_nowhere_is_missing_and_a_glob_never_is() {
        let targeting = Targeting {
            targets: ["nonsense", urn("a").as_str(), urn("z").as_str(), "x*"]
                .into_iter()
                .collect(),
            ..Targeting::default()
        };
        let missing = targeting.missing_targets(|known| *known == urn("a"));
        assert_eq!(missing, ["nonsense", urn("z").as_str()]);
    }
}
