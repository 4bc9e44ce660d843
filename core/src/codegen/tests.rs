//! Tests of whole programs in each language.

use super::*;
use crate::property::json::from_plain_json;

const SECRET: &str = r#""4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270""#;

fn declaration(kind: DeclaredKind, resource_type: &str, name: &str, inputs: &str) -> Declaration {
    Declaration {
        kind,
        resource_type: resource_type.to_owned(),
        name: name.to_owned(),
        urn: format!("urn:pulumi:dev::shop::{resource_type}::{name}"),
        reference: match kind {
            DeclaredKind::Provider => format!("urn:pulumi:dev::shop::{resource_type}::{name}::an-id"),
            _ => String::new(),
        },
        label: name.to_owned(),
        inputs: from_plain_json(inputs.as_bytes()).unwrap(),
        parent: None,
        provider: None,
        protect: true,
        version: String::new(),
        download_url: String::new(),
        package: None,
    }
}

/// A program with every kind of declaration and value.
fn everything() -> Program {
    let values = format!(
        r#"{{
        "length": 12, "upper": true, "special-key": "a\"b\\c${{d}}\n", "nothing": null, "ratio": 1.5,
        "keepers": {{"first": "1", "list": [1, 2, {{"deep": []}}]}},
        "password": {{{SECRET}, "value": "hunter2"}},
        "rules": [{{"fromPort": 1, "tags": {{{SECRET}, "value": {{"a": "hunter3"}}}}}}],
        "long": "{}", "__defaults": ["upper"],
        "code": {{"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17", "text": "x"}},
        "site": {{"4dabf18193072939515e22adb298388d": "0def7320c3a5731c473e5ecbe6d01bc7", "assets": {{
            "index.html": {{"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17", "path": "./index.html"}}}}}},
        "gone": {{"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17", "hash": "abc"}}
        }}"#,
        "y".repeat(90)
    );
    let mut mine = declaration(
        DeclaredKind::Provider,
        "pulumi:providers:random",
        "mine",
        r#"{"region": "eu"}"#,
    );
    mine.protect = false;
    let shelf = declaration(DeclaredKind::Component, "shop:index:Shelf", "shelf", "{}");
    let mut all = declaration(
        DeclaredKind::Custom,
        "random:index/randomPassword:RandomPassword",
        "class",
        &values,
    );
    all.parent = Some(Reference::Declared(1));
    all.provider = Some(Reference::Declared(0));
    let mut other = declaration(
        DeclaredKind::Custom,
        "none:index:Thing",
        "class",
        r#"{"size": 3}"#,
    );
    other.parent = Some(Reference::Recorded("urn:pulumi:dev::shop::a:b:C::old".to_owned()));
    other.version = "1.2.0".to_owned();
    let mut made = declaration(DeclaredKind::Custom, "made:index:Thing", "made", "{}");
    made.version = "3.6.0".to_owned();
    made.download_url = "https://plugins.example".to_owned();
    made.served_by(DeclaredPackage {
        plugin: "base".to_owned(),
        version: "0.8.1".to_owned(),
        download_url: "https://plugins.example".to_owned(),
        form: PackageForm::Parameterization,
        parameter: ("made".to_owned(), "3.6.0".to_owned()),
        value: b"into \"made\"\0".to_vec(),
    });
    let mut more = declaration(DeclaredKind::Custom, "more:index:Thing", "more", r#"{"size": 3}"#);
    more.provider = Some(Reference::Declared(0));
    more.served_by(DeclaredPackage {
        plugin: "random".to_owned(),
        version: String::new(),
        download_url: String::new(),
        form: PackageForm::Extension,
        parameter: ("more".to_owned(), String::new()),
        value: b"into more".to_vec(),
    });
    Program::new(
        "shop",
        vec![mine, shelf, all, other, made, more],
        ["shop:classPassword"],
        &[schema()],
    )
}

fn schema() -> PackageSchema {
    PackageSchema::read(
        r##"{"name": "random", "meta": {"moduleFormat": "(.*)(?:/[^/]*)"}, "provider": {"inputProperties": {"region": {"type": "string"}}},
        "resources": {"random:index/randomPassword:RandomPassword": {"inputProperties": {
            "length": {"type": "integer"}, "upper": {"type": "boolean", "default": true}, "ratio": {"type": "number", "default": 1.5},
            "password": {"type": "string"}, "keepers": {"type": "object", "additionalProperties": {"type": "string"}},
            "rules": {"type": "array", "items": {"$ref": "#/types/random:index%2Frule:Rule"}}, "code": {}, "site": {}, "gone": {}}}},
        "types": {"random:index/rule:Rule": {"properties": {"fromPort": {"type": "integer"}, "tags": {"type": "object"}}}}}"##,
    )
    .unwrap()
}

#[test]
fn programs_of_the_library_declare_every_kind_of_value() {
    let program = everything();
    insta::assert_snapshot!("own_python", own_program(&program, Language::Python));
    insta::assert_snapshot!("own_typescript", own_program(&program, Language::Node));
    insta::assert_snapshot!("own_rust", own_program(&program, Language::Rust));
    insta::assert_snapshot!("own_c", own_program(&program, Language::C));
}

#[test]
fn programs_of_the_sdks_have_the_classes_of_the_schema() {
    let program = everything();
    let schemas = [schema()];
    let python = sdk_program(&program, &schemas, SdkLanguage::Python).unwrap();
    insta::assert_snapshot!("sdk_python", python);
    let typescript = sdk_program(&program, &schemas, SdkLanguage::TypeScript).unwrap();
    insta::assert_snapshot!("sdk_typescript", typescript);
    assert!(
        !python.contains("ratio") && !typescript.contains("ratio"),
        "a default is left out"
    );
    assert!(sdk_program(&program, &[], SdkLanguage::Python).is_none());
}

#[test]
fn no_program_contains_a_secret_and_all_secrets_are_values_of_the_configuration() {
    let program = everything();
    let own = [Language::Python, Language::Node, Language::Rust, Language::C]
        .map(|language| own_program(&program, language));
    let sdk = [SdkLanguage::Python, SdkLanguage::TypeScript]
        .map(|language| sdk_program(&program, &[schema()], language));
    let all = own.into_iter().chain(sdk.into_iter().flatten());
    for source in all {
        assert!(!source.contains("hunter"), "{source}");
    }
    let values = &program.secrets().0;
    assert_eq!(values["shop:classPassword2"], "hunter2");
    assert_eq!(values["shop:classRules0Tags"], r#"{"a":"hunter3"}"#);
    assert!(!format!("{program:?}").contains("hunter"));
}

#[test]
fn a_default_provider_is_recognized_by_its_reference() {
    for (reference, is_default) in [
        (
            "urn:pulumi:dev::shop::pulumi:providers:random::default::an-id",
            true,
        ),
        (
            "urn:pulumi:dev::shop::pulumi:providers:random::default_1_2_0::an-id",
            true,
        ),
        (
            "urn:pulumi:dev::shop::pulumi:providers:random::mine::an-id",
            false,
        ),
        ("urn:pulumi:dev::shop::a:b:C::default", false),
    ] {
        assert_eq!(program::is_default_provider(reference), is_default, "{reference}");
    }
}

#[test]
fn a_class_of_a_provider_gets_the_values_that_it_writes_as_json() {
    let schema = PackageSchema::read(
        r##"{"name": "cloud", "provider": {"inputProperties": {
            "region": {"type": "string"}, "retries": {"type": "integer"}, "on": {"type": "boolean", "default": true},
            "target": {"$ref": "#/types/cloud:index:Target"}, "kind": {"type": "string", "$ref": "#/types/cloud:index:Kind"},
            "alias": {"type": "string", "$ref": "#/types/cloud:index:Alias"}, "login": {"type": "object"}, "nested": {"type": "object"},
            "odd": {"type": "number"}, "given": {"type": "object"}}},
        "types": {"cloud:index:Target": {"properties": {"hostName": {"type": "string", "default": "a"}}},
            "cloud:index:Kind": {"type": "string", "enum": [{"value": "fast"}]}}}"##,
    )
    .unwrap();
    let inputs = format!(
        r#"{{
        "region": "1", "retries": "3", "on": "true", "target": "{{\"z\":[1,null],\"hostName\":\"a\"}}", "kind": "\"fast\"", "alias": "\"x\"",
        "login": {{{SECRET}, "value": "{{\"user\":\"hunter4\"}}"}}, "odd": "three", "given": {{"hostName": 1}}, "unknown": "true",
        "nested": "{{\"b\":1,\"a\":{{\"4dabf18193072939515e22adb298388d\":\"1b47061264138c4ac30d75fd1eb44270\",\"value\":\"hunter5\"}}}}"
        }}"#
    );
    let mine = declaration(DeclaredKind::Provider, "pulumi:providers:cloud", "mine", &inputs);
    let program = Program::new("shop", vec![mine], [], std::slice::from_ref(&schema));
    let schemas = [schema];
    let python = sdk_program(&program, &schemas, SdkLanguage::Python).unwrap();
    let typescript = sdk_program(&program, &schemas, SdkLanguage::TypeScript).unwrap();
    for line in [
        "    alias=\"\\\"x\\\"\",\n",
        "    given={\"hostName\": 1},\n",
        "    kind=\"fast\",\n",
        "    login=config.require_secret_object(\"mineLogin\"),\n",
        "    nested={\"b\": 1, \"a\": config.require_secret(\"mineNestedA\")},\n",
        "    odd=\"three\",\n",
        "    region=\"1\",\n    retries=3,\n",
        "    target={\"z\": [1, None], \"hostName\": \"a\"},\n",
        "# \"mine\": the class has no input \"unknown\"\n",
    ] {
        assert!(python.contains(line), "{line}{python}");
    }
    assert!(!python.contains("    on="), "a default is left out: {python}");
    assert!(
        typescript.contains("target: { z: [1, null], hostName: \"a\" }"),
        "{typescript}"
    );
    assert!(!python.contains("hunter") && !typescript.contains("hunter"));
    let secrets = &program.secrets().0;
    assert_eq!(secrets["shop:mineLogin"], r#"{"user":"hunter4"}"#);
    assert_eq!(secrets["shop:mineNestedA"], "hunter5");
    // The library's own programs have the inputs as they are recorded.
    let own = own_program(&program, Language::Python);
    assert!(own.contains("\"retries\": \"3\""), "{own}");
}

#[test]
fn objects_have_the_names_and_the_defaults_of_the_language() {
    let schema = PackageSchema::read(
        r##"{"name": "cloud", "resources": {"cloud:index:Disk": {"inputProperties": {
            "rule": {"oneOf": [{"type": "string"}, {"$ref": "#/types/cloud:index:Other"}, {"$ref": "#/types/cloud:index:Rule"}]},
            "rules": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/types/cloud:index:Rule"}}]}}}},
        "types": {"cloud:index:Rule": {"properties": {"fromPort": {"type": "integer"}, "mode": {"type": "string", "default": "slow"}}},
            "cloud:index:Other": {"properties": {"fromport": {"type": "integer"}}}}}"##,
    )
    .unwrap();
    let inputs = r#"{"rule": {"fromPort": 1, "mode": "slow"}, "rules": [{"fromPort": 2}]}"#;
    let disk = declaration(DeclaredKind::Custom, "cloud:index:Disk", "disk", inputs);
    let program = Program::new("shop", vec![disk], [], &[]);
    let schemas = [schema];
    let python = sdk_program(&program, &schemas, SdkLanguage::Python).unwrap();
    // Classes in Python fill in no defaults of dictionaries.
    assert!(
        python.contains("rule={\"from_port\": 1, \"mode\": \"slow\"}, rules=[{\"from_port\": 2}]")
            || python.contains(
                "    rule={\"from_port\": 1, \"mode\": \"slow\"},\n    rules=[{\"from_port\": 2}],\n"
            ),
        "{python}"
    );
    let typescript = sdk_program(&program, &schemas, SdkLanguage::TypeScript).unwrap();
    assert!(typescript.contains("rule: { fromPort: 1 }"), "{typescript}");
}

#[test]
fn what_is_secret_by_the_schema_is_no_part_of_a_program_without_a_mark_either() {
    let schema = PackageSchema::read(
        r##"{"name": "cloud", "config": {"variables": {"pin": {"type": "string", "secret": true}}},
        "provider": {"inputProperties": {"key": {"type": "string", "secret": true}, "login": {"$ref": "#/types/cloud:index:Login"},
            "region": {"type": "string"}}},
        "resources": {"cloud:index:Disk": {"inputProperties": {
            "token": {"type": "string", "secret": true}, "size": {"type": "integer"}, "empty": {"type": "string", "secret": true},
            "logins": {"type": "array", "items": {"$ref": "#/types/cloud:index:Login"}},
            "either": {"oneOf": [{"type": "string"}, {"$ref": "#/types/cloud:index:Login"}]},
            "byName": {"type": "object", "additionalProperties": {"type": "string", "secret": true}}, "made": {"type": "string"}},
            "properties": {"made": {"type": "string", "secret": true}}}},
        "types": {"cloud:index:Login": {"properties": {"user": {"type": "string"}, "word": {"type": "string", "secret": true},
            "next": {"$ref": "#/types/cloud:index:Login"}}}}}"##,
    )
    .unwrap();
    let disk = declaration(
        DeclaredKind::Custom,
        "cloud:index:Disk",
        "disk",
        r#"{"token": "hunter1", "size": 3, "empty": null, "logins": [{"user": "me", "next": {"word": "hunter2"}}],
            "either": {"word": "hunter3"}, "byName": {"a": "hunter4"}, "made": "hunter5"}"#,
    );
    let mine = declaration(
        DeclaredKind::Provider,
        "pulumi:providers:cloud",
        "mine",
        r#"{"key": "hunter6", "login": "{\"next\":{\"word\":\"hunter7\"}}", "pin": "hunter8", "region": "here"}"#,
    );
    let schemas = [schema];
    let program = Program::new("shop", vec![mine, disk], [], &schemas);
    let own = [Language::Python, Language::Node, Language::Rust, Language::C]
        .map(|language| own_program(&program, language));
    let sdk = [SdkLanguage::Python, SdkLanguage::TypeScript]
        .map(|language| sdk_program(&program, &schemas, language).unwrap());
    for source in own.iter().chain(&sdk) {
        assert!(!source.contains("hunter"), "{source}");
        assert!(source.contains("here"), "{source}");
    }
    let keys: Vec<_> = program
        .secrets()
        .0
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let expected = [
        "shop:diskByNameA=hunter4",
        "shop:diskEitherWord=hunter3",
        "shop:diskLogins0NextWord=hunter2",
        "shop:diskMade=hunter5",
        "shop:diskToken=hunter1",
        "shop:mineKey=hunter6",
        "shop:mineLogin={\"next\":{\"word\":\"hunter7\"}}",
        "shop:minePin=hunter8",
    ];
    assert_eq!(keys, expected);
    assert!(
        sdk[0].contains("login=config.require_secret_object(\"mineLogin\")"),
        "{}",
        sdk[0]
    );
}
