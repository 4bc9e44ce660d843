//! The step journal: ordered, begins before provider calls, refusable, and valid at every prefix.

use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result, Stack, StackSettings,
    event::EventPayload,
    operation::{Operation, OperationKind, OperationOptions, OperationResult},
    program::from_fn,
    property::json::SecretForm,
    state::{
        JournalEntry, JournalRecord, JournalReplay, integrity,
        journal::{EntryJson, JournalReceiver},
    },
    step::StepOp,
};
use stackwright_testkit::wait::{Ended as _, Within as _};
use tokio::sync::Notify;

use crate::fixture::{Scripted, program, resource, stack};

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
