//! Two stacks in one store, or in two, each with a key and a configuration, and the processes that edit them, which faults can end.

use std::{collections::BTreeMap, io::Write as _, sync::Arc};

use bytes::Bytes;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;

use super::{
    Faults,
    actions::Action,
    deployment::{Deployment, decrypted},
    settings::{FaultySettings, Settings, TOKEN},
    start::{Extra, Shape, enriched, objects, of_project, stores},
};
use crate::{
    Engine, Stack, StackSettings,
    config::ConfigSource,
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
        Condition, HistoryEntry, HistoryPoint, HostFacts, StackName, StackStorage, Store, SystemProcesses,
        faulty::{Fault, FaultyStore},
    },
};

/// The names of a project and of a stack in it.
pub(super) type FullName = (&'static str, &'static str);

/// The names that each stack can have within its project.
pub(super) const NAMES: [[&str; 2]; 2] = [[STACK, "dev-renamed"], ["live", "live-renamed"]];

/// The projects of stacks in two stores; those in one store are both of the first.
const PROJECTS: [&str; 2] = [PROJECT, "till"];

/// The other project to which each stack can move.
pub(super) const OTHER_PROJECTS: [&str; 2] = ["cafe", "tavern"];

/// The keys that each stack can have.
pub(super) const KEYS: [[&str; 2]; 2] = [["old", "older"], ["new", "newer"]];

/// A state of which the history has a copy.
#[derive(Clone)]
pub(super) struct Recorded {
    pub(super) deployment: Deployment,
    pub(super) name: FullName,
    pub(super) key: &'static str,
    config: Value,
}

/// What one process has: stores and sources of configurations, in which writes can fail.
struct Process {
    stores: [Arc<dyn Store>; 2],
    settings: [Arc<dyn ConfigSource>; 2],
}

pub(super) struct World {
    stores: [Arc<dyn Store>; 2],
    /// The folders of stores that are not in memory.
    folders: Vec<TempDir>,
    /// The project in which each stack is at first.
    projects: [&'static str; 2],
    settings: [Arc<Settings>; 2],
    pub(super) names: [FullName; 2],
    pub(super) keys: [&'static str; 2],
    pub(super) recorded: [Vec<Recorded>; 2],
    /// How many writes the process after the last fault has made.
    pub(super) writes_of_next_process: usize,
}

impl World {
    /// Creates both stacks.
    pub(super) async fn new(seeds: [&[Seed]; 2], extras: &[Extra], shape: Shape) -> Self {
        let (stores, folders) = stores(shape.is_apart);
        let projects = if shape.is_apart { PROJECTS } else { [PROJECT; 2] };
        let world = Self {
            stores,
            folders,
            projects,
            settings: [0, 1].map(|side| Settings::of(NAMES[side][0], KEYS[side][0])),
            names: [0, 1].map(|side| (projects[side], NAMES[side][0])),
            keys: KEYS.map(|keys| keys[0]),
            recorded: Default::default(),
            writes_of_next_process: 0,
        };
        for (side, seeds) in seeds.into_iter().enumerate() {
            let (project, name) = world.names[side];
            let snapshot = state_in(name, seeds);
            let shown = SecretsShown::Plaintext;
            let document = write_deployment(&snapshot, shown, Layout::Compact).await.unwrap();
            let document = enriched(&document, name, extras);
            let document = match project {
                PROJECT => document,
                project => of_project(&document, project),
            };
            let process = world.process();
            let stack = world.opened(&process, side, Opening::Create).await.unwrap();
            stack.import_deployment(&document).await.unwrap();
            if shape.is_compressed {
                world.compress(side).await;
            }
        }
        world
    }

    async fn compress(&self, side: usize) {
        let key = self.checkpoint_key(side);
        let store = &self.stores[side];
        let bytes = store.get(&key).await.unwrap().unwrap().bytes;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&bytes).unwrap();
        let bytes = encoder.finish().unwrap();
        let compressed = format!("{key}.gz");
        let stored = store.put(&compressed, bytes.into(), Condition::Any);
        stored.await.unwrap();
        store.delete(&key).await.unwrap();
    }

    /// Returns a copy, whose changes do not affect this one.
    pub(super) async fn fork(&self) -> Self {
        let is_apart = !self.folders.is_empty();
        let (stores, folders) = stores(is_apart);
        for (to, from) in stores.iter().zip(&self.stores).take(if is_apart { 2 } else { 1 }) {
            for (key, bytes) in objects(&**from).await {
                to.put(&key, bytes, Condition::Any).await.unwrap();
            }
        }
        let settings = self.settings.each_ref().map(|settings| settings.fork());
        Self {
            stores,
            folders,
            settings,
            projects: self.projects,
            names: self.names,
            keys: self.keys,
            recorded: self.recorded.clone(),
            writes_of_next_process: 0,
        }
    }

    /// Returns all objects of both stores.
    pub(super) async fn objects(&self) -> [Vec<(String, Bytes)>; 2] {
        [objects(&*self.stores[0]).await, objects(&*self.stores[1]).await]
    }

    /// Returns the keys of both stores below a prefix, each with its store.
    async fn keys_below(&self, prefix: &str) -> BTreeMap<String, Arc<dyn Store>> {
        let mut keys = BTreeMap::new();
        for store in &self.stores {
            let listed = store.list(prefix).await.unwrap().into_iter();
            keys.extend(listed.map(|object| (object.key, Arc::clone(store))));
        }
        keys
    }

    fn checkpoint_key(&self, side: usize) -> String {
        let (project, name) = self.names[side];
        format!(".pulumi/stacks/{project}/{name}.json")
    }

    /// Returns whether the checkpoints are stored as they were at first.
    pub(super) async fn has_checkpoints(&self, is_compressed: bool) -> bool {
        let ending = if is_compressed { ".gz" } else { "" };
        let mut expected = [0, 1].map(|side| self.checkpoint_key(side) + ending);
        expected.sort();
        let keys = self.keys_below(".pulumi/stacks/").await.into_keys();
        let keys = keys.filter(|key| key.ends_with(".json") || key.ends_with(".gz"));
        keys.eq(expected)
    }

    async fn opened_as(
        process: &Process,
        side: usize,
        ((project, name), key): (FullName, &'static str),
        opening: Opening,
    ) -> Result<Stack> {
        let store = Arc::clone(&process.stores[side]);
        let builder = Engine::builder(Handle::current()).store(store);
        let engine = builder.secrets(Arc::new(Key::numbered(key))).build().unwrap();
        let settings = StackSettings {
            config_source: Some(Arc::clone(&process.settings[side])),
            opening,
            ..StackSettings::default()
        };
        engine.stack(&format!("{project}/{name}"), settings).await
    }

    async fn opened(&self, process: &Process, side: usize, opening: Opening) -> Result<Stack> {
        let known = (self.names[side], self.keys[side]);
        Self::opened_as(process, side, known, opening).await
    }

    pub(super) fn first_project(&self, side: usize) -> &'static str {
        self.projects[side]
    }

    /// Returns a process in which no write fails.
    fn process(&self) -> Process {
        Process {
            stores: self.stores.clone(),
            settings: self.settings.each_ref().map(|settings| Arc::clone(settings) as _),
        }
    }

    pub(super) async fn open(&self, side: usize) -> Stack {
        let process = self.process();
        self.opened(&process, side, Opening::Select).await.unwrap()
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
        let (project, name) = self.names[side];
        let name = StackName::new(project, name).unwrap();
        StackStorage::new(Arc::clone(&self.stores[side]), name, facts, runtime)
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

    /// Returns whether the configuration of a stack has its name, its key, and its secret.
    pub(super) fn has_config(&self, side: usize) -> bool {
        let (key, content) = decrypted(&self.settings[side].ciphertext());
        let is_named = self.settings[side].name() == self.names[side].1;
        is_named && (key.as_str(), content.as_str()) == (self.keys[side], TOKEN)
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
        dry_run: bool,
        faults: Option<&Faults>,
    ) -> Result<[EditReport; 2]> {
        match faults {
            None => self.make_in(&self.process(), action, side, dry_run).await,
            Some(faults) => {
                let (process, _) = self.hindered(faults.kind, faults.at);
                self.make_in(&process, action, side, dry_run).await
            }
        }
    }

    /// Returns how many writes an edit takes.
    pub(super) async fn count_writes(&self, action: &Action, side: usize) -> usize {
        let (process, writes) = self.hindered(Fault::Refused, usize::MAX);
        drop(self.make_in(&process, action, side, false).await);
        writes.writes()
    }

    /// Returns a process that fails at a write to any store or configuration.
    fn hindered(&self, kind: Fault, at: usize) -> (Process, Arc<FaultyStore>) {
        let first = Arc::new(FaultyStore::new(Arc::clone(&self.stores[0]), kind, at));
        let second = match self.folders.is_empty() {
            true => Arc::clone(&first),
            false => Arc::new(first.beside(Arc::clone(&self.stores[1]))),
        };
        let settings = self.settings.each_ref().map(|settings| {
            let settings = FaultySettings {
                inner: Arc::clone(settings),
                store: Arc::clone(&first),
            };
            Arc::new(settings) as _
        });
        let stores: [Arc<dyn Store>; 2] = [Arc::clone(&first) as _, second];
        (Process { stores, settings }, first)
    }

    async fn make_in(
        &self,
        process: &Process,
        action: &Action,
        side: usize,
        dry_run: bool,
    ) -> Result<[EditReport; 2]> {
        let stack = self.opened(process, side, Opening::Select).await?;
        let mut reports = [EditReport::default(), EditReport::default()];
        match action {
            Action::Edit(edit) => reports[side] = stack.edit(edit, dry_run).await?,
            Action::Move(edit) => {
                let other = self.opened(process, 1 - side, Opening::Select).await?;
                let report = stack.move_resources(&other, edit, dry_run).await?;
                reports[side] = report.source;
                reports[1 - side] = report.destination;
            }
            Action::Restore(version, has_key) => {
                let point = HistoryPoint::Version(*version);
                let key = Key::numbered(self.recorded[side][*version - 1].key);
                reports[side] = match has_key {
                    true => stack.restore_with_key(&point, &key, dry_run).await?,
                    false => stack.restore(&point, dry_run).await?,
                };
            }
            Action::Forget(place) => {
                let pending = stack.pending().await?;
                stack.forget_pending(&pending[*place].id, dry_run).await?;
            }
            Action::Import(import) => {
                let force = import.is_forced;
                reports[side] = stack
                    .import_deployment_with(&import.document, force, dry_run)
                    .await?;
            }
            Action::RenameStack((project, name)) => {
                let name = format!("{project}/{name}");
                reports[side] = stack.rename_stack(&name, dry_run).await?;
            }
            Action::ChangeSecrets(key) => {
                reports[side] = stack
                    .change_secrets(Arc::new(Key::numbered(key)), dry_run)
                    .await?;
            }
        }
        Ok(reports)
    }

    /// Opens a stack in a process that is hindered, too; the locks of both processes are broken. Returns the number of writes.
    pub(super) async fn next_process(&self, action: &Action, side: usize, faults: &Faults) -> usize {
        self.break_locks().await;
        let (process, writes) = self.hindered(faults.kind, faults.again);
        let opened = if faults.opens_other { 1 - side } else { side };
        let (mut name, mut key) = (self.names[opened], self.keys[opened]);
        match action {
            Action::RenameStack(new) if opened == side && faults.expects_change => name = *new,
            Action::ChangeSecrets(new) if opened == side && faults.expects_change => key = new,
            _ => {}
        }
        drop(Self::opened_as(&process, opened, (name, key), Opening::AsNeeded).await);
        self.break_locks().await;
        writes.writes()
    }

    /// Finds the name and the key that a stack has after an edit that may have changed these.
    pub(super) async fn settle(&mut self, action: &Action, side: usize) {
        let known = (self.names[side], self.keys[side]);
        let possible = match action {
            Action::RenameStack(name) => [known, (*name, known.1)],
            Action::ChangeSecrets(key) => [known, (known.0, *key)],
            _ => return,
        };
        let process = self.process();
        for possible in possible {
            // The notes that an interrupted change left under this name are settled.
            drop(Self::opened_as(&process, side, possible, Opening::AsNeeded).await);
        }
        let mut found = Vec::new();
        for possible in possible {
            let opened = Self::opened_as(&process, side, possible, Opening::Select);
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
        for (key, store) in self.keys_below(".pulumi/locks/").await {
            store.delete(&key).await.unwrap();
        }
    }

    /// Returns the keys of notes and journals, which no edit leaves.
    pub(super) async fn notes(&self) -> Vec<String> {
        self.keys_below(".pulumi/journals/").await.into_keys().collect()
    }
}
