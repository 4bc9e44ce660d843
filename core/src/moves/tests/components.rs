//! Renamed components, and what is below them.

use super::{BOX, THING, names, record, run};
use crate::property::PropertyValue;

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
