use std::sync::Arc;

use super::*;
use crate::{
    event::{PropertyDiff, StateMetadata},
    urn::Urn,
};

fn state(inputs: PropertyMap) -> Option<StateMetadata> {
    let urn = Urn::new("dev", "shop", "", "files:index:File", "a");
    let mut state = ResourceState::new(urn, "files:index:File".into(), true);
    state.inputs = inputs;
    Some(StateMetadata(Arc::new(state)))
}

fn map(entries: Vec<(&str, PropertyValue)>) -> PropertyMap {
    entries.into_iter().collect()
}

fn step(old: PropertyMap, new: PropertyMap, diffs: &[&str], keys: &[&str]) -> StepMetadata {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    StepMetadata {
        op: StepOp::Update,
        urn: Urn::new("dev", "shop", "", "files:index:File", "a"),
        resource_type: "files:index:File".into(),
        old: state(old),
        new: state(new),
        keys: list(keys),
        diffs: list(diffs),
        detailed_diff: None,
        logical: true,
        provider: "".into(),
    }
}

fn rendered(step: &StepMetadata) -> Vec<String> {
    let value = |value: &Option<PropertyValue>| {
        value
            .as_ref()
            .map_or("-".to_owned(), |value| format!("{value:?}").replace('"', ""))
    };
    let changes = step.changes(&Redactor::new());
    changes
        .iter()
        .map(|change| {
            format!(
                "{} {}: {} > {}",
                change.kind.name(),
                change.path,
                value(&change.old),
                value(&change.new)
            )
        })
        .collect()
}

#[test]
fn what_differs_inside_a_property_has_its_own_path_and_values() {
    let inner = |a: &str, more: bool| {
        let mut inner = map(vec![("a", a.into()), ("same", "s".into())]);
        if more {
            inner.insert("b", "new".into());
        }
        PropertyValue::Object(inner)
    };
    let list = |last: &str| PropertyValue::array(vec!["0".into(), last.into()]);
    let step = step(
        map(vec![
            ("tags", inner("x", false)),
            ("list", list("1")),
            ("gone", "g".into()),
        ]),
        map(vec![("tags", inner("y", true)), ("list", list("2"))]),
        &["tags", "list", "gone"],
        &[],
    );
    assert_eq!(
        rendered(&step),
        [
            "delete gone: g > -",
            "update list[1]: 1 > 2",
            "update tags.a: x > y",
            "add tags.b: - > new"
        ]
    );
}

#[test]
fn secrets_are_masked_on_both_sides_and_below() {
    let secret = PropertyValue::secret("hidden".into());
    let object = PropertyValue::secret(PropertyValue::Object(map(vec![("pin", "1".into())])));
    let other = PropertyValue::secret(PropertyValue::Object(map(vec![("pin", "2".into())])));
    let mut step = step(
        map(vec![("password", "hidden".into()), ("deep", object)]),
        map(vec![("password", secret), ("deep", other)]),
        &["password"],
        &[],
    );
    let kind = DiffKind::Update;
    let diff = |path: &str| {
        let input_diff = true;
        (path.to_owned(), PropertyDiff { kind, input_diff })
    };
    step.detailed_diff = Some([diff("password"), diff("deep.pin")].into_iter().collect());
    assert_eq!(
        rendered(&step),
        [
            "update deep: [secret] > [secret]",
            "update password: [secret] > [secret]"
        ]
    );
}

#[test]
fn known_secrets_in_texts_are_taken_out() {
    let redactor = Redactor::new();
    redactor.learn(["hunter2"]);
    let step = step(
        map(vec![("url", "u:hunter2@h".into())]),
        map(vec![("url", "plain".into())]),
        &["url"],
        &[],
    );
    let changes = step.changes(&redactor);
    assert!(!format!("{changes:?}").contains("hunter2"), "{changes:?}");
}

#[test]
fn known_secrets_in_names_are_taken_out_of_paths_and_values() {
    let redactor = Redactor::new();
    redactor.learn(["hunter2"]);
    let object = |value: f64| PropertyValue::Object(map(vec![("hunter2", value.into())]));
    let list = |key: &str| PropertyValue::array(vec![PropertyValue::Object(map(vec![(key, 1.0.into())]))]);
    let step = step(
        map(vec![("m", object(1.0)), ("list", list("a"))]),
        map(vec![
            ("m", object(2.0)),
            ("list", list("hunter2")),
            ("hunter2", 1.0.into()),
            ("new", object(1.0)),
        ]),
        &["m", "list", "hunter2", "new"],
        &["m.hunter2"],
    );
    let changes = step.changes(&redactor);
    assert!(!format!("{changes:?}").contains("hunter2"), "{changes:?}");
    let paths: Vec<_> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.kind.name()))
        .collect();
    let expected = [
        ("[secret]", "add"),
        ("list[0].a", "delete"),
        ("list[0].[secret]", "add"),
        ("m.[secret]", "update-replace"),
        ("new", "add"),
    ];
    assert_eq!(paths, expected);
}

#[test]
fn two_paths_that_are_equal_without_secrets_stay_apart() {
    let redactor = Redactor::new();
    redactor.learn(["hunter2", "swordfish"]);
    let old = map(vec![("hunter2", 1.0.into()), ("swordfish", 1.0.into())]);
    let new = map(vec![("hunter2", 2.0.into()), ("swordfish", 3.0.into())]);
    let changes = step(old, new, &["hunter2", "swordfish"], &[]).changes(&redactor);
    let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["[secret]", "[secret] (2)"]);
}

#[test]
fn the_inputs_are_compared_where_the_provider_names_no_property() {
    let secret = |text: &str| PropertyValue::secret(text.into());
    let old = map(vec![
        ("__defaults", "a".into()),
        ("marked", "m".into()),
        ("pin", secret("1234")),
        ("size", 1.0.into()),
    ]);
    let new = map(vec![
        ("__defaults", "b".into()),
        ("marked", secret("m")),
        ("pin", secret("5678")),
        ("size", 2.0.into()),
    ]);
    let mut step = step(old, new, &[], &[]);
    let expected = ["update pin: [secret] > [secret]", "update size: 1.0 > 2.0"];
    assert_eq!(rendered(&step), expected);
    step.detailed_diff = Some(BTreeMap::new());
    assert_eq!(rendered(&step), expected);
    for op in [StepOp::Replace, StepOp::CreateReplacement] {
        step.op = op;
        assert_eq!(rendered(&step), expected);
    }
    step.op = StepOp::Update;
    step.logical = false;
    assert!(rendered(&step).is_empty());
    for op in [StepOp::Refresh, StepOp::Read] {
        step.op = op;
        assert!(rendered(&step).is_empty());
    }
}

#[test]
fn what_forces_a_replacement_is_marked_and_what_is_no_property_has_no_values() {
    let step = step(
        map(vec![("format", "png".into())]),
        map(vec![("format", "svg".into())]),
        &["format"],
        &["format", "provider"],
    );
    assert_eq!(
        rendered(&step),
        [
            "update-replace format: png > svg",
            "update-replace provider: - > -"
        ]
    );
}

#[test]
fn a_property_with_very_many_differences_is_one_change() {
    let many = |text: &str| {
        let values: Vec<PropertyValue> = (0..500).map(|index| format!("{text}{index}").into()).collect();
        PropertyValue::array(values)
    };
    let step = step(
        map(vec![("list", many("a"))]),
        map(vec![("list", many("b"))]),
        &["list"],
        &[],
    );
    assert_eq!(step.changes(&Redactor::new()).len(), 1);
}

#[test]
fn a_creation_and_a_deletion_list_nothing() {
    for op in [StepOp::Create, StepOp::Delete, StepOp::Same] {
        let mut step = step(map(vec![]), map(vec![("a", "1".into())]), &["a"], &[]);
        step.op = op;
        assert!(step.changes(&Redactor::new()).is_empty());
    }
}

#[test]
fn names_in_a_secret_are_in_no_path() {
    let users = |secret: bool, names: &[&str]| {
        let inner = map(names
            .iter()
            .map(|name| (*name, PropertyValue::from("x")))
            .collect());
        let value = PropertyValue::Object(inner);
        map(vec![(
            "users",
            if secret {
                PropertyValue::secret(value)
            } else {
                value
            },
        )])
    };
    let masked = format!("update users: {PLACEHOLDER} > {PLACEHOLDER}");
    for (before, after) in [(true, true), (false, true), (true, false)] {
        let (old, new) = (users(before, &["alice"]), users(after, &["bob"]));
        assert_eq!(
            rendered(&step(old.clone(), new.clone(), &["users"], &[])),
            std::slice::from_ref(&masked)
        );
        assert_eq!(
            rendered(&step(
                old.clone(),
                new.clone(),
                &["users.alice", "users.bob"],
                &[]
            )),
            std::slice::from_ref(&masked)
        );
        let forced = rendered(&step(
            old.clone(),
            new.clone(),
            &["users.alice"],
            &["users.alice"],
        ));
        assert_eq!(forced, [masked.replace("update", "update-replace")]);
        let mut detailed = step(old, new, &[], &[]);
        let diff = |kind| PropertyDiff {
            kind,
            input_diff: true,
        };
        let paths = [
            ("users.alice", diff(DiffKind::Delete)),
            ("users.bob", diff(DiffKind::AddReplace)),
        ];
        detailed.detailed_diff = Some(
            paths
                .map(|(path, diff)| (path.to_owned(), diff))
                .into_iter()
                .collect(),
        );
        let [change] = &rendered(&detailed)[..] else {
            unreachable!("one change");
        };
        assert!(change.ends_with(&masked["update".len()..]), "{change}");
    }
    assert_eq!(
        rendered(&step(
            users(false, &["alice"]),
            users(false, &["bob"]),
            &["users"],
            &[]
        ))
        .len(),
        2
    );
}
