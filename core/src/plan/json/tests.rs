//! Malformed documents, and plans of stacks without a secrets manager.

use std::sync::{Arc, OnceLock};

use super::{read, write};
use crate::{
    config::{Config, ConfigKey, ConfigValue},
    error::ErrorKind,
    plan::{GoalPlan, Plan, PlanConfig, PlanDiff, PlanKeys, ResourcePlan},
    property::PropertyValue,
    resource::{Alias, CustomTimeouts},
    secrets::{PassphraseProvider, SecretsProvider},
    state::Manifest,
    urn::Urn,
};

const URN: &str = "urn:pulumi:dev::shop::test:index:Thing::a";

fn provider() -> Arc<dyn SecretsProvider> {
    let runtime = crate::runtime::Runtime::system(tokio::runtime::Handle::current());
    Arc::new(PassphraseProvider::new("correct horse", runtime))
}

async fn refusal(document: &str) -> String {
    let error = read(document, None, &provider()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error.message().to_owned()
}

fn with_resource(resource: &str) -> String {
    format!(r#"{{"manifest": {{"version": "v3.260.0"}}, "resourcePlans": {{"{URN}": {resource}}}}}"#)
}

#[tokio::test]
async fn a_document_that_is_no_plan_is_refused_with_the_place() {
    for (document, place) in [
        ("{", "the document: "),
        ("{}", "manifest: it is missing"),
        (
            r#"{"manifest": {}, "resourcePlans": 1}"#,
            "resourcePlans: invalid type",
        ),
        (
            r#"{"manifest": {}, "resourcePlans": {"a": {}}}"#,
            r#"resourcePlans["a"]: invalid URN"#,
        ),
        (
            r#"{"manifest": {}, "resourcePlans": {}, "secrets_providers": {}}"#,
            "secrets_providers: missing field `type`",
        ),
    ] {
        let message = refusal(document).await;
        assert!(
            message.starts_with(&format!("invalid plan: {place}")),
            "{message}"
        );
    }
    let goal = r#""type": "test:index:Thing", "name": "a", "customTimeouts": {}"#;
    for (resource, place) in [
        (r#"{"goal": {}}"#.to_owned(), ".goal: missing field `type`"),
        (
            r#"{"steps": ["creat"]}"#.to_owned(),
            ".steps: unknown variant `creat`",
        ),
        (
            r#"{"state": [1]}"#.to_owned(),
            ".state: cannot read JSON: invalid type",
        ),
        (r#"{"seed": "!"}"#.to_owned(), ".seed: "),
        (
            format!(r#"{{"goal": {{{goal}, "inputDiff": {{"adds": 1}}}}}}"#),
            ".goal.inputDiff.adds: cannot read JSON: invalid type",
        ),
        (
            format!(r#"{{"goal": {{{goal}, "structuredAliases": [{{"Parent": "p"}}]}}}}"#),
            ".goal.structuredAliases: invalid URN",
        ),
    ] {
        let message = refusal(&with_resource(&resource)).await;
        let expected = format!("invalid plan: resourcePlans[{URN:?}]{place}");
        assert!(message.starts_with(&expected), "{message}");
    }
    let deep = format!(
        r#"{{"state": {{"a": {}1{}}}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let message = refusal(&with_resource(&deep)).await;
    assert!(message.contains("nest deeper than"), "{message}");
}

#[tokio::test]
async fn a_document_without_resource_plans_is_an_empty_plan() {
    for document in [
        r#"{"manifest": {}}"#,
        r#"{"manifest": {}, "resourcePlans": null}"#,
        r#"{"manifest": {}, "resourcePlans": {}}"#,
    ] {
        let plan = read(document, None, &provider()).await.unwrap();
        assert!(plan.resources.is_empty(), "{document}");
    }
}

#[tokio::test]
async fn names_of_members_of_an_alias_may_begin_with_a_small_letter() {
    let alias = r#"{"urn": "", "name": "old", "type": "", "project": "", "stack": "", "parent": "", "noParent": true}"#;
    let goal = format!(
        r#"{{"type": "test:index:Thing", "name": "a", "customTimeouts": {{}}, "structuredAliases": [{alias}]}}"#
    );
    let document = with_resource(&format!(r#"{{"goal": {goal}}}"#));
    let plan = read(&document, None, &provider()).await.unwrap();
    let goal = plan.resource(&Urn::parse(URN).unwrap()).unwrap().goal.clone();
    let expected = Alias::Spec {
        name: Some("old".into()),
        resource_type: None,
        stack: None,
        project: None,
        parent: None,
        no_parent: true,
    };
    assert_eq!(goal.unwrap().aliases, [expected]);
}

#[tokio::test]
async fn a_secret_without_a_secrets_manager_is_refused_with_its_resource() {
    let secret = r#"{"state": {"a": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x:y"}}}"#;
    let message = refusal(&with_resource(secret)).await;
    assert!(
        message.contains(URN) && message.contains("no secrets manager"),
        "{message}"
    );
}

fn whole() -> Plan {
    let secret: PropertyValue = PropertyValue::secret("hidden".into());
    let adds = [("a", secret.clone()), ("b", PropertyValue::unknown())];
    let goal = GoalPlan {
        resource_type: "test:index:Thing".into(),
        name: "a".to_owned(),
        custom: true,
        input_diff: PlanDiff {
            adds: adds.into_iter().collect(),
            deletes: vec!["c".into()],
            updates: [("d", 1.5.into())].into_iter().collect(),
        },
        protect: true,
        provider: "urn:pulumi:dev::shop::pulumi:providers:test::default::x".into(),
        delete_before_replace: Some(false),
        ignore_changes: vec!["e.f".into()],
        aliases: vec![
            Alias::Urn(Urn::parse(URN).unwrap()),
            Alias::Spec {
                name: Some("old".into()),
                resource_type: None,
                stack: None,
                project: None,
                parent: None,
                no_parent: true,
            },
        ],
        import_id: "i".into(),
        custom_timeouts: CustomTimeouts {
            create: Some(300.0),
            ..CustomTimeouts::default()
        },
        ..GoalPlan::default()
    };
    let resource = ResourcePlan {
        goal: Some(goal),
        steps: vec![crate::step::StepOp::Create],
        outputs: Some([("a", secret)].into_iter().collect()),
        seed: Some(vec![7; 32]),
    };
    let mut config = Config::new();
    config.insert(
        ConfigKey::parse("shop:token").unwrap(),
        ConfigValue::secret("sealed"),
    );
    Plan {
        manifest: Manifest {
            version: "v3.260.0".into(),
            ..Manifest::default()
        },
        config: PlanConfig::Known(config),
        resources: [(Urn::parse(URN).unwrap(), resource)].into_iter().collect(),
        keys: PlanKeys {
            manager: None,
            provider: provider(),
            is_own: false,
        },
        document: OnceLock::new(),
    }
}

#[tokio::test]
async fn the_plan_of_a_new_stack_names_its_secrets_provider() {
    let plan = whole();
    let text = write(&plan).await.unwrap();
    assert!(!text.contains("hidden") && !text.contains("sealed"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["secrets_providers"]["type"], "passphrase");
    let again = read(&text, None, &provider()).await.unwrap();
    assert_eq!(again.resources, plan.resources);
    assert_eq!(write(&again).await.unwrap(), text);
}
