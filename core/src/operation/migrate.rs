//! Migration: adds default providers and provider outputs that older engines did not record.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, ToSmolStr as _};

use crate::{
    provider::settings::{INTERNAL, ProviderSettings},
    resource::{ProviderReference, ResourceState},
    state::StateRef,
    urn::Urn,
};

/// The result of a migration.
#[derive(Debug, Default)]
pub(crate) struct Migrated {
    /// Default providers to insert before all records.
    pub(crate) providers: Vec<Arc<ResourceState>>,
    /// The records, each under its identity.
    pub(crate) records: Vec<StateRef>,
}

/// Gives each custom resource without a provider the default provider of its package, created by `default` on first
/// use, and each provider without outputs its inputs as outputs. `None` when no record needs that.
///
/// An existing record of that default provider is reused, and moved before all records when its position is too late.
pub(crate) fn migrate(
    records: &[StateRef],
    mut default: impl FnMut(&str) -> ResourceState,
) -> Option<Migrated> {
    if !records.iter().any(|record| is_incomplete(&record.state)) {
        return None;
    }
    let mut migrated = Migrated::default();
    let providers = records.iter().enumerate();
    let found: FxHashMap<&Urn, usize> = providers
        .filter(|(_, record)| record.state.is_provider() && !record.state.delete)
        .map(|(place, record)| (&record.state.urn, place))
        .collect();
    let mut late = Vec::new();
    let mut defaults: FxHashMap<SmolStr, SmolStr> = FxHashMap::default();
    for (place, record) in records.iter().enumerate() {
        let state = &record.state;
        let mut record = record.clone();
        if is_incomplete(state) {
            let state = Arc::make_mut(&mut record.state);
            if state.is_provider() {
                state.outputs = ProviderSettings::outputs(&state.inputs);
            } else {
                let package = state.urn.resource_type().split(':').next().unwrap_or_default();
                let serving = defaults.entry(package.into()).or_insert_with(|| {
                    let provider = default(package);
                    match found.get(&provider.urn) {
                        Some(&recorded) => {
                            if recorded > place {
                                late.push(recorded);
                            }
                            reference(&records[recorded].state)
                        }
                        None => {
                            let text = reference(&provider);
                            migrated.providers.push(Arc::new(provider));
                            text
                        }
                    }
                });
                state.provider = serving.clone();
            }
        }
        migrated.records.push(record);
    }
    // In order, so that no move changes the position of a pending one.
    late.sort_unstable();
    for (moved, place) in late.into_iter().enumerate() {
        migrated.records[moved..=place].rotate_right(1);
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

fn reference(provider: &ResourceState) -> SmolStr {
    ProviderReference::new(provider.urn.clone(), provider.id.clone()).to_smolstr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        property::PropertyMap,
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
    fn a_default_provider_that_is_recorded_serves_and_stands_before_what_it_serves() {
        let file = record(0, "files:index:File", "a", true);
        let provider = record(1, "pulumi:providers:files", "default", true);
        let last = record(2, "files:index:File", "b", true);
        for records in [
            [provider.clone(), file.clone(), last.clone()],
            [file.clone(), provider.clone(), last.clone()],
            [file, last, provider],
        ] {
            let migrated = migrate(&records, made).unwrap();
            assert!(migrated.providers.is_empty());
            let ids: Vec<_> = migrated.records.iter().map(|record| record.id.0).collect();
            assert_eq!(ids, [1, 0, 2]);
            for served in &migrated.records[1..] {
                assert_eq!(
                    served.state.provider,
                    "urn:pulumi:dev::shop::pulumi:providers:files::default::default-id"
                );
            }
        }
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
