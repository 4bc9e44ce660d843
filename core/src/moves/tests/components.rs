//! Renamed components, and what is below them.

use super::{BOX, THING, names, record, run, run_with_kept};
use crate::{moves::MIN_ACCEPTED_CONFIDENCE, property::PropertyValue, resource::ResourceState};

#[test]
fn a_renamed_component_is_found_although_its_children_have_changed() {
    let below = |name: &str, children: &[(&str, String, f64)]| {
        let outer = record(BOX, name, None, &[]);
        let children = children.iter().map(|(kind, child, size)| {
            let inputs = [("size", (*size).into()), ("colour", "red".into())];
            record(kind, child, Some(&outer), &inputs)
        });
        let children: Vec<_> = children.collect();
        let mut records = vec![outer.clone()];
        records.extend(children);
        records
    };
    let derived = |name: &str, size: f64| {
        below(
            name,
            &[
                (THING, format!("{name}-bucket"), size),
                (THING, format!("logs-of-{name}"), size),
            ],
        )
    };
    // An alias of the parent finds what its name precedes; another child has an alias of its own.
    let found = run(&derived("old", 1.0), &derived("new", 2.0));
    let aliases: Vec<_> = found
        .moves
        .iter()
        .map(|it| (it.old_urn.name(), it.alias.as_str()))
        .collect();
    assert_eq!(
        names(&found),
        [("logs-of-old", "logs-of-new", 0), ("old", "new", 1)]
    );
    assert_eq!(aliases[0].1, r#"aliases: [{ name: "logs-of-old" }]"#);
    assert!(found.moves[1].reason.contains("2 of 2") || found.moves[1].reason.contains("below it are equal"));
    // Below the pair, a child of another type is found by its name.
    let other = |name: &str, kind: &'static str| below(name, &[(kind, format!("{name}-bucket"), 1.0)]);
    let found = run(&other("old", THING), &other("new", "test:index:Bucket"));
    assert_eq!(
        names(&found),
        [("old-bucket", "new-bucket", 0), ("old", "new", 0)]
    );
    assert_eq!(
        found.moves[0].alias,
        r#"aliases: [{ name: "old-bucket", type: "test:index:Thing" }]"#
    );
    // Other children below a component of another name prove nothing.
    let unlike = |name: &str, size: f64| {
        let inputs = [("size", size.into())];
        let outer = record(BOX, name, None, &[]);
        let child = record(THING, &format!("{name}-bucket"), Some(&outer), &inputs);
        vec![outer, child]
    };
    assert_eq!(names(&run(&unlike("alpha", 1.0), &unlike("omega", 2.0))), []);
}

#[test]
fn inputs_with_the_name_of_the_component_are_equal_below_its_new_name() {
    let below = |name: &str| {
        let outer = record(BOX, name, None, &[]);
        let inputs = [
            ("path", format!("/data/{name}").into()),
            ("tags", PropertyValue::array(vec![format!("of {name}").into()])),
        ];
        let child = record(THING, "data", Some(&outer), &inputs);
        vec![outer, child]
    };
    let found = run(&below("alpha"), &below("omega"));
    assert_eq!(names(&found), [("alpha", "omega", 1)]);
}

/// A component with things below it that are named after it, each with two inputs.
fn site(kind: &str, name: &str, things: &[&str], size: f64) -> Vec<ResourceState> {
    let mut outer = record(kind, name, None, &[]);
    outer.custom = false;
    let below = things.iter().map(|thing| {
        let inputs = [("text", (*thing).into()), ("size", size.into())];
        record(THING, &format!("{name}-{thing}"), Some(&outer), &inputs)
    });
    let below: Vec<_> = below.collect();
    std::iter::once(outer.clone()).chain(below).collect()
}

#[test]
fn a_renamed_component_is_found_with_a_child_more_or_less() {
    let two = ["db", "web"];
    let three = ["db", "web", "cache"];
    for (old, new, following) in [(&two[..], &three[..], 2), (&three, &two, 2), (&two, &two, 2)] {
        let found = run(&site(BOX, "main", old, 1.0), &site(BOX, "web", new, 1.0));
        assert_eq!(names(&found), [("main", "web", following)], "{old:?} {new:?}");
        let confidence = found.moves[0].confidence.unwrap();
        assert!(confidence >= MIN_ACCEPTED_CONFIDENCE, "{confidence}");
    }
    // With other inputs it is suggested, and less probable.
    let found = run(&site(BOX, "main", &two, 1.0), &site(BOX, "web", &three, 2.0));
    assert_eq!(names(&found), [("main", "web", 2)]);
    assert!(found.moves[0].confidence.unwrap() < MIN_ACCEPTED_CONFIDENCE);
}

#[test]
fn a_component_of_another_type_and_name_is_found_by_what_is_below_it() {
    let other = "box:index:Carton";
    let found = run(
        &site(BOX, "main", &["db", "web"], 1.0),
        &site(other, "web", &["db", "web"], 1.0),
    );
    assert_eq!(names(&found), [("main", "web", 2)]);
    assert_eq!(
        found.moves[0].alias,
        r#"aliases: [{ name: "main", type: "box:index:Box" }]"#
    );
    // Without children they are two components of one package.
    assert_eq!(
        names(&run(&site(BOX, "main", &[], 1.0), &site(other, "web", &[], 1.0))),
        []
    );
}

#[test]
fn children_that_are_kept_below_another_parent_show_its_former_name() {
    let child = |of: &str, name: &str| {
        let outer = record(BOX, of, None, &[]);
        record(THING, name, Some(&outer), &[("size", 1.0.into())])
    };
    let (old, new) = ([record(BOX, "main", None, &[])], [record(BOX, "web", None, &[])]);
    let kept = [(child("main", "a"), child("web", "a"))];
    assert_eq!(names(&run(&old, &new)), []);
    let found = run_with_kept(&old, &new, &kept);
    // What is kept has no move of its own, and follows none.
    assert_eq!(names(&found), [("main", "web", 0)]);
    assert!(found.moves[0].confidence.unwrap() >= MIN_ACCEPTED_CONFIDENCE);
    assert!(
        found.moves[0]
            .reason
            .contains("resources directly below it are equal"),
        "{}",
        found.moves[0].reason
    );
    // Two components that share the children of the former one fit equally well.
    let both = [record(BOX, "web", None, &[]), record(BOX, "app", None, &[])];
    let kept = [
        (child("main", "a"), child("web", "a")),
        (child("main", "b"), child("app", "b")),
    ];
    assert_eq!(names(&run_with_kept(&old, &both, &kept)), []);
}

#[test]
fn one_equal_input_is_no_probable_move_of_unlike_names() {
    let of = |name: &str| record(THING, name, None, &[("acl", "private".into())]);
    let found = run(&[of("audit-logs")], &[of("website")]);
    assert_eq!(names(&found), [("audit-logs", "website", 0)]);
    assert!(found.moves[0].confidence.unwrap() < MIN_ACCEPTED_CONFIDENCE);
    let found = run(&[of("audit-logs")], &[of("audit-log")]);
    assert!(found.moves[0].confidence.unwrap() >= MIN_ACCEPTED_CONFIDENCE);
}

/// A component with another below it, and two resources below that, all named after the component at the top.
fn nested(name: &str) -> [ResourceState; 4] {
    let site = record(BOX, name, None, &[]);
    let net = record(BOX, &format!("{name}-net"), Some(&site), &[]);
    let thing = |end: &str, inputs: &[(&str, PropertyValue)]| {
        record(THING, &format!("{name}-{end}"), Some(&net), inputs)
    };
    let first = thing("a", &[("text", "hush-hush".into()), ("size", 1.0.into())]);
    let second = thing("b", &[("text", "bb".into())]);
    [site, net, first, second]
}

#[test]
fn what_is_named_after_a_component_further_above_is_found_with_confidence() {
    let found = run(&nested("main"), &nested("prime"));
    assert_eq!(
        names(&found),
        [
            ("main-a", "prime-a", 0),
            ("main-b", "prime-b", 0),
            ("main", "prime", 1)
        ]
    );
    let is_accepted = |it: &crate::event::SuggestedMove| {
        it.confidence
            .is_some_and(|confidence| confidence >= MIN_ACCEPTED_CONFIDENCE)
    };
    assert!(found.moves.iter().all(is_accepted), "{found:?}");
}

#[test]
fn an_accepted_alias_of_a_component_lowers_no_confidence_of_what_is_below_it() {
    let (olds, news) = (nested("main"), nested("prime"));
    let whole = run(&olds, &news);
    let kept = [
        (olds[0].clone(), news[0].clone()),
        (olds[1].clone(), news[1].clone()),
    ];
    let found = run_with_kept(&olds[2..], &news[2..], &kept);
    assert_eq!(
        names(&found),
        [("main-a", "prime-a", 0), ("main-b", "prime-b", 0)]
    );
    for (with_alias, without) in found.moves.iter().zip(&whole.moves) {
        assert_eq!(with_alias, without);
    }
}
