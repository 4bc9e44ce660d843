//! Tests of the tree of steps.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::StepTree;
use crate::{
    error::{Error, ErrorKind},
    event::{DiffKind, PropertyDiff, StateMetadata, StepEvent, StepMetadata},
    event::{OperationStatus, StepError, StepResult},
    resource::ResourceState,
    secrets::Redactor,
    step::StepOp,
    urn::Urn,
};

fn urn(name: &str) -> Urn {
    Urn::new("dev", "shop", "", "files:index:File", name)
}

fn step(op: StepOp, name: &str, parent: Option<&str>) -> StepMetadata {
    let mut state = ResourceState::new(urn(name), "files:index:File".into(), true);
    state.parent = parent.map(urn);
    StepMetadata {
        op,
        urn: urn(name),
        resource_type: "files:index:File".into(),
        old: None,
        new: Some(StateMetadata(Arc::new(state))),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
        logical: true,
        provider: "".into(),
    }
}

fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn resources_stand_under_their_parents_in_the_order_of_their_steps() {
    let steps = [
        step(StepOp::Create, "site", None),
        step(StepOp::Create, "a", Some("site")),
        step(StepOp::Create, "b", Some("site")),
        step(StepOp::Create, "a1", Some("a")),
        step(StepOp::Create, "b1", Some("b")),
        step(StepOp::Create, "other", None),
    ];
    let expected = text(&[
        " +   site (files:index:File)",
        " +   ├─ a (files:index:File)",
        " +   │  └─ a1 (files:index:File)",
        " +   └─ b (files:index:File)",
        " +      └─ b1 (files:index:File)",
        " +   other (files:index:File)",
        "",
        "6 to create",
    ]);
    assert_eq!(StepTree::of(&steps).to_string(), expected);
}

#[test]
fn unchanged_resources_are_shown_only_above_changed_ones() {
    let steps = [
        step(StepOp::Same, "site", None),
        step(StepOp::Same, "quiet", Some("site")),
        step(StepOp::Same, "box", Some("site")),
        step(StepOp::Delete, "old", Some("box")),
    ];
    let expected = text(&[
        "     site (files:index:File)",
        "     └─ box (files:index:File)",
        " -      └─ old (files:index:File)",
        "",
        "1 to delete, 3 unchanged",
    ]);
    assert_eq!(StepTree::of(&steps).to_string(), expected);
    let all = StepTree::of(&steps).show_unchanged().to_string();
    assert!(all.contains("├─ quiet"), "{all}");
}

#[test]
fn a_tree_without_changes_has_only_its_totals() {
    let steps = [
        step(StepOp::Same, "site", None),
        step(StepOp::Same, "a", Some("site")),
    ];
    assert_eq!(StepTree::of(&steps).to_string(), "2 unchanged\n");
    assert_eq!(StepTree::new().to_string(), "no resources\n");
}

#[test]
fn the_steps_of_a_replacement_share_a_row_that_names_what_forces_it() {
    let mut create = step(StepOp::CreateReplacement, "logo", None);
    create.keys = vec!["format".into()];
    create.diffs = vec!["format".into(), "size".into()];
    let mut marker = create.clone();
    marker.op = StepOp::Replace;
    let mut delete = step(StepOp::DeleteReplaced, "logo", None);
    delete.diffs = vec!["unrelated".into()];
    let expected = text(&[
        " +-  logo (files:index:File)  [~format!, ~size]",
        "",
        "1 replaced",
    ]);
    assert_eq!(
        StepTree::of(&[create, marker, delete]).done().to_string(),
        expected
    );
}

#[test]
fn a_detailed_diff_gives_each_property_its_own_sign() {
    let mut update = step(StepOp::Update, "about", None);
    update.diffs = vec!["ignored when there are details".into()];
    let kinds = [
        ("tags.a", DiffKind::Add),
        ("mode", DiffKind::Delete),
        ("content", DiffKind::Update),
        ("path", DiffKind::UpdateReplace),
    ];
    update.detailed_diff = Some(
        kinds
            .into_iter()
            .map(|(path, kind)| {
                let input_diff = true;
                (path.to_owned(), PropertyDiff { kind, input_diff })
            })
            .collect(),
    );
    let tree = StepTree::of(&[update]).to_string();
    assert!(tree.contains("[~content, -mode, ~path!, +tags.a]"), "{tree}");
}

#[test]
fn given_counts_replace_those_of_the_rows() {
    let tree = StepTree::of(&[step(StepOp::Create, "a", None)])
        .with_counts(BTreeMap::from([("create", 1), ("same", 40)]))
        .done();
    assert!(tree.to_string().ends_with("\n1 created, 40 unchanged\n"));
}

#[test]
fn a_long_chain_of_parents_needs_no_deep_stack() {
    let names: Vec<String> = (0..20_000).map(|index| format!("n{index}")).collect();
    let mut tree = StepTree::new();
    for (index, name) in names.iter().enumerate() {
        let parent = index.checked_sub(1).map(|above| names[above].as_str());
        let op = if index == 19_999 {
            StepOp::Create
        } else {
            StepOp::Same
        };
        tree.add(&step(op, name, parent));
    }
    let layout = super::Layout::new(&tree.rows, &tree.places, false);
    assert!(!layout.is_empty());
    assert!(tree.totals().starts_with("1 to create, 19999 unchanged"));
}

#[test]
fn a_resource_that_names_itself_as_parent_is_still_shown() {
    let tree = StepTree::of(&[step(StepOp::Create, "loop", Some("loop"))]);
    assert!(tree.to_string().contains("loop"));
}

#[test]
fn what_was_only_planned_is_worded_as_what_would_happen() {
    let render = |planning| {
        let metadata = step(StepOp::Update, "a", None);
        super::render(
            &[StepEvent { metadata, planning }.into()],
            &BTreeMap::from([("update", 1)]),
            &Redactor::new(),
            |_| None,
        )
    };
    assert!(render(true).ends_with("1 to update\n"));
    assert!(render(false).ends_with("1 updated\n"));
}

fn with_inputs(mut step: StepMetadata, old: &[(&str, &str)], new: &[(&str, &str)]) -> StepMetadata {
    let inputs =
        |entries: &[(&str, &str)]| entries.iter().map(|(key, text)| (*key, (*text).into())).collect();
    let mut state = (*step.new.as_ref().unwrap().0).clone();
    state.inputs = inputs(old);
    step.old = Some(StateMetadata(Arc::new(state.clone())));
    state.inputs = inputs(new);
    step.new = Some(StateMetadata(Arc::new(state)));
    step
}

#[test]
fn changed_properties_stand_below_their_resource_with_both_values() {
    let mut update = step(StepOp::Update, "about", Some("site"));
    update.diffs = vec!["content".into(), "mode".into()];
    let mut replace = step(StepOp::Replace, "logo", Some("site"));
    replace.keys = vec!["format".into(), "id".into()];
    let steps = [
        step(StepOp::Same, "site", None),
        with_inputs(
            update,
            &[("content", "old")],
            &[("content", "new"), ("mode", "5")],
        ),
        step(StepOp::Create, "page", Some("about")),
        with_inputs(replace, &[("format", "png")], &[("format", "svg")]),
    ];
    let expected = text(&[
        "     site (files:index:File)",
        " ~   ├─ about (files:index:File)",
        "     │  │    ~ content: \"old\" → \"new\"",
        "     │  │    + mode: \"5\"",
        " +   │  └─ page (files:index:File)",
        " +-  └─ logo (files:index:File)  [~id!]",
        "             ~ format: \"png\" → \"svg\" (replaces)",
        "",
        "1 to create, 1 to update, 1 to replace, 1 unchanged",
    ]);
    assert_eq!(StepTree::of(&steps).to_string(), expected);
}

#[test]
fn failed_steps_say_why_long_ones_how_long_and_unchanged_parents_are_shown() {
    let event = |op, name: &str| StepEvent {
        metadata: step(op, name, Some("box")),
        planning: false,
    };
    let failed = StepResult {
        failure: Some(StepError {
            status: OperationStatus::Unknown,
            refused: false,
            error: Error::new(ErrorKind::Failed, "the disk\nis full"),
        }),
        ..event(StepOp::Create, "data").into()
    };
    let slow = StepResult {
        duration: Duration::from_millis(1_440),
        ..event(StepOp::Update, "page").into()
    };
    let slower = StepResult {
        duration: Duration::from_secs(125),
        ..event(StepOp::Update, "index").into()
    };
    let find_ancestor =
        |urn: &Urn| (*urn == self::urn("box")).then(|| ("files:index:Box".into(), Some(self::urn("site"))));
    let alone = super::render(
        std::slice::from_ref(&failed),
        &BTreeMap::new(),
        &Redactor::new(),
        find_ancestor,
    );
    assert!(alone.ends_with("\n1 failed\n"), "{alone}");
    let tree = super::render(
        &[failed, slow, slower],
        &BTreeMap::from([("update", 2)]),
        &Redactor::new(),
        find_ancestor,
    );
    let expected = text(&[
        "     site (files:index:File)",
        "     └─ box (files:index:Box)",
        " !      ├─ data (files:index:File)",
        "        │       ! create failed: the disk",
        "        │       ! is full",
        " ~      ├─ page (files:index:File)  1.4 s",
        " ~      └─ index (files:index:File)  2 min 5 s",
        "",
        "2 updated, 1 failed",
    ]);
    assert_eq!(tree, expected);
}

#[test]
fn secrets_in_names_and_types_are_taken_out() {
    let redactor = Redactor::new();
    redactor.learn(["hunter2"]);
    let steps = [step(StepOp::Create, "user-hunter2", Some("above-hunter2"))];
    let steps = steps.map(|metadata| {
        StepResult::from(StepEvent {
            metadata,
            planning: true,
        })
    });
    let tree = super::render(&steps, &BTreeMap::from([("create", 1)]), &redactor, |_| None);
    let expected = text(&[
        "     above-[secret] (files:index:File)",
        " +   └─ user-[secret] (files:index:File)",
        "",
        "1 to create",
    ]);
    assert_eq!(tree, expected);
}
