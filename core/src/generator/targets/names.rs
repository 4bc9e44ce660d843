//! Former URNs that records keep: what is left out is renamed only by a run that works on it.

use std::sync::Arc;

use crate::{
    generator::Generator,
    resource::{Goal, PropertyDependencies, ResourceState, SharedOptions},
    urn::Urn,
};

/// All by which a resource refers to others, apart from its provider.
pub(crate) struct References<'a> {
    pub(crate) parent: &'a mut Option<Urn>,
    pub(crate) dependencies: &'a mut Vec<Urn>,
    pub(crate) property_dependencies: Option<&'a mut PropertyDependencies>,
    pub(crate) options: &'a mut SharedOptions,
}

impl References<'_> {
    /// Replaces the URNs for which there is another one. What is shared is copied only when something changes.
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

impl Generator {
    /// Has references name what was left out as the program has registered it, where its record keeps a former URN and the
    /// program was answered with that.
    pub(crate) fn refer_to_registered(&self, references: References<'_>) {
        if self.keeps_former() {
            references.replace(|urn| self.claims.registered_as(urn));
        }
    }

    /// Returns the URN by which the program has registered a resource; it may have been answered with a former one.
    pub(crate) fn registered_urn(&self, urn: &Urn) -> Urn {
        let registered = self.keeps_former().then(|| self.claims.registered_as(urn));
        registered.flatten().unwrap_or_else(|| urn.clone())
    }

    /// Notes that the next registration asks for a default provider, in runs that want to know.
    pub(crate) fn expect_provider(&self, provider: impl FnOnce() -> Option<Urn>) {
        if self.options.targeting.is_some()
            && let Some(provider) = provider()
        {
            self.claims.expect(provider);
        }
    }

    /// Has a record refer to others as these are recorded.
    pub(in crate::generator) fn refer_to_records(&self, state: &mut ResourceState) {
        self.refer_as_recorded(References {
            parent: &mut state.parent,
            dependencies: &mut state.dependencies,
            property_dependencies: Some(&mut state.property_dependencies),
            options: &mut state.options,
        });
    }

    /// Has a goal refer to others as these are recorded.
    pub(in crate::generator) fn aim_at_records(&self, goal: &mut Goal) {
        self.refer_as_recorded(References {
            parent: &mut goal.parent,
            dependencies: &mut goal.dependencies,
            property_dependencies: Some(&mut goal.property_dependencies),
            options: &mut goal.options,
        });
    }

    fn refer_as_recorded(&self, references: References<'_>) {
        if self.keeps_former() {
            references.replace(|urn| self.claims.former(urn));
        }
    }

    fn keeps_former(&self) -> bool {
        self.options.targeting.is_some() && self.claims.has_former()
    }

    /// Returns the record of this run of a registered resource, under whichever URN it stands.
    pub(crate) fn record_of(&self, urn: &Urn) -> Option<Arc<ResourceState>> {
        let former = || self.executor.published(&self.claims.former(urn)?);
        self.executor.published(urn).or_else(former)
    }
}
