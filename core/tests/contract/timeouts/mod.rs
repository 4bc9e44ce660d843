//! Timeouts of operations and of providers' calls: the errors, and what is recorded.

mod functions;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use stackwright::{
    ErrorKind, Stack, StackSettings,
    callback::{HookCall, HookOptions, ResourceHook},
    event::OperationOutcome,
    monitor::{MethodCall, Registration, TransformArgs},
    operation::{OperationKind, OperationOptions, OperationResult},
    plugin::PluginSettings,
    policy::{Policy, PolicyPack},
    program::{Program, from_fn},
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConstructRequest, ConstructResponse, CreateRequest,
        CreateResponse, DeleteRequest, HandshakeRequest, MethodRequest, MethodResponse, Provider,
        ProviderBackend, ProviderError, ProviderResult,
    },
    runtime::{Clock, Runtime, SystemClock, Timestamp},
    urn::Urn,
};
use stackwright_testkit::{
    fake::FakeBoxes,
    wait::{Ended as _, Within as _},
};
use tokio::sync::{Notify, Semaphore, watch};

use crate::fixture::{Scripted, engine, program, resource};

const CALL: Duration = Duration::from_secs(60);
const OPERATION: Duration = Duration::from_secs(3600);
/// The time between the cancellation of an operation and the end of its calls.
const GRACE: Duration = Duration::from_secs(30);
const URN: &str = "urn:pulumi:dev::shop::echo:index:Echo::a";

/// A clock on which a wait ends when the test has passed its duration.
#[derive(Default)]
struct Passing(Mutex<HashMap<Duration, Arc<Semaphore>>>);

impl Passing {
    fn waits(&self, duration: Duration) -> Arc<Semaphore> {
        let mut all = self.0.lock().unwrap();
        let waits = all.entry(duration).or_insert_with(|| Arc::new(Semaphore::new(0)));
        Arc::clone(waits)
    }

    /// Ends all waits of a duration, the later ones included.
    fn pass(&self, duration: Duration) {
        self.waits(duration).close();
    }
}

#[async_trait]
impl Clock for Passing {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }

    async fn wait(&self, duration: Duration) {
        drop(self.waits(duration).acquire().await);
    }
}

/// Never answers calls of one method.
#[derive(Default)]
struct Hanging {
    method: Mutex<&'static str>,
    entered: Notify,
    cancelled: Notify,
}

impl Hanging {
    async fn enter(&self, method: &'static str) {
        if *self.method.lock().unwrap() == method {
            self.entered.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl Provider for Hanging {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.enter("check").await;
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.enter("check of a configuration").await;
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.enter("create").await;
        Ok(CreateResponse {
            id: "made".into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        self.enter("delete").await;
        Ok(())
    }

    async fn construct(&self, _request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        self.entered.notify_one();
        std::future::pending().await
    }

    async fn call_method(&self, _request: MethodRequest) -> ProviderResult<MethodResponse> {
        self.entered.notify_one();
        std::future::pending().await
    }

    async fn cancel(&self) {
        self.cancelled.notify_one();
    }
}

/// A stack whose provider is `provider`, with a timeout of its calls.
async fn stack(provider: Arc<dyn ProviderBackend>) -> (Stack, Arc<Passing>) {
    let clock = Arc::new(Passing::default());
    let runtime = Runtime {
        clock: Arc::clone(&clock) as _,
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let plugins = PluginSettings {
        call_timeouts: [("echo".to_owned(), CALL)].into(),
        ..PluginSettings::default()
    };
    let engine = engine()
        .runtime(runtime)
        .plugins(plugins)
        .provider("echo", provider);
    let engine = engine.build().unwrap();
    let stack = engine
        .create_or_select_stack("shop/dev", StackSettings::default())
        .await;
    (stack.unwrap(), clock)
}

/// Runs an operation in which the provider hangs in `method`, until the timeout of its calls has passed.
async fn hangs(kind: OperationKind, method: &'static str) -> Arc<OperationResult> {
    let provider = Arc::new(Hanging::default());
    let (stack, clock) = stack(Arc::clone(&provider) as _).await;
    let a = || Some(program(&[("a", "1")]));
    if kind == OperationKind::Destroy {
        let created = stack.start(OperationKind::Update, OperationOptions::default(), a());
        assert!(created.ended().await.error.is_none());
    }
    *provider.method.lock().unwrap() = method;
    let operation = stack.start(kind, OperationOptions::default(), a());
    provider.entered.notified().within("the begin of the call").await;
    clock.pass(CALL);
    let result = operation.ended().await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Failed);
    let text = format!("provider `echo` did not return from {method} of {URN} within 60 s");
    assert!(error.message().contains(&text), "{}", error.message());
    assert_eq!((error.provider(), error.phase()), (Some("echo"), Some(method)));
    assert_eq!(error.urn().unwrap().as_str(), URN);
    result
}

fn pending(result: &OperationResult) -> Vec<(String, &str)> {
    let pending = result.snapshot.pending_operations.iter();
    let described = pending.map(|pending| (format!("{:?}", pending.kind), pending.resource.urn.name()));
    described.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_hangs_fails_and_stays_pending() {
    let result = hangs(OperationKind::Update, "create").await;
    assert_eq!(pending(&result), [("Creating".to_owned(), "a")]);
    assert_eq!(result.outcome, OperationOutcome::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_hangs_fails_and_leaves_nothing_pending() {
    let result = hangs(OperationKind::Update, "check").await;
    assert_eq!(pending(&result), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_hangs_fails_and_its_resource_stays_recorded() {
    let result = hangs(OperationKind::Destroy, "delete").await;
    assert_eq!(pending(&result), [("Deleting".to_owned(), "a")]);
    assert!(
        result
            .snapshot
            .resources
            .iter()
            .any(|state| state.urn.as_str() == URN)
    );
}

fn limited() -> OperationOptions {
    OperationOptions {
        timeout: Some(OPERATION.as_secs_f64()),
        ..OperationOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_takes_too_long_gives_up_its_calls_and_names_them() {
    for method in ["create", "check"] {
        let provider = Arc::new(Hanging::default());
        *provider.method.lock().unwrap() = method;
        let (stack, clock) = stack(Arc::clone(&provider) as _).await;
        let operation = stack.start(OperationKind::Update, limited(), Some(program(&[("a", "1")])));
        provider.entered.notified().within("the begin of the call").await;
        clock.pass(OPERATION);
        provider.cancelled.notified().within("the cancellation").await;
        clock.pass(GRACE);
        let result = operation.ended().await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(
            error.message(),
            format!(
                "update canceled, because it did not end within 3600 s: provider `echo` did not return from {method} of {URN}"
            )
        );
        assert_eq!(error.message_code(), Some("timed_out"));
        assert_eq!((error.provider(), error.phase()), (Some("echo"), Some(method)));
        assert_eq!(error.urn().unwrap().as_str(), URN);
        assert_eq!(error.reference_message(), "BAIL: canceled");
        assert_eq!(result.outcome, OperationOutcome::Canceled);
        let expected: &[_] = match method {
            "create" => &[("Creating".to_owned(), "a")],
            _ => &[],
        };
        assert_eq!(pending(&result), expected);
    }
}

/// Returns a program with a resource of a provider that has a configuration.
fn configured() -> Arc<dyn Program> {
    from_fn(|context| async move {
        let provider = Registration {
            resource_type: "pulumi:providers:echo".into(),
            inputs: [("region", "eu".into())].into_iter().collect(),
            ..resource("special", "1")
        };
        context.monitor.register(provider).await?;
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_a_configuration_that_hangs_ends_at_either_timeout_and_names_the_provider() {
    let special = "urn:pulumi:dev::shop::pulumi:providers:echo::special";
    for (of_operation, text) in [
        (
            false,
            format!("provider `echo` did not return from check_config of {special} within 60 s"),
        ),
        (
            true,
            format!(
                "update canceled, because it did not end within 3600 s: provider `echo` did not return from check of {special}"
            ),
        ),
    ] {
        let provider = Arc::new(Hanging::default());
        *provider.method.lock().unwrap() = "check of a configuration";
        let (stack, clock) = stack(Arc::clone(&provider) as _).await;
        let operation = stack.start(OperationKind::Update, limited(), Some(configured()));
        provider.entered.notified().within("the begin of the call").await;
        if of_operation {
            clock.pass(OPERATION);
            provider.cancelled.notified().within("the cancellation").await;
            clock.pass(GRACE);
        } else {
            clock.pass(CALL);
        }
        let result = operation.ended().await;
        let error = result.error.as_ref().unwrap();
        assert!(error.message().contains(&text), "{error}");
        assert_eq!(error.provider(), Some("echo"));
        assert_eq!(pending(&result), []);
        let recorded = result.snapshot.resources.iter();
        assert!(recorded.map(|state| state.urn.as_str()).all(|urn| urn != special));
    }
}
