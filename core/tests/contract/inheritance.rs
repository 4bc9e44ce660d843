//! References of registrations: property dependencies on keys that are no inputs, options that children inherit from
//! parents whose URN was computed, and the outputs of a root stack with another name.

use std::sync::Arc;

use async_trait::async_trait;
use stackwright::{
    Engine, Result, Stack, StackSettings,
    event::EventPayload,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, ProgramContext, from_fn},
    property::PropertyMap,
    provider::ProviderBackend,
    resource::{PropertyDependencies, ResourceOptions, ResourceState},
    urn::Urn,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, engine, resource, stack};

async fn run(stack: &Stack, options: OperationOptions, program: Arc<dyn Program>) -> Arc<OperationResult> {
    stack
        .start(OperationKind::Update, options, Some(program))
        .ended()
        .await
}

fn record<'a>(result: &'a OperationResult, name: &str) -> Option<&'a ResourceState> {
    let records = result.snapshot.resources.iter();
    let mut records = records.filter(|state| state.urn.name() == name);
    records.next().map(|state| &**state)
}

/// Depends on `other` by a key that is not among the inputs, as a program with an undefined input does.
fn by_absent_key(name: &str, other: Urn) -> Registration {
    Registration {
        property_dependencies: Some(PropertyDependencies::from([("absent".into(), vec![other])])),
        ..resource(name, "1")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dependencies_of_a_key_that_is_no_input_are_recorded() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let a = context.monitor.register(resource("a", "1")).await?;
        context.monitor.register(by_absent_key("b", a.urn)).await?;
        Ok(())
    });
    let result = run(&stack, OperationOptions::default(), program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let recorded = &record(&result, "b").unwrap().property_dependencies;
    let expected = [
        ("absent".into(), vec![record(&result, "a").unwrap().urn.clone()]),
        ("value".into(), Vec::new()),
    ];
    assert_eq!(*recorded, PropertyDependencies::from(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_of_a_failed_resource_by_a_key_that_is_no_input_is_skipped() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let refused = context.monitor.register(resource("refused", "1")).await?;
        let dependent = context.monitor.register(by_absent_key("b", refused.urn)).await?;
        assert!(dependent.failed && dependent.skipped);
        Ok(())
    });
    let options = OperationOptions {
        continue_on_error: true,
        ..OperationOptions::default()
    };
    let result = run(&stack, options, program).await;
    assert!(result.error.is_some());
    assert!(record(&result, "b").is_none());
    assert!(!provider.calls.lock().unwrap().contains(&"create b".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_of_an_untargeted_creation_by_a_key_that_is_no_input_is_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let a = context.monitor.register(resource("a", "1")).await?;
        context.monitor.register(by_absent_key("b", a.urn)).await?;
        Ok(())
    });
    let options = OperationOptions {
        targets: vec!["**::b".to_owned()],
        ..OperationOptions::default()
    };
    let result = run(&stack, options, program).await;
    let error = result.error.clone().unwrap();
    assert!(
        error
            .message()
            .contains("which does not exist yet and is not among the targets"),
        "{error}"
    );
    assert!(record(&result, "b").is_none());
}

/// Returns the URN of a child of the resource `parent`.
fn urn(parent: &str, name: &str) -> Urn {
    Urn::new("dev", "shop", parent, "echo:index:Echo", name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_inherits_from_a_parent_whose_urn_was_computed() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let base = monitor.register(resource("base", "1")).await?;
        let mut parent = Registration {
            protect: Some(true),
            retain_on_delete: Some(true),
            options: ResourceOptions {
                deleted_with: Some(base.urn),
                ..ResourceOptions::default()
            }
            .into(),
            ..resource("parent", "1")
        };
        parent.package.version = "1.2.3".to_owned();
        // The parent is registered, but has not begun.
        let parent = monitor.register(parent);
        let child = monitor.register(Registration {
            parent: Some(urn("", "parent")),
            ..resource("child", "1")
        });
        let grandchild = monitor.register(Registration {
            parent: Some(urn("echo:index:Echo", "child")),
            ..resource("grandchild", "1")
        });
        let (parent, child, grandchild) = tokio::join!(parent, child, grandchild);
        parent.and(child).and(grandchild)?;
        Ok(())
    });
    let result = run(&stack, OperationOptions::default(), program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let parent = record(&result, "parent").unwrap();
    assert!(parent.provider.contains("default_1_2_3"), "{}", parent.provider);
    for name in ["child", "grandchild"] {
        let state = record(&result, name).unwrap();
        assert!(state.protect && state.retain_on_delete, "{name}");
        assert_eq!(state.options.deleted_with, Some(urn("", "base")), "{name}");
        assert_eq!(state.provider, parent.provider, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn children_inherit_nothing_from_a_registration_that_was_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let refused = Registration {
            protect: Some(true),
            ..missing_asset("parent")
        };
        monitor.register(refused).await.unwrap_err();
        let parent = monitor.register(resource("parent", "1")).await?;
        let child = Registration {
            parent: Some(parent.urn),
            ..resource("child", "1")
        };
        monitor.register(child).await?;
        Ok(())
    });
    let result = run(&stack, OperationOptions::default(), program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(!record(&result, "child").unwrap().protect);
}

fn missing_asset(name: &str) -> Registration {
    let asset = stackwright::property::Asset {
        hash: "".into(),
        source: stackwright::property::AssetSource::Path("/nowhere/at/all".to_owned()),
    };
    let mut registration = resource(name, "1");
    registration.inputs.insert(
        "file",
        stackwright::property::PropertyValue::Asset(Arc::new(asset)),
    );
    registration
}

/// Registers its own root stack, as programs may, and publishes outputs of it.
struct OwnRoot;

#[async_trait]
impl Program for OwnRoot {
    async fn run(&self, context: ProgramContext) -> Result<()> {
        let root = Registration {
            resource_type: "pulumi:pulumi:Stack".into(),
            name: "of-my-own".to_owned(),
            ..Registration::default()
        };
        let root = context.monitor.register(root).await?;
        let a = context.monitor.register(resource("a", "1")).await?;
        let outputs = [("id", a.id.as_str().into())].into_iter().collect();
        context.monitor.register_outputs(&root.urn, outputs).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_of_a_root_stack_with_a_name_of_its_own_are_kept() {
    let provider: Arc<dyn ProviderBackend> = Arc::new(Scripted::default());
    let engine: Engine = engine().provider("echo", provider).build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program: Arc<dyn Program> = Arc::new(OwnRoot);
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    let mut events = operation.events();
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut published = None;
    while let Some(event) = events.next().within("the next event").await {
        if let EventPayload::ResourceOutputs(step) = &event.payload
            && step.metadata.urn.name() == "of-my-own"
        {
            published = step.metadata.new.as_ref().map(|new| new.0.outputs.clone());
        }
    }
    let expected: PropertyMap = [("id", "id-a".into())].into_iter().collect();
    assert_eq!(published, Some(expected.clone()));
    assert_eq!(result.outputs, expected);
    assert_eq!(record(&result, "of-my-own").unwrap().outputs, expected);
    assert_eq!(stack.outputs().await.unwrap(), expected);
    // Also for a stack reference, and when no outputs are published.
    let again = run(&stack, OperationOptions::default(), from_fn(|_| async { Ok(()) })).await;
    assert!(again.error.is_none(), "{:?}", again.error);
}
