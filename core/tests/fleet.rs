//! A set of stacks as one operation: order, waits, failures, cycles, limits, previews, cancellation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use stackwright::{
    Engine, EngineBuilder, ErrorKind, Stack, StackSettings,
    event::{EventPayload, OperationOutcome},
    fleet::{FleetOperation, FleetOptions, FleetResult, PluginLimits, StackRun},
    monitor::{Invoke, Read, Registration},
    operation::OperationOptions,
    program::{Program, ProgramContext, from_fn},
    property::{PropertyMap, PropertyValue, Unknown},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider,
        ProviderError, ProviderResult, ProviderStatus,
    },
    runtime::Runtime,
    secrets::Base64Provider,
    store::{Condition, MemoryStore, Store},
};
use stackwright_testkit::wait::Within as _;
use tokio::{runtime::Handle, sync::Semaphore};

/// Creates things; each creation is recorded and needs a permit.
struct Things {
    calls: Mutex<Vec<String>>,
    /// How many creations run now, and at most so far.
    running: AtomicUsize,
    most: AtomicUsize,
    permits: Semaphore,
    /// A permit for each creation that has begun.
    begun: Semaphore,
}

impl Things {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            permits: Semaphore::new(permits),
            begun: Semaphore::new(0),
        })
    }

    /// Waits until `count` creations have begun.
    async fn await_creations(&self, count: u32) {
        let begun = self.begun.acquire_many(count).within("the creations").await;
        begun.unwrap().forget();
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

/// A provider that is shared with its test.
struct Shared(Arc<Things>);

impl Provider for Shared {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let things = &self.0;
        if !request.preview {
            let running = things.running.fetch_add(1, Ordering::SeqCst) + 1;
            things.most.fetch_max(running, Ordering::SeqCst);
            things.begun.add_permits(1);
            let permit = things.permits.acquire().within("a permit to create").await;
            permit.unwrap().forget();
            // Calls that may run at the same time get the opportunity.
            tokio::task::yield_now().await;
            things.running.fetch_sub(1, Ordering::SeqCst);
            things.permits.add_permits(1);
            let call = format!("create {}", request.name);
            things.calls.lock().unwrap().push(call);
        }
        if request.name.contains("broken") {
            return Err(ProviderError::new(ProviderStatus::Unknown, "it is broken"));
        }
        Ok(CreateResponse {
            id: if request.preview {
                ""
            } else {
                request.name.as_str()
            }
            .into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        if request.name.contains("stuck") {
            return Err(ProviderError::new(ProviderStatus::Unknown, "it is in use"));
        }
        let call = format!("delete {}", request.name);
        self.0.calls.lock().unwrap().push(call);
        Ok(())
    }
}

const MANY_PERMITS: usize = 1_000;

fn builder_on(store: Arc<dyn Store>, things: &Arc<Things>) -> EngineBuilder {
    Engine::builder(Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("shop", Arc::new(Shared(Arc::clone(things))))
}

fn engine_on(store: Arc<dyn Store>, things: &Arc<Things>) -> Engine {
    builder_on(store, things).build().unwrap()
}

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Runtime::system(Handle::current())))
}

fn engine(things: &Arc<Things>) -> Engine {
    engine_on(memory(), things)
}

/// How a program reads another stack.
#[derive(Clone, Copy)]
enum Way {
    /// With a reference, which the state records.
    Reference,
    /// With a function, which leaves no record.
    Function,
}

async fn outputs_of(context: &ProgramContext, stack: &str, way: Way) -> stackwright::Result<PropertyValue> {
    let inputs: PropertyMap = [("name", stack.into())].into_iter().collect();
    let found = match way {
        Way::Reference => {
            let read = Read {
                resource_type: "pulumi:pulumi:StackReference".into(),
                name: stack.replace('/', "-"),
                id: stack.into(),
                inputs,
                ..Read::default()
            };
            context.monitor.read(read).await?.outputs
        }
        Way::Function => {
            let invoke = Invoke {
                token: "pulumi:pulumi:readStackOutputs".into(),
                arguments: inputs,
                ..Invoke::default()
            };
            context.monitor.invoke(invoke).await?
        }
    };
    Ok(found.get("outputs").cloned().unwrap_or(PropertyValue::Null))
}

/// A program with one thing, named after its stack, that exports the outputs of the stacks which it reads.
fn reading(reads: &[&str], way: Way) -> Arc<dyn Program> {
    let reads: Vec<String> = reads.iter().map(|&stack| stack.to_owned()).collect();
    from_fn(move |context: ProgramContext| {
        let reads = reads.clone();
        async move {
            let mut found = PropertyMap::new();
            for stack in &reads {
                found.insert(stack.as_str(), outputs_of(&context, stack, way).await?);
            }
            let info = context.monitor.run_info();
            let thing = Registration {
                resource_type: "shop:index:Thing".into(),
                name: format!("{}-{}", info.project, info.stack),
                custom: true,
                inputs: found.clone(),
                ..Registration::default()
            };
            let thing = context.monitor.register(thing).await?;
            context.monitor.export("found", found.into());
            context.monitor.export("urn", thing.urn.as_str().into());
            let id = match thing.id.as_str() {
                "" => PropertyValue::Unknown(Unknown::String),
                id => id.into(),
            };
            context.monitor.export("id", id);
            Ok(())
        }
    })
}

async fn stack(engine: &Engine, name: &str, reads: &[&str], way: Way) -> Stack {
    let settings = StackSettings {
        program: Some(reading(reads, way)),
        ..StackSettings::default()
    };
    engine.stack(name, settings).await.unwrap()
}

/// A stack that reads nothing.
async fn plain(engine: &Engine, name: &str) -> StackRun {
    StackRun::new(stack(engine, name, &[], Way::Reference).await)
}

async fn reader(engine: &Engine, name: &str, reads: &[&str], way: Way) -> StackRun {
    StackRun::new(stack(engine, name, reads, way).await)
}

async fn ended(operation: &FleetOperation) -> Arc<FleetResult> {
    operation.wait().within("the end of the set").await
}

async fn succeeded(operation: &FleetOperation) -> Arc<FleetResult> {
    let result = ended(operation).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    result
}

fn limits(max_stacks: u32, max_calls_per_plugin: u32) -> FleetOptions {
    FleetOptions {
        max_stacks,
        max_calls_per_plugin,
    }
}

/// Returns the events by which stacks report that they wait, sorted.
async fn waits(operation: &FleetOperation) -> Vec<String> {
    let mut events = operation.events();
    let mut found = Vec::new();
    while let Some(event) = events.next().within("an event").await {
        if let EventPayload::Diagnostic(diagnostic) = &event.event.payload {
            let text = diagnostic.message.library();
            if text.starts_with("waiting for the stack") {
                found.push(format!("{}: {text}", event.stack));
            }
        }
    }
    found.sort();
    found
}

fn message(result: &FleetResult) -> &str {
    result.error.as_ref().unwrap().message()
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_run_in_the_order_of_their_dependencies_with_one_stream_of_events() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let runs = vec![
        plain(&engine, "shop/c").await.depends_on("shop/b"),
        plain(&engine, "shop/b").await.depends_on("a"),
        plain(&engine, "shop/a").await,
    ];
    let update = engine.up_all(runs, FleetOptions::default());
    let mut events = update.events();
    let result = succeeded(&update).await;
    assert_eq!(things.take(), ["create shop-a", "create shop-b", "create shop-c"]);
    assert_eq!(result.changes["create"], 6, "three things and three stacks");
    let names: Vec<String> = result.stacks.iter().map(|end| end.name.to_string()).collect();
    assert_eq!(names, ["shop/c", "shop/b", "shop/a"], "the order of the call");

    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut ends = Vec::new();
    while let Some(event) = events.next().within("an event").await {
        let count = seen.entry(event.stack.to_string()).or_default();
        assert_eq!(event.event.sequence, *count, "each stack's events are in order");
        *count += 1;
        if matches!(event.event.payload, EventPayload::Cancel) {
            ends.push(event.stack.to_string());
        }
    }
    ends.sort();
    assert_eq!(ends, ["shop/a", "shop/b", "shop/c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_waits_for_an_unfinished_stack_even_when_only_one_may_be_active() {
    for way in [Way::Reference, Way::Function] {
        for max_stacks in [1, 8] {
            let things = Things::new(MANY_PERMITS);
            let engine = engine(&things);
            let runs = vec![
                reader(&engine, "shop/c", &["shop/b", "shop/a"], way).await,
                reader(&engine, "shop/b", &["organization/shop/a"], way).await,
                plain(&engine, "shop/a").await,
            ];
            let update = engine.up_all(runs, limits(max_stacks, 0));
            let result = succeeded(&update).await;
            assert_eq!(things.take(), ["create shop-a", "create shop-b", "create shop-c"]);
            if max_stacks == 1 {
                let expected = [
                    "shop/b: waiting for the stack 'shop/a'",
                    "shop/c: waiting for the stack 'shop/b'",
                ];
                assert_eq!(waits(&update).await, expected);
            }
            let found = format!(
                "{:?}",
                result.stack("shop/c").unwrap().result.outputs.get("found")
            );
            assert!(found.contains("shop-b") && found.contains("shop-a"), "{found}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_references_give_the_order_and_that_of_a_destroy_is_the_reverse() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let runs = || async {
        vec![
            reader(&engine, "shop/b", &["shop/a"], Way::Reference).await,
            plain(&engine, "shop/a").await,
            reader(&engine, "shop/c", &["shop/b"], Way::Reference).await,
        ]
    };
    succeeded(&engine.up_all(runs().await, FleetOptions::default())).await;
    // No stack waits: each begins when those that it refers to have ended.
    let again = engine.up_all(runs().await, FleetOptions::default());
    succeeded(&again).await;
    assert_eq!(waits(&again).await, Vec::<String>::new());
    succeeded(&engine.refresh_all(runs().await, FleetOptions::default())).await;
    things.take();
    let result = succeeded(&engine.destroy_all(runs().await, FleetOptions::default())).await;
    assert_eq!(things.take(), ["delete shop-c", "delete shop-b", "delete shop-a"]);
    assert_eq!(result.changes["delete"], 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_with_programs_reads_the_stacks_that_are_destroyed_later() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let runs = || async {
        let mut runs = vec![
            plain(&engine, "shop/a").await,
            reader(&engine, "shop/b", &["shop/a"], Way::Function)
                .await
                .depends_on("shop/a"),
        ];
        runs[1].options.destroy_program = true;
        runs
    };
    succeeded(&engine.up_all(runs().await, FleetOptions::default())).await;
    things.take();
    succeeded(&engine.destroy_all(runs().await, FleetOptions::default())).await;
    assert_eq!(things.take(), ["delete shop-b", "delete shop-a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_keeps_the_stacks_that_one_which_could_not_be_destroyed_needs() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let runs = || async {
        vec![
            plain(&engine, "shop/base").await,
            reader(&engine, "shop/stuck", &["shop/base"], Way::Reference).await,
            reader(&engine, "shop/other", &["shop/base"], Way::Reference).await,
        ]
    };
    succeeded(&engine.up_all(runs().await, FleetOptions::default())).await;
    things.take();
    let result = ended(&engine.destroy_all(runs().await, FleetOptions::default())).await;
    assert_eq!(things.take(), ["delete shop-other"]);
    let base = result.stack("shop/base").unwrap();
    assert!(base.is_skipped);
    let text = "the stack 'shop/base' was not destroyed: the stack 'shop/stuck' has failed";
    assert_eq!(base.result.error.as_ref().unwrap().message(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_stops_only_what_depends_on_it() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let runs = vec![
        plain(&engine, "shop/broken").await,
        plain(&engine, "shop/b").await.depends_on("shop/broken"),
        plain(&engine, "shop/c").await.depends_on("shop/b"),
        reader(&engine, "shop/d", &["shop/c"], Way::Function).await,
        plain(&engine, "shop/e").await,
    ];
    let result = ended(&engine.up_all(runs, FleetOptions::default())).await;
    let mut calls = things.take();
    calls.sort();
    assert_eq!(calls, ["create shop-broken", "create shop-e"]);
    assert_eq!(result.outcome, OperationOutcome::Failed);
    assert!(
        message(&result).starts_with("2 of 5 stacks failed, 2 did not begin; "),
        "{}",
        message(&result)
    );
    for (name, error) in [
        (
            "shop/b",
            "the stack 'shop/b' was not updated: the stack 'shop/broken' has failed",
        ),
        (
            "shop/c",
            "the stack 'shop/c' was not updated: the stack 'shop/broken' has failed",
        ),
    ] {
        let end = result.stack(name).unwrap();
        assert!(end.is_skipped);
        assert_eq!(end.result.error.as_ref().unwrap().message(), error);
    }
    let reader = result.stack("shop/d").unwrap();
    let expected = "the stack 'shop/c' did not begin: the stack 'shop/broken' has failed";
    let error = reader.result.error.as_ref().unwrap();
    assert!(error.message().contains(expected), "{error:?}");
    assert!(result.stack("shop/e").unwrap().result.error.is_none());
    let tree = result.tree();
    assert!(
        tree.contains("shop/b: skipped: the stack 'shop/b' was not updated"),
        "{tree}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_of_dependencies_and_references_is_an_error_before_anything_runs() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    succeeded(&engine.up_all(
        vec![
            plain(&engine, "shop/a").await,
            reader(&engine, "shop/b", &["shop/a"], Way::Reference).await,
        ],
        FleetOptions::default(),
    ))
    .await;
    things.take();
    for destroys in [false, true] {
        let runs = vec![
            plain(&engine, "shop/a").await.depends_on("shop/b"),
            plain(&engine, "shop/b").await,
            plain(&engine, "shop/c").await,
        ];
        let result = match destroys {
            false => ended(&engine.up_all(runs, FleetOptions::default())).await,
            true => ended(&engine.destroy_all(runs, FleetOptions::default())).await,
        };
        assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::InvalidInput);
        let text = message(&result);
        assert!(
            text.starts_with("the stacks of the set need each other: "),
            "{text}"
        );
        assert!(text.contains("'shop/a' depends on 'shop/b'"), "{text}");
        assert!(
            text.contains("'shop/b' has a recorded reference to 'shop/a'"),
            "{text}"
        );
        assert!(result.stacks.iter().all(|end| end.is_skipped));
        assert!(things.take().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_read_each_other_fail_with_the_cycle() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let runs = vec![
        reader(&engine, "shop/a", &["shop/b"], Way::Reference).await,
        reader(&engine, "shop/b", &["shop/a"], Way::Reference).await,
        plain(&engine, "shop/c").await,
    ];
    let result = ended(&engine.up_all(runs, limits(1, 0))).await;
    assert_eq!(things.take(), ["create shop-c"], "the independent one runs");
    let text = format!(
        "{:?}",
        result
            .stacks
            .iter()
            .map(|end| &end.result.diagnostics)
            .collect::<Vec<_>>()
    );
    assert!(
        text.contains("'shop/b' reads 'shop/a', 'shop/a' reads 'shop/b'"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preview_of_new_stacks_gives_the_outputs_that_are_computed() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    for way in [Way::Reference, Way::Function] {
        let runs = vec![
            reader(&engine, "shop/b", &["shop/a"], way).await,
            plain(&engine, "shop/a").await,
        ];
        let result = succeeded(&engine.preview_all(runs, FleetOptions::default())).await;
        assert_eq!(result.changes["create"], 4);
        let outputs = &result.stack("shop/b").unwrap().result.outputs;
        let found = format!("{:?}", outputs.get("found"));
        assert!(found.contains("urn:pulumi:a::shop"), "{found}");
        assert!(found.contains("unknown"), "the id is not known: {found}");
    }
    assert!(things.take().is_empty());
    let stacks = engine.stacks(None, true).await.unwrap();
    assert!(
        stacks.iter().all(|stack| stack.resource_count == Some(0)),
        "{stacks:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_a_plugin_are_limited_in_all_stacks_together() {
    for limit in [1_u32, 3] {
        let things = Things::new(0);
        let engine = engine(&things);
        let mut runs = Vec::new();
        for number in 0..8 {
            runs.push(plain(&engine, &format!("shop/s{number}")).await);
        }
        let update = engine.up_all(runs, limits(8, limit));
        things.await_creations(limit).await;
        assert_eq!(things.running.load(Ordering::SeqCst), limit as usize);
        things.permits.add_permits(MANY_PERMITS);
        succeeded(&update).await;
        assert_eq!(things.most.load(Ordering::SeqCst), limit as usize);
        assert_eq!(things.take().len(), 8);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_that_share_a_limit_count_the_calls_of_a_plugin_together() {
    for limit in [1_u32, 3] {
        let things = Things::new(0);
        let shared = PluginLimits::new(limit, Runtime::system(Handle::current()));
        let mut updates = Vec::new();
        for name in ["north", "south"] {
            let builder = builder_on(memory(), &things).plugin_limits(shared.clone());
            let engine = builder.build().unwrap();
            let mut runs = Vec::new();
            for number in 0..4 {
                runs.push(plain(&engine, &format!("{name}/s{number}")).await);
            }
            updates.push(engine.up_all(runs, FleetOptions::default()));
        }
        things.await_creations(limit).await;
        assert_eq!(things.running.load(Ordering::SeqCst), limit as usize);
        things.permits.add_permits(MANY_PERMITS);
        for update in &updates {
            succeeded(update).await;
        }
        assert_eq!(things.most.load(Ordering::SeqCst), limit as usize);
        assert_eq!(things.take().len(), 8);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn independent_stacks_run_at_the_same_time_up_to_the_limit() {
    let things = Things::new(0);
    let engine = engine(&things);
    let mut runs = Vec::new();
    for number in 0..6 {
        runs.push(plain(&engine, &format!("shop/s{number}")).await);
    }
    let update = engine.up_all(runs, limits(3, 0));
    things.await_creations(3).await;
    let begun = update
        .operations()
        .filter(|(_, operation)| operation.result().is_none())
        .count();
    assert_eq!(begun, 6);
    things.permits.add_permits(MANY_PERMITS);
    succeeded(&update).await;
    assert_eq!(things.most.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellation_ends_what_runs_and_skips_the_rest() {
    let things = Things::new(0);
    let engine = engine(&things);
    let runs = vec![
        plain(&engine, "shop/a").await,
        reader(&engine, "shop/b", &["shop/a"], Way::Function).await,
        plain(&engine, "shop/c").await.depends_on("shop/a"),
    ];
    let update = engine.up_all(runs, FleetOptions::default());
    things.await_creations(1).await;
    update.cancel();
    things.permits.add_permits(MANY_PERMITS);
    let result = ended(&update).await;
    assert_eq!(result.outcome, OperationOutcome::Canceled);
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!(things.take(), ["create shop-a"], "the running step completes");
    let end = result.stack("shop/c").unwrap();
    assert!(end.is_skipped);
    let text = "the stack 'shop/c' was not updated: the set was cancelled";
    assert_eq!(end.result.error.as_ref().unwrap().message(), text);
    for name in ["shop/a", "shop/b"] {
        let end = result.stack(name).unwrap();
        assert_eq!(
            end.result.error.as_ref().unwrap().kind(),
            ErrorKind::Cancelled,
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_cancellation_abandons_running_calls() {
    let things = Things::new(0);
    let engine = engine(&things);
    let update = engine.up_all(vec![plain(&engine, "shop/a").await], FleetOptions::default());
    things.await_creations(1).await;
    update.cancel();
    update.cancel();
    // The creation has no permit, and never ends.
    let result = ended(&update).await;
    assert_eq!(result.outcome, OperationOutcome::Canceled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_is_refused_before_anything_runs() {
    let things = Things::new(MANY_PERMITS);
    let (engine, other) = (engine(&things), engine(&things));
    let refused = [
        (
            vec![plain(&engine, "shop/a").await.depends_on("shop/b")],
            "the stack 'shop/a' depends on 'shop/b', which is not in the set",
        ),
        (
            vec![plain(&engine, "shop/a").await, plain(&engine, "shop/a").await],
            "the set contains the stack 'shop/a' twice",
        ),
        (
            vec![plain(&engine, "shop/a").await, plain(&other, "shop/b").await],
            "the stack 'shop/b' belongs to another engine than the set",
        ),
    ];
    for (runs, text) in refused {
        let update = engine.up_all(runs, FleetOptions::default());
        let mut events = update.events();
        let result = ended(&update).await;
        assert_eq!(message(&result), text);
        assert_eq!(result.outcome, OperationOutcome::Failed);
        while events.next().within("the end of the events").await.is_some() {}
    }
    assert!(things.take().is_empty());
    let empty = succeeded(&engine.up_all(Vec::new(), FleetOptions::default())).await;
    assert!(empty.stacks.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_destroyed_when_the_references_of_a_stack_cannot_be_read() {
    let things = Things::new(MANY_PERMITS);
    let store = memory();
    let engine = engine_on(Arc::clone(&store) as _, &things);
    let runs = || async { vec![plain(&engine, "shop/a").await, plain(&engine, "shop/b").await] };
    succeeded(&engine.up_all(runs().await, FleetOptions::default())).await;
    let runs = runs().await;
    let again = vec![plain(&engine, "shop/a").await, plain(&engine, "shop/b").await];
    things.take();
    let key = ".pulumi/stacks/shop/b.json";
    store
        .put(key, Bytes::from_static(b"{\"checkpoint\":"), Condition::Any)
        .await
        .unwrap();
    let result = ended(&engine.destroy_all(runs, FleetOptions::default())).await;
    assert!(message(&result).contains("shop/b"), "{}", message(&result));
    assert!(things.take().is_empty());
    // A refresh of the others needs no order that is known in advance.
    let result = ended(&engine.refresh_all(again, FleetOptions::default())).await;
    assert!(result.stack("shop/a").unwrap().result.error.is_none());
    assert!(result.stack("shop/b").unwrap().result.error.is_some());
}

/// Returns what a crash of the host leaves of a store: all objects but the locks.
async fn left_by_crash(store: &MemoryStore) -> Arc<MemoryStore> {
    let left = memory();
    for object in store.list("").await.unwrap() {
        if let Some(found) = store.get(&object.key).await.unwrap()
            && !object.key.contains("/locks/")
        {
            left.put(&object.key, found.bytes, Condition::Any).await.unwrap();
        }
    }
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn the_references_of_an_interrupted_operation_count() {
    let things = Things::new(MANY_PERMITS);
    let store = memory();
    let engine = Engine::builder(Handle::current())
        .store(Arc::clone(&store) as _)
        .secrets(Arc::new(Base64Provider))
        .provider("shop", Arc::new(Shared(Arc::clone(&things))))
        // Only the journal has what the interrupted operation has recorded.
        .checkpoint_interval(None)
        .build()
        .unwrap();
    succeeded(&engine.up_all(vec![plain(&engine, "shop/a").await], FleetOptions::default())).await;
    things.await_creations(1).await;
    let permits = things.permits.acquire_many(1_000).await.unwrap();
    let update = engine.up_all(
        vec![reader(&engine, "shop/b", &["shop/a"], Way::Reference).await],
        FleetOptions::default(),
    );
    things.await_creations(1).await;
    let left = engine_on(left_by_crash(&store).await, &things);
    drop(permits);
    succeeded(&update).await;
    things.take();
    let runs = vec![
        plain(&left, "shop/a").await.depends_on("shop/b"),
        plain(&left, "shop/b").await,
    ];
    let result = ended(&left.destroy_all(runs, FleetOptions::default())).await;
    let text = message(&result);
    assert!(
        text.contains("'shop/b' has a recorded reference to 'shop/a'"),
        "{text}"
    );
    let runs = vec![plain(&left, "shop/a").await, plain(&left, "shop/b").await];
    succeeded(&left.destroy_all(runs, FleetOptions::default())).await;
    assert_eq!(
        things.take(),
        ["delete shop-a"],
        "the interrupted creation is not known"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outputs_of_a_stack_whose_state_the_host_supplies_are_read_from_its_result() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let settings = StackSettings {
        program: Some(reading(&[], Way::Function)),
        deployment: Some(Bytes::from_static(b"{}")),
        ..StackSettings::default()
    };
    let supplied = StackRun::new(engine.stack("shop/a", settings).await.unwrap());
    let runs = vec![
        reader(&engine, "shop/b", &["shop/a"], Way::Function).await,
        supplied,
    ];
    let result = succeeded(&engine.up_all(runs, FleetOptions::default())).await;
    let found = format!(
        "{:?}",
        result.stack("shop/b").unwrap().result.outputs.get("found")
    );
    assert!(found.contains("shop-a"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_stack_has_its_own_options_and_program() {
    let things = Things::new(MANY_PERMITS);
    let engine = engine(&things);
    let mut run = plain(&engine, "shop/a").await;
    run.program = Some(from_fn(|_context| async { Ok(()) }));
    run.options = OperationOptions {
        message: "a note".to_owned(),
        ..OperationOptions::default()
    };
    succeeded(&engine.up_all(vec![run], FleetOptions::default())).await;
    assert!(things.take().is_empty());
    let stack = engine
        .select_stack("shop/a", StackSettings::default())
        .await
        .unwrap();
    let history = stack.history_page(None, 1).await.unwrap();
    assert_eq!(history[0]["message"], "a note");
}
