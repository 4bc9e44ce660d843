//! Two stacks in one store, each with a key and a configuration, and the processes that edit them, which faults can end.

use std::{
    collections::BTreeMap,
    io::Write as _,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{
    Faults,
    actions::Action,
    deployment::{Deployment, MARK, decrypted, shown_secret},
};
use crate::{
    Engine, Stack, StackSettings,
    config::{Config, ConfigKey, ConfigSource, ConfigValue, LoadedConfig, RekeyedConfig},
    error::Result,
    operation::{Opening, test_key::Key},
    runtime::Runtime,
    state::{
        deployment::{Layout, SecretsShown, write_deployment},
        edit::{
            EditReport,
            random::{PROJECT, STACK, Seed, state_in},
        },
    },
    store::{
        Condition, HistoryEntry, HistoryPoint, HostFacts, MemoryStore, StackName, StackStorage, Store,
        SystemProcesses,
        faulty::{Fault, FaultyStore},
    },
};

/// The names that each stack can have.
pub(super) const NAMES: [[&str; 2]; 2] = [[STACK, "dev-renamed"], ["live", "live-renamed"]];

/// The keys that each stack can have.
pub(super) const KEYS: [[&str; 2]; 2] = [["old", "older"], ["new", "newer"]];

const TOKEN: &str = "token of the configuration";

/// A configuration in memory with one secret.
#[derive(Default)]
struct Settings(Mutex<Config>);

impl Settings {
    fn of(key: &str) -> Arc<Self> {
        let reversed: String = TOKEN.chars().rev().collect();
        let token = ConfigValue::Secure(format!("first#{key}:{reversed}"));
        let settings = Self::default();
        settings
            .0
            .lock()
            .unwrap()
            .insert(ConfigKey::new(PROJECT, "token"), token);
        Arc::new(settings)
    }

    fn ciphertext(&self) -> String {
        let ciphertexts = self.0.lock().unwrap().ciphertexts();
        let [ciphertext] = &ciphertexts[..] else {
            panic!("{ciphertexts:?}")
        };
        ciphertext.clone()
    }
}

#[async_trait]
impl ConfigSource for Settings {
    async fn load(&self, _given: &Config, _runs_program: bool) -> Result<LoadedConfig> {
        Ok(self.kept().await?.unwrap_or_default())
    }

    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        Ok(Some(LoadedConfig {
            config: self.0.lock().unwrap().clone(),
            ..LoadedConfig::default()
        }))
    }

    async fn rekey(&self, change: &RekeyedConfig) -> Result<()> {
        self.0.lock().unwrap().rekey(change)
    }
}

/// A state of which the history has a copy.
pub(super) struct Recorded {
    pub(super) deployment: Deployment,
    pub(super) name: &'static str,
    pub(super) key: &'static str,
    config: Value,
}

pub(super) struct World {
    store: Arc<dyn Store>,
    settings: [Arc<Settings>; 2],
    pub(super) names: [&'static str; 2],
    pub(super) keys: [&'static str; 2],
    pub(super) recorded: [Vec<Recorded>; 2],
}

impl World {
    /// Creates both stacks, with compressed checkpoints or others.
    pub(super) async fn new(seeds: [&[Seed]; 2], is_compressed: bool) -> Self {
        let world = Self {
            store: Arc::new(MemoryStore::new(Runtime::system(Handle::current()))),
            settings: KEYS.map(|keys| Settings::of(keys[0])),
            names: NAMES.map(|names| names[0]),
            keys: KEYS.map(|keys| keys[0]),
            recorded: Default::default(),
        };
        for (side, seeds) in seeds.into_iter().enumerate() {
            let snapshot = state_in(world.names[side], seeds);
            let shown = SecretsShown::Plaintext;
            let document = write_deployment(&snapshot, shown, Layout::Compact).await.unwrap();
            let document = enriched(&document, world.names[side]);
            let opened = world.opened(Arc::clone(&world.store), side, Opening::Create);
            let stack = opened.await.unwrap();
            stack.import_deployment(&document).await.unwrap();
            if is_compressed {
                world.compress(side).await;
            }
        }
        world
    }

    async fn compress(&self, side: usize) {
        let key = self.checkpoint_key(side);
        let bytes = self.store.get(&key).await.unwrap().unwrap().bytes;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&bytes).unwrap();
        let bytes = encoder.finish().unwrap();
        let compressed = format!("{key}.gz");
        let stored = self.store.put(&compressed, bytes.into(), Condition::Any);
        stored.await.unwrap();
        self.store.delete(&key).await.unwrap();
    }

    fn checkpoint_key(&self, side: usize) -> String {
        format!(".pulumi/stacks/{PROJECT}/{}.json", self.names[side])
    }

    /// Returns whether the checkpoints are stored as they were at first.
    pub(super) async fn has_checkpoints(&self, is_compressed: bool) -> bool {
        let ending = if is_compressed { ".gz" } else { "" };
        let mut expected = [0, 1].map(|side| self.checkpoint_key(side) + ending);
        expected.sort();
        let stored = self.store.list(".pulumi/stacks/").await.unwrap();
        let keys = stored.into_iter().map(|object| object.key);
        let mut keys: Vec<_> = keys
            .filter(|key| key.ends_with(".json") || key.ends_with(".gz"))
            .collect();
        keys.sort();
        keys == expected
    }

    async fn opened_as(
        &self,
        store: Arc<dyn Store>,
        side: usize,
        (name, key): (&str, &'static str),
        opening: Opening,
    ) -> Result<Stack> {
        let builder = Engine::builder(Handle::current()).store(store);
        let engine = builder.secrets(Arc::new(Key::numbered(key))).build().unwrap();
        let settings = StackSettings {
            config_source: Some(Arc::clone(&self.settings[side]) as _),
            opening,
            ..StackSettings::default()
        };
        engine.stack(&format!("{PROJECT}/{name}"), settings).await
    }

    async fn opened(&self, store: Arc<dyn Store>, side: usize, opening: Opening) -> Result<Stack> {
        let known = (self.names[side], self.keys[side]);
        self.opened_as(store, side, known, opening).await
    }

    pub(super) async fn open(&self, side: usize) -> Stack {
        let opened = self.opened(Arc::clone(&self.store), side, Opening::Select);
        opened.await.unwrap()
    }

    fn storage(&self, side: usize) -> StackStorage {
        let runtime = Runtime::system(Handle::current());
        let facts = HostFacts {
            pid: std::process::id(),
            username: "me".into(),
            hostname: "here".into(),
            system: "boot 1".into(),
            processes: Arc::new(SystemProcesses),
        };
        let name = StackName::new(PROJECT, self.names[side]).unwrap();
        StackStorage::new(Arc::clone(&self.store), name, facts, runtime)
    }

    /// Returns the states of both stacks, which need not be valid.
    pub(super) async fn deployments(&self) -> [Deployment; 2] {
        let mut found = Vec::new();
        for side in 0..2 {
            let document = self.open(side).await.export_deployment(false).await.unwrap();
            found.push(Deployment::parse(&document));
        }
        found.try_into().unwrap()
    }

    /// Returns the ciphertexts of both configurations.
    pub(super) fn config_ciphertexts(&self) -> [String; 2] {
        [0, 1].map(|side| self.settings[side].ciphertext())
    }

    /// Returns whether the configuration of a stack has its key, and its secret.
    pub(super) fn has_config(&self, side: usize) -> bool {
        let (key, content) = decrypted(&self.settings[side].ciphertext());
        (key.as_str(), content.as_str()) == (self.keys[side], TOKEN)
    }

    pub(super) async fn record(&mut self, side: usize) {
        let config = json!({ "shop:token": { "value": self.settings[side].ciphertext(), "secret": true } });
        let entry = HistoryEntry {
            kind: "update".to_owned(),
            start_time: 1,
            message: String::new(),
            environment: BTreeMap::new(),
            config: serde_json::value::to_raw_value(&config).unwrap(),
            version: 0,
            result: "succeeded".to_owned(),
            end_time: 2,
            resource_changes: None,
        };
        self.storage(side).record(&entry).await.unwrap();
        let [first, second] = self.deployments().await;
        self.recorded[side].push(Recorded {
            deployment: if side == 0 { first } else { second },
            name: self.names[side],
            key: self.keys[side],
            config,
        });
    }

    /// Returns whether the history has the configurations that were recorded.
    pub(super) async fn has_history(&self, side: usize) -> bool {
        let history = self.open(side).await.history().await.unwrap();
        let configs = history.iter().rev().map(|entry| &entry["config"]);
        configs.eq(self.recorded[side].iter().map(|recorded| &recorded.config))
    }

    /// Edits stacks in a process of its own, and returns the reports of both stacks.
    pub(super) async fn make(
        &self,
        action: &Action,
        side: usize,
        faults: Option<&Faults>,
    ) -> Result<[EditReport; 2]> {
        let store: Arc<dyn Store> = match faults {
            None => Arc::clone(&self.store),
            Some(faults) => {
                let kind = *faults.kind.get(&Fault::ALL);
                Arc::new(FaultyStore::new(Arc::clone(&self.store), kind, faults.at))
            }
        };
        let stack = self.opened(Arc::clone(&store), side, Opening::Select).await?;
        let mut reports = [EditReport::default(), EditReport::default()];
        match action {
            Action::Edit(edit) => reports[side] = stack.edit(edit, false).await?,
            Action::Move(edit) => {
                let other = self.opened(store, 1 - side, Opening::Select).await?;
                let report = stack.move_resources(&other, edit, false).await?;
                reports[side] = report.source;
                reports[1 - side] = report.destination;
            }
            Action::Restore(version) => {
                let point = HistoryPoint::Version(*version);
                reports[side] = stack.restore(&point, false).await?;
            }
            Action::Forget(place) => {
                let pending = stack.pending().await?;
                stack.forget_pending(&pending[*place].id, false).await?;
            }
            Action::Import(import) => {
                let force = import.is_forced;
                reports[side] = stack
                    .import_deployment_with(&import.document, force, false)
                    .await?;
            }
            Action::RenameStack(name) => reports[side] = stack.rename_stack(name, false).await?,
            Action::ChangeSecrets(key) => {
                reports[side] = stack.change_secrets(Arc::new(Key::numbered(key)), false).await?;
            }
        }
        Ok(reports)
    }

    /// Opens a stack in a process that is hindered, too; the locks of both processes are broken.
    pub(super) async fn next_process(&self, action: &Action, side: usize, faults: &Faults) {
        self.break_locks().await;
        let kind = *faults.kind.get(&Fault::ALL);
        let store = Arc::new(FaultyStore::new(Arc::clone(&self.store), kind, faults.again));
        let opened = if faults.opens_other { 1 - side } else { side };
        let (mut name, mut key) = (self.names[opened], self.keys[opened]);
        match action {
            Action::RenameStack(new) if opened == side && faults.expects_change => name = new,
            Action::ChangeSecrets(new) if opened == side && faults.expects_change => key = new,
            _ => {}
        }
        drop(
            self.opened_as(store, opened, (name, key), Opening::AsNeeded)
                .await,
        );
        self.break_locks().await;
    }

    /// Finds the name and the key that a stack has after an edit that may have changed these.
    pub(super) async fn settle(&mut self, action: &Action, side: usize) {
        let known = (self.names[side], self.keys[side]);
        let possible = match action {
            Action::RenameStack(name) => [known, (*name, known.1)],
            Action::ChangeSecrets(key) => [known, (known.0, *key)],
            _ => return,
        };
        for possible in possible {
            // The notes that an interrupted change left under this name are settled.
            drop(
                self.opened_as(Arc::clone(&self.store), side, possible, Opening::AsNeeded)
                    .await,
            );
        }
        let mut found = Vec::new();
        for possible in possible {
            let opened = self.opened_as(Arc::clone(&self.store), side, possible, Opening::Select);
            if let Ok(stack) = opened.await
                && stack.export_deployment(true).await.is_ok()
            {
                found.push(possible);
            }
        }
        assert_eq!(found.len(), 1, "{action:?}: {found:?}");
        (self.names[side], self.keys[side]) = found[0];
    }

    async fn break_locks(&self) {
        for lock in self.store.list(".pulumi/locks/").await.unwrap() {
            self.store.delete(&lock.key).await.unwrap();
        }
    }

    /// Returns the keys of notes and journals, which no edit leaves.
    pub(super) async fn notes(&self) -> Vec<String> {
        let notes = self.store.list(".pulumi/journals/").await.unwrap();
        notes.into_iter().map(|note| note.key).collect()
    }
}

/// Returns a document with more in each record: secrets in lists of the outputs, a former URN, that of the record before in a text,
/// which is no reference, and a member that no version of the engine knows. A snippet refers to each record.
fn enriched(document: &[u8], stack: &str) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(document).unwrap();
    let deployment = &mut document["deployment"];
    let mut snippets = Vec::new();
    for list in ["resources", "pending_operations"] {
        let mut former: Option<String> = None;
        for (number, entry) in deployment[list].as_array_mut().into_iter().flatten().enumerate() {
            let (record, kind) = match entry.get_mut("resource") {
                Some(record) => (record, "pending"),
                None => (entry, "record"),
            };
            let mark = format!("{stack}-{kind}-{number}");
            let secret = shown_secret(&json!(format!("secret of {mark}")));
            record["outputs"]["nested"] = json!({ "list": ["plain", secret], "of": { "object": secret } });
            record[MARK] = mark.clone().into();
            record["aliases"] = json!([format!("urn:pulumi:{stack}::{PROJECT}::my:index:Site::of-{mark}")]);
            let urn = record["urn"].as_str().unwrap().to_owned();
            if let Some(former) = former {
                record["inputs"]["text"] = format!("it follows {former}").into();
            }
            snippets.push(json!({ "uuid": mark, "references": { "of": urn } }));
            former = Some(urn);
        }
    }
    deployment["snippets"] = snippets.into();
    document["version"] = 4.into();
    document["features"] = json!(["replaceWith", "snippets-prototype", "taint"]);
    serde_json::to_vec(&document).unwrap()
}
