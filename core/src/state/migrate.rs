//! Migration: what engines of long ago left out of providers, and of resources that name none, is put in before anything runs.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, ToSmolStr as _};

use crate::{
    property::PropertyMap,
    provider::settings::INTERNAL,
    resource::{ProviderReference, ResourceState},
    state::StateRef,
    urn::Urn,
};

/// What a migration comes to.
#[derive(Debug, Default)]
pub(crate) struct Migrated {
    /// Default providers, to stand before all records.
    pub(crate) providers: Vec<Arc<ResourceState>>,
    /// The records, each under its identity.
    pub(crate) records: Vec<StateRef>,
}

/// Gives each custom resource that names no provider the default provider of its package, which `default` makes at the
/// first need, and each provider without outputs its inputs as such. `None` when all records are as they should be.
///
/// A record of that very default provider is taken where one stands before the resource.
pub(crate) fn migrate(
    records: &[StateRef],
    mut default: impl FnMut(&str) -> ResourceState,
) -> Option<Migrated> {
    if !records.iter().any(|record| is_incomplete(&record.state)) {
        return None;
    }
    let mut migrated = Migrated::default();
    let mut found: FxHashMap<&Urn, SmolStr> = FxHashMap::default();
    let mut defaults: FxHashMap<SmolStr, SmolStr> = FxHashMap::default();
    for record in records {
        let state = &record.state;
        if state.is_provider() && !state.delete {
            found.insert(&state.urn, reference(state));
        }
        let mut record = record.clone();
        if is_incomplete(state) {
            let state = Arc::make_mut(&mut record.state);
            if state.is_provider() {
                state.outputs = outputs(&state.inputs);
            } else {
                let package = state.urn.resource_type().split(':').next().unwrap_or_default();
                let serving = defaults.entry(package.into()).or_insert_with(|| {
                    let provider = default(package);
                    found.get(&provider.urn).cloned().unwrap_or_else(|| {
                        let text = reference(&provider);
                        migrated.providers.push(Arc::new(provider));
                        text
                    })
                });
                state.provider = serving.clone();
            }
        }
        migrated.records.push(record);
    }
    Some(migrated)
}

fn is_incomplete(state: &ResourceState) -> bool {
    if state.is_provider() {
        state.outputs.is_empty() && state.inputs.keys().any(|key| key.as_str() != INTERNAL)
    } else {
        state.custom && state.provider.is_empty()
    }
}

fn outputs(inputs: &PropertyMap) -> PropertyMap {
    let shown = inputs.iter().filter(|(key, _)| key.as_str() != INTERNAL);
    shown.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn reference(provider: &ResourceState) -> SmolStr {
    ProviderReference::new(provider.urn.clone(), provider.id.clone()).to_smolstr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        state::StateId,
        token::{ResourceId, TypeToken},
    };

    fn record(id: u64, resource_type: &str, name: &str, custom: bool) -> StateRef {
        let urn = Urn::new("dev", "shop", "", resource_type, name);
        let mut state = ResourceState::new(urn, TypeToken::from(resource_type), custom);
        state.id = ResourceId::from(format!("{name}-id"));
        StateRef {
            id: StateId(id),
            state: Arc::new(state),
        }
    }

    fn made(package: &str) -> ResourceState {
        let provider = record(0, &format!("pulumi:providers:{package}"), "default", true);
        ResourceState {
            id: ResourceId::from(format!("made-for-{package}")),
            ..(*provider.state).clone()
        }
    }

    fn with(mut record: StateRef, change: impl FnOnce(&mut ResourceState)) -> StateRef {
        change(Arc::make_mut(&mut record.state));
        record
    }

    #[test]
    fn resources_that_name_no_provider_get_one_for_each_package() {
        let records = [
            record(0, "pulumi:pulumi:Stack", "shop-dev", false),
            record(1, "files:index:File", "a", true),
            record(2, "files:index:File", "b", true),
            with(record(3, "other:index:Thing", "c", true), |state| {
                state.delete = true;
            }),
        ];
        let migrated = migrate(&records, made).unwrap();
        let ids: Vec<_> = migrated
            .providers
            .iter()
            .map(|provider| provider.id.to_string())
            .collect();
        assert_eq!(ids, ["made-for-files", "made-for-other"]);
        let files = "urn:pulumi:dev::shop::pulumi:providers:files::default::made-for-files";
        let other = "urn:pulumi:dev::shop::pulumi:providers:other::default::made-for-other";
        let named: Vec<_> = migrated
            .records
            .iter()
            .map(|record| record.state.provider.as_str())
            .collect();
        assert_eq!(named, ["", files, files, other]);
        assert_eq!(
            migrated
                .records
                .iter()
                .map(|record| record.id.0)
                .collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
    }

    #[test]
    fn a_default_provider_that_stands_before_the_resource_serves_it() {
        let records = [
            record(0, "pulumi:providers:files", "default", true),
            record(1, "files:index:File", "a", true),
        ];
        let migrated = migrate(&records, made).unwrap();
        assert!(migrated.providers.is_empty());
        assert_eq!(
            migrated.records[1].state.provider,
            "urn:pulumi:dev::shop::pulumi:providers:files::default::default-id"
        );
    }

    #[test]
    fn a_provider_without_outputs_shows_its_inputs_but_not_the_engines_own() {
        let inputs: PropertyMap = [("region", "north".into()), (INTERNAL, PropertyMap::new().into())]
            .into_iter()
            .collect();
        let provider = with(record(0, "pulumi:providers:files", "p", true), |state| {
            state.inputs = inputs;
        });
        let migrated = migrate(&[provider], made).unwrap();
        let outputs: PropertyMap = [("region", "north".into())].into_iter().collect();
        assert_eq!(migrated.records[0].state.outputs, outputs);
    }

    #[test]
    fn complete_records_are_left_alone() {
        let records = [
            record(0, "pulumi:pulumi:Stack", "shop-dev", false),
            record(1, "pulumi:providers:files", "default", true),
            with(record(2, "files:index:File", "a", true), |state| {
                state.provider = "p::i".into();
            }),
        ];
        assert!(migrate(&records, made).is_none());
    }
}
