//! Edits and the host's journal: a host that applies the entries has the state of the stack after each edit, and refuses any.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use serde_json::json;
use tokio::runtime::Handle;

use super::test_key::Key;
use crate::{
    Engine, Stack, StackSettings,
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
    state::{
        JournalEntry, JournalReplay, Snapshot,
        edit::{Delete, EditReport, Move, Rename, Selection, StateEdit},
        journal::JournalReceiver,
    },
    store::{
        Condition, HistoryPoint, MemoryStore, Store,
        faulty::{Fault, FaultyStore},
    },
    urn::Urn,
};

const SITE: &str = "urn:pulumi:dev::shop::my:index:Site::site";
const PAGE: &str = "urn:pulumi:dev::shop::my:index:Site$my:index:Page::page";
const OTHER: &str = "urn:pulumi:dev::shop::my:index:Site::other";

/// The copy of a stack's state that a host keeps by its journal.
pub(super) struct Mirror {
    replay: Mutex<JournalReplay>,
    entries: Mutex<usize>,
    refuses: Mutex<bool>,
}

impl Mirror {
    fn of(snapshot: Snapshot) -> Arc<Self> {
        Arc::new(Self {
            replay: Mutex::new(JournalReplay::new(snapshot)),
            entries: Mutex::default(),
            refuses: Mutex::default(),
        })
    }

    fn refuses(&self) -> MutexGuard<'_, bool> {
        self.refuses.lock().unwrap()
    }

    fn entries(&self) -> usize {
        std::mem::take(&mut self.entries.lock().unwrap())
    }

    async fn require_same(&self, stack: &Stack, place: &str) {
        let mirrored = self.replay.lock().unwrap().to_snapshot().unwrap();
        require_same(&mirrored, &stack.snapshot().await.unwrap(), place);
    }
}

fn require_same(one: &Snapshot, other: &Snapshot, place: &str) {
    assert_eq!(one.resources, other.resources, "{place}");
    assert_eq!(one.pending_operations, other.pending_operations, "{place}");
}

#[async_trait]
impl JournalReceiver for Mirror {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        if *self.refuses() {
            return Err(Error::new(ErrorKind::Unavailable, "the host has no space"));
        }
        *self.entries.lock().unwrap() += 1;
        self.replay.lock().unwrap().apply(entry)
    }
}

const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";

/// The limit of writes of an edit.
const MAX_WRITES: usize = 64;

/// Returns a store with a stack that has a state of the history, and with an empty stack.
pub(super) async fn prepared() -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    let resource = |urn: &str, parent: Option<&str>| {
        let resource_type = Urn::parse(urn).unwrap().resource_type().to_owned();
        match parent {
            Some(parent) => json!({ "urn": urn, "custom": false, "type": resource_type, "parent": parent }),
            None => json!({ "urn": urn, "custom": false, "type": resource_type }),
        }
    };
    let pending = |urn: &str, kind: &str, parent| json!({ "type": kind, "resource": resource(urn, parent) });
    let latest = json!({
        "secrets_providers": { "type": "test", "state": { "key": "old" } },
        "resources": [resource(SITE, None), resource(PAGE, Some(SITE)), resource(OTHER, None)],
        "pending_operations": [pending(PAGE, "updating", Some(SITE)), pending(OTHER, "updating", None)],
    });
    let checkpoint =
        json!({ "version": 3, "checkpoint": { "stack": "organization/shop/dev", "latest": latest } });
    let entry = json!({ "kind": "update", "startTime": 1, "message": "", "environment": {}, "config": {}, "result": "succeeded", "endTime": 2 });
    for (key, text) in [
        (".pulumi/meta.yaml", "version: 1\n".to_owned()),
        (CHECKPOINT, checkpoint.to_string()),
        (
            ".pulumi/history/shop/dev/dev-1.checkpoint.json",
            checkpoint.to_string(),
        ),
        (".pulumi/history/shop/dev/dev-1.history.json", entry.to_string()),
    ] {
        store.put(key, text.into(), Condition::Any).await.unwrap();
    }
    engine(&store, "old")
        .create_or_select_stack("shop/live", StackSettings::default())
        .await
        .unwrap();
    store
}

pub(super) fn engine(store: &Arc<dyn Store>, key: &'static str) -> Engine {
    let builder = Engine::builder(Handle::current()).store(Arc::clone(store));
    builder.secrets(Arc::new(Key::new(key))).build().unwrap()
}

/// Returns the state of a stack as the next process reads it: under the first of these names that exists, with the key of before
/// or after the edits.
async fn stored(store: &Arc<dyn Store>, names: &[&str], place: &str) -> Snapshot {
    for lock in store.list(".pulumi/locks/").await.unwrap() {
        store.delete(&lock.key).await.unwrap();
    }
    for name in names {
        for key in ["old", "new"] {
            let opened = engine(store, key)
                .select_stack(name, StackSettings::default())
                .await;
            if let Ok(stack) = opened
                && let Ok(snapshot) = stack.snapshot().await
            {
                return snapshot;
            }
        }
    }
    panic!("{place}: no state")
}

/// Two stacks in a store, each with a mirror.
pub(super) struct Case {
    engine: Engine,
    pub(super) from: (Stack, Arc<Mirror>),
    to: (Stack, Arc<Mirror>),
}

impl Case {
    async fn new() -> Self {
        Self::over(&prepared().await).await
    }

    pub(super) async fn over(store: &Arc<dyn Store>) -> Self {
        let engine = engine(store, "old");
        let from = Self::open(&engine, "shop/dev").await;
        let to = Self::open(&engine, "shop/live").await;
        Self { engine, from, to }
    }

    async fn open(engine: &Engine, name: &str) -> (Stack, Arc<Mirror>) {
        let stack = engine.stack(name, StackSettings::default()).await.unwrap();
        let mirror = Mirror::of(stack.snapshot().await.unwrap());
        let settings = StackSettings {
            journal: Some(Arc::clone(&mirror) as _),
            ..StackSettings::default()
        };
        (engine.stack(name, settings).await.unwrap(), mirror)
    }
}

fn urn(text: &str) -> Urn {
    Urn::parse(text).unwrap()
}

pub(super) const EDITS: [&str; 9] = [
    "rename",
    "delete",
    "protect",
    "forget",
    "import",
    "restore",
    "secrets",
    "move",
    "rename the stack",
];

/// Makes an edit, and returns the warnings of its report.
pub(super) async fn make(case: &Case, edit: &str) -> Result<Vec<String>> {
    let stack = &case.from.0;
    let report = match edit {
        "rename" => {
            let rename = Rename::to_name(urn(PAGE), "renamed");
            stack.edit(&StateEdit::Rename(rename), false).await?
        }
        "delete" => {
            let delete = Delete {
                urns: vec![urn(PAGE)],
                ..Delete::default()
            };
            stack.edit(&StateEdit::Delete(delete), false).await?
        }
        "protect" => {
            let protect = StateEdit::Protect(Selection::of([urn(OTHER)]));
            stack.edit(&protect, false).await?
        }
        "forget" => {
            let pending = stack.pending().await?;
            stack.forget_pending(&pending[1].id, false).await?;
            return Ok(Vec::new());
        }
        "import" => import(stack, false).await?,
        "restore" => {
            let protect = StateEdit::Protect(Selection::of([urn(OTHER)]));
            stack.edit(&protect, false).await?;
            stack.restore(&HistoryPoint::Version(1), false).await?
        }
        "secrets" => stack.change_secrets(Arc::new(Key::new("new")), false).await?,
        "move" => {
            let edit = Move {
                urns: vec![urn(SITE)],
                include_parents: false,
            };
            let report = stack.move_resources(&case.to.0, &edit, false).await?;
            return Ok([report.source.warnings, report.destination.warnings].concat());
        }
        _ => stack.rename_stack("renamed", false).await?,
    };
    Ok(report.warnings)
}

pub(super) async fn import(stack: &Stack, dry_run: bool) -> Result<EditReport> {
    let document = json!({ "version": 3, "deployment": { "resources": [
        { "urn": OTHER, "custom": false, "type": "my:index:Site", "protect": true } ] } });
    let document = document.to_string();
    stack
        .import_deployment_with(document.as_bytes(), false, dry_run)
        .await
}

#[tokio::test]
async fn a_host_that_applies_the_journal_has_the_state_after_each_edit() {
    for edit in EDITS {
        let case = Case::new().await;
        let before = case.from.0.snapshot().await.unwrap();
        make(&case, edit).await.unwrap();
        let renamed;
        let stack = match edit {
            "rename the stack" => {
                renamed = case
                    .engine
                    .select_stack("shop/renamed", StackSettings::default())
                    .await;
                renamed.as_ref().unwrap()
            }
            _ => &case.from.0,
        };
        let after = match edit {
            "secrets" => before.clone(),
            _ => stack.snapshot().await.unwrap(),
        };
        let mirrored = case.from.1.replay.lock().unwrap().to_snapshot().unwrap();
        require_same(&mirrored, &after, edit);
        assert!(case.from.1.entries() > 0, "{edit}");
        let pending = match edit {
            "move" | "forget" => 1,
            "import" => 0,
            _ => 2,
        };
        assert_eq!(after.pending_operations.len(), pending, "{edit}");
        case.to.1.require_same(&case.to.0, edit).await;
        assert_eq!(case.to.1.entries(), usize::from(edit == "move"), "{edit}");
    }
}

#[tokio::test]
async fn an_edit_that_the_host_refuses_changes_nothing() {
    for edit in EDITS {
        for refusing in ["source", "destination"] {
            let case = Case::new().await;
            let before = case.from.0.snapshot().await.unwrap();
            let mirror = if refusing == "source" {
                &case.from.1
            } else {
                &case.to.1
            };
            if refusing == "destination" && edit != "move" {
                continue;
            }
            *mirror.refuses() = true;
            let place = format!("{edit}, refused by the {refusing}");
            let error = make(&case, edit).await.expect_err(&place);
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{place}: {error}");
            require_same(&case.from.0.snapshot().await.unwrap(), &before, &place);
            // An accepted entry of a move that the other host refuses is followed by one that takes it back.
            case.from.1.require_same(&case.from.0, &place).await;
            case.to.1.require_same(&case.to.0, &place).await;
            let names = case.engine.stacks(None, false).await.unwrap();
            assert_eq!(names.len(), 2, "{place}");
            // Nothing is left that would hinder the next edit.
            *mirror.refuses() = false;
            make(&case, edit).await.expect(&place);
        }
    }
}

#[tokio::test]
async fn a_host_has_the_state_of_the_store_after_an_edit_that_could_not_be_written() {
    for edit in EDITS {
        let earlier = usize::from(edit == "restore");
        for fault in [Fault::Refused, Fault::DoneOnce] {
            // The failed edits whose entry was taken back, and those whose entry stands.
            let (mut taken_back, mut standing) = (0, 0);
            for at in 0..MAX_WRITES {
                let place = format!("{edit}, {fault:?} at write {at}");
                let store = prepared().await;
                let faulty = Arc::new(FaultyStore::new(Arc::clone(&store), fault, at));
                let case = Case::over(&(Arc::clone(&faulty) as Arc<dyn Store>)).await;
                let made = make(&case, edit).await;
                for (mirror, names) in [
                    (&case.from.1, &["shop/dev", "shop/renamed"][..]),
                    (&case.to.1, &["shop/live"]),
                ] {
                    let mirrored = mirror.replay.lock().unwrap().to_snapshot().unwrap();
                    require_same(&mirrored, &stored(&store, names, &place).await, &place);
                }
                if faulty.writes() <= at {
                    made.expect(&place);
                    break;
                }
                if let Err(error) = made {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{place}: {error}");
                    assert!(error.message().contains("on purpose"), "{place}: {error}");
                    let entries = case.from.1.entries();
                    taken_back += usize::from(entries == earlier + 2);
                    standing += usize::from(entries == earlier + 1);
                }
                assert!(at + 1 < MAX_WRITES, "{place}");
            }
            match fault {
                Fault::Refused => assert!(taken_back > 0, "{edit}"),
                _ => assert!(standing > 0, "{edit}"),
            }
        }
    }
}

#[tokio::test]
async fn the_error_of_an_import_over_an_unreadable_state_has_a_hint_that_its_entry_stands() {
    let mut hinted = 0;
    for at in 0..MAX_WRITES {
        let store = prepared().await;
        let faulty = FaultyStore::new(Arc::clone(&store), Fault::Refused, at);
        let case = Case::over(&(Arc::new(faulty) as Arc<dyn Store>)).await;
        store.put(CHECKPOINT, "{".into(), Condition::Any).await.unwrap();
        let Err(error) = make(&case, "import").await else {
            break;
        };
        let is_unreadable = store.get(CHECKPOINT).await.unwrap().unwrap().bytes == "{";
        let mut hints = error.hints().iter();
        let has_hint = hints.any(|hint| hint.contains("which the store does not have"));
        let entries = case.from.1.entries();
        assert_eq!(has_hint, is_unreadable && entries == 1, "write {at}: {error}");
        hinted += usize::from(has_hint);
    }
    assert!(hinted > 0);
}
