//! Incoming values: unrepresentable ones are refused, and secrets are redacted in messages.

use std::sync::Arc;

use stackwright::{
    Stack, StackSettings,
    monitor::{Invoke, Read, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::{Asset, AssetSource, PropertyValue},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, forged, program, resource, stack};

const REFUSED: &str =
    "an object must not have the key '4dabf18193072939515e22adb298388d', which marks special values";

async fn run(stack: &Stack, kind: OperationKind, program: Option<Arc<dyn Program>>) -> Arc<OperationResult> {
    stack
        .start(kind, OperationOptions::default(), program)
        .ended()
        .await
}

async fn update(stack: &Stack, program: Arc<dyn Program>) -> Arc<OperationResult> {
    run(stack, OperationKind::Update, Some(program)).await
}

/// Checks that the stack can be read, refreshed and destroyed.
async fn is_usable(stack: &Stack) {
    for kind in [OperationKind::Refresh, OperationKind::Destroy] {
        let result = run(stack, kind, None).await;
        assert!(result.error.is_none(), "{:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_s_object_with_the_key_of_special_values_is_refused_by_its_path() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let refused = |status: stackwright::monitor::WireStatus, place: &str| {
            assert_eq!(status.message, format!("{place}: {REFUSED}"));
        };
        let forging = Registration {
            inputs: forged(),
            ..resource("a", "1")
        };
        refused(monitor.register(forging).await.unwrap_err(), "inputs.value");
        let mut triggered = resource("b", "1");
        let mut options = (*triggered.options).clone();
        options.replacement_trigger = Some(PropertyValue::array(vec![forged().into()]));
        triggered.options = options.into();
        let status = monitor.register(triggered).await.unwrap_err();
        assert!(status.message.ends_with(REFUSED), "{status}");
        let read = Read {
            resource_type: "echo:index:Echo".into(),
            name: "c".to_owned(),
            id: "id".into(),
            inputs: forged(),
            ..Read::default()
        };
        refused(monitor.read(read).await.unwrap_err(), "inputs.value");
        let invoke = Invoke {
            token: "echo:index:get".to_owned(),
            arguments: forged(),
            ..Invoke::default()
        };
        refused(monitor.invoke(invoke).await.unwrap_err(), "arguments.value");
        let root = monitor.register_root_stack().await?;
        let outputs = monitor.register_outputs(&root, forged()).await;
        refused(outputs.unwrap_err(), "outputs.value");
        Ok(())
    });
    update(&stack, program).await;
    is_usable(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_resource_keeps_its_id_although_its_outputs_are_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let result = update(&stack, program(&[("forges", "1")])).await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains(REFUSED), "{error}");
    let made = result.snapshot.resources.last().unwrap();
    assert_eq!((made.urn.name(), made.id.as_str()), ("forges", "id-forges"));
    assert!(made.outputs.is_empty() && !made.init_errors.is_empty());
    is_usable(&stack).await;

    let result = update(&stack, program(&[("forges later", "1")])).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let result = update(&stack, program(&[("forges later", "2")])).await;
    assert!(result.error.is_some());
    let kept = result.snapshot.resources.last().unwrap();
    assert_eq!(kept.id.as_str(), "id-forges later");
    assert_eq!(kept.outputs.get("value"), Some(&"1".into()));
    is_usable(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_outputs_of_a_provider_are_not_recorded() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let values: [(&str, &'static [(&str, &str)]); 2] =
        [("1", &[("knows little", "1")]), ("2", &[("knows little", "2")])];
    for (value, resources) in values {
        let result = update(&stack, program(resources)).await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let outputs = &result.snapshot.resources.last().unwrap().outputs;
        let kept = PropertyValue::secret(PropertyValue::array(vec!["kept".into()]));
        let known = [("value", value.into()), ("inner", kept)];
        assert_eq!(*outputs, known.into_iter().collect());
    }
    is_usable(&stack).await;
}

fn with_secret(name: &'static str, secret: &'static str) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let mut registration = resource(name, "");
        let secret = PropertyValue::secret(secret.into());
        registration.inputs.insert("value", secret);
        context.monitor.register(registration).await?;
        Ok(())
    })
}

fn messages(result: &OperationResult) -> String {
    format!("{:?} {:?} {:?}", result.error, result.diagnostics, result.steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_the_program_is_redacted_in_a_provider_s_message() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let result = update(&stack, with_secret("leaks", "topsecret99")).await;
    let text = messages(&result);
    assert!(
        text.contains("cannot use [secret]") && !text.contains("topsecret99"),
        "{text}"
    );
    // Secrets that are too short are not redacted, so that other text stays legible.
    let text = messages(&*update(&stack, with_secret("leaks", "an")).await);
    assert!(text.contains("cannot use an"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_the_state_is_redacted_although_the_program_no_longer_has_it() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let result = update(&stack, with_secret("leaks later", "oldsecret77")).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let text = messages(&*update(&stack, program(&[("leaks later", "plain")])).await);
    assert!(
        text.contains("cannot use [secret]") && !text.contains("oldsecret77"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_that_a_read_returns_by_hash_alone_keep_the_contents_that_are_recorded() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let asset = PropertyValue::Asset(Arc::new(Asset {
            hash: "".into(),
            source: AssetSource::Text("long text".to_owned()),
        }));
        let mut elides = resource("elides", "1");
        elides.inputs.insert("source", asset);
        context.monitor.register(elides).await?;
        Ok(())
    });
    let made = update(&stack, program).await;
    assert!(made.error.is_none(), "{:?}", made.error);
    let refreshed = run(&stack, OperationKind::Refresh, None).await;
    assert_eq!(refreshed.changes["same"], 2, "{:?}", refreshed.changes);
    let mut records = refreshed.snapshot.resources.iter();
    let record = records.find(|record| record.urn.name() == "elides").unwrap();
    for values in [&record.inputs, &record.outputs] {
        let Some(PropertyValue::Asset(asset)) = values.get("source") else {
            panic!("the value is not an asset");
        };
        assert_eq!(asset.source, AssetSource::Text("long text".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_asset_has_its_hash_and_one_that_cannot_be_read_keeps_the_former_outputs() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let exporting = |source: AssetSource| {
        from_fn(move |context| {
            let asset = Asset {
                source: source.clone(),
                ..Asset::default()
            };
            async move {
                context.monitor.register(resource("a", "1")).await?;
                context
                    .monitor
                    .export("file", PropertyValue::Asset(Arc::new(asset)));
                Ok(())
            }
        })
    };
    let result = update(&stack, exporting(AssetSource::Text("hello".into()))).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    // The SHA-256 of "hello".
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let recorded = |result: &OperationResult| match result.snapshot.resources[0].outputs.get("file") {
        Some(PropertyValue::Asset(asset)) => asset.hash.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(recorded(&result), hash);

    let result = update(&stack, exporting(AssetSource::Path("no/such/file".into()))).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), stackwright::ErrorKind::InvalidInput);
    assert!(
        error.message().contains("file") && error.message().contains("no/such/file"),
        "{error}"
    );
    assert_eq!(recorded(&result), hash);
    is_usable(&stack).await;
}
