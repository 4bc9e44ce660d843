//! Property test of targets: any program with any change and any targets yields a valid state in which untargeted
//! resources are unchanged, also after a crash at any entry. A run without targets yields the program's goal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use proptest::{collection::vec, prelude::*};
use stackwright::{
    Engine, Result, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse,
        HandshakeRequest, Provider, ProviderBackend, ProviderResult, UpdateRequest, UpdateResponse,
    },
    resource::{Alias, PropertyDependencies, ResourceOptions, ResourceState},
    runtime::Runtime,
    secrets::Base64Provider,
    state::{
        JournalEntry, JournalRecord, JournalReplay, Snapshot, integrity, journal::JournalReceiver, normalise,
    },
    store::MemoryStore,
    urn::Urn,
};
use stackwright_testkit::wait::Ended as _;

/// The number of resources of a program.
const RESOURCE_COUNT: usize = 6;

/// Changes update resources, but replace number 1, number 2 (with deletion first), and every provider.
#[derive(Default)]
struct Things {
    /// The number of creations. Each has a unique id, so that a resource differs from its old copies.
    created: AtomicUsize,
    deleted: Mutex<Deleted>,
}

/// The deleted resources, by URN and id.
type Deleted = BTreeSet<(Urn, String)>;

impl Provider for Things {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        Ok(difference(&request, true, false))
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let number = &request.name[1..];
        Ok(difference(
            &request,
            number == "1" || number == "2",
            number == "2",
        ))
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        Ok(CreateResponse {
            id: format!("id-{}-{number}", request.name).into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        let deleted = (request.urn, request.id.to_string());
        self.deleted.lock().unwrap().insert(deleted);
        Ok(())
    }
}

fn difference(request: &DiffRequest, replaces: bool, delete_before_replace: bool) -> DiffResponse {
    let same = request.old_inputs == request.news;
    DiffResponse {
        changes: if same {
            DiffChanges::None
        } else {
            DiffChanges::Some
        },
        replaces: if replaces && !same {
            vec!["value".to_owned()]
        } else {
            Vec::new()
        },
        delete_before_replace: delete_before_replace && !same,
        ..DiffResponse::default()
    }
}

/// A program's declaration of one resource.
#[derive(Clone, Debug)]
struct Declared {
    present: bool,
    value: u8,
    /// Whether it depends on each of the others; later ones do not count.
    depends_on: Vec<bool>,
    /// Whether it is a child of `r0`, a component.
    is_child: bool,
    /// The default provider, or one of two others.
    provider: usize,
    /// Whether the program uses its other name, with the usual one as an alias.
    is_renamed: bool,
    /// Whether it has property dependencies of a key that is no input.
    by_key: bool,
    /// Whether it is deleted with `r0`, `r3` or `r4`, where that comes before it.
    deleted_with: Option<usize>,
}

/// The registrations of a program.
#[derive(Clone, Debug)]
struct Script {
    resources: Vec<Declared>,
    order: Vec<usize>,
    providers: Vec<u8>,
    /// Whether registrations are sequential, in the order of their numbers.
    in_turn: bool,
}

#[derive(Clone, Debug)]
struct Aim {
    targets: Vec<String>,
    excludes: Vec<String>,
    dependents: bool,
    /// Whether the operation refreshes first.
    refresh: bool,
    /// Whether a refresh or destroy runs the program.
    runs_program: bool,
}

fn urn(index: usize, is_child: bool) -> Urn {
    let parent = if is_child { "box:index:Box" } else { "" };
    Urn::new("dev", "shop", parent, type_of(index), &format!("r{index}"))
}

/// Returns the name of a resource in a program, and its other name.
fn names_of(index: usize, is_renamed: bool) -> (String, String) {
    let (plain, other) = (format!("r{index}"), format!("s{index}"));
    if is_renamed {
        (other, plain)
    } else {
        (plain, other)
    }
}

fn type_of(index: usize) -> &'static str {
    if index == 0 {
        "box:index:Box"
    } else {
        "things:index:Thing"
    }
}

fn declared() -> impl Strategy<Value = Declared> {
    (
        prop::bool::weighted(0.8),
        0..2_u8,
        vec(prop::bool::weighted(0.3), RESOURCE_COUNT),
        prop::bool::weighted(0.3),
        0..3_usize,
        (
            prop::bool::weighted(0.2),
            prop::bool::weighted(0.2),
            prop::option::weighted(0.2, prop::sample::select(vec![0_usize, 3, 4])),
        ),
    )
        .prop_map(|(present, value, depends_on, is_child, provider, more)| {
            let (is_renamed, by_key, deleted_with) = more;
            Declared {
                present,
                value,
                depends_on,
                is_child,
                provider,
                is_renamed,
                by_key,
                deleted_with,
            }
        })
}

fn script() -> impl Strategy<Value = Script> {
    let order: Vec<usize> = (0..RESOURCE_COUNT).collect();
    let order = Just(order).prop_shuffle();
    (
        vec(declared(), RESOURCE_COUNT),
        order,
        vec(0..2_u8, 2),
        prop::bool::weighted(0.6),
    )
        .prop_map(|(resources, mut order, providers, in_turn)| {
            if in_turn {
                order.sort_unstable();
            }
            Script {
                resources,
                order,
                providers,
                in_turn,
            }
        })
}

fn aim() -> impl Strategy<Value = Aim> {
    let mut names: Vec<String> = (0..RESOURCE_COUNT)
        .flat_map(|index| [urn(index, false).to_string(), urn(index, index != 0).to_string()])
        .collect();
    names.push("**::r2".to_owned());
    names.push("**::?2".replace('?', "*"));
    names.push("**::s*".to_owned());
    names.push("urn:pulumi:dev::shop::pulumi:providers:things::p*".to_owned());
    names.push(ALL.to_owned());
    names.push(NONE.to_owned());
    let named = prop::sample::subsequence(names, 1..5);
    let named = (named, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    named.prop_map(|(named, excludes, dependents, refresh, runs_program)| {
        let (targets, excludes) = if excludes {
            (Vec::new(), named)
        } else {
            (named, Vec::new())
        };
        Aim {
            targets,
            excludes,
            dependents,
            refresh,
            runs_program,
        }
    })
}

/// Returns whether a glob matches a URN: `*` matches anything but a colon, `**` matches anything.
fn matches(name: &[u8], urn: &[u8]) -> bool {
    match (name, urn) {
        ([b'*', b'*', rest @ ..], _) => {
            matches(rest, urn) || urn.split_first().is_some_and(|(_, urn)| matches(name, urn))
        }
        ([b'*', rest @ ..], _) => {
            matches(rest, urn)
                || urn
                    .split_first()
                    .is_some_and(|(first, urn)| *first != b':' && matches(name, urn))
        }
        ([first, rest @ ..], [other, urn @ ..]) => first == other && matches(rest, urn),
        ([], []) => true,
        _ => false,
    }
}

impl Aim {
    fn options(&self) -> OperationOptions {
        OperationOptions {
            targets: self.targets.clone(),
            target_dependents: self.dependents,
            excludes: self.excludes.clone(),
            exclude_dependents: self.dependents,
            refresh: Some(self.refresh),
            refresh_program: self.runs_program,
            destroy_program: self.runs_program,
            ..OperationOptions::default()
        }
    }

    /// Returns whether everything is selected, so that no refusal is possible. The glob `NONE` matches no record.
    fn is_about_everything(&self) -> bool {
        self.targets == [ALL] || self.excludes == [NONE]
    }

    /// Returns whether a resource is certainly not selected.
    fn leaves_out(&self, state: &ResourceState) -> bool {
        let named = |urn: &Urn| {
            self.targets
                .iter()
                .chain(&self.excludes)
                .any(|name| matches(name.as_bytes(), urn.as_str().as_bytes()))
        };
        // The program may use its other name.
        let name = state.urn.name();
        let (first, number) = name.split_at(1);
        let other = if first == "r" { "s" } else { "r" };
        let other = state.urn.with_name(&format!("{other}{number}"));
        let worked_on = if self.targets.is_empty() {
            !(named(&state.urn) && named(&other))
        } else {
            self.dependents || named(&state.urn) || named(&other)
        };
        !(worked_on || state.is_provider() || state.urn.is_root_stack())
    }
}

/// Returns the registration of a provider.
fn provider(index: usize, value: u8) -> Registration {
    Registration {
        resource_type: "pulumi:providers:things".into(),
        name: format!("p{index}"),
        custom: true,
        inputs: [("value", f64::from(value).into())].into_iter().collect(),
        ..Registration::default()
    }
}

fn program(script: &Script) -> Arc<dyn Program> {
    let script = script.clone();
    from_fn(move |context| {
        let script = script.clone();
        async move {
            let mut providers = vec![String::new()];
            for (index, value) in script.providers.iter().enumerate() {
                let registered = context.monitor.register(provider(index, *value)).await?;
                providers.push(format!("{}::{}", registered.urn, registered.id));
            }
            let mut urns: Vec<Option<Urn>> = vec![None; RESOURCE_COUNT];
            let mut running = Vec::new();
            for &index in script
                .order
                .iter()
                .filter(|index| script.resources[**index].present)
            {
                let declared = &script.resources[index];
                let parent = urns[0].clone().filter(|_| declared.is_child);
                let depends_on = urns.iter().zip(&declared.depends_on);
                let depends_on = depends_on.filter_map(|(urn, depends)| urn.clone().filter(|_| *depends));
                let dependencies: Vec<Urn> = depends_on.collect();
                let (name, former) = names_of(index, declared.is_renamed);
                let own = urn(index, parent.is_some()).with_name(&name);
                let deleted_with = declared.deleted_with.and_then(|host| urns[host].clone());
                let mut registration = Registration {
                    resource_type: type_of(index).into(),
                    name,
                    custom: index != 0,
                    inputs: [("value", f64::from(declared.value).into())]
                        .into_iter()
                        .collect(),
                    parent,
                    aliases: vec![Alias::Spec {
                        name: Some(former),
                        resource_type: None,
                        stack: None,
                        project: None,
                        parent: None,
                        no_parent: false,
                    }],
                    options: ResourceOptions {
                        deleted_with,
                        ..ResourceOptions::default()
                    }
                    .into(),
                    ..Registration::default()
                };
                if declared.by_key {
                    let by_key = [("absent".into(), dependencies)];
                    registration.property_dependencies = Some(PropertyDependencies::from(by_key));
                } else {
                    registration.dependencies = dependencies;
                }
                // Children inherit the options of their parent once its registration is complete.
                if registration.custom {
                    registration
                        .package
                        .provider
                        .clone_from(&providers[declared.provider]);
                }
                let registering = context.monitor.register(registration);
                if script.in_turn {
                    urns[index] = Some(registering.await?.urn);
                } else {
                    urns[index] = Some(own);
                    running.push(registering);
                }
            }
            for registration in running {
                registration.await?;
            }
            Ok(())
        }
    })
}

/// A glob that matches every URN, and one that matches none.
const ALL: &str = "**";
const NONE: &str = "nowhere*";

/// The possible refusals of a run with targets.
const REFUSALS: [&str; 6] = [
    "which does not exist yet and is not among the targets",
    "which does not exist and is excluded",
    "which stays as it was recorded and so needs",
    "would have to be deleted and is not among the targets",
    "is not a resource of the stack",
    "is not among the targets, and its new provider",
];

async fn run(
    stack: &Stack,
    kind: OperationKind,
    options: OperationOptions,
    script: &Script,
) -> Arc<OperationResult> {
    stack.start(kind, options, Some(program(script))).ended().await
}

/// Records the entries of the journal.
#[derive(Default)]
struct Entries {
    kept: Mutex<Vec<Arc<JournalEntry>>>,
    /// Whether all programs register resources sequentially, in the same order.
    in_turn: bool,
}

#[async_trait]
impl JournalReceiver for Entries {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        self.kept.lock().unwrap().push(Arc::clone(entry));
        Ok(())
    }
}

/// Checks that every prefix of the entries yields a valid state, with and without elided entries. With `in_turn` also
/// the order of the entries is valid.
fn check_every_prefix(before: &Snapshot, entries: &[Arc<JournalEntry>], in_turn: bool) {
    for keeps_all in [true, false] {
        let mut replay = JournalReplay::new(before.clone());
        for entry in entries
            .iter()
            .filter(|entry| keeps_all || !entry.record.elides_write())
        {
            replay.apply(entry).unwrap();
            if keeps_all && in_turn {
                let mut plain = Snapshot {
                    resources: replay.records().map(|record| Arc::clone(&record.state)).collect(),
                    ..before.clone()
                };
                normalise(&mut plain).unwrap();
                if let Err(error) = integrity::verify(&plain) {
                    let history = describe(before, entries);
                    panic!("in the order after entry {}: {error}\n{history}", entry.sequence);
                }
            }
            let valid = replay
                .to_snapshot()
                .and_then(|snapshot| integrity::verify(&snapshot));
            if let Err(error) = valid {
                let history = describe(before, entries);
                panic!("after entry {} ({keeps_all}): {error}\n{history}", entry.sequence);
            }
        }
    }
}

/// Describes the initial records and the entries, for messages about an invalid state.
fn describe(before: &Snapshot, entries: &[Arc<JournalEntry>]) -> String {
    let short = |state: &ResourceState| {
        let needs: Vec<_> = state.dependencies.iter().map(Urn::name).collect();
        let mark = if state.delete { " (old copy)" } else { "" };
        let parent = state.parent.as_ref().map_or("", |parent| parent.name());
        let name = state.urn.name();
        format!(
            "{name}{mark} ({}) in {parent} needs {needs:?}, provider {}",
            state.id, state.provider
        )
    };
    let records = (0..)
        .zip(&before.resources)
        .map(|(id, state): (u64, _)| format!("record {id}: {}", short(state)));
    let entries = entries.iter().map(|entry| {
        let text = match &entry.record {
            JournalRecord::Begin { op, .. } => format!("begin {op:?}"),
            JournalRecord::Success {
                op,
                removed,
                marked,
                new,
                ..
            } => {
                let new = new
                    .as_ref()
                    .map(|new| format!("record {}: {}", new.id.0, short(&new.state)));
                format!("{op:?} removed {removed:?}, marked {marked:?}, new {new:?}")
            }
            other => format!("{other:?}"),
        };
        format!("entry {}: {text}", entry.sequence)
    });
    records.chain(entries).collect::<Vec<_>>().join("\n")
}

/// Returns whether a resource was deleted, itself or with the resource of its `deletedWith`. The deletion of an old
/// copy of either does not count.
fn is_deleted(before: &Snapshot, deleted: &Deleted, state: &ResourceState) -> bool {
    let host = state.options.deleted_with.as_ref();
    let mut live = before.resources.iter().filter(|other| !other.delete);
    let host = host.and_then(|host| live.find(|other| other.urn == *host));
    deleted.contains(&(state.urn.clone(), state.id.to_string()))
        || host.is_some_and(|host| is_deleted(before, deleted, host))
}

/// Returns a record with the usual names in its references: selected resources may be renamed.
fn with_plain_names(state: &ResourceState) -> String {
    let text = format!("{state:?}");
    (0..RESOURCE_COUNT).fold(text, |text, index| {
        text.replace(&format!("::s{index}"), &format!("::r{index}"))
    })
}

fn needs(state: &ResourceState, name: &str) -> bool {
    let mut found = false;
    state.for_each_dependency(|urn| found |= urn.name() == name);
    found
}

/// Runs one operation with targets and checks its state.
async fn aimed(
    stack: &Stack,
    things: &Things,
    entries: &Entries,
    kind: OperationKind,
    aim: &Aim,
    script: &Script,
) {
    let before = stack.snapshot().await.unwrap();
    let preview = run(stack, kind, aim.options().preview(), script).await;
    things.deleted.lock().unwrap().clear();
    entries.kept.lock().unwrap().clear();
    let result = run(stack, kind, aim.options(), script).await;
    let in_turn = entries.in_turn && kind == OperationKind::Update && !aim.refresh;
    check_every_prefix(&before, &entries.kept.lock().unwrap(), in_turn);
    // A refresh with program updates components and keeps the dependencies of the others, which may form a cycle.
    let keeps_some = kind == OperationKind::Refresh && aim.runs_program;
    if let Some(error) = &result.error {
        assert!(
            !aim.is_about_everything() || keeps_some,
            "{kind:?} of everything failed: {error}"
        );
        assert!(
            REFUSALS.iter().any(|refusal| error.message().contains(refusal)),
            "{kind:?} failed: {error}"
        );
    }
    // A former dependent of `r2` is deleted for its replacement, or has been changed before: both are valid.
    let is_chance = before
        .resources
        .iter()
        .any(|state| needs(state, "r2") || needs(state, "s2"));
    assert!(
        is_chance || preview.error.is_some() == result.error.is_some(),
        "{:?} {:?}",
        preview.error,
        result.error
    );
    let after = stack.snapshot().await.unwrap();
    integrity::verify(&after).unwrap();
    assert!(after.pending_operations.is_empty());
    let deleted = things.deleted.lock().unwrap().clone();
    for old in before
        .resources
        .iter()
        .filter(|old| !old.delete && aim.leaves_out(old))
    {
        // A record with a pending replacement is removed with its dependencies.
        if old.pending_replacement {
            continue;
        }
        // Dependents that were deleted before the replacement of a target were created again.
        if is_deleted(&before, &deleted, old) {
            assert_eq!(kind, OperationKind::Update, "{} was deleted", old.urn);
            continue;
        }
        let kept = after
            .resources
            .iter()
            .find(|new| new.urn == old.urn && !new.delete);
        let kept = kept.map(|kept| with_plain_names(kept));
        assert_eq!(kept, Some(with_plain_names(old)), "{} was changed", old.urn);
    }
}

fn plain(stack: &Stack, script: &Script) -> impl Future<Output = Arc<OperationResult>> {
    run(stack, OperationKind::Update, OperationOptions::default(), script)
}

async fn play(first: Script, second: Script, aims: Vec<Aim>) {
    let things = Arc::new(Things::default());
    let provider: Arc<dyn ProviderBackend> = Arc::clone(&things) as _;
    let handle = tokio::runtime::Handle::current();
    let engine = Engine::builder(handle.clone())
        .store(Arc::new(MemoryStore::new(Runtime::system(handle))))
        .secrets(Arc::new(Base64Provider))
        .provider("things", provider)
        .build()
        .unwrap();
    let entries = Arc::new(Entries {
        in_turn: first.in_turn && second.in_turn,
        ..Entries::default()
    });
    let settings = StackSettings {
        journal: Some(Arc::clone(&entries) as _),
        ..StackSettings::default()
    };
    let stack = engine.stack("shop/dev", settings).await.unwrap();
    let created = plain(&stack, &first).await;
    assert!(created.error.is_none(), "{:?}", created.error);
    aimed(
        &stack,
        &things,
        &entries,
        OperationKind::Update,
        &aims[0],
        &second,
    )
    .await;
    aimed(
        &stack,
        &things,
        &entries,
        OperationKind::Destroy,
        &aims[1],
        &second,
    )
    .await;
    aimed(
        &stack,
        &things,
        &entries,
        OperationKind::Refresh,
        &aims[2],
        &second,
    )
    .await;
    aimed(&stack, &things, &entries, OperationKind::Update, &aims[2], &first).await;
    let before = stack.snapshot().await.unwrap();
    entries.kept.lock().unwrap().clear();
    let brought_about = plain(&stack, &second).await;
    assert!(
        brought_about.error.is_none(),
        "{:?}\n{}",
        brought_about.error,
        describe(&before, &entries.kept.lock().unwrap())
    );
    let again = plain(&stack, &second).await;
    assert!(again.error.is_none(), "{:?}", again.error);
    assert!(
        again.changes.keys().all(|op| *op == "same"),
        "{}after\n{}",
        again.tree(),
        brought_about.tree()
    );
    let destroyed = stack.destroy(OperationOptions::default()).ended().await;
    assert!(destroyed.error.is_none(), "{:?}", destroyed.error);
    assert!(stack.snapshot().await.unwrap().resources.is_empty());
}

proptest! {

    #[test]
    fn any_targets_yield_a_valid_state_with_untargeted_resources_unchanged(
        first in script(),
        second in script(),
        aims in vec(aim(), 3),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(play(first, second, aims));
    }
}
