//! The store of a simulated host: the one of the world, with the troubles of the host.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Error, ErrorKind, Result,
    runtime::Clock as _,
    store::{Condition, LockGuard, Object, ObjectInfo, Store, Version},
};

use super::{
    host::{Host, Moment},
    world::World,
};

/// The longest time that a write takes.
const MAX_LATENCY: Duration = Duration::from_millis(50);
/// One of so many writes fails in each way, where there is noise.
const NOISE: u64 = 40;
/// After one of so many writes the state is read.
const OBSERVED: u64 = 3;

/// A write, which can be done again.
enum Write<'a> {
    Put(&'a str, Bytes, Condition),
    Append(&'a str, Bytes, Condition),
    Delete(&'a str),
    Copy(&'a str, &'a str),
}

pub(super) struct SimulatedStore {
    pub(super) host: Arc<Host>,
    pub(super) world: Arc<World>,
}

fn unavailable(text: &str) -> Error {
    Error::new(ErrorKind::Unavailable, text.to_owned())
}

impl Write<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Put(key, bytes, _) => format!("put {key} ({} bytes)", bytes.len()),
            Self::Append(key, bytes, _) => format!("append {key} ({} bytes)", bytes.len()),
            Self::Delete(key) => format!("delete {key}"),
            Self::Copy(from, to) => format!("copy {from} {to}"),
        }
    }
}

impl SimulatedStore {
    async fn perform(&self, write: &Write<'_>) -> Result<Option<Version>> {
        let store = &self.world.store;
        match write {
            Write::Put(key, bytes, condition) => {
                store.put(key, bytes.clone(), condition.clone()).await.map(Some)
            }
            Write::Append(key, bytes, condition) => store
                .append(key, bytes.clone(), condition.clone())
                .await
                .map(Some),
            Write::Delete(key) => store.delete(key).await.map(|()| None),
            Write::Copy(from, to) => store.copy(from, to).await.map(|()| None),
        }
    }

    /// Of an append, performs the first half; of any other write, nothing.
    async fn tear(&self, write: &Write<'_>) {
        if let Write::Append(key, bytes, condition) = write {
            let half = bytes.slice(..bytes.len() / 2);
            drop(self.world.store.append(key, half, condition.clone()).await);
        }
    }

    async fn write(&self, write: Write<'_>) -> Result<Option<Version>> {
        let (world, host) = (&self.world, &self.host);
        host.goes_on(world).await;
        let number = host.count();
        world.wait_up_to(MAX_LATENCY).await;
        host.passes(world, number, Moment::Before).await;
        let troubles = &host.troubles;
        let tears = |death: (u64, Moment)| death == (number, Moment::Within);
        if troubles.death.is_some_and(tears) {
            self.tear(&write).await;
        }
        host.passes(world, number, Moment::Within).await;
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
    async fn disturbed(&self, write: &Write<'_>, number: u64) -> Result<Option<Version>> {
        let troubles = &self.host.troubles;
        if let Some((first, last)) = troubles.full
            && (first..=last).contains(&number)
            && !matches!(write, Write::Delete(_))
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
        self.world.wait_up_to(MAX_LATENCY).await;
        let read = self.world.store.get(key).await;
        self.host.goes_on(&self.world).await;
        read
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        version(self.write(Write::Put(key, bytes, condition)).await?)
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        version(self.write(Write::Append(key, bytes, condition)).await?)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.host.goes_on(&self.world).await;
        self.world.store.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.write(Write::Delete(key)).await.map(drop)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.write(Write::Copy(from, to)).await.map(drop)
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
                if !world.has_leases || !holder.has_lost_lease(now) {
                    let text = format!("the lock {name:?} is held by another owner");
                    return Err(Error::new(ErrorKind::Conflict, text));
                }
                holder.is_superseded.store(true, Ordering::SeqCst);
            }
            state.taken += 1;
            let number = state.taken;
            state.locks.insert(name.to_owned(), (pid, number));
            number
        };
        world.note(format_args!("host {pid} locks {name}"));
        world.warn().await;
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

impl LockGuard for Guard {}

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
