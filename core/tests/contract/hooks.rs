//! Hooks of our own API: their arguments, their failures, and their deadline.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result, Stack, StackSettings,
    callback::{ErrorHook, ErrorHookCall, HookCall, HookOptions, ResourceHook},
    monitor::{Monitor, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    state::JournalRecord,
    step::StepOp,
    urn::Urn,
};
use stackwright_testkit::wait::{Ended as _, Within as _};
use tokio::sync::Notify;

use crate::{
    fixture::{Entries, Scripted, resource, stack},
    registration::{names, succeeded, update},
};

type Calls = Arc<Mutex<Vec<HookCall>>>;

/// Records its calls, and ends as its name demands.
struct Recording(Calls, &'static str);

#[async_trait]
impl ResourceHook for Recording {
    async fn run(&self, call: HookCall) -> Result<()> {
        self.0.lock().unwrap().push(call);
        match self.1 {
            "refuses" => Err(Error::new(ErrorKind::Program, "not now")),
            "panics" => panic!("on purpose"),
            "hangs" => std::future::pending().await,
            _ => Ok(()),
        }
    }
}

/// Agrees to every further attempt up to a number of failures.
struct Patient(usize, Arc<Mutex<Vec<Vec<String>>>>);

#[async_trait]
impl ErrorHook for Patient {
    async fn should_retry(&self, call: ErrorHookCall) -> Result<bool> {
        self.1.lock().unwrap().push(call.errors.clone());
        Ok(call.errors.len() <= self.0)
    }
}

fn bound(name: &str, moment: &str, hook: &str) -> Registration {
    let mut registration = resource(name, "1");
    let hooks = &mut registration.options.resource_hooks;
    hooks.insert(moment.to_owned(), vec![hook.to_owned()]);
    registration
}

/// Registers a hook, and a resource that has it at a moment.
fn program(hook: &'static str, moment: &'static str, calls: &Calls) -> Arc<dyn Program> {
    let calls = Arc::clone(calls);
    from_fn(move |context| {
        let calls = Arc::clone(&calls);
        async move {
            let recording = Arc::new(Recording(calls, hook));
            context
                .monitor
                .register_resource_hook(hook, recording, HookOptions::default())?;
            context.monitor.register(bound("a", moment, hook)).await?;
            Ok(())
        }
    })
}

fn texts(result: &OperationResult) -> Vec<&str> {
    let diagnostics = result.diagnostics.iter();
    diagnostics
        .map(|diagnostic| diagnostic.message.library())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_receives_the_records_of_its_step() {
    let (provider, calls) = (Arc::new(Scripted::default()), Calls::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let result = update(&stack, program("note", "AfterCreate", &calls)).await;
    succeeded(&result);
    let call = calls.lock().unwrap().pop().unwrap();
    assert_eq!((call.urn.name(), call.id.as_str()), ("a", "id-a"));
    let (new, outputs) = (call.new.unwrap(), call.new_outputs.unwrap());
    assert_eq!(new.inputs, outputs);
    assert_eq!(new.options.resource_hooks["AfterCreate"], ["note"]);
    assert!(call.old.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_panics_is_named_and_fails_its_step_alone() {
    let (provider, calls) = (Arc::new(Scripted::default()), Calls::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let result = update(&stack, program("panics", "BeforeCreate", &calls)).await;
    assert_eq!(result.error.as_ref().unwrap().urn().unwrap().name(), "a");
    assert!(
        texts(&result).contains(&"before hook \"panics\" failed: it panicked"),
        "{:?}",
        texts(&result)
    );
    assert!(provider.calls.lock().unwrap().is_empty() && names(&result).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_takes_longer_than_the_callback_timeout_fails_its_step() {
    let (provider, calls) = (Arc::new(Scripted::default()), Calls::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let options = OperationOptions {
        callback_timeout: Some(0.1),
        ..OperationOptions::default()
    };
    let program = program("hangs", "BeforeCreate", &calls);
    let operation = stack.start(OperationKind::Update, options, Some(program));
    let result = operation.ended().await;
    let text = "before hook \"hangs\" failed: it did not return within 0.1 s, which is the operation's callback timeout";
    assert!(texts(&result).contains(&text), "{:?}", texts(&result));
    assert!(provider.calls.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_hook_before_a_step_leaves_no_entry_of_the_step() {
    let (provider, calls) = (Arc::new(Scripted::default()), Calls::default());
    let entries = Arc::new(Entries::default());
    let settings = StackSettings {
        journal: Some(Arc::clone(&entries) as _),
        ..StackSettings::default()
    };
    let stack: Stack = stack(&provider, settings).await;
    let result = update(&stack, program("refuses", "BeforeCreate", &calls)).await;
    assert!(
        texts(&result).contains(&"before hook \"refuses\" failed: not now"),
        "{:?}",
        texts(&result)
    );
    let entries = entries.0.lock().unwrap();
    let begun = entries.iter().any(|entry| match &entry.record {
        JournalRecord::Begin { op, new, .. } => {
            *op == StepOp::Create && new.as_ref().is_some_and(|new| new.urn.name() == "a")
        }
        _ => false,
    });
    assert!(!begun, "{entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_hook_receives_all_errors_until_it_no_longer_agrees() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&seen);
    let program = from_fn(move |context| {
        let patient = Arc::new(Patient(2, Arc::clone(&asked)));
        async move {
            context.monitor.register_error_hook("again", patient)?;
            context
                .monitor
                .register(bound("refused", "OnError", "again"))
                .await?;
            Ok(())
        }
    });
    let result = update(&stack, program).await;
    assert_eq!(*provider.calls.lock().unwrap(), ["create refused"; 3]);
    let error = "refused by the provider".to_owned();
    let lengths: Vec<usize> = seen.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(lengths, [1, 2, 3]);
    assert!(seen.lock().unwrap().iter().flatten().all(|text| *text == error));
    let message = result.error.as_ref().unwrap().message();
    assert!(message.contains(&error), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_of_unknown_outcome_stays_pending_although_a_later_attempt_is_made() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(move |context| async move {
        let patient = Arc::new(Patient(1, Arc::default()));
        context.monitor.register_error_hook("again", patient)?;
        context
            .monitor
            .register(bound("unreadable", "OnError", "again"))
            .await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    assert_eq!(*provider.calls.lock().unwrap(), ["create unreadable"; 2]);
    let pending = &result.snapshot.pending_operations;
    assert!(!pending.is_empty() && pending.iter().all(|it| it.resource.urn.name() == "unreadable"));
}

/// Registers resources, one after the other, until the run accepts no more.
struct Registering {
    monitor: Monitor,
    entered: Arc<Notify>,
}

#[async_trait]
impl ResourceHook for Registering {
    async fn run(&self, _call: HookCall) -> Result<()> {
        self.entered.notify_one();
        let mut number = 0;
        while self
            .monitor
            .register(resource(&format!("probe-{number}"), "1"))
            .await
            .is_ok()
        {
            number += 1;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_hook_fails_once_the_run_has_failed() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(move |context| async move {
        let monitor = context.monitor;
        let entered = Arc::new(Notify::new());
        let hook = Registering {
            monitor: monitor.clone(),
            entered: Arc::clone(&entered),
        };
        monitor.register_resource_hook("gate", Arc::new(hook), HookOptions::default())?;
        let hooked = monitor.register(bound("a", "BeforeCreate", "gate"));
        let failing = async {
            entered.notified().within("the call of the hook").await;
            monitor.register(resource("refused", "1")).await
        };
        // Neither is answered before the end of the run.
        drop(tokio::join!(hooked, failing));
        Ok(())
    });
    let result = update(&stack, program).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.urn().map(Urn::name), Some("refused"), "{error}");
    assert!(result.snapshot.pending_operations.is_empty());
}
