//! Tests of edits on random states: what an edit does not name stays, the result is valid, and the inverse edit restores
//! the old state.

use std::sync::Arc;

use proptest::{collection, prelude::*, sample};

use super::{
    random::{PROJECT, STACK, seed, state_of},
    *,
};
use crate::{
    ErrorKind,
    property::PropertyMap,
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    state::integrity,
};

fn same(left: &Snapshot, right: &Snapshot) -> bool {
    left.resources == right.resources && left.pending_operations == right.pending_operations
}

/// Returns the texts of all URNs of a state, wherever they stand.
fn text_of(snapshot: &Snapshot) -> String {
    let pending = snapshot
        .pending_operations
        .iter()
        .map(|pending| &pending.resource);
    let records = snapshot.resources.iter().chain(pending);
    let open = |map: &PropertyMap| {
        let opened = map
            .iter()
            .map(|(name, value)| (name.clone(), value.without_wrappers()));
        opened.collect::<PropertyMap>()
    };
    records
        .map(|record| {
            let mut shown = ResourceState::clone(record);
            shown.inputs = open(&record.inputs);
            shown.outputs = open(&record.outputs);
            format!("{shown:?}\n")
        })
        .collect()
}

proptest! {
    #[test]
    fn a_rename_moves_every_reference_and_the_inverse_restores_the_state(
        seeds in collection::vec(seed(), 1..14),
        chosen in any::<sample::Index>(),
        kind in 0_u8..4,
        below in any::<sample::Index>(),
    ) {
        let before = state_of(&seeds);
        let record = chosen.get(&before.resources);
        let is_free = !record.urn.is_root_stack() && !record.is_provider();
        let mut edit = Rename { urn: record.urn.clone(), name: None, parent: None, no_parent: false, resource_type: None };
        let mut inverse = edit.clone();
        match kind {
            1 if is_free => {
                let others: Vec<_> = before.resources.iter().filter(|other| !other.is_provider()).collect();
                edit.parent = Some(below.get(&others).urn.clone());
                inverse.parent.clone_from(&record.parent);
            }
            2 if is_free => {
                edit.resource_type = Some("new:index:Other".to_owned());
                inverse.resource_type = Some(record.resource_type.to_string());
            }
            _ => {
                edit.name = Some("renamed".to_owned());
                inverse.name = Some(record.urn.name().to_owned());
            }
        }
        let renamed = match StateEdit::Rename(edit.clone()).apply(&before) {
            Ok((renamed, report)) => {
                let former = report.records.iter().filter_map(|record| record.former_urn.as_ref());
                let text = text_of(&renamed);
                for former in former {
                    // A URN is followed by other text only in a longer one.
                    let named = text.match_indices(former.as_str()).any(|(at, _)| {
                        !text[at + former.as_str().len()..].starts_with(|next: char| next.is_alphanumeric() || next == '-')
                    });
                    prop_assert!(!named, "{former} is still named in {text}");
                }
                renamed
            }
            Err(error) => {
                prop_assert!(matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Conflict), "{error}");
                return Ok(());
            }
        };
        prop_assert!(integrity::verify(&renamed).is_ok());
        prop_assert_eq!(renamed.resources.len(), before.resources.len());
        for record in renamed.pending_operations.iter().map(|pending| &pending.resource) {
            prop_assert_eq!(record.urn.resource_type(), record.resource_type.as_str());
            if let Some(live) = renamed.resources.iter().find(|live| live.urn == record.urn) {
                prop_assert_eq!(&record.parent, &live.parent);
            }
        }
        let own = StateEdit::Rename(edit.clone()).apply(&before).unwrap().1;
        let new_urn = own.records.iter().find(|edited| edited.former_urn.as_ref() == Some(&edit.urn)).map(|edited| edited.urn.clone());
        inverse.urn = new_urn.unwrap_or_else(|| edit.urn.clone());
        let (restored, _) = StateEdit::Rename(inverse).apply(&renamed).unwrap();
        let mut restored_records: Vec<_> = restored.resources.clone();
        let mut old_records = before.resources.clone();
        if kind == 1 {
            // A new parent can have moved records behind it.
            restored_records.sort_by(|left, right| left.urn.cmp(&right.urn));
            old_records.sort_by(|left, right| left.urn.cmp(&right.urn));
        }
        prop_assert_eq!(restored_records, old_records);
        prop_assert_eq!(&restored.pending_operations, &before.pending_operations);
    }

    #[test]
    fn marks_change_nothing_else_and_are_undone(seeds in collection::vec(seed(), 1..14), chosen in any::<sample::Index>()) {
        let before = state_of(&seeds);
        let record = chosen.get(&before.resources);
        let selection = Selection::of([record.urn.clone()]);
        let (tainted, report) = StateEdit::Taint(selection.clone()).apply(&before).unwrap();
        prop_assert_eq!(&report.records[0].fields, &["taint"]);
        let shared = before.resources.iter().zip(&tainted.resources).filter(|(old, new)| !Arc::ptr_eq(old, new)).count();
        prop_assert_eq!(shared, 1);
        let (restored, _) = StateEdit::Untaint(selection.clone()).apply(&tainted).unwrap();
        prop_assert!(same(&restored, &before));
        let (protected, _) = StateEdit::Protect(selection.clone()).apply(&before).unwrap();
        let (again, report) = StateEdit::Protect(selection.clone()).apply(&protected).unwrap();
        prop_assert!(report.is_empty() && same(&again, &protected));
        let (open, _) = StateEdit::Unprotect(selection).apply(&protected).unwrap();
        prop_assert!(integrity::verify(&open).is_ok());
        prop_assert!(open.resources.iter().any(|other| other.urn == record.urn && !other.protect));
    }

    #[test]
    fn a_deletion_leaves_a_valid_state_without_the_records_and_nothing_else_changes(
        seeds in collection::vec(seed(), 1..14),
        chosen in any::<sample::Index>(),
        dependents in any::<bool>(),
    ) {
        let before = state_of(&seeds);
        let urn = chosen.get(&before.resources).urn.clone();
        let edit = Delete { urns: vec![urn.clone()], dependents, force: true, ..Delete::default() };
        match StateEdit::Delete(edit).apply(&before) {
            Ok((after, report)) => {
                prop_assert!(integrity::verify(&after).is_ok());
                prop_assert!(report.records.iter().all(|record| record.kind == EditKind::Removed));
                prop_assert!(report.records.iter().any(|record| record.urn == urn));
                prop_assert_eq!(after.resources.len() + report.records.len(), before.resources.len());
                for record in &after.resources {
                    prop_assert!(before.resources.iter().any(|old| Arc::ptr_eq(old, record)));
                    prop_assert!(record.view_of.as_ref().is_none_or(|owner| *owner != urn));
                }
                prop_assert_eq!(&after.pending_operations, &before.pending_operations);
            }
            Err(error) => prop_assert!(!dependents && error.kind() == ErrorKind::Conflict, "{}", error),
        }
    }

    #[test]
    fn a_repair_makes_a_shuffled_state_with_gaps_valid_and_changes_no_valid_one(
        seeds in collection::vec(seed(), 1..14),
        gone in any::<sample::Index>(),
        order in any::<u64>(),
    ) {
        let valid = state_of(&seeds);
        let (unchanged, report) = StateEdit::Repair.apply(&valid).unwrap();
        let dangling_views = valid.resources.iter().any(|record| record.view_of.is_some());
        prop_assert!(dangling_views || (report.is_empty() && same(&unchanged, &valid)));
        let mut broken = valid.clone();
        // Providers are not repairable, and the stack itself is named by most.
        let (_, rest) = broken.resources.split_at(2);
        let mut rest: Vec<_> = rest.to_vec();
        if !rest.is_empty() {
            rest.remove(gone.index(rest.len()));
        }
        let mut random = order;
        rest.sort_by_cached_key(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random >> 33
        });
        broken.resources.truncate(2);
        broken.resources.extend(rest);
        let (repaired, _) = StateEdit::Repair.apply(&broken).unwrap();
        prop_assert!(integrity::verify(&repaired).is_ok());
        prop_assert_eq!(repaired.resources.len(), broken.resources.len());
    }
}

fn urn(name: &str) -> Urn {
    Urn::new(STACK, PROJECT, "", "pkg:index:Thing", name)
}

fn thing(name: &str) -> ResourceState {
    let mut state = ResourceState::new(urn(name), "pkg:index:Thing".into(), true);
    state.id = name.into();
    state
}

fn snapshot(records: impl IntoIterator<Item = ResourceState>) -> Snapshot {
    Snapshot {
        resources: records.into_iter().map(Arc::new).collect(),
        ..Snapshot::default()
    }
}

fn refusal(edit: StateEdit, snapshot: &Snapshot) -> Error {
    edit.apply(snapshot).map(|(_, report)| report).unwrap_err()
}

#[test]
fn names_types_and_parents_that_a_resource_cannot_have_are_refused() {
    let mut child = thing("child");
    child.parent = Some(urn("a"));
    let state = snapshot([thing("a"), thing("b"), child]);
    let rename = |change: &dyn Fn(&mut Rename)| {
        let mut edit = Rename {
            name: None,
            ..Rename::to_name(urn("a"), "")
        };
        change(&mut edit);
        refusal(StateEdit::Rename(edit), &state)
    };
    let typed = |edit: &mut Rename, resource_type: &str| edit.resource_type = Some(resource_type.to_owned());
    type Case<'a> = (&'a dyn Fn(&mut Rename), &'a str);
    let cases: [Case<'_>; 17] = [
        (&|_| {}, "names no new name, parent or type"),
        (&|edit| edit.name = Some(" \t".to_owned()), "is blank"),
        (&|edit| edit.name = Some("a\nb".to_owned()), "control character"),
        (&|edit| edit.name = Some("a\0".to_owned()), "control character"),
        (&|edit| typed(edit, "a:b:C\n"), "control character"),
        (
            &|edit| typed(edit, "pkg:index:T:"),
            "a ':' at its beginning or end",
        ),
        (&|edit| typed(edit, ":"), "a ':' at its beginning or end"),
        (&|edit| typed(edit, "pkg::T"), "separate the parts"),
        (&|edit| edit.name = Some(String::new()), "is empty"),
        (&|edit| edit.name = Some("x::y".to_owned()), "contains '::'"),
        (&|edit| typed(edit, ""), "it is empty"),
        (&|edit| typed(edit, "a$b"), "separate the parts"),
        (&|edit| typed(edit, "Thing"), "package:module:Member"),
        (
            &|edit| typed(edit, "pulumi:providers:x"),
            "no other resource becomes one",
        ),
        (&|edit| typed(edit, "pulumi:pulumi:Stack"), "the stack itself"),
        (&|edit| edit.parent = Some(urn("a")), "its own parent"),
        (
            &|edit| edit.parent = Some(urn("child")),
            "a parent that depends on it",
        ),
    ];
    for (change, expected) in cases {
        let error = rename(change);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn a_name_in_use_and_an_unknown_parent_are_refused() {
    let mut child = thing("child");
    child.parent = Some(urn("a"));
    let state = snapshot([thing("a"), thing("b"), child]);
    let rename = |change: &dyn Fn(&mut Rename)| {
        let mut edit = Rename {
            name: None,
            ..Rename::to_name(urn("a"), "")
        };
        change(&mut edit);
        refusal(StateEdit::Rename(edit), &state)
    };
    let error = rename(&|edit| edit.name = Some("b".to_owned()));
    assert_eq!(
        (error.kind(), error.urn()),
        (ErrorKind::Conflict, Some(&urn("b")))
    );
    assert_eq!(
        error.reference_message(),
        "The chosen new urn for the state corresponds to an already existing resource"
    );
    let error = rename(&|edit| edit.parent = Some(urn("bb")));
    assert_eq!(
        (error.kind(), error.hints()),
        (
            ErrorKind::NotFound,
            &[
                format!("did you mean '{}'?", urn("b")),
                format!("did you mean '{}'?", urn("a")),
                format!("did you mean '{}'?", urn("child"))
            ][..]
        )
    );
}

#[test]
fn a_new_type_of_a_component_changes_the_urns_of_all_below_it() {
    let site = Urn::new(STACK, PROJECT, "", "my:index:Site", "site");
    let inner = Urn::new(STACK, PROJECT, "my:index:Site", "my:index:In", "inner");
    let leaf = Urn::new(
        STACK,
        PROJECT,
        "my:index:Site$my:index:In",
        "pkg:index:Thing",
        "leaf",
    );
    let component = |urn: &Urn, parent: Option<&Urn>| {
        let mut state = ResourceState::new(urn.clone(), urn.resource_type().into(), false);
        state.parent = parent.cloned();
        state
    };
    let mut last = component(&leaf, Some(&inner));
    last.custom = true;
    let state = snapshot([component(&site, None), component(&inner, Some(&site)), last]);
    let edit = Rename {
        name: None,
        resource_type: Some("my:index:Page".to_owned()),
        ..Rename::to_name(site, "")
    };
    let (renamed, report) = StateEdit::Rename(edit).apply(&state).unwrap();
    let urns: Vec<_> = renamed
        .resources
        .iter()
        .map(|record| record.urn.qualified_type())
        .collect();
    assert_eq!(
        urns,
        [
            "my:index:Page",
            "my:index:Page$my:index:In",
            "my:index:Page$my:index:In$pkg:index:Thing"
        ]
    );
    assert_eq!(renamed.resources[0].resource_type.as_str(), "my:index:Page");
    assert_eq!(report.records[0].fields, ["urn", "type"]);
    assert_eq!(report.records[1].fields, ["urn", "parent"]);
}

#[test]
fn a_new_type_and_parent_reach_the_pending_operations_of_the_resource() {
    let site = Urn::new(STACK, PROJECT, "", "my:index:Site", "site");
    let mut state = snapshot([
        ResourceState::new(site.clone(), "my:index:Site".into(), false),
        thing("a"),
        thing("b"),
    ]);
    let pending = |name: &str, kind| PendingOperation {
        resource: Arc::new(thing(name)),
        kind,
    };
    state.pending_operations = vec![
        pending("a", PendingOperationKind::Updating),
        pending("b", PendingOperationKind::Updating),
        pending("a", PendingOperationKind::Deleting),
    ];
    let edit = Rename {
        name: None,
        resource_type: Some("pkg:index:Other".to_owned()),
        parent: Some(site.clone()),
        ..Rename::to_name(urn("a"), "")
    };
    let (renamed, report) = StateEdit::Rename(edit).apply(&state).unwrap();
    let live = &renamed.resources[1];
    assert_eq!(live.urn.qualified_type(), "my:index:Site$pkg:index:Other");
    for place in [0, 2] {
        let resource = &renamed.pending_operations[place].resource;
        assert_eq!(
            (&resource.urn, &resource.resource_type, &resource.parent),
            (&live.urn, &live.resource_type, &Some(site.clone()))
        );
        assert_eq!(resource.resource_type.as_str(), "pkg:index:Other");
    }
    assert_eq!(renamed.pending_operations[1], state.pending_operations[1]);
    assert_eq!(report.records.len(), 3, "{report:?}");
}

#[test]
fn dependents_and_protection_refuse_a_deletion_with_the_reference_s_text() {
    let mut user = thing("user");
    user.dependencies = vec![urn("a")];
    let mut view = thing("view");
    view.view_of = Some(urn("user"));
    view.protect = true;
    let state = snapshot([thing("a"), user, view]);
    let delete = |change: &dyn Fn(&mut Delete)| {
        let mut edit = Delete {
            urns: vec![urn("a")],
            ..Delete::default()
        };
        change(&mut edit);
        StateEdit::Delete(edit)
    };
    let error = refusal(delete(&|_| ()), &state);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let expected = format!(
        "{0} can't be safely deleted because the following resources depend on it:\n * \"user\"          ({1})\n * \"view\"          ({2})\n\nDelete those resources first or pass --target-dependents.",
        urn("a"),
        urn("user"),
        urn("view")
    );
    assert_eq!(error.reference_message(), expected);
    let error = refusal(delete(&|edit| edit.dependents = true), &state);
    assert_eq!(
        (error.kind(), error.urn()),
        (ErrorKind::Conflict, Some(&urn("view")))
    );
    let forced = delete(&|edit| (edit.dependents, edit.force) = (true, true));
    let (left, report) = forced.apply(&state).unwrap();
    assert!(left.resources.is_empty());
    assert_eq!((report.records.len(), report.warnings.len()), (3, 1));
    let unknown = refusal(delete(&|edit| edit.urns.push(urn("aa"))), &state);
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    let none = refusal(delete(&|edit| edit.urns.clear()), &state);
    assert_eq!(none.kind(), ErrorKind::InvalidInput);
    let both = refusal(delete(&|edit| edit.all = true), &state);
    assert_eq!(both.kind(), ErrorKind::InvalidInput);
}

#[test]
fn one_of_several_copies_is_deleted_by_its_id_and_its_dependents_are_those_of_that_copy() {
    let copy = |id: &str, delete: bool| {
        let mut state = thing("a");
        (state.id, state.delete) = (id.into(), delete);
        state
    };
    let mut user = thing("user");
    user.dependencies = vec![urn("a")];
    let state = snapshot([copy("old", true), copy("new", false), user]);
    let delete = |id: Option<&str>| {
        let edit = Delete {
            urns: vec![urn("a")],
            id: id.map(str::to_owned),
            ..Delete::default()
        };
        StateEdit::Delete(edit).apply(&state).map(|(left, _)| left)
    };
    let error = delete(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.message().contains("'old' (pending deletion), 'new'"),
        "{error}"
    );
    assert_eq!(delete(Some("other")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(delete(Some("new")).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(delete(Some("old")).unwrap().resources[0].id.as_str(), "new");
}

#[test]
fn marks_skip_copies_that_are_pending_deletion() {
    let mut old = thing("a");
    old.delete = true;
    let state = snapshot([old.clone(), thing("a"), thing("b")]);
    let (protected, _) = StateEdit::Protect(Selection {
        all: true,
        urns: Vec::new(),
    })
    .apply(&state)
    .unwrap();
    let marks: Vec<_> = protected.resources.iter().map(|record| record.protect).collect();
    assert_eq!(marks, [false, true, true]);
    let only_old = snapshot([old]);
    let error = refusal(StateEdit::Taint(Selection::of([urn("a")])), &only_old);
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_repair_removes_a_missing_parent_with_its_type_and_reports_every_reference() {
    let gone = Urn::new(STACK, PROJECT, "", "my:index:Site", "gone");
    let orphan_urn = Urn::new(STACK, PROJECT, "my:index:Site", "my:index:In", "orphan");
    let child_urn = Urn::new(
        STACK,
        PROJECT,
        "my:index:Site$my:index:In",
        "pkg:index:Thing",
        "child",
    );
    let mut orphan = ResourceState::new(orphan_urn.clone(), "my:index:In".into(), false);
    orphan.parent = Some(gone.clone());
    orphan.dependencies = vec![urn("nothing")];
    orphan.property_dependencies = [
        ("empty".into(), Vec::new()),
        ("size".into(), vec![urn("nothing")]),
    ]
    .into();
    orphan.options.replace_with = vec![urn("nothing"), urn("a")];
    let mut child = ResourceState::new(child_urn, "pkg:index:Thing".into(), true);
    child.parent = Some(orphan_urn.clone());
    let (repaired, report) = StateEdit::Repair
        .apply(&snapshot([child, orphan, thing("a")]))
        .unwrap();
    let names: Vec<_> = repaired
        .resources
        .iter()
        .map(|record| record.urn.name())
        .collect();
    assert_eq!(names, ["a", "orphan", "child"]);
    let types: Vec<_> = repaired
        .resources
        .iter()
        .map(|record| record.urn.qualified_type())
        .collect();
    assert_eq!(
        types,
        ["pkg:index:Thing", "my:index:In", "my:index:In$pkg:index:Thing"]
    );
    let properties = &repaired.resources[1].property_dependencies;
    assert_eq!(
        (properties.get("empty"), properties.get("size")),
        (Some(&[][..]), Some(&[][..]))
    );
    assert_eq!(repaired.resources[1].options.replace_with, [urn("a")]);
    let edited = report
        .records
        .iter()
        .find(|record| record.former_urn.as_ref() == Some(&orphan_urn))
        .unwrap();
    let removed: Vec<_> = edited
        .removed_references
        .iter()
        .map(|removed| removed.field.as_str())
        .collect();
    assert_eq!(
        removed,
        [
            "parent",
            "dependencies",
            "replaceWith",
            "propertyDependencies.size"
        ]
    );
}

#[test]
fn a_repair_of_a_record_without_its_parent_is_one_of_the_pending_operations_of_it_and_below_it() {
    let urn = |above: &str, name: &str| Urn::new(STACK, PROJECT, above, "my:index:Site", name);
    let record = |urn: &Urn, parent: Urn| {
        let mut state = ResourceState::new(urn.clone(), "my:index:Site".into(), false);
        state.parent = Some(parent);
        Arc::new(state)
    };
    let orphan = urn("my:index:Site", "orphan");
    let child = urn("my:index:Site$my:index:Site", "child");
    let snapshot = Snapshot {
        resources: vec![record(&orphan, urn("", "missing"))],
        pending_operations: vec![
            PendingOperation {
                resource: record(&child, orphan.clone()),
                kind: PendingOperationKind::Creating,
            },
            PendingOperation {
                resource: record(&orphan, urn("", "missing")),
                kind: PendingOperationKind::Updating,
            },
        ],
        ..Snapshot::default()
    };
    let (repaired, _) = StateEdit::Repair.apply(&snapshot).unwrap();
    assert_eq!(repaired.resources[0].urn, urn("", "orphan"));
    let pending = &repaired.pending_operations[0].resource;
    assert_eq!(pending.urn, urn("my:index:Site", "child"));
    assert_eq!(pending.parent, Some(urn("", "orphan")));
    let pending = &repaired.pending_operations[1].resource;
    assert_eq!((&pending.urn, &pending.parent), (&urn("", "orphan"), &None));
}

#[test]
fn a_repair_reports_groups_of_records_that_change_places() {
    let urn = |resource_type: &str, name: &str| Urn::new(STACK, PROJECT, "", resource_type, name);
    let record = |urn: Urn, parent: Option<&Urn>| {
        let mut state = ResourceState::new(urn.clone(), urn.resource_type().into(), false);
        state.parent = parent.cloned();
        Arc::new(state)
    };
    let (site, other) = (urn("my:index:Site", "site"), urn("my:index:Site", "other"));
    let [first, second] = ["first", "second"].map(|name| record(urn("my:index:Page", name), Some(&site)));
    let snapshot = Snapshot {
        resources: vec![
            first,
            second,
            record(other.clone(), None),
            record(site.clone(), Some(&other)),
        ],
        ..Snapshot::default()
    };
    let (repaired, report) = StateEdit::Repair.apply(&snapshot).unwrap();
    let names: Vec<_> = repaired
        .resources
        .iter()
        .map(|record| record.urn.name())
        .collect();
    assert_eq!(names, ["other", "site", "first", "second"]);
    let touched: Vec<_> = report
        .records
        .iter()
        .map(|record| (record.urn.name(), record.kind))
        .collect();
    assert_eq!(touched, [("first", EditKind::Moved), ("second", EditKind::Moved)]);
}

#[test]
fn what_only_its_user_can_correct_is_not_repaired() {
    let mut one = thing("a");
    one.dependencies = vec![urn("b")];
    let mut other = thing("b");
    other.dependencies = vec![urn("a")];
    let mut lost = thing("c");
    lost.provider = "urn:pulumi:dev::shop::pulumi:providers:pkg::gone::id".into();
    for (state, expected) in [
        (snapshot([one, other]), "snapshot has cyclic dependencies"),
        (snapshot([thing("a"), thing("a")]), "duplicate resource"),
        (snapshot([lost]), "refers to unknown provider"),
    ] {
        let error = refusal(StateEdit::Repair, &state);
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn a_renamed_default_provider_is_warned_of() {
    let of = |name: &str| {
        let urn = Urn::new("dev", "shop", "", "pulumi:providers:test", name);
        let mut provider = ResourceState::new(urn, "pulumi:providers:test".into(), true);
        provider.id = "1".into();
        provider
    };
    for (name, warnings) in [("default", 1), ("mine", 0)] {
        let state = snapshot([of(name)]);
        let edit = StateEdit::Rename(Rename::to_name(of(name).urn, "other"));
        let (_, report) = edit.apply(&state).unwrap();
        assert_eq!(report.warnings.len(), warnings, "{:?}", report.warnings);
        assert!(
            report
                .warnings
                .iter()
                .all(|warning| warning.contains("'default'"))
        );
    }
}
