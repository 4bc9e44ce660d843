//! The store of a simulated host: the one of the world, with the troubles of the host. In a world with a bucket it has objects only, of
//! which the engine makes leases and journals.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Error, ErrorKind, Result,
    runtime::{Clock as _, Runtime},
    secrets::{CallbackProvider, SecretsCallbacks},
    store::{
        Condition, LockGuard, MemoryStore, Object, ObjectInfo, Objects, Store, StoreSettings, Version,
        encrypted, shared,
    },
};

use super::{
    host::{Begin, Host, HostClock, LEASE, Moment, facts},
    objects,
    world::{Fence, Kind, World},
};

/// The longest time that a write takes.
const MAX_LATENCY: Duration = Duration::from_millis(50);
/// The longest time after which a write arrives that its host no longer waits for: other hosts go on before.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(150);
/// One of so many writes fails in each way, where there is noise.
const NOISE: u64 = 40;
/// After one of so many writes the state is read.
const OBSERVED: u64 = 3;

/// A write, which can be done again.
#[derive(Clone)]
enum Write {
    Put(String, Bytes, Condition),
    Append(String, Bytes, Condition),
    Delete(String),
    DeleteVersion(String, Version),
    Copy(String, String),
}

pub(super) struct SimulatedStore {
    pub(super) host: Arc<Host>,
    pub(super) world: Arc<World>,
}

/// Returns the store of a host, as its engine uses it.
pub(super) fn store_of(world: &Arc<World>, host: &Arc<Host>) -> Result<Arc<dyn Store>> {
    let store = SimulatedStore {
        host: Arc::clone(host),
        world: Arc::clone(world),
    };
    let store: Arc<dyn Store> = match world.kind {
        Kind::Folder | Kind::Leases => Arc::new(store),
        Kind::Bucket => {
            let runtime = Runtime {
                clock: Arc::new(HostClock::new(world, host)),
                ..world.runtime.clone()
            };
            over(world, &runtime, host.pid, Arc::new(Bucket(store)))?
        }
    };
    Ok(sealed(world, store))
}

/// Returns the store as it is, or encrypted as a whole.
fn sealed(world: &World, store: Arc<dyn Store>) -> Arc<dyn Store> {
    if !world.is_encrypted {
        return store;
    }
    let keys = CallbackProvider::new("simulated", None, Arc::new(Reversing));
    encrypted(store, Arc::new(keys), world.runtime.clone())
}

/// The encryption of the store's key, which needs no time: it turns texts around.
struct Reversing;

#[async_trait]
impl SecretsCallbacks for Reversing {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let reversed = plaintexts.iter().map(|text| text.chars().rev().collect());
        Ok(reversed.collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.encrypt(ciphertexts).await
    }
}

/// Returns the store of a reader, without troubles.
pub(super) fn store_of_reader(world: &Arc<World>) -> Result<Arc<dyn Store>> {
    let store: Arc<dyn Store> = match world.kind {
        Kind::Folder | Kind::Leases => Arc::new(world.store.clone()),
        Kind::Bucket => over(
            world,
            &world.runtime,
            READER,
            Arc::new(Plain(world.store.clone())),
        )?,
    };
    Ok(sealed(world, store))
}

/// The number of the process that reads.
const READER: u32 = 1;

fn over(
    world: &Arc<World>,
    runtime: &Runtime,
    pid: u32,
    objects: Arc<dyn Objects>,
) -> Result<Arc<dyn Store>> {
    let settings = StoreSettings {
        lease: LEASE,
        // Otherwise the probe would find that the fence is broken.
        allow_unfenced: world.is_unfenced(),
        ..StoreSettings::default()
    };
    shared(objects, &settings, runtime, &facts(pid, world))
}

/// The objects of a bucket without troubles.
struct Plain(MemoryStore);

#[async_trait]
impl Objects for Plain {
    fn url(&self) -> String {
        "simulated://".to_owned()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        objects::get(&self.0, key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        objects::put(&self.0, key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.0.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).await
    }
}

/// The objects of a bucket, as a host with troubles uses them.
struct Bucket(SimulatedStore);

impl Bucket {
    /// Without a fence all versions are the same, and no condition is checked.
    fn shown(&self, version: Version) -> Version {
        match self.0.world.is_unfenced() {
            true => "0".into(),
            false => version,
        }
    }
}

#[async_trait]
impl Objects for Bucket {
    fn url(&self) -> String {
        self.0.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        let found = self.0.get(key).await?;
        Ok(found.map(|object| Object {
            version: self.shown(object.version),
            ..object
        }))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let condition = match self.0.world.is_unfenced() {
            true => Condition::Any,
            false => condition,
        };
        // An operation knows what was pending when it took the lease, and what its predecessor had written before it began a journal.
        let begins = (is_lease(key) && is_first(&bytes)) || key.ends_with(JOURNAL_ENDING);
        let version = self.0.put(key, bytes, condition).await?;
        if begins {
            self.0.world.warn(self.0.host.pid).await;
        }
        Ok(self.shown(version))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.0.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.0.copy(from, to).await
    }
}

/// The ending of the keys of journals.
const JOURNAL_ENDING: &str = ".journal";

/// The keys of leases.
const LEASES: &str = ".pulumi/leases/";
const LEASE_ENDING: &str = ".json";

/// The keys of lock files.
const LOCKS: &str = ".pulumi/locks/";

/// The key of the checkpoint.
const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";

fn is_lease(key: &str) -> bool {
    key.starts_with(LEASES) && key.ends_with(LEASE_ENDING)
}

fn is_checkpoint(key: &str) -> bool {
    key == CHECKPOINT
}

fn removes_checkpoint(write: &Write) -> bool {
    matches!(write, Write::Delete(key) | Write::DeleteVersion(key, _) if is_checkpoint(key))
}

/// Returns whether a lease is taken, and neither renewed nor released.
fn is_first(record: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(record).is_ok_and(|record| record["renewals"] == 0)
}

fn unavailable(text: &str) -> Error {
    Error::new(ErrorKind::Unavailable, text.to_owned())
}

impl Write {
    fn describe(&self) -> String {
        match self {
            // Those of one machine have the number of this process, whose length differs.
            Self::Put(key, ..) if is_lease(key) || key.starts_with(LOCKS) => format!("put {key}"),
            Self::Put(key, bytes, _) => format!("put {key} ({} bytes)", bytes.len()),
            Self::Append(key, bytes, _) => format!("append {key} ({} bytes)", bytes.len()),
            Self::Delete(key) | Self::DeleteVersion(key, _) => format!("delete {key}"),
            Self::Copy(from, to) => format!("copy {from} {to}"),
        }
    }
}

impl SimulatedStore {
    /// Waits for the connection.
    ///
    /// # Errors
    /// While there is none.
    async fn connect(&self) -> Result<()> {
        if self.host.is_cut(&self.world) {
            self.world.wait_up_to(MAX_LATENCY).await;
            return Err(unavailable("there is no connection"));
        }
        Ok(())
    }

    async fn perform(&self, write: &Write) -> Result<Option<Version>> {
        let done = self.arrive(write).await;
        if done.is_ok() {
            self.note_written(write);
        }
        done
    }

    /// Notes what a write means that was done.
    fn note_written(&self, write: &Write) {
        let (world, pid) = (&self.world, self.host.pid);
        match write {
            Write::Put(key, bytes, _) if is_lease(key) && is_first(bytes) => world.state().take(pid),
            Write::Put(key, _, Condition::Match(_)) if is_checkpoint(key) => {
                let mut state = world.state();
                let holder = state.overwritten_by(pid);
                state.fence(pid);
                drop(state);
                if let Some(holder) = holder.filter(|_| !world.is_unfenced()) {
                    world.fail(format!(
                        "host {pid} has replaced the checkpoint after host {holder} had taken over and begun"
                    ));
                }
            }
            Write::Delete(key) | Write::DeleteVersion(key, _) if is_checkpoint(key) => world.state().remove(),
            _ => {}
        }
    }

    /// Returns whether a checkpoint stays as it is, because only the blanks at its end are others.
    async fn leaves(&self, key: &str, bytes: &Bytes) -> bool {
        if self.world.fence != Fence::LeavesCheckpoint
            || self.world.kind != Kind::Bucket
            || !is_checkpoint(key)
        {
            return false;
        }
        let found = self.world.store.get(key).await;
        found.is_ok_and(|found| {
            found.is_some_and(|found| found.bytes.trim_ascii_end() == bytes.trim_ascii_end())
        })
    }

    /// Lets a write arrive later, which nothing waits for.
    fn delay(&self, write: &Write) {
        let late = Self {
            host: Arc::clone(&self.host),
            world: Arc::clone(&self.world),
        };
        let write = write.clone();
        drop(self.world.runtime.spawner.spawn(async move {
            late.world.wait_up_to(MAX_DELAY).await;
            let done = late.perform(&write).await;
            let result = done.map_or_else(|error| error.message().to_owned(), |_| "done".to_owned());
            late.world.note(format_args!(
                "host {} late write: {}: {result}",
                late.host.pid,
                write.describe()
            ));
            late.world.observe("after a late write").await;
        }));
    }

    async fn arrive(&self, write: &Write) -> Result<Option<Version>> {
        let store = &self.world.store;
        match write {
            Write::Put(key, bytes, _) if self.leaves(key, bytes).await => {
                let found = objects::get(store, key).await?;
                Ok(found.map(|found| found.version))
            }
            Write::Put(key, bytes, condition) if self.world.kind == Kind::Bucket => {
                objects::put(store, key, bytes.clone(), condition.clone())
                    .await
                    .map(Some)
            }
            Write::Put(key, bytes, condition) => {
                store.put(key, bytes.clone(), condition.clone()).await.map(Some)
            }
            Write::Append(key, bytes, condition) => store
                .append(key, bytes.clone(), condition.clone())
                .await
                .map(Some),
            Write::Delete(key) => store.delete(key).await.map(|()| None),
            Write::DeleteVersion(key, version) => store.delete_version(key, version).await.map(|()| None),
            Write::Copy(from, to) => store.copy(from, to).await.map(|()| None),
        }
    }

    /// Of an append, performs the first half; of any other write, nothing.
    async fn tear(&self, write: &Write) {
        if let Write::Append(key, bytes, condition) = write {
            let half = bytes.slice(..bytes.len() / 2);
            drop(self.world.store.append(key, half, condition.clone()).await);
        }
    }

    async fn write(&self, write: Write) -> Result<Option<Version>> {
        let (world, host) = (&self.world, &self.host);
        host.goes_on(world).await;
        let number = host.count();
        host.cut(world, Begin::At(number));
        if matches!(&write, Write::Delete(key) if key.starts_with(LOCKS)) {
            host.cut(world, Begin::Release);
        }
        self.connect().await?;
        world.wait_up_to(MAX_LATENCY).await;
        host.passes(world, number, Moment::Before).await;
        let troubles = &host.troubles;
        let tears = |death: (u64, Moment)| death == (number, Moment::Within);
        if troubles.death.is_some_and(tears) {
            self.tear(&write).await;
        }
        host.passes(world, number, Moment::Within).await;
        if matches!(&write, Write::Put(key, ..) if is_checkpoint(key)) {
            host.writes_checkpoint(world).await;
        }
        let done = self.disturbed(&write, number).await;
        let result = match &done {
            Ok(_) => "done".to_owned(),
            Err(error) => error.message().to_owned(),
        };
        world.note(format_args!(
            "host {} write {number}: {}: {result}",
            host.pid,
            write.describe()
        ));
        if world.is_hit(OBSERVED) {
            world.observe("after a write").await;
        }
        host.passes(world, number, Moment::After).await;
        world.wait_up_to(MAX_LATENCY).await;
        host.goes_on(world).await;
        done
    }

    /// Performs a write as the noise of the host allows it.
    async fn disturbed(&self, write: &Write, number: u64) -> Result<Option<Version>> {
        let troubles = &self.host.troubles;
        if let Some((first, last)) = troubles.full
            && (first..=last).contains(&number)
            && !matches!(write, Write::Delete(_) | Write::DeleteVersion(..))
        {
            return Err(unavailable("the disk is full"));
        }
        if !troubles.has_noise {
            return self.perform(write).await;
        }
        match self.world.roll(NOISE) {
            0 => Err(unavailable("the write failed")),
            1 => {
                self.tear(write).await;
                Err(unavailable("the write was torn"))
            }
            2 => {
                self.perform(write).await?;
                Err(unavailable("the reply was lost"))
            }
            3 => {
                let done = self.perform(write).await;
                drop(self.perform(write).await);
                done
            }
            // No server removes an object under a condition: a late removal of the checkpoint is that of the next holder's.
            4 if self.world.kind == Kind::Bucket && !removes_checkpoint(write) => {
                self.delay(write);
                Err(unavailable("no answer came"))
            }
            5 if self.world.kind == Kind::Bucket && !removes_checkpoint(write) => {
                self.delay(write);
                self.perform(write).await
            }
            _ => self.perform(write).await,
        }
    }
}

fn version(written: Option<Version>) -> Result<Version> {
    written.ok_or_else(|| unavailable("the write has no version"))
}

#[async_trait]
impl Store for SimulatedStore {
    fn url(&self) -> String {
        "simulated://".to_owned()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.host.goes_on(&self.world).await;
        self.connect().await?;
        self.world.wait_up_to(MAX_LATENCY).await;
        let read = match self.world.kind {
            Kind::Bucket => objects::get(&self.world.store, key).await,
            Kind::Folder | Kind::Leases => self.world.store.get(key).await,
        };
        self.host.goes_on(&self.world).await;
        read
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let is_superseded =
            || self.world.kind == Kind::Leases && self.host.is_superseded.load(Ordering::SeqCst);
        // As every store with leases: the lease is confirmed before a checkpoint is written, and after a journal was begun.
        if is_checkpoint(key) && is_superseded() {
            return Err(Error::new(ErrorKind::Conflict, "another host has taken over"));
        }
        let begins_journal = key.ends_with(JOURNAL_ENDING) && matches!(condition, Condition::Absent);
        let written = version(self.write(Write::Put(key.to_owned(), bytes, condition)).await?)?;
        if begins_journal && is_superseded() {
            self.world.store.delete_version(key, &written).await?;
            return Err(Error::new(ErrorKind::Conflict, "another host has taken over"));
        }
        if begins_journal && self.world.kind != Kind::Bucket {
            // It knows what its predecessor has written before.
            self.world.warn(self.host.pid).await;
        }
        Ok(written)
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        version(
            self.write(Write::Append(key.to_owned(), bytes, condition))
                .await?,
        )
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.host.goes_on(&self.world).await;
        self.connect().await?;
        self.world.store.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.write(Write::Delete(key.to_owned())).await.map(drop)
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.write(Write::DeleteVersion(key.to_owned(), version.clone()))
            .await
            .map(drop)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.write(Write::Copy(from.to_owned(), to.to_owned()))
            .await
            .map(drop)
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        let (world, pid) = (&self.world, self.host.pid);
        self.host.goes_on(world).await;
        let now = world.clock.elapsed();
        let number = {
            let mut state = world.state();
            if let Some((holder, _)) = state.locks.get(name).copied()
                && let Some(holder) = state.hosts.get(&holder)
                && !holder.is_dead()
            {
                if !matches!(world.kind, Kind::Leases) || !holder.has_lost_lease(now) {
                    let text = format!("the lock {name:?} is held by another owner");
                    return Err(Error::new(ErrorKind::Conflict, text));
                }
                holder.is_superseded.store(true, Ordering::SeqCst);
                state.has_late_holder = true;
            }
            if self.world.kind == Kind::Leases {
                state.take(pid);
            }
            state.taken += 1;
            let number = state.taken;
            state.locks.insert(name.to_owned(), (pid, number));
            number
        };
        world.note(format_args!("host {pid} locks {name}"));
        world.warn(pid).await;
        Ok(Box::new(Guard {
            world: Arc::downgrade(world),
            name: name.to_owned(),
            taken: (pid, number),
        }))
    }
}

struct Guard {
    world: Weak<World>,
    name: String,
    taken: (u32, u64),
}

impl LockGuard for Guard {
    fn is_unfenced(&self) -> bool {
        self.world
            .upgrade()
            .is_some_and(|world| world.state().has_late_holder)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(world) = self.world.upgrade() {
            let mut state = world.state();
            if state.locks.get(&self.name) == Some(&self.taken) {
                state.locks.remove(&self.name);
            }
        }
    }
}
