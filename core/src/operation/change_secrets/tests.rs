//! Changes of the secrets manager: after a fault at any write, the stack has one key everywhere once it was opened.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde_json::json;
use tokio::runtime::Handle;

use crate::{
    Engine, Stack, StackSettings,
    config::{Config, ConfigKey, ConfigSource, ConfigValue, LoadedConfig, RekeyedConfig},
    error::{Error, ErrorKind, Result},
    operation::{OperationOptions, test_key::Key},
    runtime::Runtime,
    state::edit::{EditReport, Selection, StateEdit},
    store::{
        MemoryStore, Store,
        faulty::{Fault, FaultyStore},
    },
};

/// A configuration in memory, whose next change can fail before or after it is made.
#[derive(Default)]
struct Settings {
    config: Mutex<Config>,
    refuses: AtomicBool,
}

impl Settings {
    fn ciphertexts(&self) -> Vec<String> {
        self.config.lock().unwrap().ciphertexts()
    }
}

#[async_trait]
impl ConfigSource for Settings {
    async fn load(&self, _given: &Config, _runs_program: bool) -> Result<LoadedConfig> {
        Ok(self.kept().await?.unwrap_or_default())
    }

    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        Ok(Some(LoadedConfig {
            config: self.config.lock().unwrap().clone(),
            ..LoadedConfig::default()
        }))
    }

    async fn rekey(&self, change: &RekeyedConfig) -> Result<()> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
        }
        self.config.lock().unwrap().rekey(change)
    }
}

const URN: &str = "urn:pulumi:dev::shop::my:index:Site::s";

/// A stack with a secret in its state and one in its configuration.
struct Case {
    store: Arc<dyn Store>,
    settings: Arc<Settings>,
}

impl Case {
    async fn new() -> Self {
        let case = Self {
            store: Arc::new(MemoryStore::new(Runtime::system(Handle::current()))),
            settings: Arc::default(),
        };
        let key = ConfigKey::new("shop", "token");
        let token = ConfigValue::Secure("old:nekot".into());
        case.settings.config.lock().unwrap().insert(key, token);
        let stack = case.open("old").await.unwrap();
        let secret = json!({ "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": "\"hunter2\"" });
        let document = json!({ "version": 3, "deployment": { "resources": [
            { "urn": URN, "custom": false, "type": "my:index:Site", "inputs": { "password": secret } } ] } });
        stack
            .import_deployment(document.to_string().as_bytes())
            .await
            .unwrap();
        case
    }

    fn engine(&self, store: Arc<dyn Store>, key: &'static str) -> Engine {
        let builder = Engine::builder(Handle::current()).store(store);
        builder.secrets(Arc::new(Key::new(key))).build().unwrap()
    }

    async fn open_in(&self, store: Arc<dyn Store>, key: &'static str) -> Result<Stack> {
        let settings = StackSettings {
            config_source: Some(Arc::clone(&self.settings) as _),
            ..StackSettings::default()
        };
        self.engine(store, key).stack("shop/dev", settings).await
    }

    async fn open(&self, key: &'static str) -> Result<Stack> {
        self.open_in(Arc::clone(&self.store), key).await
    }

    /// Opens the stack as a process that `fault` ends or hinders, and changes the key.
    async fn change(&self, fault: Fault, at: usize, from: &'static str, to: &'static str) -> Result<usize> {
        let faulty = Arc::new(FaultyStore::new(Arc::clone(&self.store), fault, at));
        let stack = self.open_in(Arc::clone(&faulty) as _, from).await?;
        stack.change_secrets(Arc::new(Key::new(to)), false).await?;
        Ok(faulty.writes())
    }

    /// Opens the stack with the key that it has, and checks that state and configuration have only that key.
    async fn settled_key(&self, place: &str) -> &'static str {
        // Locks of processes that died are broken as the next process does it.
        for lock in self.store.list(".pulumi/locks/").await.unwrap() {
            self.store.delete(&lock.key).await.unwrap();
        }
        let mut found = Vec::new();
        for key in ["old", "new", "newest"] {
            if let Ok(stack) = self.open(key).await {
                found.push((key, stack));
            }
        }
        assert_eq!(found.len(), 1, "{place}");
        let (key, stack) = found.remove(0);
        assert_eq!(self.settings.ciphertexts(), [format!("{key}:nekot")], "{place}");
        let shown = stack.export_deployment(true).await.unwrap();
        assert!(String::from_utf8(shown).unwrap().contains("hunter2"), "{place}");
        let sealed = String::from_utf8(stack.export_deployment(false).await.unwrap()).unwrap();
        assert!(
            sealed.contains(&format!("{key}:\\\"2retnuh\\\"")),
            "{place}: {sealed}"
        );
        let notes = self.store.list(".pulumi/journals/").await.unwrap();
        assert!(
            !notes.iter().any(|note| note.key.ends_with("rekeying")),
            "{place}"
        );
        key
    }
}

#[tokio::test]
async fn every_secret_is_encrypted_anew_and_the_report_names_the_records() {
    let case = Case::new().await;
    let stack = case.open("old").await.unwrap();
    let planned = stack
        .change_secrets(Arc::new(Key::new("new")), true)
        .await
        .unwrap();
    assert_eq!(case.settled_key("dry run").await, "old");
    let report: EditReport = stack
        .change_secrets(Arc::new(Key::new("new")), false)
        .await
        .unwrap();
    assert_eq!((planned.dry_run, &planned.records), (true, &report.records));
    let encrypted = Some(crate::state::edit::SettingsEdit::Encrypted);
    assert_eq!((planned.settings, report.settings), (encrypted, encrypted));
    let names: Vec<_> = report
        .records
        .iter()
        .map(|record| record.urn.to_string())
        .collect();
    assert_eq!(names, [URN]);
    assert_eq!(report.records[0].fields, ["inputs"]);
    assert_eq!(case.settled_key("changed").await, "new");
}

#[tokio::test]
async fn a_wrong_former_key_changes_nothing() {
    let case = Case::new().await;
    assert_eq!(case.open("new").await.err().unwrap().kind(), ErrorKind::Decrypt);
    let stack = case.open("old").await.unwrap();
    stack
        .change_secrets(Arc::new(Key::new("new")), false)
        .await
        .unwrap();
    // This handle has the former key, which is a wrong one now.
    for dry_run in [true, false] {
        let error = stack
            .change_secrets(Arc::new(Key::new("newest")), dry_run)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decrypt);
    }
    assert_eq!(case.settled_key("refused").await, "new");
}

#[tokio::test]
async fn a_configuration_that_the_former_key_does_not_open_is_named_and_changes_nothing() {
    let case = Case::new().await;
    let key = ConfigKey::new("shop", "other");
    let foreign = ConfigValue::Secure("foreign:x".into());
    case.settings.config.lock().unwrap().insert(key.clone(), foreign);
    let stack = case.open("old").await.unwrap();
    let error = stack
        .change_secrets(Arc::new(Key::new("new")), false)
        .await
        .unwrap_err();
    assert!(error.message().contains("shop:other"), "{error}");
    case.settings.config.lock().unwrap().remove(&key);
    assert_eq!(case.settled_key("refused").await, "old");
}

#[tokio::test]
async fn after_faults_at_any_write_twice_in_a_row_the_stack_opens_with_one_key() {
    let writes = Case::new()
        .await
        .change(Fault::Refused, usize::MAX, "old", "new")
        .await
        .unwrap();
    assert!(writes >= 4, "{writes}");
    let mut finished = 0;
    for fault in Fault::ALL {
        for at in 0..writes {
            for again in 0..writes {
                let case = Case::new().await;
                let place = format!("{fault:?} at {at}, then at {again}");
                drop(case.change(fault, at, "old", "new").await);
                for lock in case.store.list(".pulumi/locks/").await.unwrap() {
                    case.store.delete(&lock.key).await.unwrap();
                }
                // The next process is hindered as well, while it finishes the change or makes another.
                for from in ["old", "new"] {
                    drop(case.change(fault, again, from, "newest").await);
                    for lock in case.store.list(".pulumi/locks/").await.unwrap() {
                        case.store.delete(&lock.key).await.unwrap();
                    }
                }
                finished += usize::from(case.settled_key(&place).await != "old");
            }
        }
    }
    assert!(finished > 0);
}

#[tokio::test]
async fn a_change_that_has_written_its_note_only_is_forgotten_by_the_next_operation_without_the_settings() {
    let case = Case::new().await;
    drop(case.change(Fault::DeathBefore, 2, "old", "new").await);
    for lock in case.store.list(".pulumi/locks/").await.unwrap() {
        case.store.delete(&lock.key).await.unwrap();
    }
    let note = ".pulumi/journals/shop/dev.rekeying";
    assert!(case.store.get(note).await.unwrap().is_some());
    let engine = case.engine(Arc::clone(&case.store), "old");
    let bare = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    assert!(case.store.get(note).await.unwrap().is_some());
    let all = Selection {
        all: true,
        ..Selection::default()
    };
    bare.edit(&StateEdit::Protect(all), false).await.unwrap();
    assert!(case.store.get(note).await.unwrap().is_none());
    assert_eq!(case.settled_key("forgotten").await, "old");
}

#[tokio::test]
async fn encrypted_configuration_of_the_host_is_named_and_opens_nothing_with_the_new_key() {
    let case = Case::new().await;
    let mut config = Config::new();
    config.insert(ConfigKey::new("shop", "plain"), ConfigValue::String("x".into()));
    config.insert(
        ConfigKey::new("shop", "key"),
        ConfigValue::Secure("old:yek".into()),
    );
    let settings = StackSettings {
        config,
        ..StackSettings::default()
    };
    let open = async |key| {
        let engine = case.engine(Arc::clone(&case.store), key);
        engine.stack("shop/dev", settings.clone()).await.unwrap()
    };
    let stack = open("old").await;
    for dry_run in [true, false] {
        let report = stack
            .change_secrets(Arc::new(Key::new("new")), dry_run)
            .await
            .unwrap();
        let [project, warning] = &report.warnings[..] else {
            panic!("{:?}", report.warnings)
        };
        assert!(project.contains("opened without its project folder"), "{project}");
        assert!(
            warning.contains("with the former key: shop:key; operations"),
            "{warning}"
        );
    }
    let refreshed = open("new")
        .await
        .refresh(OperationOptions::default())
        .wait()
        .await;
    let error = refreshed.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert!(error.message().contains("shop:key"), "{error}");
}

#[tokio::test]
async fn a_settings_file_that_cannot_be_written_is_changed_by_the_next_opening() {
    let case = Case::new().await;
    let stack = case.open("old").await.unwrap();
    case.settings.refuses.store(true, Ordering::SeqCst);
    let error = stack
        .change_secrets(Arc::new(Key::new("new")), false)
        .await
        .unwrap_err();
    assert_eq!(error.message(), "the disk is full");
    assert!(error.hints().iter().any(|hint| hint.contains("has the new key")));
    assert_eq!(
        case.open("new").await.err().unwrap().message(),
        "the disk is full"
    );
    // Without its source the stack opens, but gets no further key.
    let engine = case.engine(Arc::clone(&case.store), "new");
    let bare = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let error = bare
        .change_secrets(Arc::new(Key::new("newest")), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let error = bare.rename_stack("live", false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    case.settings.refuses.store(false, Ordering::SeqCst);
    assert_eq!(case.settled_key("finished").await, "new");
}

#[tokio::test]
async fn a_state_of_the_history_is_read_with_the_former_key_and_gets_the_present_one() {
    use crate::store::HistoryPoint;
    let case = Case::new().await;
    let stack = case.open("old").await.unwrap();
    let refreshed = stack.refresh(OperationOptions::default()).wait().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    stack
        .change_secrets(Arc::new(Key::new("new")), false)
        .await
        .unwrap();
    let opened = case.open("new").await.unwrap();
    let point = HistoryPoint::Version(1);
    let error = opened.restore(&point, false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert!(
        error
            .hints()
            .iter()
            .any(|hint| hint.contains("former passphrase")),
        "{error}"
    );
    // A handle of before the change has another key than the stack.
    let error = stack.restore(&point, false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    let error = opened
        .restore_with_key(&point, &Key::new("other"), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    let hints = error.hints();
    assert!(
        hints
            .iter()
            .any(|hint| hint.contains("neither it nor the present one")),
        "{error}: {hints:?}"
    );
    let report = opened
        .restore_with_key(&point, &Key::new("old"), true)
        .await
        .unwrap();
    assert!(report.dry_run);
    opened
        .restore_with_key(&point, &Key::new("old"), false)
        .await
        .unwrap();
    assert!(case.open("old").await.is_err());
    assert_eq!(case.settled_key("restored").await, "new");
    // A state that has the present key is restored with another one as well.
    let refreshed = opened.refresh(OperationOptions::default()).wait().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    opened
        .restore_with_key(&HistoryPoint::Version(2), &Key::new("old"), false)
        .await
        .unwrap();
    assert_eq!(case.settled_key("restored again").await, "new");
    // The next change has the same key to start from, in the state and in the settings.
    let stack = case.open("new").await.unwrap();
    stack
        .change_secrets(Arc::new(Key::new("newest")), false)
        .await
        .unwrap();
    assert_eq!(case.settled_key("changed again").await, "newest");
}
