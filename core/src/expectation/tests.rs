use std::sync::Arc;

use tokio::runtime::Handle;

use super::*;
use crate::{
    Engine, Stack, StackSettings,
    monitor::{Registered, Registration},
    moves::{AcceptMoves, AcceptedMove},
    operation::OperationOptions,
    program::{Program, from_fn},
    property::PropertyValue,
    secrets::Base64Provider,
    simulation::{Fault, FaultEffect, Simulation, SimulationSettings},
};

/// A program of resources, each as JSON.
fn program(resources: &'static [&'static str]) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        for resource in resources {
            let registration = Registration::from_json(resource.as_bytes())?;
            context.monitor.register(registration).await?;
        }
        Ok(())
    })
}

async fn stack() -> Stack {
    simulated_stack().await.0
}

async fn simulated_stack() -> (Stack, Simulation) {
    let settings = SimulationSettings {
        replace_on: [("cloud:index:Machine".to_owned(), vec!["image".to_owned()])].into(),
        ..SimulationSettings::default()
    };
    let simulation = Simulation::new(settings).unwrap();
    let builder = Engine::builder(Handle::current()).secrets(Arc::new(Base64Provider));
    let engine = builder.simulation(simulation.clone()).build().unwrap();
    let settings = StackSettings {
        program: Some(program(WEB)),
        ..StackSettings::default()
    };
    (engine.stack("shop/dev", settings).await.unwrap(), simulation)
}

async fn up(stack: &Stack, resources: &'static [&'static str]) -> Arc<OperationResult> {
    let stack = stack.clone().with_program(program(resources));
    let result = stack.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    result
}

const WEB: &[&str] = &[
    r#"{"type": "cloud:index:Machine", "name": "web", "inputs": {"size": "small", "image": "a"}, "protect": true}"#,
    r#"{"type": "cloud:index:Record", "name": "dns", "inputs": {"of": "web"}}"#,
];
const LARGER: &[&str] = &[
    r#"{"type": "cloud:index:Machine", "name": "web", "inputs": {"size": "large", "image": "a"}}"#,
    r#"{"type": "cloud:index:Record", "name": "dns", "inputs": {"of": "web"}}"#,
];
const OTHER_IMAGE: &[&str] =
    &[r#"{"type": "cloud:index:Machine", "name": "web", "inputs": {"size": "large", "image": "b"}}"#];
const RENAMED: &[&str] =
    &[r#"{"type": "cloud:index:Machine", "name": "frontend", "inputs": {"size": "large", "image": "b"}}"#];

fn check(result: &OperationResult, expected: Expected, resource: &str) -> Option<String> {
    unmet(result, &Expectation::of(expected, [resource]))
}

#[tokio::test]
async fn each_expectation_is_met_by_its_step_and_by_no_other() {
    let stack = stack().await;
    let created = up(&stack, WEB).await;
    assert_eq!(check(&created, Expected::Created, "web"), None);
    assert_eq!(check(&created, Expected::Protected, "web"), None);
    assert!(
        check(&created, Expected::Protected, "dns")
            .unwrap()
            .starts_with("expected `dns` to be protected, but dns is not\n")
    );
    let updated = up(&stack, LARGER).await;
    assert_eq!(check(&updated, Expected::Updated, "cloud:index:Machine"), None);
    assert_eq!(check(&updated, Expected::Unchanged, "dns"), None);
    let text = check(&updated, Expected::Replaced, "web").unwrap();
    assert_eq!(
        text,
        "expected `web` to be replaced, but web is to update\nthe steps of the operation:\n  ~  update   cloud:index:Machine  web\n       size: \"small\" -> \"large\""
    );
    assert!(
        check(&updated, Expected::Deleted, "dns")
            .unwrap()
            .starts_with("expected `dns` to be deleted, but it does not change\n")
    );
    let replaced = up(&stack, OTHER_IMAGE).await;
    assert_eq!(check(&replaced, Expected::Replaced, "web"), None);
    assert_eq!(check(&replaced, Expected::Deleted, "dns"), None);
    assert!(check(&replaced, Expected::Unchanged, "web").is_some());
    let same = up(&stack, OTHER_IMAGE).await;
    assert_eq!(unmet(&same, &Expectation::of(Expected::NoChanges, [""; 0])), None);
    let text = unmet(&replaced, &Expectation::of(Expected::NoChanges, [""; 0])).unwrap();
    assert!(
        text.starts_with("expected no changes, but 2 resources change\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_misspelt_resource_and_one_too_many_are_named() {
    let stack = stack().await;
    let created = up(&stack, WEB).await;
    let text = check(&created, Expected::Created, "wep").unwrap();
    assert!(
        text.starts_with(
            "expected `wep` to be created, but no resource has that name, type or URN; did you mean `web`?\n"
        ),
        "{text}"
    );
    let only = Expectation {
        only: true,
        ..Expectation::of(Expected::Created, ["web"])
    };
    let text = unmet(&created, &only).unwrap();
    assert!(
        text.starts_with("expected only `web` to be created, but dns is to create\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_renamed_resource_lacks_an_alias_and_a_changed_one_has_no_explanation() {
    let stack = stack().await;
    up(&stack, LARGER).await;
    up(&stack, OTHER_IMAGE).await;
    let stack = stack.with_program(program(RENAMED));
    let preview = stack.preview(OperationOptions::default()).wait().await;
    let text = missing_aliases(&preview, AllowedChanges::default()).unwrap();
    assert!(
        text.starts_with(
            "the second program changes 2 resources\naliases are missing:\n  frontend (cloud:index:Machine)"
        ),
        "{text}"
    );
    assert!(
        text.contains("\"web\"") && !text.contains("no alias explains"),
        "{text}"
    );
    let stack = stack.with_program(program(LARGER));
    let preview = stack.preview(OperationOptions::default()).wait().await;
    let text = missing_aliases(&preview, AllowedChanges::default()).unwrap();
    assert!(
        text.contains("no alias explains:") && text.contains("image: \"b\" -> \"a\""),
        "{text}"
    );
    let stack = stack.with_program(program(OTHER_IMAGE));
    let preview = stack.preview(OperationOptions::default()).wait().await;
    assert_eq!(missing_aliases(&preview, AllowedChanges::default()), None);
}

#[tokio::test]
async fn the_text_of_a_plan_is_the_same_for_equal_runs() {
    let text = plan_text(&*up(&stack().await, WEB).await);
    assert_eq!(text, plan_text(&*up(&stack().await, WEB).await));
    assert_eq!(
        text,
        "+ create cloud:index:Machine web\n    (protected)\n    image: \"a\"\n    size: \"small\"\n+ create cloud:index:Record dns\n    of: \"web\"\n"
    );
}

const PASSWORD: &str = r#"{"type": "cloud:index:Machine", "name": "web", "inputs": {"password": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2-hunter2"}}}"#;

/// A program that registers a secret, and fails with it.
fn failing() -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let registration = Registration::from_json(PASSWORD.as_bytes())?;
        context.monitor.register(registration).await?;
        Err(crate::Error::new(
            crate::ErrorKind::Program,
            "no hunter2-hunter2\nin the second line",
        ))
    })
}

#[tokio::test]
async fn only_refuses_any_other_change() {
    let stack = stack().await;
    up(&stack, WEB).await;
    let result = up(&stack, OTHER_IMAGE).await;
    let only = |resources: &[&str]| {
        let expectation = Expectation::of(Expected::Replaced, resources.to_vec());
        unmet(
            &result,
            &Expectation {
                only: true,
                ..expectation
            },
        )
    };
    assert_eq!(check(&result, Expected::Replaced, "web"), None);
    for named in [vec!["web"], vec!["web", "*"]] {
        let text = only(&named).unwrap();
        assert!(text.contains("to be replaced, but dns is to delete\n"), "{text}");
    }
}

#[tokio::test]
async fn a_step_that_failed_meets_no_expectation() {
    let (stack, simulation) = simulated_stack().await;
    simulation.set_faults(vec![Fault {
        call: "create".to_owned(),
        resource_type: "*".to_owned(),
        name: "web".to_owned(),
        effect: FaultEffect::LoseAnswer {
            message: "the quota is exceeded".to_owned(),
        },
        times: Some(1),
        skip: 0,
        in_previews: false,
    }]);
    let failed = stack.update(OperationOptions::default()).wait().await;
    let text = check(&failed, Expected::Created, "web").unwrap();
    assert!(
        text.starts_with("expected `web` to be created, but the create of web failed\n"),
        "{text}"
    );
    let text = unmet(&failed, &Expectation::of(Expected::NoChanges, [""; 0])).unwrap();
    assert!(
        text.starts_with("expected no changes, but the operation failed: ") && text.contains("quota"),
        "{text}"
    );
    let text = plan_text(&failed);
    assert!(text.contains("+ create cloud:index:Machine web ("), "{text}");
}

#[tokio::test]
async fn a_preview_that_failed_shows_its_error_without_secrets_and_no_absence_of_changes() {
    let stack = stack().await;
    up(&stack, WEB).await;
    let preview = stack.with_program(failing());
    let preview = preview.preview(OperationOptions::default()).wait().await;
    let no_changes = unmet(&preview, &Expectation::of(Expected::NoChanges, [""; 0])).unwrap();
    let unchanged = check(&preview, Expected::Unchanged, "dns").unwrap();
    for text in [
        plan_text(&preview),
        missing_aliases(&preview, AllowedChanges::default()).unwrap(),
        no_changes,
        unchanged,
    ] {
        assert!(text.contains("the preview failed: no [secret]\n"), "{text}");
        assert!(
            !text.contains("hunter2") && !text.contains("second line"),
            "{text}"
        );
    }
    assert!(plan_text(&preview).starts_with("the preview failed: "));
}

/// A program of one machine, with an output of the stack.
fn exporting(protect: bool, retain: bool, output: u32) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let web = serde_json::json!({
            "type": "cloud:index:Machine", "name": "web", "inputs": {"size": "small"}, "protect": protect, "retainOnDelete": retain,
        });
        context
            .monitor
            .register(Registration::from_json(web.to_string().as_bytes())?)
            .await?;
        context.monitor.export("o", f64::from(output).into());
        Ok(())
    })
}

#[tokio::test]
async fn a_refactoring_changes_neither_outputs_nor_options_of_records() {
    let stack = stack().await.with_program(exporting(true, false, 1));
    let result = stack.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let unprotected = stack.clone().with_program(exporting(false, false, 1));
    let unprotected = unprotected.preview(OperationOptions::default()).wait().await;
    let text = check(&unprotected, Expected::Protected, "web").unwrap();
    assert!(
        text.starts_with("expected `web` to be protected, but web is not\n"),
        "{text}"
    );
    for (after, expected) in [
        (exporting(true, false, 1), None),
        (
            exporting(false, false, 2),
            Some(
                "the second program changes the options of 1 resource, and 1 output of the stack\noptions change:\n  \
                 web (cloud:index:Machine)  protect: true -> false\noutputs of the stack change:\n  o: 1 -> 2",
            ),
        ),
        (
            exporting(true, false, 3),
            Some(
                "the second program changes 1 output of the stack\noutputs of the stack change:\n  o: 1 -> 3",
            ),
        ),
        (
            exporting(true, true, 1),
            Some(
                "the second program changes the options of 1 resource\noptions change:\n  \
                 web (cloud:index:Machine)  retainOnDelete: false -> true",
            ),
        ),
    ] {
        let stack = stack.clone().with_program(after);
        let preview = stack.preview(OperationOptions::default()).wait().await;
        assert_eq!(
            missing_aliases(&preview, AllowedChanges::default()).as_deref(),
            expected
        );
        // An option of a record is no step: counts have it as the same, as the reference engine's do.
        let no_changes = unmet(&preview, &Expectation::of(Expected::NoChanges, [""; 0]));
        assert_eq!(no_changes.is_some(), preview.outputs_changed, "{no_changes:?}");
        assert_eq!(check(&preview, Expected::Unchanged, "web"), None);
    }
}

/// A machine, a record of its address and a disk, with the name of the machine, the component that it is in, and the size of the disk.
fn machine_in(name: &'static str, component: Option<&'static str>, size: u32) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let register = async |resource: serde_json::Value| -> crate::Result<Registered> {
            let registration = Registration::from_json(resource.to_string().as_bytes())?;
            Ok(context.monitor.register(registration).await?)
        };
        let parent = match component {
            Some(name) => Some(
                register(serde_json::json!({"type": "my:index:Group", "name": name, "custom": false}))
                    .await?
                    .urn,
            ),
            None => None,
        };
        let mut machine =
            serde_json::json!({"type": "cloud:index:Machine", "name": name, "inputs": {"size": "small"}});
        if let Some(parent) = parent {
            machine["parent"] = serde_json::json!(parent);
            machine["aliases"] = serde_json::json!([{"noParent": true}]);
        }
        let machine = register(machine).await?;
        let mut dns = Registration::from_json(br#"{"type": "cloud:index:Record", "name": "dns"}"#)?;
        let id = match machine.id.as_str() {
            "" => PropertyValue::unknown(),
            id => id.into(),
        };
        dns.inputs.insert("of", id.with_dependencies(&[machine.urn]));
        context.monitor.register(dns).await?;
        register(serde_json::json!({"type": "cloud:index:Disk", "name": "disk", "inputs": {"size": size}}))
            .await?;
        Ok(())
    })
}

#[tokio::test]
async fn what_follows_from_a_missing_alias_is_apart_from_what_no_alias_explains() {
    let stack = stack().await.with_program(machine_in("web", None, 1));
    let result = stack.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let renamed = stack.with_program(machine_in("frontend", None, 2));
    let preview = renamed.preview(OperationOptions::default()).wait().await;
    let text = missing_aliases(&preview, AllowedChanges::default()).unwrap();
    let (aliases, rest) = text.split_once("\nfollows from missing aliases:").unwrap();
    let (consequences, others) = rest.split_once("\nno alias explains:").unwrap();
    assert!(aliases.contains("frontend (cloud:index:Machine)"), "{text}");
    assert!(
        consequences.contains("dns") && !consequences.contains("disk"),
        "{text}"
    );
    assert!(others.contains("disk") && !others.contains("dns"), "{text}");
}

#[tokio::test]
async fn applied_moves_are_missing_aliases_and_what_else_changes_in_their_resources_is_not_explained() {
    let stack = stack().await.with_program(machine_in("web", None, 1));
    let result = stack.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let accepting = async |program: Arc<dyn Program>| {
        let stack = stack.clone().with_program(program);
        let first = stack.preview(OperationOptions::default()).wait().await;
        let moves = first.suggested_moves.iter().map(AcceptedMove::from).collect();
        let options = OperationOptions {
            accept_moves: Some(AcceptMoves::Only(moves)),
            ..OperationOptions::default()
        };
        let preview = stack.preview(options).wait().await;
        missing_aliases(&preview, AllowedChanges::default()).unwrap()
    };
    let text = accepting(machine_in("frontend", None, 1)).await;
    let heading = "the second program changes 2 resources\naliases are missing:\n  frontend";
    assert!(text.starts_with(heading), "{text}");
    assert!(!text.contains("dns") && !text.contains("explains"), "{text}");
    let text = accepting(machine_in("frontend", None, 2)).await;
    let (_, others) = text.split_once("\nno alias explains:").unwrap();
    assert!(others.contains("disk") && !others.contains("frontend"), "{text}");
}

#[tokio::test]
async fn a_refactoring_may_put_resources_into_a_component_where_that_is_allowed() {
    let allowed = AllowedChanges { components: true };
    let stack = stack().await.with_program(machine_in("web", None, 1));
    let result = stack.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let grouped = stack.clone().with_program(machine_in("web", Some("group"), 1));
    let preview = grouped.preview(OperationOptions::default()).wait().await;
    let text = missing_aliases(&preview, AllowedChanges::default()).unwrap();
    assert!(
        text.contains("no alias explains:") && text.contains("my:index:Group"),
        "{text}"
    );
    assert_eq!(missing_aliases(&preview, allowed), None);
    // A new resource that a provider manages is a change still.
    let larger = stack.with_program(machine_in("web", Some("group"), 2));
    let preview = larger.preview(OperationOptions::default()).wait().await;
    let text = missing_aliases(&preview, allowed).unwrap();
    assert!(
        text.contains("disk") && !text.contains("my:index:Group"),
        "{text}"
    );
}

#[tokio::test]
async fn no_text_has_a_secret_that_is_a_name() {
    const BEFORE: &[&str] = &[
        r#"{"type": "cloud:index:User", "name": "user-hunter2-hunter2", "inputs": {"m": {"hunter2-hunter2": {"hunter2-hunter2": 1}}, "password": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2-hunter2"}}}"#,
    ];
    const AFTER: &[&str] = &[
        r#"{"type": "cloud:index:User", "name": "user-hunter2-hunter2", "inputs": {"m": {"hunter2-hunter2": {"hunter2-hunter2": 2}}, "password": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2-hunter2"}}}"#,
    ];
    let stack = stack().await;
    let created = up(&stack, BEFORE).await;
    let changed = up(&stack, AFTER).await;
    for result in [&created, &changed] {
        let no_changes = unmet(result, &Expectation::of(Expected::NoChanges, [""; 0])).unwrap();
        let deleted = check(result, Expected::Deleted, "*").unwrap();
        for text in [
            plan_text(result),
            missing_aliases(result, AllowedChanges::default()).unwrap(),
            no_changes,
            deleted,
        ] {
            assert!(text.contains("user-[secret]"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
