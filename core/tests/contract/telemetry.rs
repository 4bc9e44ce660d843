//! The export of spans to a collector.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use stackwright::{
    Engine, EngineBuilder, Result, Stack, StackSettings, monitor::Registration, operation::OperationOptions,
    program::from_fn, property::PropertyValue, runtime::Runtime, secrets::Base64Provider, store::MemoryStore,
    telemetry::Telemetry,
};
use stackwright_testkit::{
    server::collector::{Collector, ExportedSpan},
    wait::{Ended as _, Within as _, at_most},
};
use tokio::net::TcpListener;

use crate::fixture::Scripted;

const SECRET: &str = "correct horse battery";
const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn builder() -> EngineBuilder {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .provider("test", Arc::new(Scripted::default()))
}

/// Opens a stack with a resource that is created, one whose name is a secret, and one that its provider refuses.
async fn stack(engine: &Engine) -> Stack {
    let program = from_fn(|context| async move {
        for name in ["a", SECRET, "refused"] {
            let registration = Registration {
                resource_type: "test:index:Thing".into(),
                name: name.to_owned(),
                custom: true,
                inputs: [("value", PropertyValue::secret(SECRET.into()))]
                    .into_iter()
                    .collect(),
                ..Registration::default()
            };
            context.monitor.register(registration).await?;
        }
        Ok(())
    });
    let settings = StackSettings {
        program: Some(program),
        ..StackSettings::default()
    };
    engine.create_stack("shop/dev", settings).await.unwrap()
}

fn by_caller(traceparent: &str) -> OperationOptions {
    OperationOptions {
        traceparent: Some(traceparent.to_owned()),
        ..OperationOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_arrive_within_those_that_they_belong_to_and_without_secrets() {
    let collector = Collector::start().await;
    let telemetry = Telemetry {
        service_name: "deployer".to_owned(),
        headers: [("authorization".to_owned(), "Bearer 4711".to_owned())].into(),
        attributes: [("deployment.environment.name".to_owned(), "test".to_owned())].into(),
        ..Telemetry::to(collector.url())
    };
    let engine = builder().telemetry(telemetry).build().unwrap();
    let stack = stack(&engine).await;
    assert!(stack.update(by_caller(CALLER)).ended().await.error.is_some());
    let spans = collector.until("operation").await;

    let ids: BTreeMap<&str, &ExportedSpan> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
    assert_eq!(ids.len(), spans.len(), "each span has an id of its own");
    assert!(
        spans
            .iter()
            .all(|span| span.trace == "0af7651916cd43dd8448eb211c80319c")
    );
    let parent = |span: &ExportedSpan| {
        ids.get(span.parent.as_str())
            .map_or("", |parent| parent.name.as_str())
    };
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();

    let operation = named("operation update")[0];
    assert_eq!(operation.parent, "b7ad6b7169203331");
    assert!(operation.has_failed && operation.nanoseconds > 0);
    for (name, value) in [
        ("stack", "shop/dev"),
        ("verb", "update"),
        ("preview", "false"),
        ("outcome", "failed"),
    ] {
        assert_eq!(operation.attributes[name], value);
    }
    assert_eq!(operation.resource["service.name"], "deployer");
    assert_eq!(operation.resource["deployment.environment.name"], "test");

    let steps = named("step create");
    assert!(
        steps.iter().all(|step| parent(step) == "operation update"),
        "{steps:?}"
    );
    let refused = steps
        .iter()
        .find(|step| step.attributes["urn"].ends_with("::refused"))
        .unwrap();
    assert!(refused.has_failed);
    assert_eq!(refused.attributes["error.type"], "Unknown");
    let hidden = steps
        .iter()
        .find(|step| step.attributes["urn"].ends_with("::[secret]"));
    assert!(hidden.is_some_and(|step| !step.has_failed), "{steps:?}");

    let creations = named("provider_call create");
    assert!(
        creations.iter().all(|call| parent(call) == "step create"),
        "{creations:?}"
    );
    assert!(creations.iter().all(|call| call.attributes["provider"] == "test"));
    assert_eq!(creations.len(), 3);
    assert!(
        named("provider_call check")
            .iter()
            .all(|call| parent(call) == "operation update")
    );
    let appends = named("store_call append");
    assert!(!appends.is_empty() && appends.iter().all(|call| parent(call) == "operation update"));
    assert!(appends[0].attributes["key"].contains("shop/dev"));

    assert!(
        collector
            .headers()
            .iter()
            .all(|headers| headers["authorization"] == "Bearer 4711")
    );
    let secret = SECRET.as_bytes();
    for body in collector.bodies() {
        assert!(!body.windows(secret.len()).any(|part| part == secret));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_without_a_caller_have_traces_of_their_own() {
    let collector = Collector::start().await;
    let engine = builder()
        .telemetry(Telemetry::to(collector.url()))
        .build()
        .unwrap();
    let stack = stack(&engine).await;
    for _ in 0..2 {
        stack.preview(OperationOptions::default()).ended().await;
    }
    engine.close().within("the last spans").await;
    let spans = collector.spans();
    let operations: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "operation update")
        .collect();
    assert_eq!(operations.len(), 2);
    assert!(
        operations
            .iter()
            .all(|span| span.parent.is_empty() && span.attributes["preview"] == "true")
    );
    assert_ne!(operations[0].trace, operations[1].trace);
    assert_eq!(operations[0].resource["service.name"], "stackwright");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_whose_caller_is_not_recorded_exports_nothing() {
    let collector = Collector::start().await;
    let engine = builder()
        .telemetry(Telemetry::to(collector.url()))
        .build()
        .unwrap();
    let stack = stack(&engine).await;
    stack
        .preview(by_caller(&CALLER.replace("-01", "-00")))
        .ended()
        .await;
    engine.close().within("the last spans").await;
    assert!(collector.bodies().is_empty());
    let refused = stack.preview(by_caller("no header")).ended().await;
    let error = refused.error.as_ref().unwrap();
    assert_eq!(error.kind().name(), "invalid_input");
    assert!(error.message().starts_with("traceparent takes"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_busy_gets_the_spans_again() {
    let collector = Collector::start().await;
    collector.answer_with(&[503]);
    let engine = builder()
        .telemetry(Telemetry::to(collector.url()))
        .build()
        .unwrap();
    stack(&engine)
        .await
        .preview(OperationOptions::default())
        .ended()
        .await;
    let spans = collector.until("operation").await;
    assert_eq!(
        spans
            .iter()
            .filter(|span| span.name.starts_with("operation"))
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_collector_delays_no_operation_and_a_close_for_a_limited_time() {
    // It accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = gone.local_addr().unwrap();
    drop(gone);
    for address in [silent.local_addr().unwrap(), closed] {
        let engine = builder()
            .telemetry(Telemetry::to(format!("http://{address}")))
            .build()
            .unwrap();
        let stack = stack(&engine).await;
        for _ in 0..3 {
            let preview = stack.preview(OperationOptions::default());
            let ended = at_most(Duration::from_secs(4), preview.wait()).await;
            assert!(ended.is_some(), "the preview waits for the collector");
        }
        let closed = at_most(Duration::from_secs(20), engine.close()).await;
        assert!(closed.is_some(), "the engine is closed without the collector");
    }
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_without_their_values() -> Result<()> {
    for (telemetry, expected) in [
        (
            Telemetry::to("localhost:4318"),
            "the endpoint of telemetry takes the URL",
        ),
        (
            Telemetry::to("ftp://localhost"),
            "the endpoint of telemetry takes the URL",
        ),
        (
            Telemetry {
                headers: [("authorization".to_owned(), format!("{SECRET}\n"))].into(),
                ..Telemetry::to("http://localhost:4318")
            },
            "the header \"authorization\" of telemetry",
        ),
    ] {
        let shown = format!("{telemetry:?}");
        assert!(!shown.contains(SECRET), "{shown}");
        let error = builder().telemetry(telemetry).build().err().unwrap();
        assert!(error.message().contains(expected), "{error}");
        assert!(!error.message().contains(SECRET), "{error}");
    }
    Ok(())
}
