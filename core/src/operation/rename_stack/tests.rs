//! Renamings of stacks with a configuration: after a fault at any write, state and configuration have one name once the stack was
//! opened with its configuration.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use tokio::runtime::Handle;

use crate::{
    Engine, Stack, StackSettings,
    config::{Config, ConfigSource, LoadedConfig},
    error::{Error, ErrorKind, Result},
    operation::{Opening, test_key::Key},
    runtime::Runtime,
    state::edit::{Selection, SettingsEdit, StateEdit},
    store::{
        HistoryPoint, MemoryStore, Store,
        faulty::{Fault, FaultyStore},
    },
};

/// The names of stacks under which a configuration is kept.
#[derive(Default)]
struct Settings {
    names: Mutex<BTreeSet<String>>,
    refuses: AtomicBool,
}

impl Settings {
    fn of(names: &[&str]) -> Arc<Self> {
        let settings = Self::default();
        *settings.names.lock().unwrap() = names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(settings)
    }

    fn names(&self) -> Vec<String> {
        self.names.lock().unwrap().iter().cloned().collect()
    }
}

#[async_trait]
impl ConfigSource for Settings {
    async fn load(&self, _given: &Config, _runs_program: bool) -> Result<LoadedConfig> {
        Ok(LoadedConfig::default())
    }

    async fn is_renamed(&self, from: &str, to: &str) -> Result<bool> {
        let names = self.names.lock().unwrap();
        match names.contains(to) {
            true => Err(Error::new(ErrorKind::Conflict, "the settings exist already")),
            false => Ok(names.contains(from)),
        }
    }

    async fn rename(&self, from: &str, to: &str) -> Result<()> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
        }
        let mut names = self.names.lock().unwrap();
        if !names.contains(to) && names.remove(from) {
            names.insert(to.to_owned());
        }
        Ok(())
    }
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Runtime::system(Handle::current())))
}

async fn open(
    store: Arc<dyn Store>,
    settings: Option<&Arc<Settings>>,
    name: &str,
    opening: Opening,
) -> Result<Stack> {
    let builder = Engine::builder(Handle::current()).store(store);
    let engine = builder.secrets(Arc::new(Key::new("old"))).build().unwrap();
    let settings = StackSettings {
        config_source: settings.map(|settings| Arc::clone(settings) as _),
        opening,
        ..StackSettings::default()
    };
    engine.stack(name, settings).await
}

async fn created(settings: &Arc<Settings>) -> (Arc<dyn Store>, Stack) {
    let store = memory();
    let stack = open(Arc::clone(&store), Some(settings), "shop/dev", Opening::Create).await;
    (store, stack.unwrap())
}

async fn notes(store: &Arc<dyn Store>) -> usize {
    let objects = store.list(".pulumi/journals/").await.unwrap();
    objects
        .iter()
        .filter(|object| object.key.ends_with(".renaming"))
        .count()
}

/// As the next process does it with the locks of one that died.
async fn break_locks(store: &Arc<dyn Store>) {
    for lock in store.list(".pulumi/locks/").await.unwrap() {
        store.delete(&lock.key).await.unwrap();
    }
}

#[tokio::test]
async fn the_configuration_follows_the_stack_and_one_that_is_there_refuses_the_name() {
    let settings = Settings::of(&["dev", "taken"]);
    let (store, stack) = created(&settings).await;
    let writes = store.list("").await.unwrap();
    for dry_run in [true, false] {
        let error = stack.rename_stack("taken", dry_run).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains("the settings exist already"), "{error}");
    }
    assert_eq!(store.list("").await.unwrap().len(), writes.len());
    let planned = stack.rename_stack("live", true).await.unwrap();
    assert_eq!(settings.names(), ["dev", "taken"]);
    let report = stack.rename_stack("live", false).await.unwrap();
    assert_eq!(settings.names(), ["live", "taken"]);
    for report in [planned, report] {
        assert_eq!(report.settings, Some(SettingsEdit::Renamed));
        assert!(
            report
                .to_string()
                .contains("renamed the settings file of the stack")
        );
    }
    let live = open(Arc::clone(&store), Some(&settings), "shop/live", Opening::Select).await;
    live.unwrap().rename_stack("other/live", false).await.unwrap();
    assert_eq!(settings.names(), ["live", "taken"]);
    assert_eq!(notes(&store).await, 0);
}

#[tokio::test]
async fn after_a_fault_at_any_write_the_next_opening_with_the_configuration_leaves_one_name() {
    let settings = Settings::of(&["dev"]);
    let (store, _) = created(&settings).await;
    let counting = Arc::new(FaultyStore::new(store, Fault::Refused, usize::MAX));
    let stack = open(
        Arc::clone(&counting) as _,
        Some(&settings),
        "shop/dev",
        Opening::Select,
    );
    stack.await.unwrap().rename_stack("live", false).await.unwrap();
    let writes = counting.writes();
    assert!(writes > 8, "{writes}");
    for fault in Fault::ALL {
        for at in 0..writes {
            for (name, unconfigured) in [("dev", false), ("live", false), ("dev", true), ("live", true)] {
                let place = format!(
                    "{fault:?} at {at}, then {name}, first without its configuration: {unconfigured}"
                );
                let name = format!("shop/{name}");
                let settings = Settings::of(&["dev"]);
                let (store, _) = created(&settings).await;
                let faulty = Arc::new(FaultyStore::new(Arc::clone(&store), fault, at));
                if let Ok(stack) = open(faulty, Some(&settings), "shop/dev", Opening::Select).await {
                    drop(stack.rename_stack("live", false).await);
                }
                break_locks(&store).await;
                if unconfigured {
                    open(Arc::clone(&store), None, &name, Opening::AsNeeded)
                        .await
                        .expect(&place);
                }
                open(Arc::clone(&store), Some(&settings), &name, Opening::AsNeeded)
                    .await
                    .expect(&place);
                // The note that stays under the other name is settled by its opening.
                for other in ["shop/dev", "shop/live"] {
                    open(Arc::clone(&store), Some(&settings), other, Opening::AsNeeded)
                        .await
                        .expect(&place);
                }
                let mut found = Vec::new();
                for name in ["dev", "live"] {
                    let full = format!("shop/{name}");
                    let opened = open(Arc::clone(&store), Some(&settings), &full, Opening::Select).await;
                    found.extend(opened.is_ok().then(|| name.to_owned()));
                }
                assert_eq!(settings.names(), found, "{place}");
                assert_eq!((found.len(), notes(&store).await), (1, 0), "{place}");
            }
        }
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_renamed_is_renamed_when_the_stack_is_next_opened_with_it() {
    let settings = Settings::of(&["dev"]);
    let (store, stack) = created(&settings).await;
    settings.refuses.store(true, Ordering::SeqCst);
    let error = stack.rename_stack("live", false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.hints()[0].contains("opening 'shop/live'"), "{error:?}");
    let select = async |settings| open(Arc::clone(&store), settings, "shop/live", Opening::Select).await;
    assert!(select(Some(&settings)).await.is_err());
    settings.refuses.store(false, Ordering::SeqCst);
    // Without its configuration, the stack is a usual one.
    let bare = select(None).await.unwrap();
    let all = Selection {
        all: true,
        ..Selection::default()
    };
    bare.edit(&StateEdit::Protect(all), false).await.unwrap();
    for dry_run in [true, false] {
        let error = bare.rename_stack("more", dry_run).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains("before its configuration"), "{error:?}");
        assert!(error.hints()[0].contains("opening 'shop/live'"), "{error:?}");
    }
    assert_eq!(settings.names(), ["dev"]);
    select(Some(&settings)).await.unwrap();
    assert_eq!(settings.names(), ["live"]);
    assert_eq!(notes(&store).await, 0);
}

#[tokio::test]
async fn the_configuration_of_a_removed_stack_does_not_become_that_of_the_next_one_with_its_name() {
    let settings = Settings::of(&["dev"]);
    let (store, stack) = created(&settings).await;
    settings.refuses.store(true, Ordering::SeqCst);
    stack.rename_stack("live", false).await.unwrap_err();
    settings.refuses.store(false, Ordering::SeqCst);
    let bare = async |opening| {
        open(Arc::clone(&store), None, "shop/live", opening)
            .await
            .unwrap()
    };
    bare(Opening::Select).await.remove(true).await.unwrap();
    bare(Opening::Create).await;
    let dev = open(Arc::clone(&store), Some(&settings), "shop/dev", Opening::Select).await;
    assert_eq!(dev.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        (settings.names(), notes(&store).await),
        (vec!["dev".to_owned()], 0)
    );
}

#[tokio::test]
async fn a_stack_gets_the_name_back_that_its_configuration_has_still() {
    let settings = Settings::of(&["dev"]);
    let (store, stack) = created(&settings).await;
    settings.refuses.store(true, Ordering::SeqCst);
    stack.rename_stack("live", false).await.unwrap_err();
    let bare = open(Arc::clone(&store), None, "shop/live", Opening::Select);
    bare.await.unwrap().rename_stack("dev", false).await.unwrap();
    settings.refuses.store(false, Ordering::SeqCst);
    open(Arc::clone(&store), Some(&settings), "shop/dev", Opening::Select)
        .await
        .unwrap();
    assert_eq!(
        (settings.names(), notes(&store).await),
        (vec!["dev".to_owned()], 0)
    );
}

#[tokio::test]
async fn a_configuration_of_another_project_is_renamed_as_in_the_hint() {
    let settings = Settings::of(&["dev"]);
    let (store, stack) = created(&settings).await;
    settings.refuses.store(true, Ordering::SeqCst);
    let error = stack.rename_stack("other/live", false).await.unwrap_err();
    settings.refuses.store(false, Ordering::SeqCst);
    let hint = "select_stack() of 'shop/dev' with its project folder";
    assert!(error.hints()[0].contains(hint), "{error:?}");
    let gone = open(Arc::clone(&store), Some(&settings), "shop/dev", Opening::Select).await;
    assert_eq!(gone.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(settings.names(), ["live"]);
    assert_eq!(notes(&store).await, 0);
    open(store, None, "other/live", Opening::Select).await.unwrap();
}

#[tokio::test]
async fn a_renaming_warns_of_the_journal_that_a_lost_stack_has_left_and_refuses_its_history() {
    let settings = Settings::of(&[]);
    let (store, stack) = created(&settings).await;
    let journal = ".pulumi/journals/shop/live.journal";
    let put = async |key: &str| {
        let put = store.put(key, "left".into(), crate::store::Condition::Any);
        put.await.unwrap();
    };
    let history = ".pulumi/history/shop/live/live-1.checkpoint.json";
    put(journal).await;
    put(history).await;
    for dry_run in [true, false] {
        let error = stack.rename_stack("live", dry_run).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{dry_run}");
        assert!(error.message().contains("has the history of a stack"), "{error}");
    }
    store.delete(history).await.unwrap();
    for dry_run in [true, false] {
        let report = stack.rename_stack("live", dry_run).await.unwrap();
        let [warning] = &report.warnings[..] else {
            panic!("{:?}", report.warnings);
        };
        assert!(warning.contains(journal), "{warning}");
        assert_eq!(store.get(journal).await.unwrap().is_some(), dry_run);
    }
    let live = open(store, None, "shop/live", Opening::Select).await.unwrap();
    assert!(live.pending().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_dry_run_reports_the_unfinished_change_that_refuses_the_edit() {
    let settings = Settings::of(&["dev"]);
    let (store, stack) = created(&settings).await;
    let other = open(Arc::clone(&store), None, "shop/other", Opening::Create)
        .await
        .unwrap();
    let note = r#"{"from":"shop/dev","to":"shop/else","old":"","new":""}"#;
    let key = ".pulumi/journals/shop/dev.renaming";
    store
        .put(key, note.into(), crate::store::Condition::Any)
        .await
        .unwrap();
    let all = StateEdit::Protect(Selection {
        all: true,
        ..Selection::default()
    });
    let movement = crate::state::edit::Move::default();
    let empty = br#"{"version":3,"checkpoint":{"stack":"organization/shop/dev"}}"#;
    let entry = br#"{"kind":"update","startTime":1,"message":"","environment":{},"config":{},"result":"succeeded","endTime":2}"#;
    for (ending, text) in [("checkpoint", &empty[..]), ("history", &entry[..])] {
        let key = format!(".pulumi/history/shop/dev/dev-1.{ending}.json");
        let put = store.put(&key, text.to_vec().into(), crate::store::Condition::Any);
        put.await.unwrap();
    }
    let document = br#"{"version":3,"deployment":{"resources":[]}}"#;
    for dry_run in [true, false] {
        let errors = [
            stack.rename_stack("live", dry_run).await.map(drop),
            stack
                .change_secrets(Arc::new(Key::new("new")), dry_run)
                .await
                .map(drop),
            stack.move_resources(&other, &movement, dry_run).await.map(drop),
            other.move_resources(&stack, &movement, dry_run).await.map(drop),
            stack.edit(&all, dry_run).await.map(drop),
            stack
                .import_deployment_with(document, false, dry_run)
                .await
                .map(drop),
            stack.restore(&HistoryPoint::Version(1), dry_run).await.map(drop),
            stack.forget_pending("none", dry_run).await.map(drop),
        ];
        for (number, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{number}, {dry_run}: {error}");
            let text = "the renaming of stack 'shop/dev' to 'shop/else' was interrupted";
            assert!(error.message().contains(text), "{number}, {dry_run}: {error}");
        }
    }
}
