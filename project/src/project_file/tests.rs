//! Tests of project files: reading, writing, and the checks of stacks.

use stackwright::config::ConfigValue;

use super::*;
use crate::config::AsYaml as _;

fn applied(project: &str, stack: &str) -> Result<std::collections::BTreeMap<String, String>> {
    let project = ProjectFile::parse(&format!("name: shop\nruntime: python\nconfig:\n{project}"))?;
    let mut config = Config::from_yaml(&Node::parse(stack)?)?;
    project.apply_declarations("dev", &mut config)?;
    Ok(config.in_the_clear()?.texts())
}

fn refusal(project: &str, stack: &str) -> String {
    applied(project, stack).unwrap_err().message().to_owned()
}

#[test]
fn a_project_file_is_written_with_all_its_entries() {
    let text = "name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv\nmain: src\ntemplate:\n  x: 1.50\noptions:\n  refresh: always\n";
    let mut file = ProjectFile::parse(text).unwrap();
    assert_eq!(
        (file.name.as_str(), file.runtime.name.as_str()),
        ("shop", "python")
    );
    assert_eq!(file.refresh.as_deref(), Some("always"));
    assert_eq!(file.to_text().unwrap(), text);
    file.main = None;
    file.description = Some("a: shop".to_owned());
    assert_eq!(
        file.to_text().unwrap(),
        "name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv\ntemplate:\n  x: 1.50\noptions:\n  refresh: always\ndescription: 'a: shop'\n"
    );
    let json =
        ProjectFile::parse(r#"{"name": "shop", "runtime": {"name": "nodejs"}, "config": "stacks"}"#).unwrap();
    assert_eq!(json.stack_config_dir.as_deref(), Some("stacks"));
}

#[test]
fn a_project_needs_a_valid_name_and_a_runtime() {
    for (text, reason) in [
        ("runtime: python\n", "'name' attribute"),
        ("name: shop\n", "'runtime' attribute"),
        ("name: a/b\nruntime: go\n", "may only contain"),
        ("name: [a]\nruntime: go\n", "`name` must be a text"),
        ("- a\n", "must be a mapping"),
    ] {
        let error = ProjectFile::parse(text).unwrap_err();
        assert!(error.message().contains(reason), "{text}: {error}");
    }
}

#[test]
fn defaults_and_values_are_added_to_a_stack_that_does_not_set_them() {
    let texts = applied(
        "  size: 3\n  zone:\n    type: string\n    default: eu\n  aws:region:\n    value: eu-1\n  list:\n    type: array\n    items: {type: string}\n    value: [a]\n",
        "shop:size: 4\n",
    )
    .unwrap();
    let pairs: Vec<_> = texts
        .iter()
        .map(|(key, text)| (key.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("aws:region", "eu-1"),
            ("shop:list", "[\"a\"]"),
            ("shop:size", "4"),
            ("shop:zone", "eu")
        ]
    );
}

#[test]
fn missing_values_are_enumerated() {
    assert_eq!(
        refusal(
            "  a: {type: string}\n  b: {type: string}\n  c: {type: string}\n",
            "{}"
        ),
        "Stack 'dev' is missing configuration value(s) 'a', 'b' and 'c'"
    );
    assert_eq!(
        refusal("  a: {type: string}\n", "{}"),
        "Stack 'dev' is missing configuration value(s) 'a'"
    );
}

#[test]
fn a_value_of_another_type_is_refused() {
    let wrong =
        |value_type: &str| format!("Stack 'dev' with configuration key 'k' must be of type '{value_type}'");
    assert_eq!(
        refusal("  k: {type: array, items: {type: string}}\n", "shop:k: x\n"),
        wrong("array<string>")
    );
    assert_eq!(
        refusal("  k: {type: integer}\n", "shop:k: 1.5\n"),
        wrong("integer")
    );
    assert_eq!(
        refusal("  k: {type: boolean}\n", "shop:k: maybe\n"),
        wrong("boolean")
    );
    assert_eq!(
        refusal("  k: {type: array, items: {type: integer}}\n", "shop:k: [1, x]\n"),
        wrong("array<integer>")
    );
    for (value_type, value) in [
        ("integer", "5"),
        ("number", "1.5"),
        ("boolean", "true"),
        ("string", "5"),
        ("object", "{a: 1}"),
        ("array", "[1]"),
    ] {
        let texts = applied(
            &format!("  k: {{type: {value_type}}}\n"),
            &format!("shop:k: {value}\n"),
        );
        assert!(texts.is_ok(), "{value_type}: {texts:?}");
    }
}

#[test]
fn a_declared_secret_must_be_encrypted() {
    assert_eq!(
        refusal("  k: {type: string, secret: true}\n", "shop:k: x\n"),
        "Stack 'dev' with configuration key 'k' must be encrypted as it's secret"
    );
    let project =
        ProjectFile::parse("name: shop\nruntime: go\nconfig:\n  k: {type: string, secret: true}\n").unwrap();
    let mut config = Config::new();
    config.insert(ConfigKey::new("shop", "k"), ConfigValue::Secure("x".into()));
    project.apply_declarations("dev", &mut config).unwrap();
}

#[test]
fn a_declaration_that_contradicts_itself_is_refused() {
    assert_eq!(
        refusal("  k: {default: 1, value: 2}\n", "{}"),
        "project config 'k' cannot have both a 'default' and 'value' attribute"
    );
    assert!(refusal("  aws:region: {default: x}\n", "{}").contains("should not define a 'default'"));
    assert!(refusal("  k: {type: text}\n", "{}").contains("unknown type"));
}

#[test]
fn a_default_of_another_type_is_refused() {
    let wrong = |value_type: &str| {
        format!(
            "The default value specified for configuration key 'k' is not of the expected type '{value_type}'"
        )
    };
    for (declared, value_type) in [
        ("type: integer, default: many", "integer"),
        ("type: integer, default: 1.5", "integer"),
        ("type: integer, default: true", "integer"),
        ("type: number, default: [1]", "number"),
        ("type: boolean, default: 1", "boolean"),
        ("type: boolean, default: 'yes'", "boolean"),
        ("type: string, default: 5", "string"),
        ("type: string, default: {a: b}", "string"),
        ("type: object, default: [a]", "object"),
        ("type: array, items: {type: string}, default: a", "array<string>"),
        (
            "type: array, items: {type: string}, default: [a, 1]",
            "array<string>",
        ),
        (
            "type: array, items: {type: array, items: {type: integer}}, default: [[1], [x]]",
            "array<array<integer>>",
        ),
    ] {
        let declared = format!("  k: {{{declared}}}\n");
        assert_eq!(refusal(&declared, "{}"), wrong(value_type), "{declared}");
        // The file is wrong, regardless of what a stack sets.
        assert_eq!(refusal(&declared, "shop:k: 1\n"), wrong(value_type), "{declared}");
    }
    for declared in [
        "type: integer, default: 5",
        "type: integer, default: '5'",
        "type: number, default: 5",
        "type: number, default: 1.5",
        "type: boolean, default: false",
        "type: boolean, default: 'true'",
        "type: string, default: '5'",
        "type: object, default: {a: 1}",
        "type: array, items: {type: string}, default: [a, b]",
        "default: [1, a]",
    ] {
        let texts = applied(&format!("  k: {{{declared}}}\n"), "{}");
        assert!(texts.is_ok(), "{declared}: {texts:?}");
    }
}
