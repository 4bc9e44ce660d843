//! Former URNs: a skipped resource keeps its recorded URN until a run selects it, so that its record can have another
//! URN than the program's resource.

use std::sync::Arc;

use crate::{
    generator::context::Context,
    resource::{Goal, PropertyDependencies, ResourceState, SharedOptions},
    urn::Urn,
};

/// The references of a resource to others, apart from its provider.
pub(crate) struct References<'a> {
    pub(crate) parent: &'a mut Option<Urn>,
    pub(crate) dependencies: &'a mut Vec<Urn>,
    pub(crate) property_dependencies: Option<&'a mut PropertyDependencies>,
    pub(crate) options: &'a mut SharedOptions,
}

impl References<'_> {
    /// Replaces URNs according to a map. Shared data is copied only when something changes.
    fn replace(self, other: impl Fn(&Urn) -> Option<Urn>) {
        let replace = |urn: &mut Urn| {
            if let Some(other) = other(urn) {
                *urn = other;
            }
        };
        let has_other = |urn: &Urn| other(urn).is_some();
        self.parent.iter_mut().for_each(replace);
        self.dependencies.iter_mut().for_each(replace);
        if let Some(lists) = self.property_dependencies
            && lists.lists().flatten().any(has_other)
        {
            lists.for_each_mut(|urns| urns.iter_mut().for_each(replace));
        }
        let options = &**self.options;
        if options
            .deleted_with
            .iter()
            .chain(&options.replace_with)
            .any(has_other)
        {
            let options = &mut **self.options;
            options.deleted_with.iter_mut().for_each(replace);
            options.replace_with.iter_mut().for_each(replace);
        }
    }
}

/// Replaces the former URNs of skipped resources in references by those of the program, whose responses contained the
/// former ones.
pub(in crate::generator) fn refer_to_registered(context: &Context, references: References<'_>) {
    if has_former_urns(context) {
        references.replace(|urn| context.claims.registered_as(urn));
    }
}

/// Returns the program's URN of a resource; its response may have contained a former one.
pub(in crate::generator) fn registered_urn(context: &Context, urn: &Urn) -> Urn {
    let registered = has_former_urns(context).then(|| context.claims.registered_as(urn));
    registered.flatten().unwrap_or_else(|| urn.clone())
}

/// Replaces the references of a record by recorded URNs.
pub(in crate::generator) fn refer_to_records(context: &Context, state: &mut ResourceState) {
    refer_as_recorded(
        context,
        References {
            parent: &mut state.parent,
            dependencies: &mut state.dependencies,
            property_dependencies: Some(&mut state.property_dependencies),
            options: &mut state.options,
        },
    );
}

/// Replaces the references of a goal by recorded URNs.
pub(in crate::generator) fn resolve_former_urns(context: &Context, goal: &mut Goal) {
    refer_as_recorded(
        context,
        References {
            parent: &mut goal.parent,
            dependencies: &mut goal.dependencies,
            property_dependencies: Some(&mut goal.property_dependencies),
            options: &mut goal.options,
        },
    );
}

fn refer_as_recorded(context: &Context, references: References<'_>) {
    if has_former_urns(context) {
        references.replace(|urn| context.claims.former_urn(urn));
    }
}

fn has_former_urns(context: &Context) -> bool {
    context.options.targeting.is_some() && context.claims.has_former_urns()
}

/// Returns the record of a resource registered in this run, under its own or a former URN.
pub(in crate::generator) fn record_of(context: &Context, urn: &Urn) -> Option<Arc<ResourceState>> {
    let executor = &context.run.executor;
    let former = || executor.published(&context.claims.former_urn(urn)?);
    executor.published(urn).or_else(former)
}
