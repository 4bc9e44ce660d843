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
        "functions": {
            "cloud:index/getZone:getZone": {
                "inputs": {"properties": {"name": {"type": "string"}, "private": {"type": "boolean", "default": false}},
                    "required": ["name"]},
                "outputs": {"required": ["id", "name", "key"], "properties": {
                    "id": {"type": "string"},
                    "name": {"type": "string"},
                    "private": {"type": "boolean"},
                    "key": {"type": "string", "secret": true},
                }},
            },
            "cloud:index:count": {"outputs": {"type": "integer"}},
            "cloud:index:regions": {"outputs": {"type": "array", "items": {"type": "string"}}},
            "cloud:index/machine:Machine/start": {
                "inputs": {"properties": {"__self__": {"$ref": "#/resources/cloud:index%2Fmachine:Machine"}}, "required": ["__self__"]},
                "returnType": {"$ref": "#/types/cloud:index/Disk:Disk"},
            },
        },
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
fn a_schema_with_a_misspelt_type_is_refused() {
    let document = json!({"name": "cloud", "resources": {"cloud:index:T": {"inputProperties": {"size": {"type": "intger"}}}}});
    assert_eq!(
        PackageSchema::read(&document).unwrap_err().message(),
        "the schema is no schema of a package: it has the type \"intger\"; there are: array, boolean, integer, number, object, string"
    );
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

fn member(result: &PropertyMap, name: &str) -> PropertyValue {
    result.get(name).cloned().unwrap_or_default()
}

/// Returns the result of a function of the schema.
fn result(token: &str, arguments: Value) -> PropertyMap {
    let schema = schema();
    let function = FunctionCall::of(&schema, token).unwrap().unwrap();
    let mut arguments = map(arguments);
    assert!(function.check(&mut arguments).is_empty());
    function.result(&arguments, false)
}

#[test]
fn results_of_functions_have_their_arguments_and_values_of_the_declared_types() {
    const ZONE: &str = "cloud:index/getZone:getZone";
    let zone = result(ZONE, json!({"name": "a"}));
    assert_eq!(member(&zone, "name"), "a".into());
    assert_eq!(member(&zone, "private"), false.into());
    assert!(
        matches!(member(&zone, "key"), PropertyValue::Secret(_)),
        "{zone:?}"
    );
    assert_eq!(result(ZONE, json!({"name": "a"})), zone);
    let other = result(ZONE, json!({"name": "b"}));
    assert_ne!(member(&other, "id"), member(&zone, "id"));
    let count = result("cloud:index:count", json!({}));
    assert!(
        matches!(member(&count, "result"), PropertyValue::Number(_)),
        "{count:?}"
    );
    let regions = result("cloud:index:regions", json!({}));
    assert_eq!(member(&regions, "result"), PropertyValue::array(Vec::new()));
    let disk = result("cloud:index/machine:Machine/start", json!({"__self__": "web"}));
    let PropertyValue::Object(disk) = member(&disk, "result") else {
        unreachable!("{disk:?}");
    };
    assert!(disk.contains_key("kind"), "{disk:?}");
}

#[test]
fn arguments_of_functions_are_checked_and_unknown_functions_have_the_nearest_name() {
    let schema = schema();
    let function = FunctionCall::of(&schema, "cloud:index/getZone:getZone")
        .unwrap()
        .unwrap();
    let failures = function.check(&mut map(json!({"nam": "a"})));
    let failures: Vec<_> = failures.into_iter().map(|failure| failure.property).collect();
    assert_eq!(failures, ["nam", "name"]);
    let refusal = FunctionCall::of(&schema, "cloud:index/getZone:getZones")
        .err()
        .unwrap();
    assert!(
        refusal.contains("did you mean `cloud:index/getZone:getZone`?"),
        "{refusal}"
    );
    let without = PackageSchema::read(&json!({"name": "cloud"})).unwrap();
    assert!(FunctionCall::of(&without, "cloud:index:any").unwrap().is_none());
}

#[test]
fn a_method_s_result_is_unknown_in_a_preview_with_unknown_arguments() {
    let schema = schema();
    let method = FunctionCall::of(&schema, "cloud:index/machine:Machine/start")
        .unwrap()
        .unwrap();
    let arguments = [("__self__", PropertyValue::unknown())].into_iter().collect();
    assert!(method.result(&arguments, true).contains_unknowns());
    assert!(!method.result(&arguments, false).contains_unknowns());
}
