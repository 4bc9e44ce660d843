//! The spans of an operation, as a subscriber of `tracing` gets them.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use stackwright::{
    Engine, StackSettings, monitor::Registration, operation::OperationOptions, program::from_fn,
    property::PropertyValue, runtime::Runtime, secrets::Base64Provider, store::MemoryStore,
};
use stackwright_testkit::wait::Ended as _;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Registry, layer::SubscriberExt as _};

use crate::fixture::Scripted;

const SECRET: &str = "correct horse battery";

/// A span that was recorded.
#[derive(Clone, Debug, Default)]
struct Recorded {
    name: String,
    parent: Option<u64>,
    fields: BTreeMap<String, String>,
}

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        write!(text, "{value:?}").unwrap();
        self.fields
            .insert(field.name().to_owned(), text.trim_matches('"').to_owned());
    }
}

/// Records spans; the current one is that of the only thread.
#[derive(Clone, Default)]
struct Recorder {
    spans: Arc<Mutex<BTreeMap<u64, Recorded>>>,
    events: Arc<Mutex<Vec<Recorded>>>,
    /// The targets that it has no interest in.
    left_out: &'static [&'static str],
    entered: Arc<Mutex<Vec<u64>>>,
    last: Arc<AtomicU64>,
}

impl Recorder {
    fn of(&self, name: &str) -> Vec<Recorded> {
        let spans = self.spans.lock().unwrap();
        spans.values().filter(|span| span.name == name).cloned().collect()
    }

    fn parent(&self, span: &Recorded) -> Option<Recorded> {
        self.spans.lock().unwrap().get(&span.parent?).cloned()
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("stackwright") && !self.left_out.contains(&metadata.target())
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        let mut span = Recorded {
            name: attributes.metadata().name().to_owned(),
            parent: match attributes.is_contextual() {
                true => self.entered.lock().unwrap().last().copied(),
                false => attributes.parent().map(Id::into_u64),
            },
            ..Recorded::default()
        };
        attributes.record(&mut span);
        self.spans.lock().unwrap().insert(id, span);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(self.spans.lock().unwrap().get_mut(&span.into_u64()).unwrap());
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut recorded = Recorded::default();
        event.record(&mut recorded);
        self.events.lock().unwrap().push(recorded);
    }

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.entered.lock().unwrap().pop(), Some(span.into_u64()));
    }
}

/// Runs an update within what records it; see [`update`].
async fn recorded_update(left_out: &'static [&'static str]) -> Recorder {
    let recorder = Recorder {
        left_out,
        ..Recorder::default()
    };
    let _subscribed = tracing::subscriber::set_default(recorder.clone());
    // With a single subscriber `tracing` asks that of the thread which reaches a span first: other tests have none in theirs.
    let _second = tracing::Dispatch::new(recorder.clone());
    update().await;
    recorder
}

/// Runs an update of which one resource is created and one is refused, within a span of the caller. A secret is the value of a property,
/// and a part of the names of two other resources.
async fn update() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .provider("test", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    let program = from_fn(|context| async move {
        for name in ["a", "named after correct horse battery", "refused"] {
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
    let stack = engine.create_stack("shop/dev", settings).await.unwrap();
    let caller = tracing::info_span!(target: "stackwright_test", "caller");
    let operation = caller.in_scope(|| stack.update(OperationOptions::default()));
    assert!(operation.ended().await.error.is_some());
}

#[tokio::test]
async fn an_operation_its_steps_and_their_calls_have_spans_within_that_of_the_caller() {
    let recorder = recorded_update(&[]).await;
    let operations = recorder.of("operation");
    let expected = [
        ("outcome", "failed"),
        ("preview", "false"),
        ("stack", "shop/dev"),
        ("verb", "update"),
    ];
    for (name, value) in expected {
        assert_eq!(operations[0].fields[name], value, "{operations:?}");
    }
    assert_eq!(operations.len(), 1);
    assert_eq!(recorder.parent(&operations[0]).unwrap().name, "caller");

    let steps = recorder.of("step");
    let of_step = |name: &str| {
        steps
            .iter()
            .find(|step| step.fields["urn"].ends_with(name))
            .unwrap()
    };
    assert_eq!(of_step("::a").fields["op"], "create");
    assert!(!of_step("::a").fields.contains_key("error.type"));
    assert_eq!(of_step("::refused").fields["error.type"], "Unknown");
    assert!(
        steps
            .iter()
            .all(|step| recorder.parent(step).unwrap().name == "operation")
    );

    let calls = recorder.of("provider_call");
    let creation = calls
        .iter()
        .find(|call| call.fields["method"] == "create")
        .unwrap();
    assert_eq!(creation.fields["provider"], "test");
    assert_eq!(creation.fields["urn"], of_step("::a").fields["urn"]);
    assert_eq!(recorder.parent(creation).unwrap().name, "step");
    let check = calls
        .iter()
        .find(|call| call.fields["method"] == "check")
        .unwrap();
    assert_eq!(recorder.parent(check).unwrap().name, "operation");

    let appends = recorder.of("store_call");
    let appends: Vec<_> = appends
        .iter()
        .filter(|call| call.fields["method"] == "append")
        .collect();
    assert!(
        appends.iter().all(|call| call.fields["key"].contains("shop/dev")),
        "{appends:?}"
    );
    assert!(!appends.is_empty());
    assert!(
        appends
            .iter()
            .all(|call| recorder.parent(call).unwrap().name == "operation")
    );
    assert!(recorder.entered.lock().unwrap().is_empty());
}

#[tokio::test]
async fn no_span_and_no_event_has_a_secret_also_where_only_steps_are_observed() {
    for left_out in [&[][..], &["stackwright::operation"]] {
        let recorder = recorded_update(left_out).await;
        let recorded = format!("{:?} {:?}", recorder.spans, recorder.events);
        assert!(!recorded.contains(SECRET), "{recorded}");
        let named = |fields: &BTreeMap<String, String>| {
            fields
                .get("urn")
                .is_some_and(|urn| urn.ends_with("named after [secret]"))
        };
        for span in ["step", "provider_call"] {
            assert!(
                recorder.of(span).iter().any(|span| named(&span.fields)),
                "{span}: {recorded}"
            );
        }
        assert!(
            recorder
                .events
                .lock()
                .unwrap()
                .iter()
                .any(|event| named(&event.fields))
        );
    }
}

#[tokio::test]
async fn a_subscriber_of_tracing_opentelemetry_gets_kinds_states_and_parents() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(exporter.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscribed = tracing::subscriber::set_default(Registry::default().with(layer));
    let _second = tracing::Dispatch::new(Registry::default());
    update().await;
    drop(subscribed);
    provider.force_flush().unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let of = |name: &'static str| spans.iter().filter(move |span| span.name == name);
    let value = |span: &SpanData, key: &str| {
        let mut attributes = span.attributes.iter();
        attributes
            .find(|attribute| attribute.key.as_str() == key)
            .map(|attribute| attribute.value.to_string())
    };
    let [operation] = of("operation").collect::<Vec<_>>()[..] else {
        panic!("{spans:?}");
    };
    assert!(matches!(operation.status, Status::Error { .. }), "{operation:?}");
    assert_eq!(operation.span_kind, SpanKind::Internal);
    let failed: Vec<_> = of("step")
        .filter(|step| matches!(step.status, Status::Error { .. }))
        .collect();
    assert_eq!(failed.len(), 1);
    assert!(value(failed[0], "urn").unwrap().ends_with("::refused"));
    assert!(of("step").all(|step| step.parent_span_id == operation.span_context.span_id()));
    let creation = of("provider_call").find(|call| {
        value(call, "method").as_deref() == Some("create")
            && call.parent_span_id == failed[0].span_context.span_id()
    });
    assert_eq!(creation.unwrap().span_kind, SpanKind::Client);
    assert!(of("store_call").all(|call| call.span_kind == SpanKind::Client));
}
