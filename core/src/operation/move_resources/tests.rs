//! Moves between stacks: after a fault at any write, each resource is in one of both stacks once one of them was opened.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{
    Engine, Stack, StackSettings,
    error::{ErrorKind, Result},
    operation::{OperationOptions, test_key::Key},
    runtime::Runtime,
    state::edit::{EditKind, Move},
    store::{
        Condition, FileStore, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version,
        faulty::{Fault, FaultyStore},
    },
    urn::Urn,
};

const FROM: &str = "shop/dev";
const TO: &str = "shop/live";
const SITE: &str = "urn:pulumi:dev::shop::my:index:Site::site";
const PAGE: &str = "urn:pulumi:dev::shop::my:index:Site$my:index:Page::page";
const USER: &str = "urn:pulumi:dev::shop::my:index:User::user";
const MOVED: [&str; 2] = [
    "urn:pulumi:live::shop::my:index:Site::site",
    "urn:pulumi:live::shop::my:index:Site$my:index:Page::page",
];

fn secret(text: &str) -> Value {
    json!({ "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": format!("{text:?}") })
}

fn document() -> Value {
    json!({ "version": 3, "deployment": { "resources": [
        { "urn": SITE, "custom": false, "type": "my:index:Site" },
        { "urn": PAGE, "custom": false, "type": "my:index:Page", "parent": SITE, "inputs": { "password": secret("hunter2") } },
        { "urn": USER, "custom": false, "type": "my:index:User", "dependencies": [PAGE], "inputs": { "token": secret("s3same") } },
    ] } })
}

/// Two stacks with different keys, each in a store.
struct Case {
    from: Arc<dyn Store>,
    to: Arc<dyn Store>,
}

impl Case {
    async fn in_one_store() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
        Self::of(Arc::clone(&store), store).await
    }

    async fn of(from: Arc<dyn Store>, to: Arc<dyn Store>) -> Self {
        let case = Self { from, to };
        let source = case.open(FROM).await.unwrap();
        let text = document().to_string();
        source.import_deployment(text.as_bytes()).await.unwrap();
        case.open(TO).await.unwrap();
        case
    }

    async fn open_in(store: Arc<dyn Store>, name: &str) -> Result<Stack> {
        let key = if name == FROM { "old" } else { "new" };
        let builder = Engine::builder(Handle::current()).store(store);
        let engine = builder.secrets(Arc::new(Key::new(key))).build().unwrap();
        engine
            .create_or_select_stack(name, StackSettings::default())
            .await
    }

    fn store_of(&self, name: &str) -> Arc<dyn Store> {
        Arc::clone(if name == FROM { &self.from } else { &self.to })
    }

    async fn open(&self, name: &str) -> Result<Stack> {
        Self::open_in(self.store_of(name), name).await
    }

    /// Moves the site in a process that `fault` ends or hinders, and returns the number of writes.
    async fn move_with(&self, fault: Fault, at: usize) -> Result<usize> {
        let from = Arc::new(FaultyStore::new(Arc::clone(&self.from), fault, at));
        let to: Arc<dyn Store> = match Arc::ptr_eq(&self.from, &self.to) {
            true => Arc::clone(&from) as _,
            false => Arc::clone(&self.to),
        };
        let source = Self::open_in(Arc::clone(&from) as _, FROM).await?;
        let destination = Self::open_in(to, TO).await?;
        source.move_resources(&destination, &site(), false).await?;
        Ok(from.writes())
    }

    /// As the next process does it with the locks of one that died.
    async fn break_locks(&self) {
        for store in [&self.from, &self.to] {
            for lock in store.list(".pulumi/locks/").await.unwrap() {
                store.delete(&lock.key).await.unwrap();
            }
        }
    }

    /// Opens the stacks in this order, and returns whether the site has moved, after the check that it is in one of both.
    async fn has_moved(&self, order: [&str; 2], place: &str) -> bool {
        let mut found = Vec::new();
        for name in order {
            let opened = self.open(name).await;
            let stack = opened.unwrap_or_else(|error| panic!("{place}: {name}: {error}"));
            let document = String::from_utf8(stack.export_deployment(false).await.unwrap()).unwrap();
            let plain = String::from_utf8(stack.export_deployment(true).await.unwrap()).unwrap();
            let snapshot = stack.snapshot().await.unwrap();
            let urns: Vec<_> = snapshot
                .resources
                .iter()
                .map(|record| record.urn.to_string())
                .collect();
            found.push((name, urns, document, plain));
        }
        found.sort_unstable();
        let [(_, left, left_text, _), (_, arrived, arrived_text, plain)] = &found[..] else {
            panic!("two stacks")
        };
        let has_moved = !arrived.is_empty();
        if has_moved {
            assert_eq!(left[..], [USER], "{place}");
            assert_eq!(arrived[1..], MOVED, "{place}");
            assert!(
                arrived_text.contains("new:\\\"2retnuh\\\""),
                "{place}: {arrived_text}"
            );
            assert!(plain.contains("hunter2"), "{place}");
        } else {
            assert_eq!(left[..], [SITE, PAGE, USER], "{place}");
            assert!(left_text.contains("old:\\\"2retnuh\\\""), "{place}");
        }
        assert!(left_text.contains("old:\\\"emas3s\\\""), "{place}: {left_text}");
        assert_eq!(self.notes().await, 0, "{place}");
        has_moved
    }

    async fn notes(&self) -> usize {
        let mut count = 0;
        let stores = [&self.from, &self.to];
        let different = if Arc::ptr_eq(stores[0], stores[1]) { 1 } else { 2 };
        for store in &stores[..different] {
            let notes = store.list(".pulumi/journals/").await.unwrap();
            count += notes.iter().filter(|note| note.key.ends_with(".moving")).count();
        }
        count
    }
}

fn site() -> Move {
    Move::of([Urn::parse(SITE).unwrap()])
}

#[tokio::test]
async fn secrets_get_the_key_of_the_destination_and_a_dry_run_reports_the_same_and_writes_nothing() {
    let case = Case::in_one_store().await;
    let (source, destination) = (case.open(FROM).await.unwrap(), case.open(TO).await.unwrap());
    let planned = source.move_resources(&destination, &site(), true).await.unwrap();
    assert!(!case.has_moved([FROM, TO], "dry run").await);
    let report = source.move_resources(&destination, &site(), false).await.unwrap();
    assert!(planned.source.dry_run && planned.destination.dry_run && !report.source.dry_run);
    assert_eq!(planned.source.records, report.source.records);
    assert_eq!(planned.destination.records, report.destination.records);
    let kinds: Vec<_> = report.source.records.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [EditKind::Changed, EditKind::Removed, EditKind::Removed]);
    let former = report
        .destination
        .records
        .iter()
        .filter_map(|record| record.former_urn.as_ref());
    assert_eq!(former.map(Urn::as_str).collect::<Vec<_>>(), [SITE, PAGE]);
    assert!(case.has_moved([TO, FROM], "moved").await);
}

#[tokio::test]
async fn after_faults_at_any_write_twice_in_a_row_each_resource_is_in_one_stack() {
    let writes = Case::in_one_store()
        .await
        .move_with(Fault::Refused, usize::MAX)
        .await
        .unwrap();
    // Two locks and their releases, two notes and their removals, two states.
    assert!(writes >= 10, "{writes}");
    let (mut done, mut undone) = (0, 0);
    for fault in Fault::ALL {
        for at in 0..writes {
            for again in 0..writes {
                for order in [[FROM, TO], [TO, FROM]] {
                    let case = Case::in_one_store().await;
                    let place = format!("{fault:?} at {at}, then at {again} when {order:?} are opened");
                    let moved = case.move_with(fault, at).await.is_ok();
                    case.break_locks().await;
                    // The next process is hindered while it opens one of both, and the one after it is not.
                    let hindered = Arc::new(FaultyStore::new(Arc::clone(&case.from), fault, again));
                    drop(Case::open_in(Arc::clone(&hindered) as _, order[0]).await);
                    let was_hindered = hindered.writes() > again;
                    case.break_locks().await;
                    let has_moved = case.has_moved(order, &place).await;
                    assert!(has_moved || !moved, "{place}");
                    *(if has_moved { &mut done } else { &mut undone }) += 1;
                    if !was_hindered {
                        break;
                    }
                }
            }
        }
    }
    assert!(done > 0 && undone > 0);
}

#[tokio::test]
async fn a_move_that_reports_an_error_has_changed_nothing_unless_the_process_died() {
    for fault in [Fault::Refused, Fault::TornOnce, Fault::DoneOnce] {
        for at in 0..10 {
            let case = Case::in_one_store().await;
            let moved = case.move_with(fault, at).await;
            let place = format!("{fault:?} at {at}");
            let has_moved = case.has_moved([FROM, TO], &place).await;
            // Once both states are written, only the removal of notes and locks can fail.
            if let Err(error) = moved
                && has_moved
            {
                assert!(at >= 6, "{place}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a_move_between_two_stores_is_finished_from_either_side() {
    for (opened, other) in [(FROM, TO), (TO, FROM)] {
        for fault in [Fault::DeathBefore, Fault::DeathAfter, Fault::Refused] {
            for at in 0..6 {
                let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
                let runtime = Runtime::system(Handle::current());
                let [from, to] = folders.each_ref().map(|folder| {
                    Arc::new(FileStore::new(folder.path(), runtime.clone()).unwrap()) as Arc<dyn Store>
                });
                let case = Case::of(from, to).await;
                drop(case.move_with(fault, at).await);
                case.break_locks().await;
                let place = format!("{fault:?} at {at}, then {opened}");
                drop(case.open(opened).await.unwrap());
                let before = case.notes().await;
                case.has_moved([opened, other], &place).await;
                // At most the note of a side that knew nothing of the move is left for its own opening.
                assert!(before <= 1, "{place}");
            }
        }
    }
}

#[tokio::test]
async fn a_move_into_memory_warns_that_its_state_ends_with_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::system(Handle::current());
    let from = Arc::new(FileStore::new(folder.path(), runtime.clone()).unwrap());
    let case = Case::of(from, Arc::new(MemoryStore::new(runtime))).await;
    let (from, to) = (case.open(FROM).await.unwrap(), case.open(TO).await.unwrap());
    for dry_run in [true, false] {
        let report = from.move_resources(&to, &site(), dry_run).await.unwrap();
        let is_named = |warning: &String| warning.contains("stack 'shop/live' is in memory");
        assert!(report.destination.warnings.iter().any(is_named), "{report:?}");
    }
}

#[tokio::test]
async fn notes_stay_while_the_folder_of_the_other_stack_is_absent() {
    for (opened, other) in [(FROM, TO), (TO, FROM)] {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let paths = folders.each_ref().map(|folder| folder.path().join("store"));
        let runtime = Runtime::system(Handle::current());
        let [from, to] = paths.each_ref().map(|path| {
            std::fs::create_dir(path).unwrap();
            Arc::new(FileStore::new(path, runtime.clone()).unwrap()) as Arc<dyn Store>
        });
        let case = Case::of(from, to).await;
        // The destination is written, the source is not.
        drop(case.move_with(Fault::DeathBefore, 2).await);
        case.break_locks().await;
        let absent = if other == FROM { &paths[0] } else { &paths[1] };
        let elsewhere = absent.with_extension("unmounted");
        std::fs::rename(absent, &elsewhere).unwrap();
        std::fs::create_dir(absent).unwrap();
        let stack = case.open(opened).await.unwrap();
        let error = stack.rename_stack("third", false).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{opened}: {error}");
        assert!(
            error.hints()[0].contains("while both stores are there"),
            "{error:?}"
        );
        for (stack, path) in [("dev", &paths[0]), ("live", &paths[1])] {
            let note = format!("shop/{stack}.moving in file://{}", path.display());
            assert!(error.hints()[1].contains(&note), "{error:?}");
        }
        assert_eq!(std::fs::read_dir(absent).unwrap().count(), 0, "{opened}");
        std::fs::remove_dir(absent).unwrap();
        std::fs::rename(&elsewhere, absent).unwrap();
        assert!(case.has_moved([opened, other], opened).await, "{opened}");
    }
}

#[tokio::test]
async fn a_note_of_a_stack_in_memory_is_removed_unless_the_move_is_in_progress() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::system(Handle::current());
    let from: Arc<dyn Store> = Arc::new(FileStore::new(folder.path(), runtime.clone()).unwrap());
    let case = Case::of(from, Arc::new(MemoryStore::new(runtime))).await;
    drop(case.move_with(Fault::DeathBefore, 2).await);
    case.break_locks().await;
    let note = ".pulumi/journals/shop/dev.moving";
    let lock = case.from.lock("organization/shop/dev").await.unwrap();
    drop(case.open(FROM).await);
    assert!(case.from.get(note).await.unwrap().is_some());
    drop(lock);
    case.open(FROM).await.unwrap();
    assert!(case.from.get(note).await.unwrap().is_none());
}

#[tokio::test]
async fn a_handle_from_before_a_crash_changes_nothing_until_one_of_the_stacks_is_opened() {
    let case = Case::in_one_store().await;
    let (source, destination) = (case.open(FROM).await.unwrap(), case.open(TO).await.unwrap());
    // Two locks, two notes and the state of the destination are written.
    drop(case.move_with(Fault::DeathAfter, 5).await);
    case.break_locks().await;
    assert_eq!(case.notes().await, 2);
    for stack in [&source, &destination] {
        let refreshed = stack.refresh(OperationOptions::default()).wait().await;
        let error = refreshed.error.clone().unwrap();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        let (opening, listed) = error.message().split_once("; ").unwrap();
        assert!(
            opening.ends_with("from stack 'shop/dev' to 'shop/live' was interrupted"),
            "{error}"
        );
        let moved = "may be in both:\n  urn:pulumi:dev::shop::";
        assert!(listed.contains(moved), "{error}");
        let error = stack.rename_stack("other", false).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    }
    assert!(case.has_moved([TO, FROM], "opened").await);
    let refreshed = source.refresh(OperationOptions::default()).wait().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
}

#[tokio::test]
async fn resources_that_another_program_has_changed_since_are_reported_in_both() {
    let case = Case::in_one_store().await;
    drop(case.move_with(Fault::DeathAfter, 5).await);
    case.break_locks().await;
    let key = ".pulumi/stacks/shop/live.json";
    let text = case.to.get(key).await.unwrap().unwrap().bytes;
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    let resources = document["checkpoint"]["latest"]["resources"]
        .as_array_mut()
        .unwrap();
    resources.retain(|record| record["urn"] != MOVED[1]);
    case.to
        .put(key, document.to_string().into(), Condition::Any)
        .await
        .unwrap();
    for name in [FROM, TO] {
        let error = case.open(name).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(
            error
                .message()
                .contains(&format!("1 resource is in both:\n  {SITE}")),
            "{error}"
        );
        assert!(
            error.hints()[0].contains(".pulumi/journals/shop/dev.moving"),
            "{:?}",
            error.hints()
        );
    }
    for note in case.from.list(".pulumi/journals/").await.unwrap() {
        case.from.delete(&note.key).await.unwrap();
    }
    assert!(case.open(FROM).await.is_ok() && case.open(TO).await.is_ok());
}

#[tokio::test]
async fn a_record_that_another_program_has_changed_in_the_source_since_is_not_removed() {
    for opened in [FROM, TO] {
        let case = Case::in_one_store().await;
        drop(case.move_with(Fault::DeathAfter, 5).await);
        case.break_locks().await;
        let key = ".pulumi/stacks/shop/dev.json";
        let text = case.from.get(key).await.unwrap().unwrap().bytes;
        let mut document: Value = serde_json::from_slice(&text).unwrap();
        document["checkpoint"]["latest"]["resources"][0]["outputs"] = json!({ "n": 99 });
        let changed = Bytes::from(document.to_string());
        case.from.put(key, changed.clone(), Condition::Any).await.unwrap();
        let error = case.open(opened).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        let both = format!("2 resources are in both:\n  {SITE}\n  {PAGE}");
        assert!(error.message().contains(&both), "{error}");
        assert_eq!(case.from.get(key).await.unwrap().unwrap().bytes, changed);
    }
}

#[tokio::test]
async fn a_lock_on_either_stack_refuses_a_move_and_two_in_opposite_directions_do_not_wait_for_each_other() {
    let case = Case::in_one_store().await;
    let (source, destination) = (case.open(FROM).await.unwrap(), case.open(TO).await.unwrap());
    for locked in [FROM, TO] {
        let lock = case.from.lock(&format!("organization/{locked}")).await.unwrap();
        let error = source
            .move_resources(&destination, &site(), false)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        drop(lock);
    }
    assert!(!case.has_moved([FROM, TO], "locked").await);
    let error = source.move_resources(&source, &site(), false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    for _ in 0..20 {
        let back = Move::of([Urn::parse(MOVED[0]).unwrap()]);
        let edit = site();
        let there = source.move_resources(&destination, &edit, false);
        let again = destination.move_resources(&source, &back, false);
        let (there, again) = futures::join!(there, again);
        assert!(there.is_ok() || again.is_ok(), "{there:?} {again:?}");
        if there.is_ok() && again.is_err() {
            destination.move_resources(&source, &back, false).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_stack_with_a_state_of_the_host_gives_and_takes_resources() {
    let case = Case::in_one_store().await;
    let builder = Engine::builder(Handle::current()).store(Arc::clone(&case.to));
    let engine = builder.secrets(Arc::new(Key::new("new"))).build().unwrap();
    let settings = StackSettings {
        deployment: Some(document().to_string().into()),
        ..StackSettings::default()
    };
    let supplied = engine.stack(FROM, settings).await.unwrap();
    let destination = engine.stack(TO, StackSettings::default()).await.unwrap();
    supplied
        .move_resources(&destination, &site(), false)
        .await
        .unwrap();
    assert_eq!(supplied.snapshot().await.unwrap().resources.len(), 1);
    let back = Move::of([Urn::parse(MOVED[0]).unwrap()]);
    destination.move_resources(&supplied, &back, false).await.unwrap();
    assert_eq!(supplied.snapshot().await.unwrap().resources.len(), 4);
    assert_eq!(destination.snapshot().await.unwrap().resources.len(), 1);
    assert_eq!(case.notes().await, 0);
}

#[tokio::test]
async fn a_stack_that_is_new_is_created_by_a_move_that_succeeds() {
    let case = Case::in_one_store().await;
    let builder = Engine::builder(Handle::current()).store(Arc::clone(&case.to));
    let engine = builder.secrets(Arc::new(Key::new("new"))).build().unwrap();
    let source = case.open(FROM).await.unwrap();
    let new = engine.stack("shop/new", StackSettings::default()).await.unwrap();
    let unknown = Move::of([Urn::parse("urn:pulumi:dev::shop::my:index:Site::sit").unwrap()]);
    let planned = source.move_resources(&new, &site(), true).await.unwrap();
    assert_eq!(planned.destination.records.len(), 3);
    let error = source.move_resources(&new, &unknown, false).await.unwrap_err();
    assert_eq!(error.hints()[0], format!("did you mean '{SITE}'?"));
    assert_eq!(new.snapshot().await.unwrap_err().kind(), ErrorKind::NotFound);
    source.move_resources(&new, &site(), false).await.unwrap();
    assert_eq!(new.snapshot().await.unwrap().resources.len(), 3);
}

/// A store of the host, which its URL does not open.
struct Remote(Arc<dyn Store>, &'static str);

#[async_trait]
impl Store for Remote {
    fn url(&self) -> String {
        format!("remote://{}", self.1)
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.0.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.0.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.0.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.0.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.0.lock(name).await
    }
}

#[tokio::test]
async fn a_move_between_stores_of_the_host_is_finished_by_another_move_between_them() {
    let memory = || Arc::new(MemoryStore::new(Runtime::system(Handle::current()))) as Arc<dyn Store>;
    let [from, to] = [("a", memory()), ("b", memory())]
        .map(|(name, store)| Arc::new(Remote(store, name)) as Arc<dyn Store>);
    let case = Case::of(from, to).await;
    // The lock, the note and the copy of the state of the source are written.
    drop(case.move_with(Fault::DeathAfter, 2).await);
    case.break_locks().await;
    assert_eq!(case.notes().await, 2);
    let (source, destination) = (case.open(FROM).await.unwrap(), case.open(TO).await.unwrap());
    let error = destination.rename_stack("other", false).await.unwrap_err();
    assert!(
        error.hints()[0].contains("another move between them"),
        "{:?}",
        error.hints()
    );
    let error = source
        .move_resources(&destination, &site(), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let hint = "an interrupted move from stack 'shop/dev' to 'shop/live' was finished first";
    assert!(
        error.hints().iter().any(|found| found == hint),
        "{:?}",
        error.hints()
    );
    assert!(case.has_moved([FROM, TO], "finished").await);
}
