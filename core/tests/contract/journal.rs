//! The step journal: ordered, begins before provider calls, refusable, and valid at every prefix.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Error, ErrorKind, Result, Stack, StackSettings,
    event::EventPayload,
    monitor::Registration,
    operation::{Operation, OperationKind, OperationOptions, OperationResult},
    program::from_fn,
    property::json::SecretForm,
    runtime::Runtime,
    state::{
        JournalEntry, JournalRecord, JournalReplay, StateRef, integrity,
        journal::{EntryJson, JournalReceiver},
    },
    step::StepOp,
    store::{Condition, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version},
};
use stackwright_testkit::wait::{Ended as _, Within as _};
use tokio::sync::Notify;

use crate::fixture::{Scripted, engine, program, resource, stack};

/// Records entries and the number of provider calls so far; refuses the entry of a given number.
struct Receiver {
    provider: Arc<Scripted>,
    entries: Mutex<Vec<(Arc<JournalEntry>, usize)>>,
    refuse: Option<usize>,
}

#[async_trait]
impl JournalReceiver for Receiver {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        let calls = self.provider.calls.lock().unwrap().len();
        let mut entries = self.entries.lock().unwrap();
        if self.refuse == Some(entries.len()) {
            return Err(Error::new(ErrorKind::Unavailable, "the host's disk is full"));
        }
        entries.push((Arc::clone(entry), calls));
        Ok(())
    }
}

fn receiver(provider: &Arc<Scripted>, refuse: Option<usize>) -> (Arc<Receiver>, StackSettings) {
    let receiver = Arc::new(Receiver {
        provider: Arc::clone(provider),
        entries: Mutex::default(),
        refuse,
    });
    let settings = StackSettings {
        journal: Some(Arc::clone(&receiver) as _),
        ..StackSettings::default()
    };
    (receiver, settings)
}

/// Abandons the operation's calls when the beginning of the resource `a` arrives, before its provider is called.
#[derive(Default)]
struct Abandoning(OnceLock<Operation>);

#[async_trait]
impl JournalReceiver for Abandoning {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        let begins =
            matches!(&entry.record, JournalRecord::Begin { new: Some(new), .. } if new.urn.name() == "a");
        if let Some(operation) = self.0.get().filter(|_| begins) {
            operation.cancel();
            operation.cancel();
        }
        Ok(())
    }
}

/// Updates the stack to these resources, limited to the targets, if any.
async fn updated(
    stack: &Stack,
    values: &'static [(&'static str, &'static str)],
    targets: &[&str],
) -> Arc<OperationResult> {
    let options = OperationOptions {
        targets: targets.iter().map(|&target| target.to_owned()).collect(),
        ..OperationOptions::default()
    };
    let result = stack
        .start(OperationKind::Update, options, Some(program(values)))
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_come_in_order_and_every_prefix_is_a_valid_snapshot() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    let runs: [&[(&str, &str)]; 3] = [&[("a", "1"), ("b", "1")], &[("a", "2"), ("c", "1")], &[]];
    for values in runs {
        let before = stack.snapshot().await.unwrap();
        provider.calls.lock().unwrap().clear();
        let operation = stack.start(
            OperationKind::Update,
            OperationOptions::default(),
            Some(program(values)),
        );
        let result = operation.ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let entries = std::mem::take(&mut *receiver.entries.lock().unwrap());
        let mut replay = JournalReplay::new(before);
        for (place, (entry, _)) in entries.iter().enumerate() {
            assert_eq!(entry.sequence, place as u64);
            replay.apply(entry).unwrap();
            integrity::verify(&replay.to_snapshot().unwrap()).unwrap();
        }
        let composed = replay.to_snapshot().unwrap();
        assert_eq!(composed.resources, result.snapshot.resources);
        assert!(composed.pending_operations.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_is_acknowledged_before_the_provider_is_called() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    let program = program(&[("a", "1")]);
    stack
        .start(OperationKind::Update, OperationOptions::default(), Some(program))
        .ended()
        .await;
    let entries = receiver.entries.lock().unwrap();
    let of_a = |entry: &JournalEntry| match &entry.record {
        JournalRecord::Begin { new: Some(new), .. } => new.urn.name() == "a",
        JournalRecord::Success { new: Some(new), .. } => new.state.urn.name() == "a",
        _ => false,
    };
    let seen: Vec<usize> = entries
        .iter()
        .filter(|(entry, _)| of_a(entry))
        .map(|(_, calls)| *calls)
        .collect();
    assert_eq!(
        seen,
        [0, 1],
        "calls of the provider at the beginning and at the end"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_whose_call_was_never_sent_leaves_nothing_pending() {
    let provider = Arc::new(Scripted::default());
    let receiver = Arc::new(Abandoning::default());
    let settings = StackSettings {
        journal: Some(Arc::clone(&receiver) as _),
        ..StackSettings::default()
    };
    let stack = stack(&provider, settings).await;
    let known = Arc::new(Notify::new());
    let waits = Arc::clone(&known);
    let waiting = from_fn(move |context| {
        let known = Arc::clone(&waits);
        async move {
            known.notified().within("the operation of the receiver").await;
            context.monitor.register(resource("a", "1")).await?;
            Ok(())
        }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(waiting));
    assert!(receiver.0.set(operation.clone()).is_ok());
    known.notify_one();
    let result = operation.ended().await;
    assert!(result.error.is_some(), "it was cancelled");
    assert!(
        !provider
            .calls
            .lock()
            .unwrap()
            .iter()
            .any(|call| call.contains("create"))
    );
    let snapshot = stack.snapshot().await.unwrap();
    assert!(
        snapshot.pending_operations.is_empty(),
        "{:?}",
        snapshot.pending_operations
    );
    assert!(!snapshot.resources.iter().any(|record| record.urn.name() == "a"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_entry_ends_the_operation_with_that_error_and_a_valid_state() {
    let mut named = 0;
    for refuse in 0..6 {
        let provider = Arc::new(Scripted::default());
        let (receiver, settings) = receiver(&provider, Some(refuse));
        let stack = stack(&provider, settings).await;
        let operation = stack.start(
            OperationKind::Update,
            OperationOptions::default(),
            Some(program(&[("a", "1"), ("b", "1")])),
        );
        let mut events = operation.events();
        let result = operation.ended().await;
        let error = result.error.clone().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "entry {refuse}: {error}");
        assert!(error.message().contains("the host's disk is full"), "{error}");
        let snapshot = stack.snapshot().await.unwrap();
        integrity::verify(&snapshot).unwrap();
        // A resource that exists, and is not recorded at once, is named with its id.
        let unrecorded = result
            .diagnostics
            .iter()
            .filter(|it| it.message.to_string().contains("was created with the id"));
        for diagnostic in unrecorded {
            named += 1;
            let urn = diagnostic.urn.as_ref().unwrap();
            assert!(
                diagnostic
                    .message
                    .to_string()
                    .contains(&format!("id-{}", urn.name())),
                "{diagnostic:?}"
            );
            let is_pending = snapshot
                .pending_operations
                .iter()
                .any(|pending| pending.resource.urn == *urn);
            let is_recorded = snapshot.resources.iter().any(|record| record.urn == *urn);
            assert!(is_pending || is_recorded, "{diagnostic:?}");
        }
        assert_eq!(
            receiver.entries.lock().unwrap().len(),
            refuse,
            "sent after the refusal"
        );
        let mut last = None;
        while let Some(event) = events.next().within("the next event").await {
            last = Some(event);
        }
        assert!(matches!(last.unwrap().payload, EventPayload::Cancel));
    }
    assert!(named > 0, "a creation is acknowledged last");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_states_whether_its_record_is_untargeted() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    updated(&stack, &[("a", "1"), ("b", "1")], &[]).await;
    receiver.entries.lock().unwrap().clear();
    updated(&stack, &[("a", "2"), ("b", "2")], &["**::a"]).await;
    let entries = receiver.entries.lock().unwrap();
    let ends = entries.iter().filter_map(|(entry, _)| match &entry.record {
        JournalRecord::Success {
            new: Some(new),
            untargeted,
            ..
        } => Some((new.state.urn.name().to_owned(), *untargeted)),
        _ => None,
    });
    let mut ends: Vec<_> = ends.filter(|(name, _)| name == "a" || name == "b").collect();
    ends.sort();
    assert_eq!(ends, [("a".to_owned(), false), ("b".to_owned(), true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_names_a_skipped_creation_and_changes_nothing() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    updated(&stack, &[("a", "1")], &[]).await;
    receiver.entries.lock().unwrap().clear();
    let before = stack.snapshot().await.unwrap();
    let result = updated(&stack, &[("a", "2"), ("c", "1")], &["**::a"]).await;
    let entries = receiver.entries.lock().unwrap();
    let mut replay = JournalReplay::new(before);
    let mut skipped = Vec::new();
    for (entry, _) in &*entries {
        let composed = replay.to_snapshot().unwrap();
        replay.apply(entry).unwrap();
        integrity::verify(&replay.to_snapshot().unwrap()).unwrap();
        if let JournalRecord::Success {
            skipped_create: Some(state),
            ..
        } = &entry.record
        {
            assert!(entry.record.elides_write(), "stores have nothing to write");
            assert_eq!(replay.to_snapshot().unwrap().resources, composed.resources);
            let json = serde_json::to_value(EntryJson::new(entry, SecretForm::Plaintext)).unwrap();
            assert_eq!(json["skippedCreate"], true);
            assert_eq!(json["resultOp"], "same");
            assert_eq!(json["state"]["inputs"], serde_json::json!({"value": "1"}));
            assert!(entry.operation.0 > 0 && json.get("new").is_none() && json.get("removed").is_none());
            skipped.push(state.urn.name().to_owned());
        }
    }
    assert_eq!(skipped, ["c"]);
    assert_eq!(replay.to_snapshot().unwrap().resources, result.snapshot.resources);
    let recorded = result.snapshot.resources.iter();
    assert!(recorded.into_iter().all(|state| state.urn.name() != "c"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_a_recorded_resource_begins_before_the_provider_is_called() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    let options = OperationOptions::default();
    let made = stack.start(
        OperationKind::Update,
        options.clone(),
        Some(program(&[("a", "1")])),
    );
    assert!(made.ended().await.error.is_none());
    receiver.entries.lock().unwrap().clear();
    let called = provider.calls.lock().unwrap().len();
    let before = stack.snapshot().await.unwrap();
    let result = stack.start(OperationKind::Refresh, options, None).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let entries = receiver.entries.lock().unwrap();
    let mut replay = JournalReplay::new(before.clone());
    let mut begun = Vec::new();
    for (entry, calls) in &*entries {
        replay.apply(entry).unwrap();
        match &entry.record {
            JournalRecord::Begin { op, old, pending, .. } => {
                assert_eq!((*op, *pending, *calls), (StepOp::Refresh, None, called));
                assert_eq!(
                    replay.to_snapshot().unwrap().resources,
                    before.resources,
                    "nothing has changed yet"
                );
                begun.push((entry.operation, old.as_ref().unwrap().state.urn.name().to_owned()));
            }
            JournalRecord::Success {
                op: StepOp::Refresh,
                result_op,
                new: Some(new),
                ..
            } if new.state.urn.name() == "a" => {
                assert_eq!(*result_op, StepOp::Same);
                let (operation, name) = begun.last().unwrap();
                assert_eq!((entry.operation, name.as_str()), (*operation, "a"));
                assert_eq!(*calls, called + 1);
            }
            _ => {}
        }
    }
    assert_eq!(begun.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_is_a_separate_step_that_changes_no_record() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    updated(&stack, &[("base", "1")], &[]).await;
    receiver.entries.lock().unwrap().clear();
    let before = stack.snapshot().await.unwrap();
    let result = updated(&stack, &[("base", "2")], &[]).await;
    let entries = receiver.entries.lock().unwrap();
    let mut lines = Vec::new();
    let mut replay = JournalReplay::new(before);
    for (entry, _) in entries.iter() {
        replay.apply(entry).unwrap();
        integrity::verify(&replay.to_snapshot().unwrap()).unwrap();
        match &entry.record {
            JournalRecord::Begin {
                op: StepOp::Replace,
                old,
                new,
                ..
            } => lines.push(format!("begin {} {}", old.is_some(), new.is_some())),
            JournalRecord::Success {
                op: StepOp::Replace,
                removed,
                marked,
                ..
            } => lines.push(format!("success {} {}", removed.len(), marked.len())),
            _ => {}
        }
    }
    assert_eq!(lines, ["begin true true", "success 0 0"]);
    assert_eq!(replay.to_snapshot().unwrap().resources, result.snapshot.resources);
}

/// A store that writes entries of the journal when it is released. Then it refuses the first ones, if it is to.
struct Withholding {
    inner: MemoryStore,
    released: Notify,
    refuses: AtomicBool,
}

impl Withholding {
    async fn release(&self, key: &str) -> Result<()> {
        if !key.contains("/journals/") {
            return Ok(());
        }
        self.released.notified().await;
        self.released.notify_one();
        match self.refuses.swap(false, Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unavailable, "the disk is full")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Withholding {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.release(key).await?;
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.release(key).await?;
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}

/// Runs an update of two components, one in the other, whose entries are written once the program has the answers.
async fn update_of_components(refuses: bool) -> (Arc<OperationResult>, Stack) {
    let withholding = Arc::new(Withholding {
        inner: MemoryStore::new(Runtime::system(tokio::runtime::Handle::current())),
        released: Notify::new(),
        refuses: AtomicBool::new(refuses),
    });
    let engine = engine().store(Arc::clone(&withholding) as _).build().unwrap();
    let stack = engine
        .create_stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
    let components = from_fn(move |context| {
        let withholding = Arc::clone(&withholding);
        async move {
            let mut parent = None;
            for name in ["outer", "inner"] {
                let component = Registration {
                    resource_type: "my:index:Component".into(),
                    name: name.into(),
                    parent,
                    ..Registration::default()
                };
                let registered = context.monitor.register(component).within("the answer").await?;
                let outputs = [("name", name.into())].into_iter().collect();
                context
                    .monitor
                    .register_outputs(&registered.urn, outputs)
                    .within("the outputs")
                    .await?;
                parent = Some(registered.urn);
            }
            withholding.released.notify_one();
            Ok(())
        }
    });
    let operation = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(components),
    );
    (operation.ended().await, stack)
}

#[tokio::test(flavor = "multi_thread")]
async fn components_do_not_wait_for_their_entries_and_the_operation_does() {
    let (result, stack) = update_of_components(false).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let snapshot = stack.snapshot().await.unwrap();
    assert_eq!(snapshot.resources, result.snapshot.resources);
    let outputs: Vec<_> = snapshot
        .resources
        .iter()
        .map(|state| state.outputs.len())
        .collect();
    assert_eq!(
        outputs,
        [0, 1, 1],
        "the stack, and the components with their outputs"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_whose_entry_cannot_be_written_fails_the_operation() {
    let (result, stack) = update_of_components(true).await;
    let error = result.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.message().contains("the disk is full"), "{error}");
    integrity::verify(&stack.snapshot().await.unwrap()).unwrap();
    let history = stack.history().await.unwrap();
    assert_eq!(history[0]["result"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_acknowledges_also_the_entries_of_components_before_the_program_has_the_answer() {
    let provider = Arc::new(Scripted::default());
    let (receiver, settings) = receiver(&provider, None);
    let stack = stack(&provider, settings).await;
    let received = Arc::clone(&receiver);
    let component = from_fn(move |context| {
        let received = Arc::clone(&received);
        async move {
            let component = Registration {
                resource_type: "my:index:Component".into(),
                name: "outer".into(),
                ..Registration::default()
            };
            let urn = context.monitor.register(component).await?.urn;
            let last = || received.entries.lock().unwrap().last().unwrap().0.record.clone();
            let is_component = |new: &StateRef| new.state.urn == urn;
            assert!(matches!(last(), JournalRecord::Success { new: Some(new), .. } if is_component(&new)));
            let outputs = [("name", "outer".into())].into_iter().collect();
            context.monitor.register_outputs(&urn, outputs).await?;
            assert!(matches!(last(), JournalRecord::Outputs { new, .. } if is_component(&new)));
            Ok(())
        }
    });
    let operation = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(component),
    );
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}
