use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::runtime::Handle;

use super::*;
use crate::{
    Engine, Stack, StackSettings,
    event::OperationOutcome,
    monitor::{Invoke, Registration},
    operation::{OperationOptions, OperationResult},
    program::{Program, from_fn},
    provider::{InvokeResponse, ProviderResult, ProviderStatus, Reply},
    secrets::Base64Provider,
};

/// A program of resources, each as JSON; each is registered when the one before it exists.
pub(super) fn program(resources: Vec<String>) -> Arc<dyn Program> {
    from_fn(move |context| {
        let resources = resources.clone();
        async move {
            for resource in resources {
                context
                    .monitor
                    .register(Registration::from_json(resource.as_bytes())?)
                    .await?;
            }
            Ok(())
        }
    })
}

pub(super) fn machine(name: &str, size: &str) -> String {
    json!({"type": "cloud:index:Machine", "name": name, "inputs": {"size": size}}).to_string()
}

pub(super) async fn stack(simulation: &Simulation, program: Arc<dyn Program>) -> Stack {
    let builder = Engine::builder(Handle::current()).secrets(Arc::new(Base64Provider));
    let engine = builder.simulation(simulation.clone()).build().unwrap();
    let settings = StackSettings {
        program: Some(program),
        ..StackSettings::default()
    };
    engine.stack("shop/dev", settings).await.unwrap()
}

pub(super) async fn up(simulation: &Simulation, resources: Vec<String>) -> Arc<OperationResult> {
    let stack = stack(simulation, program(resources)).await;
    stack.update(OperationOptions::default()).wait().await
}

pub(super) fn simulation() -> Simulation {
    Simulation::new(SimulationSettings::default()).unwrap()
}

fn fault(call: &str, name: &str, effect: FaultEffect) -> Fault {
    Fault {
        call: call.to_owned(),
        resource_type: "*".to_owned(),
        name: name.to_owned(),
        effect,
        times: Some(1),
        skip: 0,
        in_previews: false,
    }
}

fn failure() -> FaultEffect {
    FaultEffect::Fail {
        message: "the quota is exceeded".to_owned(),
        status: ProviderStatus::ResourceExhausted,
    }
}

#[tokio::test]
async fn any_package_is_served_with_echoed_inputs_and_the_same_ids_in_each_run() {
    let (first, second) = (simulation(), simulation());
    for simulation in [&first, &second] {
        let result = up(simulation, vec![machine("web", "small")]).await;
        assert!(result.error.is_none(), "{:?}", result.error);
    }
    let (first, second) = (first.things(), second.things());
    assert_eq!(first[0].id, second[0].id);
    assert!(first[0].id.as_str().starts_with("web-"));
    assert_eq!(first[0].outputs.get("size"), Some(&"small".into()));
}

#[tokio::test]
async fn a_change_by_hand_is_seen_by_a_refresh_and_undone_by_the_next_update() {
    let simulation = simulation();
    up(&simulation, vec![machine("web", "small")]).await;
    let thing = simulation.things().remove(0);
    assert!(simulation.change(&thing.resource_type, &thing.id, "size", Some("huge".into())));
    let stack = stack(&simulation, program(vec![machine("web", "small")])).await;
    let refreshed = stack.refresh(OperationOptions::default()).wait().await;
    assert_eq!(refreshed.changes.get("update"), Some(&1), "{}", refreshed.tree());
    let updated = up(&simulation, vec![machine("web", "small")]).await;
    assert_eq!(updated.changes.get("update"), Some(&1), "{}", updated.tree());
    assert_eq!(simulation.things()[0].outputs.get("size"), Some(&"small".into()));
    assert!(simulation.remove(&thing.resource_type, &thing.id));
    let refreshed = stack.refresh(OperationOptions::default()).wait().await;
    assert_eq!(refreshed.changes.get("delete"), Some(&1), "{}", refreshed.tree());
}

#[tokio::test]
async fn a_fault_happens_to_the_call_that_it_names_and_as_often_as_it_has_to() {
    let simulation = simulation();
    let spelt = fault("create", "w*", failure());
    let misspelt = fault("crate", "web", failure());
    simulation.set_faults(vec![spelt, misspelt.clone()]);
    let result = up(&simulation, vec![machine("db", "small"), machine("web", "small")]).await;
    assert!(
        result
            .error
            .as_ref()
            .is_some_and(|error| error.to_string().contains("quota")),
        "{:?}",
        result.error
    );
    assert_eq!(simulation.things().len(), 1);
    assert_eq!(simulation.unused_faults(), [misspelt]);
    let result = up(&simulation, vec![machine("db", "small"), machine("web", "small")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test]
async fn an_initialization_that_fails_leaves_a_record_that_the_next_update_repairs() {
    let simulation = simulation();
    let message = "the disk is not attached".to_owned();
    simulation.set_faults(vec![fault(
        "create",
        "web",
        FaultEffect::FailInitialization { message },
    )]);
    let failed = up(&simulation, vec![machine("web", "small")]).await;
    assert!(failed.error.is_some());
    assert_eq!(
        simulation.discrepancies(failed.snapshot.resources.iter().map(|it| &**it)),
        [""; 0]
    );
    let repaired = up(&simulation, vec![machine("web", "small")]).await;
    assert_eq!(repaired.changes.get("update"), Some(&1), "{}", repaired.tree());
}

#[tokio::test]
async fn a_lost_answer_leaves_a_thing_that_no_record_has() {
    let simulation = simulation();
    let message = "the connection was reset".to_owned();
    simulation.set_faults(vec![fault("create", "web", FaultEffect::LoseAnswer { message })]);
    let failed = up(&simulation, vec![machine("web", "small")]).await;
    assert!(failed.error.is_some());
    let texts = simulation.discrepancies(failed.snapshot.resources.iter().map(|it| &**it));
    assert!(
        matches!(texts.as_slice(), [text] if text.starts_with("web (cloud:index:Machine) exists with the id web-"))
    );
}

#[tokio::test]
async fn an_interruption_lets_the_call_end_and_no_other_begin() {
    let simulation = simulation();
    simulation.set_faults(vec![
        fault("create", "db", FaultEffect::Interrupt),
        fault("create", "db", FaultEffect::Delay(Duration::from_millis(5))),
    ]);
    let result = up(&simulation, vec![machine("db", "small"), machine("web", "small")]).await;
    assert_eq!(result.outcome, OperationOutcome::Canceled);
    let names: Vec<String> = simulation.things().into_iter().map(|thing| thing.name).collect();
    assert_eq!(names, ["db"]);
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_moment_leaves_what_the_next_run_completes() {
    let program = program(vec![machine("db", "small"), machine("web", "small")]);
    let (mut moment, mut lost) = (0, 0);
    loop {
        let simulation = simulation();
        let first = stack(&simulation, Arc::clone(&program)).await;
        simulation.begin_run(Some(moment));
        first.update(OperationOptions::default()).wait().await;
        let Some(place) = simulation.killed_at() else {
            break;
        };
        simulation.begin_run(None);
        let next = stack(&simulation, Arc::clone(&program)).await;
        let result = next.update(OperationOptions::default()).wait().await;
        assert!(result.error.is_none(), "{place} {:?}", result.error);
        let texts = simulation.discrepancies(result.snapshot.resources.iter().map(|it| &**it));
        // Without an operator, the answer of one creation can be lost with the run.
        assert!(
            texts.len() <= 1 && texts.iter().all(|text| text.ends_with("no record has it")),
            "{place} {texts:?}"
        );
        lost += texts.len();
        moment += 1;
    }
    assert!(moment > 20 && lost > 1, "{moment} moments, {lost} lost");
}

#[tokio::test]
async fn a_killed_run_has_no_further_effect() {
    let simulation = simulation();
    simulation.begin_run(None);
    simulation.set_faults(vec![fault("create", "db", FaultEffect::KillAfter)]);
    let result = up(&simulation, vec![machine("db", "small"), machine("web", "small")]).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), crate::ErrorKind::Cancelled, "{error:?}");
    assert!(
        error
            .to_string()
            .contains("a fault of the test has killed this run"),
        "{error}"
    );
    assert_eq!(
        simulation.killed_at().as_deref(),
        Some("after the create of db (cloud:index:Machine)")
    );
    assert_eq!(simulation.things().len(), 1);
    simulation.begin_run(None);
    let stack = stack(&simulation, program(Vec::new())).await;
    let pending = stack.pending().await.unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
}

/// Answers one function.
struct Answers;

#[async_trait::async_trait]
impl ProviderBackend for Answers {
    async fn call(&self, call: crate::provider::Call) -> ProviderResult<Reply> {
        match call {
            crate::provider::Call::Invoke(request) if request.token == "cloud:index:getZone" => {
                Ok(Reply::Invoke(InvokeResponse {
                    result: request.arguments,
                    failures: Vec::new(),
                }))
            }
            other => other.without_method(),
        }
    }
}

#[tokio::test]
async fn a_function_is_answered_by_the_test_or_refused_with_the_way_to_do_so() {
    let simulation = simulation();
    let calling = |token: &'static str| {
        from_fn(move |context| async move {
            let invoke = Invoke {
                token: token.to_owned(),
                ..Invoke::default()
            };
            context.monitor.invoke(invoke).await?;
            Ok(())
        })
    };
    simulation.set_answers(Arc::new(Answers));
    for (token, refusal) in [
        ("cloud:index:getZone", None),
        ("cloud:index:getHost", Some("functions")),
    ] {
        let stack = stack(&simulation, calling(token)).await;
        let result = stack.update(OperationOptions::default()).wait().await;
        let text = result.error.as_ref().map(ToString::to_string);
        let is_expected = match (&text, refusal) {
            (None, None) => true,
            (Some(text), Some(part)) => text.contains(part) && text.contains(token),
            _ => false,
        };
        assert!(is_expected, "{text:?}");
    }
}

#[tokio::test]
async fn the_refusal_of_a_function_names_the_nearest_one_that_is_answered() {
    let simulation = Simulation::new(SimulationSettings {
        answered_functions: Some(vec!["cloud:index:getZone".to_owned()]),
        ..SimulationSettings::default()
    })
    .unwrap();
    simulation.set_answers(Arc::new(Answers));
    let program = from_fn(|context| async move {
        let invoke = Invoke {
            token: "cloud:index:getZoen".to_owned(),
            ..Invoke::default()
        };
        context.monitor.invoke(invoke).await?;
        Ok(())
    });
    let stack = stack(&simulation, program).await;
    let result = stack.update(OperationOptions::default()).wait().await;
    let text = result.error.as_ref().unwrap().to_string();
    assert!(
        text.contains("did you mean \"cloud:index:getZone\", which the option `functions` has?"),
        "{text}"
    );
    assert!(!text.contains("->"), "{text}");
}

#[tokio::test]
async fn patterns_of_settings_that_match_no_call_are_found_with_the_nearest_names() {
    let simulation = Simulation::new(SimulationSettings {
        outputs: [
            ("cloud:*".to_owned(), PropertyMap::new()),
            ("cloud:index:Machin".to_owned(), PropertyMap::new()),
        ]
        .into(),
        replace_on: [("cloud:index:Record".to_owned(), vec!["size".to_owned()])].into(),
        delete_before_replace: vec!["cloud:index:Machine".to_owned()],
        answered_functions: Some(vec!["cloud:index:getZone".to_owned()]),
        ..SimulationSettings::default()
    })
    .unwrap();
    up(&simulation, vec![machine("web", "small")]).await;
    simulation.clear_calls();
    let found: Vec<_> = simulation
        .unmatched_patterns()
        .into_iter()
        .map(|found| (found.setting, found.pattern, found.nearest.concat()))
        .collect();
    let expected = [
        ("outputs", "cloud:index:Machin", "cloud:index:Machine"),
        ("replace_on", "cloud:index:Record", ""),
        ("functions", "cloud:index:getZone", ""),
    ];
    assert_eq!(
        found,
        expected.map(|(setting, pattern, near)| (setting, pattern.to_owned(), near.to_owned()))
    );
}

#[tokio::test]
async fn a_schema_s_defaults_outputs_and_replacements_are_those_of_the_run() {
    let schema = json!({"name": "cloud", "resources": {"cloud:index:Machine": {
        "inputProperties": {
            "size": {"type": "string", "replaceOnChanges": true},
            "zone": {"type": "string", "default": "a"},
        },
        "properties": {"address": {"type": "string"}, "size": {"type": "string"}},
        "required": ["address", "size"],
    }}});
    let simulation = Simulation::new(SimulationSettings {
        schemas: vec![schema],
        ..SimulationSettings::default()
    })
    .unwrap();
    up(&simulation, vec![machine("web", "small")]).await;
    let thing = simulation.things().remove(0);
    assert_eq!(thing.inputs.get("zone"), Some(&"a".into()));
    assert!(thing.outputs.contains_key("address"));
    let result = up(&simulation, vec![machine("web", "large")]).await;
    assert_eq!(result.changes.get("replace"), Some(&1), "{}", result.tree());
    assert_ne!(simulation.things()[0].id, thing.id);
    let wrong =
        json!({"type": "cloud:index:Machine", "name": "web", "inputs": {"sice": "small"}}).to_string();
    let result = up(&simulation, vec![wrong]).await;
    let tree = result.tree();
    assert!(tree.contains("did you mean `size`?"), "{tree}");
}
