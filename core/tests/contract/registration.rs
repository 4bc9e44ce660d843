//! Registrations: each is a separate task, and each is answered, refused, or left unanswered.

use std::sync::{Arc, Mutex, atomic::Ordering};

use stackwright::{
    Stack, StackSettings,
    monitor::{Invoke, Monitor, Read, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::{Asset, AssetSource, PropertyValue},
    resource::ResourceState,
    urn::Urn,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, resource, stack};

pub(crate) fn names(result: &OperationResult) -> Vec<&str> {
    let provided = result.snapshot.resources.iter();
    let custom = provided.filter(|state| state.custom && !state.is_provider());
    custom.map(|state| state.urn.name()).collect()
}

pub(crate) async fn update(stack: &Stack, program: Arc<dyn Program>) -> Arc<OperationResult> {
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await
}

/// Returns an asset whose file does not exist.
fn nowhere() -> PropertyValue {
    let asset = Asset {
        hash: "".into(),
        source: AssetSource::Path("/nowhere/at/all".to_owned()),
    };
    PropertyValue::Asset(Arc::new(asset))
}

pub(crate) fn succeeded(result: &OperationResult) {
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(result.snapshot.pending_operations.is_empty());
}

pub(crate) async fn destroyed(stack: &Stack) {
    let result = stack.destroy(OperationOptions::default()).ended().await;
    succeeded(&result);
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_continues_when_its_caller_is_dropped() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let scripted = Arc::clone(&provider);
    let program = from_fn(move |context| {
        let provider = Arc::clone(&scripted);
        async move {
            drop(context.monitor.register(resource("never awaited", "1")));
            let waiting = tokio::spawn(context.monitor.register(resource("waits", "1")));
            provider
                .entered
                .notified()
                .within("the begin of the held call")
                .await;
            waiting.abort();
            assert!(waiting.within("the aborted call").await.is_err());
            provider.given_up.notify_one();
            Ok(())
        }
    });
    let result = update(&stack, program).await;
    succeeded(&result);
    let mut names = names(&result);
    names.sort_unstable();
    assert_eq!(names, ["never awaited", "waits"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoke_that_is_dropped_leaves_its_default_provider_to_the_next_one() {
    let provider = Arc::new(Scripted::default());
    provider.configure_waits.store(true, Ordering::SeqCst);
    let stack = stack(&provider, StackSettings::default()).await;
    let scripted = Arc::clone(&provider);
    let program = from_fn(move |context| {
        let provider = Arc::clone(&scripted);
        async move {
            let monitor = context.monitor.clone();
            let invoking = tokio::spawn(async move {
                let invoke = Invoke {
                    token: "echo:index:lookup".to_owned(),
                    ..Invoke::default()
                };
                monitor.invoke(invoke).await
            });
            provider
                .entered
                .notified()
                .within("the begin of the held call")
                .await;
            invoking.abort();
            assert!(invoking.within("the aborted call").await.is_err());
            provider.given_up.notify_one();
            context.monitor.register(resource("a", "1")).await?;
            Ok(())
        }
    });
    let result = update(&stack, program).await;
    succeeded(&result);
    assert_eq!(names(&result), ["a"]);
}

fn read(name: &str, dependencies: Vec<Urn>) -> Read {
    Read {
        resource_type: "echo:index:Echo".into(),
        name: name.to_owned(),
        id: "7".into(),
        dependencies,
        ..Read::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_with_an_unknown_dependency_is_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let ghost = Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::ghost")?;
        context.monitor.read(read("r", vec![ghost])).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains("refers to missing resource"), "{error}");
    assert!(names(&result).is_empty());
    destroyed(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_and_reads_that_depend_on_a_failed_resource_are_skipped() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let refused = context.monitor.register(resource("refused", "1")).await?;
        assert!(refused.failed && !refused.skipped);
        let read = context.monitor.read(read("r", vec![refused.urn.clone()])).await?;
        assert!(read.failed && read.skipped);
        let dependent = Registration {
            dependencies: vec![refused.urn],
            ..resource("dependent", "1")
        };
        let dependent = context.monitor.register(dependent).await?;
        assert!(dependent.failed && dependent.skipped);
        Ok(())
    });
    let options = OperationOptions {
        continue_on_error: true,
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program));
    let result = operation.ended().await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains("refused by the provider"), "{error}");
    assert!(names(&result).is_empty());
    destroyed(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_refused_for_its_asset_can_be_repeated_and_one_that_is_not_fails_the_run() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let first = program(&[("a", "1"), ("b", "1")]);
    succeeded(&*update(&stack, first).await);
    let refused = |again: &'static [&'static str]| {
        from_fn(move |context| async move {
            for name in ["a", "b"] {
                let mut missing = resource(name, "1");
                missing.inputs.insert("file", nowhere());
                let refused = context.monitor.register(missing).await.unwrap_err();
                assert!(refused.message.contains("/nowhere/at/all"), "{}", refused.message);
            }
            // The program may register them again with an existing file.
            for name in again {
                context.monitor.register(resource(name, "1")).await?;
            }
            Ok(())
        })
    };
    let result = update(&stack, refused(&["a"])).await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains("/nowhere/at/all"), "{error}");
    assert!(error.urn().is_some_and(|urn| urn.name() == "b"), "{error}");
    assert_eq!(names(&result), ["a", "b"]);
    let result = update(&stack, refused(&["a", "b"])).await;
    succeeded(&result);
    assert_eq!(names(&result), ["a", "b"]);
    assert!(!provider.calls.lock().unwrap().contains(&"delete b".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_that_waits_for_a_refused_one_is_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let mut missing = resource("a", "1");
        missing.inputs.insert("file", nowhere());
        let refused = context.monitor.register(missing);
        let a = Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::a")?;
        let dependent = Registration {
            dependencies: vec![a],
            ..resource("dependent", "1")
        };
        let dependent = context.monitor.register(dependent);
        assert!(refused.await.is_err());
        dependent.await?;
        Ok(())
    });
    let error = update(&stack, program).await.error.clone().unwrap();
    assert!(error.message().contains("refers to missing resource"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_are_refused_once_the_deletions_have_begun() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    provider.given_up.notify_one();
    let first = program(&[("waits", "1")]);
    succeeded(&*update(&stack, first).await);
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let kept: Arc<Mutex<Option<Monitor>>> = Arc::default();
    let program = from_fn({
        let kept = Arc::clone(&kept);
        move |context| {
            *kept.lock().unwrap() = Some(context.monitor.clone());
            async { Ok(()) }
        }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let monitor = kept.lock().unwrap().clone().unwrap();
    let late = monitor.register(resource("waits", "2")).await.unwrap_err();
    assert_eq!(
        late.message,
        "resource monitor shut down while sending resource registration"
    );
    let late = monitor.read(read("r", Vec::new())).await.unwrap_err();
    assert!(late.is_shut_down());
    let late = monitor.invoke(Invoke {
        token: "echo:index:lookup".to_owned(),
        ..Invoke::default()
    });
    assert!(late.await.unwrap_err().is_shut_down());
    provider.given_up.notify_one();
    let result = operation.ended().await;
    succeeded(&result);
    assert!(names(&result).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_provider_stays_while_a_resource_refers_to_it() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let reference: Arc<Mutex<String>> = Arc::default();
    let explicit = from_fn({
        let reference = Arc::clone(&reference);
        move |context| {
            let reference = Arc::clone(&reference);
            async move {
                let base = context.monitor.register(resource("base", "1")).await?;
                let explicit = Registration {
                    resource_type: "pulumi:providers:echo".into(),
                    dependencies: vec![base.urn],
                    ..resource("explicit", "1")
                };
                let explicit = context.monitor.register(explicit).await?;
                *reference.lock().unwrap() = format!("{}::{}", explicit.urn, explicit.id);
                let mut user = resource("a", "1");
                user.package.provider.clone_from(&reference.lock().unwrap());
                context.monitor.register(user).await?;
                Ok(())
            }
        }
    });
    succeeded(&*update(&stack, explicit).await);
    // The program now only refers to it, in a recorded resource and in a new one.
    let named = from_fn({
        let reference = Arc::clone(&reference);
        move |context| {
            let reference = reference.lock().unwrap().clone();
            async move {
                for name in ["a", "b"] {
                    let mut user = resource(name, "1");
                    user.package.provider.clone_from(&reference);
                    context.monitor.register(user).await?;
                }
                Ok(())
            }
        }
    });
    let result = update(&stack, named).await;
    succeeded(&result);
    let is_explicit = |state: &Arc<ResourceState>| state.urn.name() == "explicit";
    assert!(result.snapshot.resources.iter().any(is_explicit));
    let mut names = names(&result);
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "base"]);
    // Without references it is deleted, after its resources and before its dependencies.
    let result = update(&stack, program(&[])).await;
    succeeded(&result);
    assert!(!result.snapshot.resources.iter().any(is_explicit));
    let calls = provider.calls.lock().unwrap();
    assert_eq!(calls[..3], ["create base", "create a", "create b"]);
    assert_eq!(calls.last().unwrap(), "delete base");
}

/// Registers `base` and, concurrently, its dependent.
fn pair(value: &'static str) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let base = context.monitor.register(resource("base", value));
        let urn = Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::base")?;
        let mut tied = resource("tied", value);
        tied.property_dependencies = Some([("value".into(), vec![urn.clone()])].into_iter().collect());
        tied.dependencies = vec![urn];
        let tied = context.monitor.register(tied);
        base.await?;
        tied.await?;
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_waits_for_a_replacement_is_deleted_before_it() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    succeeded(&*update(&stack, pair("1")).await);
    succeeded(&*update(&stack, pair("2")).await);
    assert_eq!(
        *provider.calls.lock().unwrap(),
        [
            "create base",
            "create tied",
            "delete tied",
            "delete base",
            "create base",
            "create tied"
        ]
    );
}
