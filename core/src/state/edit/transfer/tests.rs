//! Tests of moves between two states.

use proptest::{collection, prelude::*, sample};

use super::*;
use crate::{
    property::PropertyValue,
    state::edit::random::{PROJECT, STACK, seed, state_in, state_of},
};

const OTHER: &str = "live";
const TO: Names<'_> = (PROJECT, OTHER);

fn urn(stack: &str, above: &str, resource_type: &str, name: &str) -> Urn {
    Urn::new(stack, PROJECT, above, resource_type, name)
}

fn thing(name: &str) -> ResourceState {
    let mut state = ResourceState::new(urn(STACK, "", THING, name), THING.into(), true);
    state.id = name.into();
    state
}

fn provider(stack: &str, name: &str, id: &str, region: &str) -> ResourceState {
    let mut state = ResourceState::new(urn(stack, "", PROVIDER, name), PROVIDER.into(), true);
    state.id = id.into();
    state.inputs = [("region", PropertyValue::from(region))].into_iter().collect();
    state
}

fn root(stack: &str) -> ResourceState {
    ResourceState::new(Urn::root_stack(stack, PROJECT), ROOT_STACK_TYPE.into(), false)
}

const THING: &str = "pkg:index:Thing";
const SITE: &str = "my:index:Site";
const PROVIDER: &str = "pulumi:providers:pkg";

fn snapshot(records: impl IntoIterator<Item = ResourceState>) -> Snapshot {
    Snapshot {
        resources: records.into_iter().map(Arc::new).collect(),
        ..Snapshot::default()
    }
}

fn refusal(source: &Snapshot, destination: &Snapshot, edit: &Move) -> Error {
    let moved = transfer(source, destination, edit, TO);
    moved.map(|moved| moved.report).unwrap_err()
}

fn urns(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .resources
        .iter()
        .map(|record| record.urn.as_str())
        .collect()
}

/// A component with a resource below it that another one depends on, and that depends on a third.
fn site() -> Snapshot {
    let site = urn(STACK, "", SITE, "site");
    let mut component = ResourceState::new(site.clone(), SITE.into(), false);
    component.parent = Some(Urn::root_stack(STACK, PROJECT));
    let mut page = thing("page");
    page.urn = urn(STACK, SITE, THING, "page");
    page.parent = Some(site);
    page.dependencies = vec![urn(STACK, "", THING, "base")];
    page.property_dependencies = [
        ("kept".into(), Vec::new()),
        ("size".into(), vec![urn(STACK, "", THING, "base")]),
    ]
    .into();
    page.provider = format!("{}::p-1", urn(STACK, "", PROVIDER, "default")).into();
    let mut user = thing("user");
    user.dependencies = vec![page.urn.clone(), urn(STACK, "", THING, "base")];
    user.options.replace_with = vec![page.urn.clone()];
    snapshot([
        root(STACK),
        provider(STACK, "default", "p-1", "eu"),
        thing("base"),
        component,
        page,
        user,
    ])
}

#[test]
fn what_is_below_moves_with_its_providers_and_references_between_both_stacks_are_removed() {
    let source = site();
    let edit = Move::of([urn(STACK, "", SITE, "site")]);
    let moved = transfer(&source, &Snapshot::default(), &edit, TO).unwrap();
    integrity::verify(&moved.source).unwrap();
    integrity::verify(&moved.destination).unwrap();
    assert_eq!(
        urns(&moved.destination),
        [
            "urn:pulumi:live::shop::pulumi:pulumi:Stack::shop-live",
            "urn:pulumi:live::shop::pulumi:providers:pkg::default",
            "urn:pulumi:live::shop::my:index:Site::site",
            "urn:pulumi:live::shop::my:index:Site$pkg:index:Thing::page",
        ]
    );
    let [stack, copy, component, page] = &moved.destination.resources[..] else {
        panic!("four records")
    };
    assert_eq!(copy.parent.as_ref(), Some(&stack.urn));
    assert_eq!(component.parent.as_ref(), Some(&stack.urn));
    assert_eq!(page.parent.as_ref(), Some(&component.urn));
    assert_eq!(page.provider, format!("{}::p-1", copy.urn));
    assert!(page.dependencies.is_empty());
    let lists: Vec<_> = page
        .property_dependencies
        .iter()
        .map(|(name, urns)| (name.as_str(), urns.len()))
        .collect();
    assert_eq!(lists, [("kept", 0), ("size", 0)]);
    let fields = |report: &EditReport, name: &str| {
        let record = report
            .records
            .iter()
            .find(|record| record.urn.name() == name)
            .unwrap();
        let fields = record
            .removed_references
            .iter()
            .map(|removed| removed.field.clone());
        (record.kind, fields.collect::<Vec<_>>())
    };
    let MoveReport {
        source: left,
        destination: arrived,
    } = &moved.report;
    assert_eq!(
        fields(arrived, "page"),
        (
            EditKind::Added,
            vec!["dependencies".to_owned(), "propertyDependencies.size".to_owned()]
        )
    );
    assert_eq!(
        fields(left, "user"),
        (
            EditKind::Changed,
            vec!["dependencies".to_owned(), "replaceWith".to_owned()]
        )
    );
    assert_eq!(fields(left, "page").0, EditKind::Removed);
    assert_eq!((left.warnings.len(), arrived.warnings.len()), (1, 1));
    assert_eq!(urns(&moved.source).len(), 4, "the provider stays");
    let ids: Vec<_> = moved.records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["", "page"]);
}

#[test]
fn a_resource_without_its_parent_is_below_the_stack_and_its_parents_move_on_request() {
    let source = site();
    let page = urn(STACK, SITE, THING, "page");
    let moved = transfer(&source, &snapshot([root(OTHER)]), &Move::of([page.clone()]), TO).unwrap();
    let alone = moved.destination.resources.last().unwrap();
    assert_eq!(alone.urn, urn(OTHER, "", THING, "page"));
    assert_eq!(alone.parent, Some(Urn::root_stack(OTHER, PROJECT)));
    let arrived = moved.report.destination.records.last().unwrap();
    assert_eq!(arrived.removed_references[0].field, "parent");
    let with_parents = Move {
        include_parents: true,
        ..Move::of([page])
    };
    let moved = transfer(&source, &snapshot([root(OTHER)]), &with_parents, TO).unwrap();
    assert_eq!(moved.records.len(), 2);
    let all = Move::of([Urn::root_stack(STACK, PROJECT)]);
    let moved = transfer(&source, &Snapshot::default(), &all, TO).unwrap();
    // Those without a parent are not below the stack.
    assert_eq!(moved.records.len(), 2);
    assert_eq!(urns(&moved.source).len(), 4);
}

#[test]
fn a_provider_with_the_same_id_or_inputs_is_used_and_another_one_refuses_the_move() {
    let source = site();
    let edit = Move::of([urn(STACK, SITE, THING, "page")]);
    for (id, region, expected) in [
        ("p-1", "us", Some("p-1")),
        ("p-9", "eu", Some("p-9")),
        ("p-9", "us", None),
    ] {
        let destination = snapshot([root(OTHER), provider(OTHER, "default", id, region)]);
        let Some(expected) = expected else {
            let error = refusal(&source, &destination, &edit);
            assert_eq!(error.kind(), ErrorKind::Conflict);
            let provider = urn(OTHER, "", PROVIDER, "default");
            assert_eq!(
                error.reference_message(),
                format!("provider {provider} already exists in destination stack")
            );
            continue;
        };
        let moved = transfer(&source, &destination, &edit, TO).unwrap();
        assert_eq!(moved.destination.resources.len(), 3);
        let reference = &moved.destination.resources[2].provider;
        assert_eq!(
            *reference,
            format!("{}::{expected}", urn(OTHER, "", PROVIDER, "default"))
        );
    }
}

#[test]
fn what_cannot_move_is_refused() {
    let source = site();
    let empty = Snapshot::default();
    let error = refusal(&source, &empty, &Move::of([urn(STACK, "", PROVIDER, "default")]));
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.reference_message().starts_with("cannot move providers."));
    let error = refusal(&source, &empty, &Move::default());
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = refusal(&source, &empty, &Move::of([urn(STACK, "", THING, "bas")]));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.hints()[0],
        format!("did you mean '{}'?", urn(STACK, "", THING, "base"))
    );
    assert_eq!(error.hints().len(), 2, "{:?}", error.hints());
    let mut there = thing("base");
    there.urn = urn(OTHER, "", THING, "base");
    let base = Move::of([urn(STACK, "", THING, "base")]);
    let error = refusal(&source, &snapshot([there]), &base);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let expected = format!(
        "resource {} already exists in destination stack",
        urn(OTHER, "", THING, "base")
    );
    assert_eq!(error.reference_message(), expected);
    let mut twice = source.clone();
    let mut page = thing("page");
    page.parent = Some(Urn::root_stack(STACK, PROJECT));
    twice.resources.push(Arc::new(page));
    let both = Move::of([urn(STACK, SITE, THING, "page"), urn(STACK, "", THING, "page")]);
    let error = refusal(&twice, &empty, &both);
    assert!(
        error.message().contains("would be that of two resources"),
        "{error}"
    );
    let nothing = refusal(
        &snapshot([root(STACK)]),
        &empty,
        &Move::of([Urn::root_stack(STACK, PROJECT)]),
    );
    assert_eq!(nothing.reference_message(), "no resources found to move");
}

#[test]
fn a_view_moves_with_its_owner_alone() {
    let mut view = thing("view");
    view.view_of = Some(urn(STACK, "", THING, "owner"));
    let source = snapshot([root(STACK), thing("owner"), view]);
    let error = refusal(
        &source,
        &Snapshot::default(),
        &Move::of([urn(STACK, "", THING, "view")]),
    );
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let moved = transfer(
        &source,
        &Snapshot::default(),
        &Move::of([urn(STACK, "", THING, "owner")]),
        TO,
    )
    .unwrap();
    let view = moved.destination.resources.last().unwrap();
    assert_eq!(view.view_of, Some(urn(OTHER, "", THING, "owner")));
}

#[test]
fn a_provider_below_a_component_that_moves_stays_below_the_stack() {
    let site = urn(STACK, "", SITE, "site");
    let mut component = ResourceState::new(site.clone(), SITE.into(), false);
    component.parent = Some(Urn::root_stack(STACK, PROJECT));
    let mut own = provider(STACK, "own", "o-1", "eu");
    own.urn = urn(STACK, SITE, PROVIDER, "own");
    own.parent = Some(site.clone());
    let mut page = thing("page");
    page.provider = format!("{}::o-1", own.urn).into();
    let mut below = page.clone();
    below.urn = urn(STACK, SITE, THING, "below");
    below.parent = Some(site.clone());
    let source = snapshot([root(STACK), component, own, page, below]);
    let moved = transfer(&source, &Snapshot::default(), &Move::of([site]), TO).unwrap();
    integrity::verify(&moved.source).unwrap();
    integrity::verify(&moved.destination).unwrap();
    let lifted = urn(STACK, "", PROVIDER, "own");
    assert_eq!(moved.source.resources[1].urn, lifted);
    assert_eq!(moved.source.resources[2].provider, format!("{lifted}::o-1"));
    let copy = urn(OTHER, "", PROVIDER, "own");
    assert_eq!(
        moved.destination.resources.last().unwrap().provider,
        format!("{copy}::o-1")
    );
    let mut copies = moved.destination.resources.iter();
    let copied = copies.find(|record| record.urn == copy).unwrap();
    assert_eq!(copied.parent, Some(Urn::root_stack(OTHER, PROJECT)));
}

#[test]
fn old_copies_pending_operations_and_extensions_move_and_a_missing_extension_is_an_error() {
    let mut old = thing("a");
    (old.delete, old.id) = (true, "old".into());
    let mut live = thing("a");
    live.extension_ref = "r".into();
    let mut source = snapshot([root(STACK), old, live]);
    source.pending_operations.push(PendingOperation {
        resource: Arc::new(thing("a")),
        kind: PendingOperationKind::Updating,
    });
    let edit = Move::of([urn(STACK, "", THING, "a")]);
    assert_eq!(
        refusal(&source, &Snapshot::default(), &edit).kind(),
        ErrorKind::State
    );
    let extension = serde_json::json!({"r": {"name": "more"}});
    source.extra.insert("extensions".to_owned(), extension.clone());
    let moved = transfer(&source, &Snapshot::default(), &edit, TO).unwrap();
    assert_eq!(moved.destination.extra.get("extensions"), Some(&extension));
    assert!(moved.source.extra.is_empty() && moved.source.pending_operations.is_empty());
    let ids: Vec<_> = moved
        .destination
        .resources
        .iter()
        .map(|record| record.id.as_str())
        .collect();
    assert_eq!(ids, ["", "old", "a"]);
    let pending = &moved.destination.pending_operations[0];
    assert_eq!(pending.resource.urn, urn(OTHER, "", THING, "a"));
    assert_eq!(moved.records.iter().filter(|record| record.pending).count(), 1);
}

proptest! {
    #[test]
    fn a_move_leaves_two_valid_states_shares_what_it_does_not_touch_and_loses_no_record(
        seeds in collection::vec(seed(), 1..14),
        others in collection::vec(seed(), 0..5),
        chosen in collection::vec(any::<sample::Index>(), 1..4),
        include_parents in any::<bool>(),
        one_name in any::<bool>(),
    ) {
        let before = state_of(&seeds);
        let stack = if one_name { STACK } else { OTHER };
        // Names of both states are equal: what is there already refuses the move.
        let destination = state_in(stack, &others);
        let urns: Vec<_> = chosen.iter().map(|chosen| chosen.get(&before.resources).urn.clone()).collect();
        let edit = Move { urns, include_parents };
        let moved = match transfer(&before, &destination, &edit, (PROJECT, stack)) {
            Ok(moved) => moved,
            Err(error) => {
                let kinds = [ErrorKind::InvalidInput, ErrorKind::Conflict, ErrorKind::NotFound];
                prop_assert!(kinds.contains(&error.kind()), "{error}");
                return Ok(());
            }
        };
        prop_assert!(integrity::verify(&moved.source).is_ok());
        prop_assert!(integrity::verify(&moved.destination).is_ok());
        let gone: FxHashSet<&Urn> = moved.records.iter().map(|record| &record.from).collect();
        for record in &before.resources {
            let stays = moved.source.resources.iter().find(|left| left.urn == record.urn);
            prop_assert_eq!(stays.is_none(), gone.contains(&record.urn));
            let mut refers = false;
            record.for_each_dependency(|urn| refers |= gone.contains(urn));
            if let Some(stays) = stays {
                prop_assert_eq!(Arc::ptr_eq(stays, record), !refers);
            }
        }
        let there = &moved.destination.resources[..destination.resources.len()];
        prop_assert!(there.iter().zip(&destination.resources).all(|(new, old)| Arc::ptr_eq(new, old)));
        let count = before.resources.len() + before.pending_operations.len();
        let left = moved.source.resources.len() + moved.source.pending_operations.len();
        prop_assert_eq!(left + moved.records.len(), count);
        for record in &moved.records {
            let pending = moved.destination.pending_operations.iter().map(|pending| &pending.resource);
            let mut records = moved.destination.resources.iter().chain(pending);
            let found = records.find(|found| found.urn == record.to && found.id.as_str() == record.id);
            prop_assert!(found.is_some(), "{} is lost", record.from);
            prop_assert_eq!(found.unwrap().view_of.is_none(), {
                let mut all = before.resources.iter().chain(before.pending_operations.iter().map(|pending| &pending.resource));
                all.find(|old| old.urn == record.from).unwrap().view_of.is_none()
            });
        }
    }

    #[test]
    fn a_move_of_everything_back_and_forth_restores_the_records(
        seeds in collection::vec(seed(), 1..14),
    ) {
        let before = state_of(&seeds);
        let all = |stack: &str| Move::of([Urn::root_stack(stack, PROJECT)]);
        let Ok(there) = transfer(&before, &Snapshot::default(), &all(STACK), TO) else {
            // There are none, or a view has an owner that does not move.
            return Ok(());
        };
        let back = transfer(&there.destination, &there.source, &all(OTHER), (PROJECT, STACK)).unwrap();
        let is_reduced = |report: &EditReport| report.records.iter().any(|record| !record.removed_references.is_empty());
        let reduced = [&there.report, &back.report].iter().any(|report| is_reduced(&report.source) || is_reduced(&report.destination));
        if !reduced {
            // Copies of providers stay there, and the stack itself.
            prop_assert!(back.source.resources.len() <= 2);
            prop_assert_eq!(&back.destination.resources, &before.resources);
            // Those that move stand after those of the stack itself and of providers, which stay.
            let sorted = |snapshot: &Snapshot| {
                let pending = snapshot.pending_operations.iter().map(|pending| format!("{pending:?}"));
                let mut pending: Vec<_> = pending.collect();
                pending.sort();
                pending
            };
            prop_assert_eq!(sorted(&back.destination), sorted(&before));
        }
    }
}
