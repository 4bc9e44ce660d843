use serde_json::json;

use super::*;
use crate::property::PropertyPath;

fn schema() -> PackageSchema {
    PackageSchema::read(&json!({
        "name": "cloud",
        "resources": {"cloud:index/machine:Machine": {
            "inputProperties": {
                "size": {"type": "string", "default": "small"},
                "count": {"type": "integer"},
                "image": {"type": "string", "willReplaceOnChanges": true},
                "disk": {"$ref": "#/types/cloud:index%2FDisk:Disk"},
                "mode": {"$ref": "#/types/cloud:index/Mode:Mode"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "port": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            },
            "requiredInputs": ["image"],
            "properties": {
                "address": {"type": "string"},
                "cost": {"type": "number"},
                "token": {"type": "string", "secret": true},
                "note": {"type": "string"},
                "disk": {"$ref": "#/types/cloud:index/Disk:Disk"},
                "size": {"type": "string"},
            },
            "required": ["address", "cost", "token", "disk", "size"],
        }},
        "types": {
            "cloud:index/Disk:Disk": {"type": "object", "required": ["kind"], "properties": {
                "kind": {"type": "string", "replaceOnChanges": true},
                "size": {"type": "number"},
            }},
            "cloud:index/Mode:Mode": {"type": "string", "enum": [{"value": "fast"}, {"value": "slow"}]},
        },
    }))
    .unwrap()
}

fn map(json: Value) -> PropertyMap {
    crate::property::json::from_plain_json(json.to_string().as_bytes()).unwrap()
}

fn failures(inputs: Value) -> Vec<String> {
    let schema = schema();
    let resource = schema.resource("cloud:index/machine:Machine").unwrap();
    let mut inputs = map(inputs);
    resource.complete(&mut inputs);
    let failures = schema.check(resource, &inputs);
    failures
        .into_iter()
        .map(|failure| format!("{}: {}", failure.property, failure.reason))
        .collect()
}

#[test]
fn names_types_required_ones_and_alternatives_are_checked_at_any_depth() {
    assert!(
        failures(json!({"image": "a", "count": 1, "mode": "fast", "port": "http", "labels": {"a": "b"}}))
            .is_empty()
    );
    assert_eq!(
        failures(json!({
            "sice": "large", "count": 1.5, "mode": "middle", "port": true, "labels": {"a": 1},
            "disk": {"size": "big", "kin": "ssd"},
        })),
        [
            "count: the schema takes an integer, not a number",
            "disk.kin: the schema has no such property; did you mean `kind`?",
            "disk.size: the schema takes a number, not a string",
            "disk.kind: the schema requires this property",
            "labels.a: the schema takes a string, not a number",
            "mode: the schema takes one of \"fast\", \"slow\"",
            "port: the schema takes an integer, not a boolean",
            "sice: the schema has no such property; did you mean `size`?",
            "image: the schema requires this property",
        ]
    );
}

#[test]
fn outputs_are_invented_kept_and_unknown_in_previews_of_creations() {
    let schema = schema();
    let resource = schema.resource("cloud:index/machine:Machine").unwrap();
    let outputs = |previous: Option<&PropertyMap>, is_preview| {
        let mut outputs = map(json!({"image": "a", "size": "large"}));
        schema.complete_outputs(resource, &mut outputs, previous, "web", is_preview);
        schema.mark_secrets(resource, &mut outputs);
        outputs
    };
    let first = outputs(None, false);
    assert_eq!(first, outputs(None, false), "equal resources have equal outputs");
    assert!(
        first
            .get("address")
            .and_then(PropertyValue::as_str)
            .is_some_and(|text| text.starts_with("address-"))
    );
    assert!(matches!(first.get("cost"), Some(PropertyValue::Number(_))));
    assert!(first.get("token").is_some_and(PropertyValue::is_secret));
    assert!(matches!(first.get("disk"), Some(PropertyValue::Object(disk)) if disk.contains_key("kind")));
    assert_eq!(first.get("note"), None, "only required outputs are invented");
    let planned = outputs(None, true);
    assert!(matches!(planned.get("note"), Some(PropertyValue::Unknown(_))));
    assert_eq!(planned.get("size"), Some(&"large".into()));
    assert_eq!(outputs(Some(&first), true), first, "an update keeps them");
}

#[test]
fn a_change_at_or_below_a_property_that_replaces_is_one() {
    let schema = schema();
    let resource = schema.resource("cloud:index/machine:Machine").unwrap();
    for (path, expected) in [
        ("image", true),
        ("size", false),
        ("disk.kind", true),
        ("disk.size", false),
        ("none", false),
    ] {
        assert_eq!(
            schema.replaces(resource, &PropertyPath::parse(path).unwrap()),
            expected,
            "{path}"
        );
    }
}

#[test]
fn a_document_without_a_name_is_refused() {
    let error = PackageSchema::read(&json!({"resources": {}})).unwrap_err();
    assert_eq!(
        error.message(),
        "the schema is no schema of a package: it has no member `name`"
    );
}

#[test]
fn secrets_in_referenced_types_lists_and_maps_are_marked() {
    let schema = PackageSchema::read(&json!({
        "name": "cloud",
        "resources": {"cloud:index:Machine": {"properties": {
            "login": {"$ref": "#/types/cloud:index:Login"},
            "logins": {"type": "array", "items": {"$ref": "#/types/cloud:index:Login"}},
            "named": {"type": "object", "additionalProperties": {"oneOf": [{"$ref": "#/types/cloud:index:Login"}]}},
        }}},
        "types": {"cloud:index:Login": {"type": "object", "properties": {
            "user": {"type": "string"},
            "password": {"type": "string", "secret": true},
            "next": {"$ref": "#/types/cloud:index:Login"},
        }}},
    }))
    .unwrap();
    let login = json!({"user": "root", "password": "a", "next": {"password": "b"}});
    let mut outputs = map(json!({"login": login, "logins": [login], "named": {"first": login}}));
    schema.mark_secrets(schema.resource("cloud:index:Machine").unwrap(), &mut outputs);
    let at = |path: &str| PropertyPath::parse(path).unwrap().get(&outputs).cloned();
    for place in ["login", "logins[0]", "named.first"] {
        for secret in ["password", "next.password"] {
            let path = format!("{place}.{secret}");
            assert!(at(&path).is_some_and(|value| value.is_secret()), "{path}");
        }
        assert_eq!(at(&format!("{place}.user")), Some("root".into()));
    }
}
