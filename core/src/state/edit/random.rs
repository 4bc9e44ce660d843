//! Random valid states, for tests of edits.

use std::sync::Arc;

use proptest::{collection, prelude::*, sample};

use crate::{
    property::{PropertyValue, ResourceReference},
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    state::Snapshot,
    urn::Urn,
};

pub(crate) const STACK: &str = "dev";
pub(crate) const PROJECT: &str = "shop";

/// A reference of a random record to an earlier one.
#[derive(Clone, Debug)]
struct Link {
    place: u8,
    target: sample::Index,
}

/// A random record below an earlier one, or at the top.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    parent: Option<sample::Index>,
    component: bool,
    links: Vec<Link>,
    protect: bool,
    pending: Option<PendingOf>,
}

/// The resource of a pending operation.
#[derive(Clone, Debug)]
enum PendingOf {
    /// One without a record.
    New,
    /// That of an earlier record.
    Recorded(sample::Index),
}

pub(crate) fn seed() -> impl Strategy<Value = Seed> {
    let link = (0_u8..10, any::<sample::Index>()).prop_map(|(place, target)| Link { place, target });
    let pending = prop_oneof![
        Just(PendingOf::New),
        any::<sample::Index>().prop_map(PendingOf::Recorded)
    ];
    let parent = proptest::option::weighted(0.5, any::<sample::Index>());
    (
        parent,
        any::<bool>(),
        collection::vec(link, 0..5),
        any::<bool>(),
        proptest::option::weighted(0.2, pending),
    )
        .prop_map(|(parent, component, links, protect, pending)| Seed {
            parent,
            component,
            links,
            protect,
            pending,
        })
}

/// Returns a valid state: the stack, a provider, and one record for each seed.
pub(crate) fn state_of(seeds: &[Seed]) -> Snapshot {
    state_in(STACK, seeds)
}

/// Returns a valid state of a stack: the stack itself, a provider, and one record for each seed.
pub(crate) fn state_in(stack: &str, seeds: &[Seed]) -> Snapshot {
    let root = ResourceState::new(
        Urn::root_stack(stack, PROJECT),
        "pulumi:pulumi:Stack".into(),
        false,
    );
    let provider = Urn::new(stack, PROJECT, "", "pulumi:providers:pkg", "default");
    let mut default = ResourceState::new(provider.clone(), "pulumi:providers:pkg".into(), true);
    default.id = "provider-id".into();
    let mut snapshot = Snapshot {
        resources: vec![Arc::new(root), Arc::new(default)],
        ..Snapshot::default()
    };
    for (number, seed) in seeds.iter().enumerate() {
        let records = &snapshot.resources;
        // Providers have no children here.
        let above: Vec<_> = records.iter().filter(|record| !record.is_provider()).collect();
        let parent = seed.parent.map_or(&above[0].urn, |index| &index.get(&above).urn);
        let resource_type = if seed.component {
            "my:index:Site"
        } else {
            "pkg:index:Thing"
        };
        let urn = Urn::new(
            stack,
            PROJECT,
            parent.qualified_type(),
            resource_type,
            &format!("name-{number}"),
        );
        let mut state = ResourceState::new(urn, resource_type.into(), !seed.component);
        state.parent = Some(parent.clone());
        state.protect = seed.protect;
        if !seed.component {
            state.id = format!("id-{number}").into();
            state.provider = smol_str::format_smolstr!("{provider}::provider-id");
        }
        for link in &seed.links {
            let target = link.target.get(records).urn.clone();
            let reference = || {
                PropertyValue::ResourceReference(Arc::new(ResourceReference {
                    urn: target.clone(),
                    id: None,
                    package_version: "".into(),
                }))
            };
            match link.place {
                0 => state.dependencies.push(target),
                1 => state.property_dependencies.list_mut("a".into()).push(target),
                2 => drop(state.property_dependencies.list_mut("empty".into())),
                3 => state.options.deleted_with = Some(target),
                4 => state.options.replace_with.push(target),
                5 => drop(
                    state
                        .inputs
                        .insert("reference", PropertyValue::array(vec![reference()])),
                ),
                6 => drop(state.outputs.insert("secret", PropertyValue::secret(reference()))),
                7 => state.options.replacement_trigger = Some(reference()),
                8 => drop(state.inputs.insert(
                    "password",
                    PropertyValue::secret(format!("hunter-{number}").into()),
                )),
                _ => state.view_of = Some(target),
            }
        }
        match &seed.pending {
            None => snapshot.resources.push(Arc::new(state)),
            Some(of) => {
                let pending = of.operation(state, &snapshot.resources);
                snapshot.pending_operations.push(pending);
            }
        }
    }
    snapshot
}

impl PendingOf {
    fn operation(&self, mut state: ResourceState, records: &[Arc<ResourceState>]) -> PendingOperation {
        let kind = match self {
            Self::New => PendingOperationKind::Creating,
            Self::Recorded(index) => {
                let recorded = index.get(records);
                state.urn.clone_from(&recorded.urn);
                state.parent.clone_from(&recorded.parent);
                state.resource_type.clone_from(&recorded.resource_type);
                (state.custom, state.id) = (recorded.custom, recorded.id.clone());
                state.provider.clone_from(&recorded.provider);
                PendingOperationKind::Updating
            }
        };
        PendingOperation {
            resource: Arc::new(state),
            kind,
        }
    }
}
