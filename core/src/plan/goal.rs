//! The goal in a plan, and the goal of a resource without a plan.

use smol_str::SmolStr;

use crate::{
    plan::PlanDiff,
    resource::{Alias, CustomTimeouts, Goal, PropertyDependencies, ResourceState},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The program's goal, with inputs and outputs as differences from the recorded ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GoalPlan {
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// True for a resource that a provider manages, false for a component.
    pub custom: bool,
    /// How the checked inputs differ from the recorded ones.
    pub input_diff: PlanDiff,
    /// How the published outputs of a component or the stack differ from the recorded ones.
    pub output_diff: PlanDiff,
    /// The parent.
    pub parent: Option<Urn>,
    /// Whether deletion is refused.
    pub protect: bool,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// The provider reference; its id may be the unknown sentinel.
    pub provider: SmolStr,
    /// What each input depends on.
    pub property_dependencies: PropertyDependencies,
    /// Whether a replacement deletes first; `None` leaves it to the provider.
    pub delete_before_replace: Option<bool>,
    /// Paths of inputs whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// Names of outputs to be treated as secret.
    pub additional_secret_outputs: Vec<String>,
    /// Former names.
    pub aliases: Vec<Alias>,
    /// The id to import; empty for none.
    pub import_id: ResourceId,
    /// Limits of the provider's calls.
    pub custom_timeouts: CustomTimeouts,
}

impl GoalPlan {
    /// Returns the planned part of a goal.
    pub(super) fn of(goal: &Goal, input_diff: PlanDiff) -> Self {
        Self {
            resource_type: goal.resource_type.clone(),
            name: goal.name.clone(),
            custom: goal.custom,
            input_diff,
            output_diff: PlanDiff::default(),
            parent: goal.parent.clone(),
            protect: goal.protect.unwrap_or(false),
            dependencies: goal.dependencies.clone(),
            provider: goal.provider.clone(),
            property_dependencies: goal.property_dependencies.clone(),
            delete_before_replace: goal.delete_before_replace,
            ignore_changes: goal.options.ignore_changes.clone(),
            additional_secret_outputs: goal.options.additional_secret_outputs.clone(),
            aliases: goal.aliases.clone(),
            import_id: goal.options.import_id.clone(),
            custom_timeouts: goal.options.custom_timeouts,
        }
    }

    /// Returns the goal of a resource without a plan: it must stay as recorded. Options that records do not contain are
    /// those of the program.
    pub(super) fn unchanged(old: &ResourceState, goal: &Goal) -> Self {
        Self {
            resource_type: old.resource_type.clone(),
            name: goal.name.clone(),
            custom: old.custom,
            input_diff: PlanDiff::default(),
            output_diff: PlanDiff::default(),
            parent: old.parent.clone(),
            protect: old.protect,
            dependencies: old.dependencies.clone(),
            provider: old.provider.clone(),
            property_dependencies: old.property_dependencies.clone(),
            delete_before_replace: goal.delete_before_replace,
            ignore_changes: old.options.ignore_changes.clone(),
            additional_secret_outputs: old.options.additional_secret_outputs.clone(),
            aliases: goal.aliases.clone(),
            import_id: goal.options.import_id.clone(),
            custom_timeouts: old.options.custom_timeouts,
        }
    }
}
