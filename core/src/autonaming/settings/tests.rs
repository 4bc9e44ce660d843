//! The rules that the settings give for types, and the errors for invalid settings.

use serde_json::json;

use super::*;
use crate::provider::AutonamingMode;

fn read(settings: Value) -> Result<ConfiguredNames> {
    ConfiguredNames::read(
        &settings,
        &StackFacts {
            organization: "acme",
            project: "shop",
            stack: "dev",
            config: &|key| match key {
                "region" => Ok("north".to_owned()),
                _ => Err(format!("there is no {key}")),
            },
        },
    )
}

fn name(names: &ConfiguredNames, resource_type: &str) -> Option<String> {
    let token = TypeToken::from(resource_type);
    let (rule, specific) = names.rule(&token)?;
    Some(rule.proposal("a", b"seed", specific)?.autonaming.proposed_name)
}

#[test]
fn the_most_specific_setting_wins() {
    let names = read(json!({
        "pattern": "root-${name}",
        "resources": {"test:index:Top": {"pattern": "top-${name}"}},
        "providers": {
            "test": {
                "pattern": "package-${name}",
                "enforce": true,
                "resources": {"test:index:Thing": {"pattern": "type-${name}"}},
            },
            "plain": {"mode": "default"},
            "nested": {"resources": {"nested:index:Thing": {"mode": "verbatim"}}},
        },
    }))
    .unwrap();
    for (resource_type, expected) in [
        ("test:index:Thing", Some("type-a")),
        ("test:index:Top", Some("top-a")),
        ("test:index:Other", Some("package-a")),
        ("plain:index:Thing", None),
        ("nested:index:Thing", Some("a")),
        ("nested:index:Other", Some("root-a")),
        ("testing:index:Thing", Some("root-a")),
    ] {
        assert_eq!(
            name(&names, resource_type).as_deref(),
            expected,
            "{resource_type}"
        );
    }
    let (_, specific) = names.rule(&TypeToken::from("testing:index:Thing")).unwrap();
    assert!(!specific, "a rule for all resources is not specific");
}

#[test]
fn patterns_use_the_stack_and_its_configuration() {
    let settings = json!({"pattern": "${organization}-${project}-${stack}-${config.region}"});
    let names = read(settings).unwrap();
    assert_eq!(name(&names, "test:index:Thing").unwrap(), "acme-shop-dev-north");
}

#[test]
fn without_a_word_about_names_they_are_left_to_the_provider() {
    let names = read(json!({"providers": {}})).unwrap();
    assert_eq!(names.rule(&TypeToken::from("test:index:Thing")), None);
    let names = read(json!({"mode": "disabled"})).unwrap();
    let token = TypeToken::from("test:index:Thing");
    let (rule, specific) = names.rule(&token).unwrap();
    let proposal = rule.proposal("a", b"seed", specific).unwrap();
    assert_eq!(proposal.autonaming.mode, AutonamingMode::Disable);
}

#[test]
fn invalid_settings_are_refused_with_their_path() {
    for (settings, expected) in [
        (json!("verbatim"), "at pulumi:autonaming: it must be an object"),
        (
            json!({"mode": "verbose"}),
            "at pulumi:autonaming.mode: it must be default, verbatim or disabled",
        ),
        (json!({"mode": 3}), "at pulumi:autonaming.mode: it must be a text"),
        (
            json!({"mode": "default", "pattern": "x"}),
            "at pulumi:autonaming: a mode and a pattern",
        ),
        (
            json!({"enforce": true}),
            "at pulumi:autonaming.enforce: only a pattern",
        ),
        (
            json!({"pattern": "x", "enforce": "yes"}),
            "at pulumi:autonaming.enforce: it must be true or false",
        ),
        (
            json!({"patern": "x"}),
            "at pulumi:autonaming.patern: there is no such setting",
        ),
        (
            json!({"providers": []}),
            "at pulumi:autonaming.providers: it must be an object",
        ),
        (
            json!({"providers": {"p": {"pattern": "${hex(x)}"}}}),
            "at pulumi:autonaming.providers.p.pattern: \"${hex(x)}\"",
        ),
        (
            json!({"providers": {"p": {"providers": {}}}}),
            "at pulumi:autonaming.providers.p.providers: there is no",
        ),
        (
            json!({"providers": {"p": {"resources": {"p:index:T": {"pattern": "${config.zone}"}}}}}),
            "at pulumi:autonaming.providers.p.resources.p:index:T.pattern: there is no zone",
        ),
        (
            json!({"resources": {"p:index:T": 1}}),
            "at pulumi:autonaming.resources.p:index:T: it must be an object",
        ),
    ] {
        let error = read(settings.clone()).unwrap_err();
        assert!(error.message().contains(expected), "{settings}: {error}");
    }
}
