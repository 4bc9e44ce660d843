//! Tests of suggestions: deletions and creations in, moves out.

use std::slice;

mod components;
mod many;

use super::{Changes, ProgramLanguage, Suggestions, listed as listed_move, suggest};
use crate::{property::PropertyValue, resource::ResourceState, urn::Urn};

const THING: &str = "test:index:Thing";
const BOX: &str = "box:index:Box";

/// A record at the top, or below a parent.
fn record(
    kind: &str,
    name: &str,
    parent: Option<&ResourceState>,
    inputs: &[(&str, PropertyValue)],
) -> ResourceState {
    let above = parent.map_or("", |parent| parent.urn.qualified_type());
    let urn = Urn::new("dev", "shop", above, kind, name);
    let mut state = ResourceState::new(urn, kind.into(), kind != BOX);
    state.parent = Some(parent.map_or_else(|| Urn::root_stack("dev", "shop"), |parent| parent.urn.clone()));
    state.inputs = inputs
        .iter()
        .map(|(name, value)| (*name, value.clone()))
        .collect();
    state
}

fn thing(name: &str, size: f64) -> ResourceState {
    record(
        THING,
        name,
        None,
        &[("size", size.into()), ("colour", "red".into())],
    )
}

fn run(deleted: &[ResourceState], created: &[ResourceState]) -> Suggestions {
    run_with_kept(deleted, created, &[])
}

/// `kept` are records that get another parent.
fn run_with_kept(
    deleted: &[ResourceState],
    created: &[ResourceState],
    kept: &[(ResourceState, ResourceState)],
) -> Suggestions {
    let changes = Changes {
        deleted: deleted.iter().collect(),
        created: created.iter().collect(),
        kept: kept.iter().map(|(old, new)| (old, new)).collect(),
    };
    suggest(&changes, ProgramLanguage::NodeSdk)
}

/// The names of the suggested moves and the number of those that follow.
fn names(found: &Suggestions) -> Vec<(&str, &str, usize)> {
    let moves = found.moves.iter();
    moves
        .map(|it| (it.old_urn.name(), it.new_urn.name(), it.following.len()))
        .collect()
}

#[test]
fn a_resource_is_found_under_another_name_with_its_inputs() {
    let found = run(&[thing("logs", 3.0)], &[thing("archive", 3.0)]);
    assert_eq!(names(&found), [("logs", "archive", 0)]);
    let [only] = &*found.moves else { unreachable!() };
    assert_eq!(only.alias, r#"aliases: [{ name: "logs" }]"#);
    assert_eq!(
        only.reason,
        "the name changes from `logs` to `archive`; inputs are equal"
    );
    assert!(
        only.confidence
            .is_some_and(|confidence| confidence > 0.6 && confidence < 1.0),
        "{:?}",
        only.confidence
    );
}

#[test]
fn inputs_or_names_that_differ_too_much_are_no_move() {
    let other = record(
        THING,
        "archive",
        None,
        &[("size", 9.0.into()), ("colour", "blue".into())],
    );
    assert_eq!(names(&run(&[thing("logs", 3.0)], &[other])), []);
    let (nothing, nothing_else) = (record(THING, "a", None, &[]), record(THING, "b", None, &[]));
    assert_eq!(names(&run(&[nothing], &[nothing_else])), []);
    let other_package = record("other:index:Thing", "logs", None, &[("size", 3.0.into())]);
    assert_eq!(names(&run(&[thing("logs", 3.0)], &[other_package])), []);
}

#[test]
fn of_two_candidates_that_fit_equally_well_there_is_none() {
    let twins = [thing("one", 3.0), thing("two", 3.0)];
    assert_eq!(names(&run(&[thing("x", 3.0)], &twins)), []);
    assert_eq!(names(&run(&twins, &[thing("x", 3.0)])), []);
    // Another name that is similar decides.
    let found = run(&[thing("logs", 3.0)], &[thing("logs2", 3.0), thing("x", 3.0)]);
    assert_eq!(names(&found), [("logs", "logs2", 0)]);
}

#[test]
fn the_most_probable_move_is_the_first() {
    let edited = record(
        THING,
        "mail2",
        None,
        &[("size", 4.0.into()), ("colour", "blue".into())],
    );
    let mail = record(
        THING,
        "mail",
        None,
        &[("size", 5.0.into()), ("colour", "blue".into())],
    );
    let found = run(&[mail, thing("logs", 3.0)], &[edited, thing("logs2", 3.0)]);
    assert_eq!(names(&found), [("logs", "logs2", 0), ("mail", "mail2", 0)]);
    assert!(
        found.moves[1].reason.contains("1 of 2 inputs are equal"),
        "{}",
        found.moves[1].reason
    );
}

#[test]
fn a_resource_is_found_below_another_parent() {
    let parent = record(BOX, "box", None, &[]);
    let inside = record(THING, "a", Some(&parent), &[("size", 3.0.into())]);
    let outside = record(THING, "a", None, &[("size", 3.0.into())]);
    let found = run(slice::from_ref(&outside), slice::from_ref(&inside));
    assert_eq!(
        found.moves[0].alias,
        "aliases: [{ parent: pulumi.rootStackResource }]"
    );
    assert!(
        found.moves[0]
            .reason
            .contains("the parent changes from `the stack` to `box (box:index:Box)`"),
        "{}",
        found.moves[0].reason
    );
    let found = run(&[inside], &[outside]);
    assert_eq!(
        found.moves[0].alias,
        r#"aliases: [{ parent: pulumi.createUrn("box", "box:index:Box") }]"#
    );
}

#[test]
fn a_renamed_component_leads_what_is_below_it() {
    let below = |name: &str| {
        let outer = record(BOX, name, None, &[]);
        let inner = record(BOX, &format!("{name}-inner"), Some(&outer), &[]);
        let thing = record(
            THING,
            &format!("{name}-inner-a"),
            Some(&inner),
            &[("size", 1.0.into())],
        );
        let other = record(THING, "fixed", Some(&outer), &[("size", 2.0.into())]);
        vec![outer, inner, thing, other]
    };
    let found = run(&below("shop"), &below("store"));
    assert_eq!(names(&found), [("shop", "store", 3)]);
    assert_eq!(found.moves[0].alias, r#"aliases: [{ name: "shop" }]"#);
}

#[test]
fn what_an_alias_of_the_parent_does_not_find_has_a_move_of_its_own() {
    let below = |name: &str, child: &str| {
        let outer = record(BOX, name, None, &[]);
        let kept = record(THING, "kept", Some(&outer), &[("size", 1.0.into())]);
        let inputs = [("size", 2.0.into()), ("colour", "red".into())];
        let child = record(THING, child, Some(&outer), &inputs);
        vec![outer, kept, child]
    };
    let found = run(&below("shop", "till"), &below("shop2", "counter"));
    assert_eq!(names(&found), [("shop", "shop2", 1), ("till", "counter", 0)]);
    assert_eq!(found.moves[1].alias, r#"aliases: [{ name: "till" }]"#);
}

#[test]
fn another_type_is_found_by_its_name_and_named_in_the_reason() {
    let other = record(
        "test:index:Other",
        "a",
        None,
        &[("size", 3.0.into()), ("colour", "red".into())],
    );
    let found = run(&[thing("a", 3.0)], slice::from_ref(&other));
    assert_eq!(found.moves[0].alias, r#"aliases: [{ type: "test:index:Thing" }]"#);
    assert!(
        found.moves[0].reason.contains("the provider decides"),
        "{}",
        found.moves[0].reason
    );
    // Under another name as well, two things of a package are not one.
    assert_eq!(names(&run(&[thing("b", 3.0)], &[other])), []);
}

#[test]
fn another_provider_is_named_and_a_renamed_one_is_not_another() {
    let provider = |name: &str| record("pulumi:providers:test", name, None, &[("region", "eu".into())]);
    let with = |name: &str, provider: &str| {
        let mut state = thing(name, 3.0);
        state.provider = format!("urn:pulumi:dev::shop::pulumi:providers:test::{provider}::id").into();
        state
    };
    let found = run(&[with("a", "east")], &[with("b", "west")]);
    assert!(
        found.moves[0]
            .reason
            .contains("the provider changes from `east` to `west`"),
        "{}",
        found.moves[0].reason
    );
    let found = run(
        &[provider("east"), with("a", "east")],
        &[provider("east2"), with("b", "east2")],
    );
    assert_eq!(found.moves.len(), 2);
    assert!(
        !found
            .moves
            .iter()
            .any(|it| it.reason.contains("the provider changes"))
    );
}

#[test]
fn another_provider_of_what_follows_a_move_is_named() {
    let shelf = |name: &str| record(BOX, name, None, &[]);
    let with = |of: &str, name: &str, provider: &str| {
        let mut state = record(THING, name, Some(&shelf(of)), &[("size", 3.0.into())]);
        state.provider = format!("urn:pulumi:dev::shop::pulumi:providers:test::{provider}::id").into();
        state
    };
    let olds = [
        shelf("a"),
        with("a", "one", "east"),
        with("a", "two", "east"),
        with("a", "three", "east"),
    ];
    let mut news = [
        shelf("b"),
        with("b", "one", "west"),
        with("b", "two", "east"),
        with("b", "three", "east"),
    ];
    let found = run(&olds, &news);
    assert_eq!(names(&found), [("a", "b", 3)]);
    let reason = &found.moves[0].reason;
    assert!(
        reason.contains(
            "the provider of `one` changes from `east` to `west`, which decides whether it can be kept"
        ),
        "{reason}"
    );
    news[2] = with("b", "two", "west");
    let reason = &run(&olds, &news).moves[0].reason;
    assert!(
        reason.contains("2 resources that move with it have another provider"),
        "{reason}"
    );
}

#[test]
fn a_renamed_project_is_one_move_of_all_its_resources() {
    let records = |project: &str| {
        let mut root = ResourceState::new(
            Urn::root_stack("dev", project),
            crate::urn::ROOT_STACK_TYPE.into(),
            false,
        );
        root.parent = None;
        let things = ["a", "b"]
            .map(|name| ResourceState::new(Urn::new("dev", project, "", THING, name), THING.into(), true));
        let mut records = vec![root];
        records.extend(things);
        records
    };
    let found = run(&records("old"), &records("new"));
    assert_eq!(names(&found), [("old-dev", "new-dev", 2)]);
    assert_eq!(found.moves[0].alias, r#"aliases: [{ project: "old" }]"#);
}

#[test]
fn no_text_contains_a_value_of_a_property() {
    let secret = |name: &str| {
        let value = PropertyValue::secret("s3cret".into());
        record(
            THING,
            name,
            None,
            &[("password", value), ("plain", "visible".into())],
        )
    };
    let found = run(&[secret("a")], &[secret("b")]);
    let text = format!("{:?}", found.moves);
    assert_eq!(found.moves.len(), 1);
    assert!(!text.contains("s3cret") && !text.contains("visible"), "{text}");
}

#[test]
fn unknown_inputs_and_names_in_inputs_say_nothing() {
    let old = record(
        THING,
        "logs",
        None,
        &[
            ("name", "logs-1234".into()),
            ("path", "/data/logs".into()),
            ("host", "h-1".into()),
            ("size", 1.0.into()),
        ],
    );
    let new = record(
        THING,
        "archive",
        None,
        &[
            ("name", "archive-9876".into()),
            ("path", "/data/archive".into()),
            ("host", PropertyValue::unknown()),
            ("size", 1.0.into()),
        ],
    );
    let found = run(&[old], &[new]);
    assert_eq!(names(&found), [("logs", "archive", 0)]);
    assert!(
        found.moves[0].reason.ends_with("inputs are equal"),
        "{}",
        found.moves[0].reason
    );
}

#[test]
fn a_listed_move_has_its_alias_and_no_confidence() {
    let parent = record(BOX, "box", None, &[]);
    let (old, new) = (
        record(THING, "a", Some(&parent), &[]),
        record(THING, "b", None, &[]),
    );
    let listed = listed_move(&old, &new, false, ProgramLanguage::Python);
    assert_eq!(
        listed.alias,
        r#"aliases=[{"name": "a", "parent": "urn:pulumi:dev::shop::box:index:Box::box"}]"#
    );
    assert_eq!(listed.confidence, None);
    assert!(
        listed
            .reason
            .starts_with("the options list it: the name changes from `a` to `b`"),
        "{}",
        listed.reason
    );
}
