//! Selection: whether a registration or a record is selected or skipped, and the conditions for skipping.

use rustc_hash::FxHashSet;

use super::{
    Targeting, refuse_cycles,
    skip::{keep_record, recreate_as_recorded},
    skip_create::skip_create,
};
use crate::{
    generator::{Purpose, RunEnded, build::dependencies_of, context::Context, registration::Next},
    message::{Message, Text},
    resource::Goal,
    state::StateRef,
    urn::Urn,
};

/// The treatment of a registration in a run with targets or excludes.
#[derive(Debug, PartialEq, Eq)]
enum Selection {
    /// Its goal is applied.
    Selected,
    /// It keeps its record.
    KeepRecord,
    /// It has no record, and is not created.
    SkipCreate,
    /// A selected resource's replacement has deleted it: it is created again as recorded.
    RecreateAsRecorded,
}

impl Selection {
    /// Decides about a registration; `is_deleted` is true when a delete-before-replace has deleted its record.
    fn of(is_selected: bool, has_record: bool, is_deleted: bool) -> Self {
        match (is_selected, has_record, is_deleted) {
            (true, ..) => Self::Selected,
            (false, true, true) => Self::RecreateAsRecorded,
            (false, true, false) => Self::KeepRecord,
            (false, false, _) => Self::SkipCreate,
        }
    }
}

/// Decides, with the targets and excludes of one run, which registrations are selected.
pub(in crate::generator) struct Targets<'a> {
    pub(in crate::generator) targeting: &'a Targeting,
    pub(in crate::generator) context: &'a Context,
}

impl Targets<'_> {
    /// Decides about a registration whose dependencies have all been decided: its treatment when skipped, `None` when
    /// selected. `recreating` is true when a delete-before-replace has deleted its record.
    pub(in crate::generator) async fn select(
        &self,
        urn: &Urn,
        old: Option<&StateRef>,
        goal: &Goal,
        recreating: Option<&[String]>,
    ) -> Result<Option<Next>, RunEnded> {
        let context = self.context;
        let needs = dependencies_of(goal);
        let is_selected = self.is_selected(urn, goal, &needs);
        let selection = Selection::of(is_selected, old.is_some(), recreating.is_some());
        if matches!(selection, Selection::Selected | Selection::RecreateAsRecorded) {
            self.refuse_missing(urn, &needs)?;
            // A record that is only read keeps its dependencies; for the others a refresh checks this itself.
            if context.options.purpose != Purpose::Refresh {
                refuse_cycles(context, urn, old, &needs).await?;
            }
        } else {
            context.plans.note_skipped(urn, goal, old.map(|old| &*old.state));
        }
        match (selection, old) {
            (Selection::KeepRecord, Some(old)) => keep_record(context, urn, old, goal).await.map(Some),
            (Selection::RecreateAsRecorded, Some(old)) => {
                let keys = recreating.unwrap_or_default().to_vec();
                recreate_as_recorded(context, urn, old, goal, keys)
                    .await
                    .map(Some)
            }
            (Selection::SkipCreate, _) => {
                let skipped = skip_create(context, urn, goal, None).await?;
                Ok(Some(Next::Answer(skipped)))
            }
            _ => Ok(None),
        }
    }

    /// Checks the dependencies of a resource that is only read, which is never skipped.
    pub(in crate::generator) async fn select_read(&self, urn: &Urn, goal: &Goal) -> Result<(), RunEnded> {
        let needs = dependencies_of(goal);
        // Its dependents may be selected with it.
        let _is_selected = self.is_selected(urn, goal, &needs);
        self.refuse_missing(urn, &needs)?;
        refuse_cycles(self.context, urn, None, &needs).await
    }

    /// Returns whether a registration is selected. Providers and the root stack always are.
    pub(in crate::generator) fn is_selected(&self, urn: &Urn, goal: &Goal, needs: &[Urn]) -> bool {
        let Self { targeting, context } = self;
        let followed = targeting.follows_dependents().then_some(needs);
        let named = context.claims.mark_named(urn, targeting.names(urn), followed);
        goal.resource_type.is_provider() || urn.is_root_stack() || targeting.includes(named)
    }

    /// Refuses a goal with a dependency that was skipped and does not exist.
    fn refuse_missing(&self, urn: &Urn, needs: &[Urn]) -> Result<(), RunEnded> {
        let Self { targeting, context } = self;
        let claims = &context.claims;
        // In a run that only reads or deletes, a dependent of an absent resource is skipped as well.
        if context.options.purpose != Purpose::Update || !claims.has_skipped() {
            return Ok(());
        }
        let missing = needs.iter().filter(|need| claims.is_skipped(need));
        let texts = missing.map(|need| {
            let text = if targeting.targets.is_empty() {
                Text::from(format!(
                    "Resource '{urn}' depends on '{need}', which does not exist and is excluded."
                ))
            } else {
                Text::from(Message::DependencyNotTargeted {
                    urn: urn.as_str(),
                    dependency: need.as_str(),
                })
            };
            (urn, text)
        });
        context.run.refuse_all(texts, "untargeted create")
    }
}

impl Targeting {
    /// Returns for each of `records`, which are in the order of their dependencies, whether it is selected.
    pub(crate) fn chosen(&self, records: &[StateRef]) -> Vec<bool> {
        let follows = self.follows_dependents();
        let mut named: FxHashSet<&Urn> = FxHashSet::default();
        let mut selected = Vec::with_capacity(records.len());
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
            selected.push(self.includes(is_named));
        }
        selected
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

    /// `b` depends on `a`, `c` is the child of `b`, `d` is independent.
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
    fn a_skipped_registration_keeps_its_record_or_is_not_created() {
        let table = [
            (true, true, false, Selection::Selected),
            (true, true, true, Selection::Selected),
            (true, false, false, Selection::Selected),
            (false, true, false, Selection::KeepRecord),
            (false, true, true, Selection::RecreateAsRecorded),
            (false, false, false, Selection::SkipCreate),
        ];
        for (row, (is_selected, has_record, is_deleted, expected)) in table.into_iter().enumerate() {
            let found = Selection::of(is_selected, has_record, is_deleted);
            assert_eq!(found, expected, "row {row}");
        }
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
