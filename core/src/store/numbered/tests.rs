use super::*;
use crate::store::MemoryStore;

const KEY: &str = ".pulumi/journals/shop/dev.journal";

type Host = Layered<NumberedJournals<MemoryStore>>;

/// Returns a store that removes nothing under a condition, as a bucket, and two hosts that use it.
fn hosts() -> (MemoryStore, Host, Host) {
    hosts_with(Removal::Replacement)
}

fn hosts_with(removal: Removal) -> (MemoryStore, Host, Host) {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = MemoryStore::new(runtime.clone());
    let host = || Layered(NumberedJournals::new(store.clone(), runtime.clone(), removal));
    let (one, other) = (host(), host());
    (store, one, other)
}

async fn content(store: &dyn Store) -> Option<Bytes> {
    store.get(KEY).await.unwrap().map(|object| object.bytes)
}

async fn keys(store: &dyn Store, prefix: &str) -> Vec<String> {
    store
        .list(prefix)
        .await
        .unwrap()
        .into_iter()
        .map(|info| info.key)
        .collect()
}

fn is_conflict<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::Conflict)
}

/// Begins a journal with three batches.
async fn begun(host: &Host) -> Version {
    let version = host.put(KEY, "a\n".into(), Condition::Absent).await.unwrap();
    let version = host
        .append(KEY, "b\n".into(), Condition::Match(version))
        .await
        .unwrap();
    host.append(KEY, "c\n".into(), Condition::Match(version))
        .await
        .unwrap()
}

#[tokio::test]
async fn each_batch_is_an_object_of_its_own_and_all_are_read_as_one() {
    let (store, one, other) = hosts();
    let version = begun(&one).await;
    assert_eq!(content(&other).await.unwrap(), "a\nb\nc\n");
    assert_eq!(other.get(KEY).await.unwrap().unwrap().version, version);
    assert_eq!(keys(&other, ".pulumi/").await, [KEY]);
    assert_eq!(keys(&store, ".pulumi/").await.len(), 3);
    one.delete_version(KEY, &version).await.unwrap();
    assert_eq!(keys(&store, "").await, [KEY], "its own journal leaves an end");
    assert!(content(&one).await.is_none());
    one.delete_version(KEY, &version).await.unwrap();
}

#[tokio::test]
async fn of_two_writers_one_fails_at_its_next_number() {
    let (_, one, other) = hosts();
    let version = begun(&one).await;
    let next = other
        .append(KEY, "announced\n".into(), Condition::Match(version.clone()))
        .await
        .unwrap();
    assert!(is_conflict(
        one.append(KEY, "d\n".into(), Condition::Match(version.clone()))
            .await
    ));
    assert!(is_conflict(one.delete_version(KEY, &version).await));
    assert!(is_conflict(
        one.put(KEY, "x".into(), Condition::Match(version)).await
    ));
    other.delete_version(KEY, &next).await.unwrap();
    assert!(is_conflict(
        other.append(KEY, "d\n".into(), Condition::Match(next)).await
    ));
}

#[tokio::test]
async fn the_writer_of_a_removed_journal_fails_also_after_the_next_one_has_begun() {
    let (store, one, other) = hosts();
    let version = begun(&one).await;
    let read = other.get(KEY).await.unwrap().unwrap().version;
    other.delete_version(KEY, &read).await.unwrap();
    assert!(is_conflict(
        one.append(KEY, "d\n".into(), Condition::Match(version.clone()))
            .await
    ));
    let second = begun(&other).await;
    assert!(is_conflict(
        one.append(KEY, "d\n".into(), Condition::Match(version)).await
    ));
    assert_eq!(content(&one).await.unwrap(), "a\nb\nc\n");
    other.delete_version(KEY, &second).await.unwrap();
    // Only the end, and the object that the first writer would write next.
    assert_eq!(keys(&store, "").await.len(), 2);
}

#[tokio::test]
async fn a_journal_that_is_written_as_a_whole_replaces_all_batches() {
    let (_, one, other) = hosts();
    let version = begun(&one).await;
    let torn = other
        .put(KEY, "a\n".into(), Condition::Match(version.clone()))
        .await
        .unwrap();
    assert!(is_conflict(
        one.append(KEY, "d\n".into(), Condition::Match(version)).await
    ));
    let next = other
        .append(KEY, "e\n".into(), Condition::Match(torn))
        .await
        .unwrap();
    assert_eq!(content(&one).await.unwrap(), "a\ne\n");
    other
        .copy(KEY, ".pulumi/journals/shop/dev.journal.orphan-1")
        .await
        .unwrap();
    other.delete_version(KEY, &next).await.unwrap();
    let aside = one
        .get(".pulumi/journals/shop/dev.journal.orphan-1")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(aside.bytes, "a\ne\n");
}

#[tokio::test]
async fn a_missing_batch_is_an_error_that_names_the_journal() {
    let (store, one, _) = hosts();
    let version = begun(&one).await;
    let folder = Extent::parse(&version).unwrap().folder;
    store.delete(&part(KEY, &folder, 1)).await.unwrap();
    let error = one.get(KEY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.message().contains("lacks one of its"), "{error}");
    store.put(KEY, "no folder".into(), Condition::Any).await.unwrap();
    assert!(one.get(KEY).await.is_err());
    one.delete(KEY).await.unwrap();
    assert!(content(&one).await.is_none());
}

#[tokio::test]
async fn where_nothing_is_removed_under_a_condition_an_end_takes_the_place_of_a_removed_journal() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = MemoryStore::new(runtime.clone());
    let host = || {
        Layered(NumberedJournals::new(
            store.clone(),
            runtime.clone(),
            Removal::Replacement,
        ))
    };
    let (one, other) = (host(), host());
    let version = begun(&one).await;
    one.delete_version(KEY, &version).await.unwrap();
    assert_eq!(keys(&store, "").await, [KEY], "the end");
    for host in [&one, &other] {
        assert!(content(host).await.is_none());
        assert!(keys(host, "").await.is_empty());
    }
    // A host that has not read the end begins as well, and then no other does.
    let third = host();
    let begun = third.put(KEY, "x\n".into(), Condition::Absent).await.unwrap();
    for host in [&one, &other] {
        assert!(is_conflict(host.put(KEY, "y\n".into(), Condition::Absent).await));
    }
    assert_eq!(content(&one).await.unwrap(), "x\n");
    third.delete_version(KEY, &begun).await.unwrap();
    third.delete_version(KEY, &begun).await.unwrap();
    one.delete(KEY).await.unwrap();
    assert!(content(&one).await.is_none());
}

#[tokio::test]
async fn a_sweep_removes_what_ended_journals_have_left_and_no_journal_that_has_begun() {
    for (removal, left) in [(Removal::Conditional, 0), (Removal::Replacement, 2)] {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store = MemoryStore::new(runtime.clone());
        let host = || Layered(NumberedJournals::new(store.clone(), runtime.clone(), removal));
        let (one, other) = (host(), host());
        for number in [1, 2] {
            let key = part(KEY, "dead", number);
            store.put(&key, "a".into(), Condition::Absent).await.unwrap();
        }
        one.sweep_journal(KEY).await.unwrap();
        assert_eq!(keys(&store, "").await.len(), left, "{removal:?}");
        begun(&other).await;
        one.sweep_journal(KEY).await.unwrap();
        assert_eq!(content(&other).await.unwrap(), "a\nb\nc\n");
    }
}

#[tokio::test]
async fn a_host_that_was_suspended_while_it_began_a_journal_removes_no_object_of_the_next_one() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = MemoryStore::new(runtime.clone());
    let host = || {
        Layered(NumberedJournals::new(
            store.clone(),
            runtime.clone(),
            Removal::Replacement,
        ))
    };
    let (one, other) = (host(), host());
    // What an interrupted removal has left.
    store
        .put(&part(KEY, "dead", 1), "a".into(), Condition::Absent)
        .await
        .unwrap();
    store
        .put(&part(KEY, "dead", 2), "b".into(), Condition::Absent)
        .await
        .unwrap();
    // The first host lists before it is suspended; the objects of the other one's journal are not among what it removes.
    let listed = one.0.leftovers(KEY).await.unwrap();
    assert_eq!(listed.len(), 1);
    let version = begun(&other).await;
    assert!(is_conflict(one.put(KEY, "y\n".into(), Condition::Absent).await));
    assert_eq!(content(&other).await.unwrap(), "a\nb\nc\n");
    assert!(store.get(&part(KEY, "dead", 1)).await.unwrap().is_none());
    assert!(
        store.get(&part(KEY, "dead", 2)).await.unwrap().is_some(),
        "a writer must find the last one"
    );
    other.delete_version(KEY, &version).await.unwrap();
}

#[tokio::test]
async fn a_process_whose_journal_another_one_has_continued_and_ended_never_writes_its_next_number() {
    let (_, one, other) = hosts();
    let first = one.append(KEY, "a".into(), Condition::Absent).await.unwrap();
    let second = one
        .append(KEY, "b".into(), Condition::Match(first))
        .await
        .unwrap();
    // The other one merges it: it announces a checkpoint, and removes the journal.
    let found = other.get(KEY).await.unwrap().unwrap();
    let announced = other
        .append(KEY, "c".into(), Condition::Match(found.version))
        .await
        .unwrap();
    assert_eq!(content(&other).await.unwrap(), "abc");
    let again = other
        .append(KEY, "d".into(), Condition::Match(announced))
        .await
        .unwrap();
    assert_eq!(other.get(KEY).await.unwrap().unwrap().version, again);
    other.delete_version(KEY, &again).await.unwrap();
    for _ in 0..2 {
        let late = one
            .append(KEY, "late".into(), Condition::Match(Version::clone(&second)))
            .await;
        assert_eq!(late.unwrap_err().kind(), ErrorKind::Conflict);
        // The next journal removes what is left of former ones.
        let next = other.append(KEY, "e".into(), Condition::Absent).await.unwrap();
        other.delete_version(KEY, &next).await.unwrap();
    }
}

#[tokio::test]
async fn where_each_write_checks_the_lease_nothing_stays_of_the_journals_of_crashed_processes() {
    let (store, one, other) = hosts_with(Removal::Conditional);
    let version = begun(&one).await;
    let read = other.get(KEY).await.unwrap().unwrap().version;
    assert_eq!(read, version);
    other.delete_version(KEY, &read).await.unwrap();
    assert!(keys(&store, "").await.is_empty());
    // What earlier versions have left goes with the next journal, and with the stack.
    for is_removed in [false, true] {
        for number in [3, 4] {
            let left = if number == 3 { "b" } else { "" };
            let key = part(KEY, "crashed", number);
            store.put(&key, left.into(), Condition::Absent).await.unwrap();
        }
        if is_removed {
            other.delete(KEY).await.unwrap();
        } else {
            let version = begun(&other).await;
            other.delete_version(KEY, &version).await.unwrap();
        }
        assert!(keys(&store, "").await.is_empty());
    }
}
