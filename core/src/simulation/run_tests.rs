//! Whole runs against simulated and real providers: components, other stacks, what is left, and schemas.

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Handle;

use super::{
    tests::{machine, program, simulation, stack, up},
    *,
};
use crate::{
    Engine, Stack, StackSettings,
    monitor::{Component, Invoke, Registration},
    operation::{OperationOptions, OperationResult},
    program::from_fn,
    provider::{Call, CreateResponse, ProviderResult, Reply},
    secrets::Base64Provider,
    urn::Urn,
};

fn discrepancies(simulation: &Simulation, result: &OperationResult) -> Vec<String> {
    simulation.discrepancies(result.snapshot.resources.iter().map(|it| &**it))
}

fn with_outputs(pattern: &str) -> Simulation {
    let address: PropertyMap = [("address", "10.0.0.1".into())].into_iter().collect();
    Simulation::new(SimulationSettings {
        outputs: [(pattern.to_owned(), address)].into(),
        ..SimulationSettings::default()
    })
    .unwrap()
}

fn boxed(size: u32) -> Vec<String> {
    let component =
        json!({"type": "cloud:index:Box", "name": "box", "remote": true, "inputs": {"size": size}});
    vec![component.to_string()]
}

/// Returns the address of the component in a result.
fn address(result: &OperationResult) -> Option<PropertyValue> {
    let component = crate::expectation::resources(result);
    let component = component.iter().find(|record| record.urn.name() == "box")?;
    component.outputs.get("address").cloned()
}

#[tokio::test]
async fn a_remote_component_that_is_recorded_has_the_same_outputs_in_previews() {
    let simulation = with_outputs("cloud:index:Box");
    // A program that makes something of the component's output.
    let using = |size: u32| {
        from_fn(move |context| async move {
            let component = Registration::from_json(boxed(size)[0].as_bytes())?;
            let registered = context.monitor.register(component).await?;
            let mut web = Registration::from_json(machine("web", "small").as_bytes())?;
            let address = registered.outputs.get("address").cloned();
            web.inputs.insert("address", address.unwrap_or_default());
            context.monitor.register(web).await?;
            Ok(())
        })
    };
    let created = stack(&simulation, using(1)).await;
    let result = created.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    for size in [1, 2] {
        let stack = stack(&simulation, using(size)).await;
        let preview = stack.preview(OperationOptions::default()).wait().await;
        assert!(preview.error.is_none(), "{:?}", preview.error);
        assert_eq!(address(&preview), Some("10.0.0.1".into()));
        assert_eq!(
            preview.changes.get("update"),
            (size == 2).then_some(&1),
            "{}",
            preview.tree()
        );
    }
    let destroyed = created.destroy(OperationOptions::default()).wait().await;
    assert!(destroyed.error.is_none(), "{:?}", destroyed.error);
    let preview = created.preview(OperationOptions::default()).wait().await;
    assert_ne!(
        address(&preview),
        Some("10.0.0.1".into()),
        "a new component has unknown outputs"
    );
}

#[tokio::test]
async fn outputs_of_other_stacks_are_those_of_the_settings_or_name_the_option() {
    let outputs: PropertyMap = [
        ("url", "https://other".into()),
        ("key", PropertyValue::secret("k-31337".into())),
    ]
    .into_iter()
    .collect();
    let simulation = Simulation::new(SimulationSettings {
        stacks: [
            ("acme/other/dev".to_owned(), outputs.clone()),
            ("live".to_owned(), outputs.clone()),
        ]
        .into(),
        ..SimulationSettings::default()
    })
    .unwrap();
    let reading = |name: &'static str| {
        from_fn(move |context| async move {
            let invoke = Invoke {
                token: "pulumi:pulumi:readStackOutputs".to_owned(),
                arguments: [("name", name.into())].into_iter().collect(),
                ..Invoke::default()
            };
            let read = context.monitor.invoke(invoke).await?;
            let outputs = read.get("outputs").cloned().unwrap_or_default();
            assert!(outputs.contains_secrets(), "{outputs:?}");
            Ok(())
        })
    };
    for name in [
        "acme/other/dev",
        "other/dev",
        "live",
        "shop/live",
        "organization/shop/live",
    ] {
        let stack = stack(&simulation, reading(name)).await;
        let result = stack.update(OperationOptions::default()).wait().await;
        assert!(result.error.is_none(), "{name} {:?}", result.error);
    }
    let stack = stack(&simulation, reading("other/dve")).await;
    let result = stack.update(OperationOptions::default()).wait().await;
    let text = result.tree();
    assert!(
        text.contains("no stack named 'other/dve' found") && text.contains("in the option `stacks`"),
        "{text}"
    );
}

fn retained(name: &str, size: &str) -> String {
    json!({"type": "cloud:index:Machine", "name": name, "retainOnDelete": true, "inputs": {"size": size}})
        .to_string()
}

#[tokio::test]
async fn what_is_retained_is_no_discrepancy_and_what_is_lost_is_one() {
    let simulation = simulation();
    up(
        &simulation,
        vec![retained("web", "small"), retained("db", "small")],
    )
    .await;
    let result = up(&simulation, vec![retained("db", "small")]).await;
    assert_eq!(discrepancies(&simulation, &result), [""; 0]);
    let stack = stack(&simulation, program(Vec::new())).await;
    let result = stack.destroy(OperationOptions::default()).wait().await;
    assert!(result.error.is_none() && simulation.things().len() == 2);
    assert_eq!(discrepancies(&simulation, &result), [""; 0]);
    let result = up(&simulation, vec![retained("db", "small")]).await;
    let recorded = &result.snapshot.resources;
    let kept = recorded.iter().filter(|record| record.urn.name() != "db");
    let texts = simulation.discrepancies(kept.map(|it| &**it));
    assert!(
        matches!(texts.as_slice(), [text] if text.starts_with("db (cloud:index:Machine) exists with the id db-")),
        "{texts:?}"
    );
}

#[tokio::test]
async fn what_is_retained_no_longer_is_missed_without_a_record() {
    let simulation = simulation();
    let kept =
        || json!({"type": "cloud:index:Machine", "name": "db", "inputs": {"size": "small"}}).to_string();
    up(&simulation, vec![retained("db", "small")]).await;
    up(&simulation, vec![kept()]).await;
    let result = up(&simulation, vec![kept()]).await;
    let recorded = &result.snapshot.resources;
    let others = recorded.iter().filter(|record| record.urn.name() != "db");
    assert_eq!(simulation.discrepancies(others.map(|it| &**it)).len(), 1);
}

/// A real provider, each of whose things has another id.
#[derive(Default)]
struct Real(std::sync::atomic::AtomicU64);

#[async_trait::async_trait]
impl ProviderBackend for Real {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Create(request) => {
                let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Ok(Reply::Create(CreateResponse {
                    id: format!("i-{number}").into(),
                    outputs: request.inputs,
                    ..CreateResponse::default()
                }))
            }
            Call::Delete(_) => Ok(Reply::Done),
            Call::Construct(request) => {
                let component = Component::register(&request).await?;
                let child = Registration {
                    resource_type: "cloud:index:Machine".into(),
                    name: format!("{}-machine", request.name),
                    custom: true,
                    inputs: request.inputs.clone().collapse_outputs(),
                    ..Registration::default()
                };
                component.register_child(child).await?;
                component
                    .finish(request.inputs.clone())
                    .await
                    .map(Reply::Construct)
            }
            other => other.without_method(),
        }
    }
}

async fn with_real(simulation: &Simulation, resources: Vec<String>) -> Stack {
    let builder = Engine::builder(Handle::current()).secrets(Arc::new(Base64Provider));
    let builder = builder.provider("cloud", Arc::new(Real::default()));
    let engine = builder.simulation(simulation.clone()).build().unwrap();
    let settings = StackSettings {
        program: Some(program(resources)),
        ..StackSettings::default()
    };
    engine.stack("shop/dev", settings).await.unwrap()
}

#[tokio::test]
async fn records_of_real_providers_are_no_discrepancies_and_creations_without_one_are() {
    let simulation = simulation();
    let stack = with_real(&simulation, vec![machine("web", "small")]).await;
    let result = stack.update(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(discrepancies(&simulation, &result), [""; 0]);
    let urn = Urn::new("dev", "shop", "", "cloud:index:Machine", "web");
    assert_eq!(simulation.existing_of(&urn).len(), 1);
    let texts = simulation.discrepancies([]);
    assert_eq!(
        texts,
        ["web (cloud:index:Machine) exists with the id i-0, and no record has it"]
    );
    let result = stack.destroy(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(discrepancies(&simulation, &result), [""; 0]);
    assert_eq!(simulation.existing_of(&urn), []);
}

#[tokio::test]
async fn another_engine_calls_its_own_provider() {
    let simulation = simulation();
    let mut resources = vec![machine("web", "small")];
    for name in ["web", "db"] {
        let stack = with_real(&simulation, resources.clone()).await;
        let result = stack.update(OperationOptions::default()).wait().await;
        let records = &result.snapshot.resources;
        let record = records.iter().find(|record| record.urn.name() == name).unwrap();
        assert_eq!(record.id.as_str(), "i-0", "the first creation of the provider");
        resources.push(machine("db", "small"));
    }
}

async fn recorded_box(record: RecordMode, real: &[&str]) -> (Simulation, Arc<OperationResult>) {
    let simulation = Simulation::new(SimulationSettings {
        record,
        real: real.iter().map(|&package| package.to_owned()).collect(),
        ..SimulationSettings::default()
    })
    .unwrap();
    let stack = with_real(&simulation, boxed(1)).await;
    let result = stack.update(OperationOptions::default()).wait().await;
    (simulation, result)
}

#[tokio::test]
async fn a_component_is_recorded_only_where_its_provider_constructs_it_in_the_play_too() {
    let (_, refused) = recorded_box(RecordMode::Record, &[]).await;
    let text = refused.tree();
    assert!(
        text.contains("a recording cannot have the remote component box (cloud:index:Box)")
            && text.contains("name the package in the option `real`: [\"cloud\"]"),
        "{text}"
    );
    let (simulation, result) = recorded_box(RecordMode::Record, &["cloud"]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let records = result.snapshot.resources.iter().map(|record| &**record);
    let recording = simulation.recorded(&result.redactor, false, records).unwrap();
    let recording = bytes::Bytes::from(recording.unwrap());
    let play = || RecordMode::Play {
        recording: recording.clone(),
        file: None,
    };
    let (played, result) = recorded_box(play(), &["cloud"]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let names: Vec<String> = played.things().into_iter().map(|thing| thing.name).collect();
    assert_eq!(names, ["box-machine"], "what the recording has is played");
    let (_, result) = recorded_box(play(), &[]).await;
    let text = result.tree();
    assert!(
        text.contains("the recording has no remote component box (cloud:index:Box)"),
        "{text}"
    );
}

#[tokio::test]
async fn an_update_of_what_was_removed_by_hand_fails_and_its_deletion_succeeds() {
    let simulation = simulation();
    up(&simulation, vec![machine("web", "small")]).await;
    let thing = simulation.things().remove(0);
    assert!(simulation.remove(&thing.resource_type, &thing.id));
    let result = up(&simulation, vec![machine("web", "large")]).await;
    let text = result.tree();
    assert!(
        text.contains("the simulated world has no cloud:index:Machine with the id")
            && text.contains("a refresh finds that"),
        "{text}"
    );
    assert!(simulation.things().is_empty());
    let stack = stack(&simulation, program(Vec::new())).await;
    let result = stack.destroy(OperationOptions::default()).wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test]
async fn a_refresh_finds_that_a_thing_without_properties_is_gone() {
    let simulation = simulation();
    let bare = json!({"type": "cloud:index:Machine", "name": "web"}).to_string();
    up(&simulation, vec![bare.clone()]).await;
    let thing = simulation.things().remove(0);
    simulation.remove(&thing.resource_type, &thing.id);
    let stack = stack(&simulation, program(vec![bare])).await;
    let result = stack.refresh(OperationOptions::default()).wait().await;
    assert_eq!(result.changes.get("delete"), Some(&1), "{}", result.tree());
}

#[tokio::test]
async fn a_type_that_the_schema_lacks_is_refused_with_the_nearest_one() {
    let schema = json!({"name": "cloud", "resources": {"cloud:index:Machine": {
        "inputProperties": {"size": {"type": "string"}},
    }}});
    let simulation = Simulation::new(SimulationSettings {
        schemas: vec![schema],
        ..SimulationSettings::default()
    })
    .unwrap();
    let misspelt = machine("web", "small").replace("Machine", "Machin");
    let component = boxed(1).remove(0);
    for (resource, refusal) in [
        (
            misspelt,
            "the schema of cloud has no resource cloud:index:Machin; did you mean `cloud:index:Machine`?",
        ),
        (component, "the schema of cloud has no resource cloud:index:Box"),
    ] {
        let text = up(&simulation, vec![resource]).await.tree();
        assert!(text.contains(refusal), "{text}");
    }
    let result = up(&simulation, vec![machine("web", "small")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test]
async fn a_function_of_a_schema_is_answered_and_one_that_the_schema_lacks_is_refused() {
    let text = json!({"type": "string"});
    let schema = json!({
        "name": "cloud",
        "resources": {"cloud:index:Machine": {"inputProperties": {"size": text, "zone": text}}},
        "functions": {"cloud:index:getZone": {
            "inputs": {"properties": {"name": text}, "required": ["name"]},
            "outputs": {"properties": {"id": text}, "required": ["id"]},
        }},
    });
    let simulation = Simulation::new(SimulationSettings {
        schemas: vec![schema],
        ..SimulationSettings::default()
    })
    .unwrap();
    for (token, name, refusal) in [
        ("cloud:index:getZone", "name", None),
        ("cloud:index:getZone", "nam", Some("did you mean `name`?")),
        (
            "cloud:index:getZones",
            "name",
            Some("did you mean `cloud:index:getZone`?"),
        ),
    ] {
        let calling = from_fn(move |context| async move {
            let invoke = Invoke {
                token: token.to_owned(),
                arguments: [(name, "a".into())].into_iter().collect(),
                ..Invoke::default()
            };
            let mut web = Registration::from_json(machine("web", "small").as_bytes())?;
            let answer = context.monitor.invoke(invoke).await?;
            web.inputs
                .insert("zone", answer.get("id").cloned().unwrap_or_default());
            context.monitor.register(web).await?;
            Ok(())
        });
        let stack = stack(&simulation, calling).await;
        let result = stack.update(OperationOptions::default()).wait().await;
        let text = result.error.as_ref().map(ToString::to_string).unwrap_or_default();
        match refusal {
            None => assert!(text.is_empty(), "{text}"),
            Some(refusal) => assert!(text.contains(refusal), "{text}"),
        }
    }
    let things = simulation.things();
    assert!(matches!(things[0].inputs.get("zone"), Some(PropertyValue::String(id)) if id.starts_with("id-")));
}

#[tokio::test]
async fn an_operation_after_a_run_that_was_killed_names_how_another_one_begins() {
    let simulation = simulation();
    let stack = stack(&simulation, program(vec![machine("web", "small")])).await;
    simulation.begin_run(Some(3));
    stack.update(OperationOptions::default()).wait().await;
    let result = stack.update(OperationOptions::default()).wait().await;
    let error = result.error.as_ref().unwrap();
    assert!(
        error.hints().iter().any(|hint| hint.contains("restart()")),
        "{error:?}"
    );
}
