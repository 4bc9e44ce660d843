//! Leases that are taken over in a bucket whose versions are hashes of contents, and writes of the former holder that arrive afterwards.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;

use super::*;
use crate::{
    runtime::{SeededRandom, Spawner, VirtualClock},
    store::{
        Object, ObjectInfo, Objects, StackLock, StoreSettings, Version, lock_owner::LockOwner, shared,
        stack::StackStorage,
    },
};

/// A bucket. Equal contents have equal versions.
#[derive(Clone)]
struct Bucket(MemoryStore);

fn etag(bytes: &Bytes) -> Version {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish().to_string().into()
}

impl Bucket {
    async fn get(&self, key: &str) -> Option<Object> {
        let object = self.0.get(key).await.unwrap()?;
        let version = etag(&object.bytes);
        Some(Object { version, ..object })
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let inner = match &condition {
            Condition::Match(version) => {
                let found = self.0.get(key).await?;
                match found.filter(|found| etag(&found.bytes) == *version) {
                    Some(found) => Condition::Match(found.version),
                    None => return Err(Error::new(ErrorKind::Conflict, "the version is another one")),
                }
            }
            _ => condition,
        };
        let version = etag(&bytes);
        self.0.put(key, bytes, inner).await?;
        Ok(version)
    }
}

/// A write that its host no longer waits for.
type Late = (String, Bytes, Condition);

/// The connection of a host to the bucket.
#[derive(Default)]
struct Connection {
    is_cut: AtomicBool,
    /// Whether the next write of the checkpoint arrives late.
    delays: AtomicBool,
    late: Mutex<Option<Late>>,
    /// Before which write the host is suspended.
    suspends_at: Mutex<Option<&'static str>>,
    suspended: Notify,
    resumed: Notify,
}

struct Remote {
    bucket: Bucket,
    connection: Arc<Connection>,
}

impl Remote {
    fn check(&self) -> Result<()> {
        match self.connection.is_cut.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unavailable, "cut")),
            false => Ok(()),
        }
    }

    async fn pass(&self, key: &str) {
        let is_reached = {
            let mut at = self.connection.suspends_at.lock().unwrap();
            at.take_if(|at| key == *at).is_some()
        };
        if is_reached {
            self.connection.suspended.notify_one();
            self.connection.resumed.notified().await;
        }
    }
}

#[async_trait]
impl Objects for Remote {
    fn url(&self) -> String {
        "bucket://".to_owned()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.check()?;
        Ok(self.bucket.get(key).await)
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.check()?;
        self.pass(key).await;
        if key == CHECKPOINT && self.connection.delays.swap(false, Ordering::SeqCst) {
            *self.connection.late.lock().unwrap() = Some((key.to_owned(), bytes, condition));
            return Err(Error::new(ErrorKind::Unavailable, "no answer"));
        }
        self.bucket.put(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.check()?;
        self.bucket.0.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.check()?;
        self.pass(key).await;
        self.bucket.0.delete(key).await
    }
}

struct World {
    runtime: Runtime,
    bucket: Bucket,
}

impl World {
    /// Creates the stack, with a resource.
    async fn start() -> Self {
        let runtime = Runtime {
            clock: VirtualClock::start(),
            random: Arc::new(SeededRandom::new(1)),
            spawner: Spawner::single_threaded(tokio::runtime::Handle::current()),
            ..Runtime::system(tokio::runtime::Handle::current())
        };
        let bucket = Bucket(MemoryStore::new(runtime.clone()));
        let world = Self { runtime, bucket };
        let (first, _) = world.host("first");
        first.create().await.unwrap();
        let lock = first.lock_for("edit").await.unwrap();
        edit(&first, "a").await.unwrap();
        lock.release().await.unwrap();
        world
    }

    /// Returns the stack as a host sees it that shares no process numbers with the others.
    fn host(&self, name: &str) -> (StackStorage, Arc<Connection>) {
        let connection = Arc::new(Connection::default());
        let facts = HostFacts {
            username: "ann".to_owned(),
            hostname: name.to_owned(),
            system: name.to_owned(),
            ..HostFacts::system()
        };
        let remote = Remote {
            bucket: self.bucket.clone(),
            connection: Arc::clone(&connection),
        };
        let store = shared(Arc::new(remote), &StoreSettings::default(), &self.runtime, &facts).unwrap();
        let name = StackName::parse("shop/dev").unwrap();
        (
            StackStorage::new(store, name, facts, self.runtime.clone()),
            connection,
        )
    }

    async fn checkpoint(&self) -> Bytes {
        self.bucket.get(CHECKPOINT).await.unwrap().bytes
    }

    /// Lets an edit of a host end before its write of the checkpoint has arrived.
    async fn edit_late(&self, name: &str) -> (StackLock, Arc<Connection>) {
        let (stack, connection) = self.host(name);
        let lock = stack.lock_for("edit").await.unwrap();
        connection.delays.store(true, Ordering::SeqCst);
        let edited = edit(&stack, "late").await;
        assert!(edited.is_err_and(|error| error.kind() == ErrorKind::Unavailable));
        (lock, connection)
    }

    async fn arrives(&self, connection: &Connection) -> Result<Version> {
        let (key, bytes, condition) = connection.late.lock().unwrap().take().unwrap();
        self.bucket.put(&key, bytes, condition).await
    }
}

/// Edits the state: no journal begins.
async fn edit(stack: &StackStorage, name: &str) -> Result<()> {
    let loaded = stack.load(&Base64Provider).await?;
    let mut snapshot = loaded.snapshot.clone();
    if snapshot.secrets.is_none() {
        snapshot.secrets = Some(Base64Provider.create().await?);
    }
    let session = StackSession::begin(stack, loaded, &mut snapshot, "edit").await?;
    snapshot.resources.push(thing(name));
    session.commit_edit(&mut snapshot).await
}

/// Runs an operation under a lock that was taken, into whose middle the late write of a former holder arrives.
async fn run_into(world: &World, stack: &StackStorage, former: &Connection) {
    let (session, journal) = operation(stack).await.unwrap();
    let begun = begin(&journal, "b").await;
    assert!(is_conflict(world.arrives(former).await));
    let state = thing("b");
    let id = journal.next_state_id();
    journal
        .append(begun, created(StateRef { id, state }))
        .await
        .unwrap();
    let replay = journal.finish().await.unwrap();
    session.commit(&mut replay.to_snapshot().unwrap()).await.unwrap();
    session.discard().await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(sorted(&loaded.snapshot), ["a", "b"]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

fn sorted(snapshot: &Snapshot) -> Vec<&str> {
    let mut names = names(snapshot);
    names.sort_unstable();
    names
}

fn is_conflict<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::Conflict)
}

#[tokio::test]
async fn a_checkpoint_of_a_former_holder_that_arrives_after_the_takeover_is_refused() {
    for is_broken in [false, true] {
        let world = World::start().await;
        let (_lock, former) = world.edit_late("one").await;
        former.is_cut.store(true, Ordering::SeqCst);
        let before = world.checkpoint().await;
        let (stack, _) = world.host("other");
        if is_broken {
            let owner = LockOwner::parse("ann@one").unwrap();
            assert_eq!(stack.break_locks_of(&owner).await.unwrap(), 1);
        }
        let lock = stack.lock_for("update").await.unwrap();
        let fenced = world.checkpoint().await;
        assert_ne!(fenced, before);
        assert_eq!(fenced.trim_ascii_end(), before.trim_ascii_end());
        run_into(&world, &stack, &former).await;
        lock.release().await.unwrap();
        let committed = world.checkpoint().await;
        assert_eq!(committed.trim_ascii_end(), committed);
    }
}

#[tokio::test]
async fn a_checkpoint_that_arrives_after_its_stack_was_removed_and_created_anew_is_refused() {
    let world = World::start().await;
    let (created, _) = world.host("creator");
    remove_stack(&created, true).await.unwrap();
    created.create().await.unwrap();
    let (_lock, former) = world.edit_late("one").await;
    former.is_cut.store(true, Ordering::SeqCst);
    let (stack, _) = world.host("other");
    remove_stack(&stack, true).await.unwrap();
    stack.create().await.unwrap();
    let before = world.checkpoint().await;
    assert!(is_conflict(world.arrives(&former).await));
    assert_eq!(world.checkpoint().await, before);
}

#[tokio::test]
async fn a_checkpoint_whose_writer_gave_up_and_released_the_lease_is_refused() {
    let world = World::start().await;
    let (lock, former) = world.edit_late("one").await;
    lock.release().await.unwrap();
    let (stack, _) = world.host("other");
    let begin = world.runtime.clock.elapsed();
    let lock = stack.lock_for("update").await.unwrap();
    assert!(world.runtime.clock.elapsed() - begin < std::time::Duration::from_secs(5));
    run_into(&world, &stack, &former).await;
    lock.release().await.unwrap();
}

#[tokio::test]
async fn a_holder_that_has_not_fenced_leaves_that_to_the_next_one() {
    let world = World::start().await;
    let (_lock, former) = world.edit_late("one").await;
    former.is_cut.store(true, Ordering::SeqCst);
    let before = world.checkpoint().await;
    let (second, connection) = world.host("second");
    // It takes the lease over, and its own write of the checkpoint does not arrive.
    connection.delays.store(true, Ordering::SeqCst);
    assert!(second.lock_for("update").await.is_err());
    assert_eq!(world.checkpoint().await, before);
    let (third, _) = world.host("third");
    let lock = third.lock_for("update").await.unwrap();
    assert!(is_conflict(world.arrives(&connection).await));
    run_into(&world, &third, &former).await;
    lock.release().await.unwrap();
}

#[tokio::test]
async fn a_checkpoint_stays_as_it_is_when_its_writers_release_their_leases() {
    let world = World::start().await;
    let before = world.checkpoint().await;
    for name in ["one", "other"] {
        let (stack, _) = world.host(name);
        let lock = stack.lock_for("update").await.unwrap();
        lock.release().await.unwrap();
        assert_eq!(world.checkpoint().await, before);
    }
}

#[tokio::test]
async fn a_journal_still_belongs_to_its_checkpoint_after_a_takeover() {
    let world = World::start().await;
    let (stack, connection) = world.host("one");
    let _lock = stack.lock_for("update").await.unwrap();
    let (_session, journal) = operation(&stack).await.unwrap();
    create(&journal, "b").await;
    begin(&journal, "c").await;
    connection.is_cut.store(true, Ordering::SeqCst);
    let (other, _) = world.host("other");
    let lock = other.lock_for("update").await.unwrap();
    let loaded = other.load(&Base64Provider).await.unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(sorted(&loaded.snapshot), ["a", "b"]);
    assert_eq!(loaded.snapshot.pending_operations.len(), 1);
    lock.release().await.unwrap();
}

#[tokio::test]
async fn a_removal_whose_lease_is_broken_leaves_the_stack_of_the_next_holder() {
    const COPY: &str = ".pulumi/stacks/shop/dev.json.bak";
    let world = World::start().await;
    let ((one, connection), (other, _)) = (world.host("one"), world.host("other"));
    *connection.suspends_at.lock().unwrap() = Some(COPY);
    let removes = remove_stack(&one, true);
    let takes = async {
        connection.suspended.notified().await;
        let owner = LockOwner::parse("ann@one").unwrap();
        assert_eq!(other.break_locks_of(&owner).await.unwrap(), 1);
        let lock = other.lock_for("edit").await.unwrap();
        connection.resumed.notify_one();
        lock
    };
    let (removed, lock) = futures::join!(removes, takes);
    let error = removed.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.message().contains("taken over"), "{error}");
    edit(&other, "b").await.unwrap();
    lock.release().await.unwrap();
    let loaded = other.load(&Base64Provider).await.unwrap();
    assert_eq!(sorted(&loaded.snapshot), ["a", "b"]);
}
