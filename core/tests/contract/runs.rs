//! Runs with an id: they are not repeated, waited for, and cancelled through the store.

use std::sync::Arc;

use stackwright::{
    Engine, ErrorKind, Stack, StackSettings,
    event::{EventPayload, OperationOutcome},
    monitor::Read,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    runtime::Runtime,
    store::{MemoryStore, Store},
};
use stackwright_testkit::wait::{Ended as _, Within as _};
use tokio::runtime::Handle;

use crate::fixture::{Scripted, engine, program, resource};

/// Two hosts with one store, and the provider of both.
struct Hosts {
    provider: Arc<Scripted>,
    here: Engine,
    there: Engine,
}

impl Hosts {
    fn new() -> Self {
        let provider = Arc::new(Scripted::default());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
        let build = || {
            let builder = engine().store(Arc::clone(&store));
            builder
                .provider("echo", Arc::clone(&provider) as _)
                .build()
                .unwrap()
        };
        Self {
            here: build(),
            there: build(),
            provider,
        }
    }

    async fn stack(engine: &Engine) -> Stack {
        let settings = StackSettings {
            program: Some(program(&[("a", "1")])),
            ..StackSettings::default()
        };
        engine.stack("shop/dev", settings).await.unwrap()
    }

    fn calls(&self) -> usize {
        self.provider.calls.lock().unwrap().len()
    }
}

fn with_id(run: &str) -> OperationOptions {
    OperationOptions {
        run_id: Some(run.to_owned()),
        ..OperationOptions::default()
    }
}

async fn update(stack: &Stack, run: &str, program: Option<Arc<dyn Program>>) -> Arc<OperationResult> {
    stack
        .start(OperationKind::Update, with_id(run), program)
        .ended()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_ended_is_not_repeated_anywhere() {
    let hosts = Hosts::new();
    let exporting = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        context.monitor.export("size", 3.0.into());
        Ok(())
    });
    let first = update(&Hosts::stack(&hosts.here).await, "set/1", Some(exporting)).await;
    assert!(first.error.is_none() && !first.is_recorded, "{:?}", first.error);
    let calls = hosts.calls();
    let other = Hosts::stack(&hosts.there).await;
    let second = update(&other, "set/1", None).await;
    assert!(second.is_recorded && second.error.is_none(), "{:?}", second.error);
    assert_eq!(second.changes, first.changes);
    assert_eq!(second.outputs, first.outputs);
    assert!(second.steps.is_empty() && !second.outputs_changed);
    assert_eq!(hosts.calls(), calls, "no provider was called");
    assert_eq!(other.history().await.unwrap().len(), 1);
    // Another run is one of its own. A call of the first one that begins after it repeats nothing, either.
    assert!(!update(&other, "set/2", None).await.is_recorded);
    assert!(update(&other, "set/1", None).await.is_recorded);
    assert_eq!(other.history().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recognised_behind_seven_later_ones() {
    let hosts = Hosts::new();
    let stack = Hosts::stack(&hosts.here).await;
    assert!(!update(&stack, "first", None).await.is_recorded);
    for later in 0..7 {
        assert!(!update(&stack, &format!("later/{later}"), None).await.is_recorded);
    }
    assert!(update(&stack, "first", None).await.is_recorded);
    assert!(!update(&stack, "one-more", None).await.is_recorded);
    assert!(
        !update(&stack, "first", None).await.is_recorded,
        "its record is the ninth one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_a_run_is_refused_for_another_kind_of_operation() {
    let hosts = Hosts::new();
    let stack = Hosts::stack(&hosts.here).await;
    let program = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    assert!(update(&stack, "once", Some(program)).await.error.is_none());
    let (calls, records) = (hosts.calls(), stack.history().await.unwrap().len());
    let destroy = stack
        .start(OperationKind::Destroy, with_id("once"), None)
        .ended()
        .await;
    let error = destroy.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = "the run 'once' was another operation: its history record states 'update'";
    assert_eq!(error.message(), text);
    assert_eq!(hosts.calls(), calls, "no provider was called");
    assert_eq!(stack.history().await.unwrap().len(), records);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_failed_is_not_repeated_either() {
    let hosts = Hosts::new();
    let stack = Hosts::stack(&hosts.here).await;
    let failing = from_fn(|_| async { Err(stackwright::Error::new(ErrorKind::Program, "no")) });
    assert!(!update(&stack, "once", Some(failing)).await.is_recorded);
    let again = update(&stack, "once", None).await;
    assert!(again.is_recorded);
    assert_eq!(again.outcome, OperationOutcome::Failed);
    let text = "the run 'once' has failed before: its history record states 'failed'";
    assert_eq!(again.error.clone().unwrap().message(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_read_an_unfinished_stack_names_it_also_when_it_is_recorded() {
    let hosts = Hosts::new();
    let stack = Hosts::stack(&hosts.here).await;
    let reading = || {
        from_fn(|context| async move {
            let read = Read {
                resource_type: "pulumi:pulumi:StackReference".into(),
                name: "network".to_owned(),
                id: "network/dev".into(),
                inputs: [("name", "network/dev".into())].into_iter().collect(),
                ..Read::default()
            };
            context.monitor.read(read).await?;
            Ok(())
        })
    };
    for is_recorded in [false, true] {
        let options = OperationOptions {
            unfinished_stacks: vec!["other/dev".to_owned(), "network/dev".to_owned()],
            ..with_id("set/1")
        };
        let result = stack
            .start(OperationKind::Update, options, Some(reading()))
            .ended()
            .await;
        assert_eq!(result.is_recorded, is_recorded);
        assert_eq!(result.outcome, OperationOutcome::Failed);
        let names: Vec<String> = result.unfinished_reads.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["network/dev"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_still_runs_is_waited_for() {
    let hosts = Hosts::new();
    let (here, there) = (Hosts::stack(&hosts.here).await, Hosts::stack(&hosts.there).await);
    let held = program(&[("waits", "1")]);
    let first = here.start(OperationKind::Update, with_id("set/1"), Some(held));
    hosts
        .provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let other = update(&there, "set/2", None).await;
    assert_eq!(
        other.error.clone().unwrap().kind(),
        ErrorKind::Conflict,
        "another run does not wait"
    );
    let second = there.start(OperationKind::Update, with_id("set/1"), None);
    let mut events = second.events();
    while let Some(event) = events.next().within("the wait").await {
        let is_wait = matches!(&event.payload, EventPayload::Diagnostic(diagnostic)
            if diagnostic.message.library().contains("waiting for the lock"));
        if is_wait {
            break;
        }
    }
    assert!(second.result().is_none());
    hosts.provider.given_up.notify_one();
    assert!(first.ended().await.error.is_none());
    let second = second.ended().await;
    assert!(second.is_recorded && second.error.is_none(), "{:?}", second.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_in_the_store_cancels_the_runs_of_its_set_on_every_host() {
    let hosts = Hosts::new();
    let stack = Hosts::stack(&hosts.here).await;
    let held = program(&[("waits", "1")]);
    let operation = stack.start(OperationKind::Update, with_id("set/1"), Some(Arc::clone(&held)));
    hosts
        .provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    // A repeated call is no second request, which would abandon the held call.
    hosts.there.cancel_run_to("set", 1).await.unwrap();
    hosts.there.cancel_run_to("set", 1).await.unwrap();
    let result = operation.ended().await;
    assert_eq!(result.outcome, OperationOutcome::Canceled);
    let late = update(&stack, "set/2", None).await;
    let error = late.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.message(), "the update did not begin: its run was cancelled");
    let preview = stack.start(OperationKind::Update, with_id("set/3").preview(), None);
    assert_eq!(preview.ended().await.outcome, OperationOutcome::Canceled);
    // A deletion would wait, too.
    assert!(
        update(&stack, "other/2", Some(Arc::clone(&held)))
            .await
            .error
            .is_none()
    );
    hosts.there.forget_run("set").await.unwrap();
    assert!(update(&stack, "set/2", Some(held)).await.error.is_none());
}

#[tokio::test]
async fn an_id_that_is_none_is_refused_before_anything_happens() {
    let hosts = Hosts::new();
    let stack = Hosts::stack(&hosts.here).await;
    let result = update(&stack, "a/b/c", None).await;
    assert_eq!(result.error.clone().unwrap().kind(), ErrorKind::InvalidInput);
    let error = hosts.here.cancel_run("set/1").await.unwrap_err();
    assert_eq!(error.message(), "\"set/1\" is one run of a set");
    assert_eq!(hosts.calls(), 0);
}
