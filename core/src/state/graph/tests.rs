//! Tests of the graph: layers, orders and sorting.

use proptest::prelude::*;

use super::{order::order_by_urns, *};

fn urn(name: &str) -> Urn {
    Urn::new("dev", "shop", "", "pkg:index:Thing", name)
}

fn thing(name: &str) -> ResourceState {
    let mut state = ResourceState::new(urn(name), "pkg:index:Thing".into(), true);
    state.id = name.into();
    state
}

fn records(states: Vec<ResourceState>) -> Vec<Arc<ResourceState>> {
    states.into_iter().map(Arc::new).collect()
}

fn depending(name: &str, dependencies: &[&str]) -> ResourceState {
    ResourceState {
        dependencies: dependencies.iter().map(|name| urn(name)).collect(),
        ..thing(name)
    }
}

#[test]
fn layers_start_with_dependents_and_end_with_records_without_needs() {
    // The last record needs nothing: it is in the last layer, with the first.
    let list = records(vec![
        thing("a"),
        depending("b", &["a"]),
        depending("c", &["b"]),
        thing("d"),
    ]);
    let graph = DependencyGraph::new(&list);
    assert_eq!(graph.antichains(&[0, 1, 2, 3]), [vec![2], vec![1], vec![0, 3]]);
    assert_eq!(
        graph.deletion_order(&[0, 1, 2, 3]),
        [vec![1], vec![2], vec![], vec![]]
    );
    // Only direct needs count: without the middle one the others are independent.
    assert_eq!(graph.antichains(&[0, 2]), [vec![0, 2]]);
}

#[test]
fn a_dependency_on_a_component_is_one_on_its_earlier_descendants() {
    let mut component = ResourceState::new(urn("box"), "pkg:index:Thing".into(), false);
    component.id = "".into();
    let child = |name: &str| ResourceState {
        parent: Some(urn("box")),
        ..thing(name)
    };
    let list = records(vec![
        component,
        child("early"),
        depending("user", &["box"]),
        child("late"),
    ]);
    let graph = DependencyGraph::new(&list);
    assert_eq!(graph.antichains(&[1, 2, 3]), [vec![2], vec![1, 3]]);
    assert_eq!(graph.deletion_order(&[1, 2, 3]), [vec![2], vec![], vec![]]);
    // Siblings do not wait for each other.
    assert_eq!(graph.antichains(&[1, 3]), [vec![1, 3]]);
}

#[test]
fn dependents_follow_children_only_when_asked() {
    let child = ResourceState {
        parent: Some(urn("a")),
        ..thing("child")
    };
    let list = records(vec![
        thing("a"),
        child,
        depending("b", &["child"]),
        depending("c", &["a"]),
    ]);
    let graph = DependencyGraph::new(&list);
    assert_eq!(graph.transitive_dependents(&[0], false), [3]);
    assert_eq!(graph.transitive_dependents(&[0], true), [1, 2, 3]);
    assert_eq!(graph.transitive_dependencies(&[2]), [0, 1]);
}

#[test]
fn a_cycle_cannot_be_sorted() {
    let list = records(vec![depending("a", &["b"]), depending("b", &["a"])]);
    assert_eq!(
        stable_order(&list).unwrap_err().message(),
        "snapshot has cyclic dependencies"
    );
}

#[test]
fn old_copies_sort_by_old_copies_and_live_records_by_live_ones() {
    let old = |state: ResourceState| ResourceState {
        delete: true,
        ..state
    };
    let list = records(vec![
        old(depending("b", &["a"])),
        depending("b", &["a"]),
        thing("a"),
        old(thing("a")),
    ]);
    assert_eq!(stable_order(&list).unwrap(), [3, 0, 2, 1]);
}

/// Layers by definition: repeatedly takes all records that need no remaining one, and reverses the list.
fn layers_by_the_rule(
    graph: &DependencyGraph,
    list: &[Arc<ResourceState>],
    condemned: &[usize],
) -> Vec<Vec<usize>> {
    let mut remaining = condemned.to_vec();
    remaining.sort_unstable();
    let mut layers = Vec::new();
    while !remaining.is_empty() {
        let needs = |index: usize| -> Vec<usize> {
            let mut needs: Vec<_> = graph.dependencies(index).map(|(target, _)| target).collect();
            for (target, kind) in graph.dependencies(index) {
                if kind == EdgeKind::Dependency && !list[target].custom {
                    needs.extend(inside(list, target).into_iter().filter(|inside| *inside < index));
                }
            }
            needs
        };
        let layer: Vec<_> = remaining
            .iter()
            .copied()
            .filter(|index| !needs(*index).iter().any(|need| remaining.contains(need)))
            .collect();
        remaining.retain(|index| !layer.contains(index));
        layers.push(layer);
    }
    layers.reverse();
    layers
}

fn inside(list: &[Arc<ResourceState>], component: usize) -> Vec<usize> {
    let mut inside = vec![component];
    for index in component + 1..list.len() {
        let parent = list[index].parent.as_ref();
        if inside.iter().any(|ancestor| Some(&list[*ancestor].urn) == parent) {
            inside.push(index);
        }
    }
    inside.remove(0);
    inside
}

fn any_records() -> impl Strategy<Value = Vec<Arc<ResourceState>>> {
    let one = (
        any::<bool>(),
        any::<prop::sample::Index>(),
        any::<bool>(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    );
    prop::collection::vec(one, 1..14).prop_map(|choices| {
        let mut list: Vec<ResourceState> = Vec::new();
        for (number, (custom, parent, has_parent, needs)) in choices.into_iter().enumerate() {
            let mut state = thing(&format!("r{number}"));
            if !custom {
                state.custom = false;
                state.id = "".into();
            }
            if !list.is_empty() {
                let needs = needs.iter().map(|need| need.get(&list).urn.clone());
                state.dependencies = needs.collect();
                state.parent = Some(parent.get(&list))
                    .filter(|parent| has_parent && !parent.custom)
                    .map(|parent| parent.urn.clone());
            }
            list.push(state);
        }
        records(list)
    })
}

proptest! {
    #[test]
    fn layers_are_those_of_the_rule_and_the_free_order_agrees(list in any_records(), chosen in any::<u16>()) {
        let condemned: Vec<_> = (0..list.len()).filter(|index| chosen & (1 << index) != 0).collect();
        let graph = DependencyGraph::new(&list);
        let layers = graph.antichains(&condemned);
        prop_assert_eq!(&layers, &layers_by_the_rule(&graph, &list, &condemned));
        let layer_of = |index: usize| layers.iter().position(|layer| layer.contains(&index)).unwrap();
        for (place, first) in graph.deletion_order(&condemned).iter().enumerate() {
            for other in first {
                prop_assert!(layer_of(*other) < layer_of(condemned[place]));
            }
        }
    }

    #[test]
    fn sorting_keeps_a_valid_order_and_repairs_a_shuffled_one(list in any_records(), keys in prop::collection::vec(any::<u32>(), 14)) {
        prop_assert_eq!(stable_order(&list).unwrap(), (0..list.len()).collect::<Vec<_>>());
        let mut shuffled: Vec<_> = list.iter().cloned().zip(keys).collect();
        shuffled.sort_by_key(|(_, key)| *key);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(record, _)| record).collect();
        let order = stable_order(&shuffled).unwrap();
        let mended: Vec<_> = order.into_iter().map(|index| Arc::clone(&shuffled[index])).collect();
        prop_assert_eq!(mended.len(), list.len());
        prop_assert!(crate::state::integrity::verify_resources(&mended).is_ok());
    }
}

#[test]
fn a_cycle_between_old_copies_is_resolved_by_other_records_of_the_urn() {
    let copy = |name: &str, dependencies: &[&str]| ResourceState {
        delete: true,
        ..depending(name, dependencies)
    };
    // Each copy needed the record of the other's URN at its time: the other's copy, or the record in use.
    let list = records(vec![
        copy("a", &["b"]),
        depending("b", &["c"]),
        thing("c"),
        copy("b", &["a"]),
    ]);
    assert!(stable_order(&list).is_err());
    let order = valid_order(&list).unwrap();
    assert_eq!(order, [2, 1, 0, 3]);
}

#[test]
fn a_valid_order_is_kept_and_a_cycle_has_no_order() {
    let list = records(vec![thing("b"), depending("a", &["b", "b"]), thing("c")]);
    assert_eq!(order_by_urns(&list).unwrap(), [0, 1, 2]);
    let cycle = records(vec![depending("a", &["b"]), depending("b", &["a"])]);
    assert!(valid_order(&cycle).is_err());
}

#[test]
fn a_provider_reference_is_resolved_by_urn_and_id() {
    let provider = |id: &str| {
        let urn = Urn::new("dev", "shop", "", "pulumi:providers:pkg", "p");
        let mut state = ResourceState::new(urn, "pulumi:providers:pkg".into(), true);
        state.id = id.into();
        state
    };
    let user = ResourceState {
        provider: format!("{}::two", provider("two").urn).into(),
        ..thing("a")
    };
    let list = records(vec![provider("one"), user, provider("two")]);
    assert_eq!(order_by_urns(&list).unwrap(), [0, 2, 1]);
}
