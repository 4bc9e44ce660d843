//! Tests of the contract of all stores, and of the file store alone.

use std::{fs, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;

use super::*;
use crate::runtime::{Clock, Runtime, SystemClock, Timestamp};

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

fn file_store(folder: &Path) -> FileStore {
    FileStore::new(folder, runtime()).unwrap()
}

/// Runs a check on a memory store and on a file store, each also encrypted.
async fn on_each<F, C>(check: C)
where
    F: Future<Output = ()>,
    C: Fn(Arc<dyn Store>) -> F,
{
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = |folder: usize| -> [Arc<dyn Store>; 2] {
        [
            Arc::new(MemoryStore::new(runtime())),
            Arc::new(file_store(folders[folder].path())),
        ]
    };
    for store in stores(0) {
        check(Arc::clone(&store)).await;
        assert!(
            store.get(layout::META).await.unwrap().is_none(),
            "{}",
            store.url()
        );
    }
    for store in stores(1) {
        check(encrypted(store, sealed::tests::reversing(), runtime())).await;
    }
}

fn text(object: Option<Object>) -> Option<String> {
    object.map(|object| String::from_utf8(object.bytes.to_vec()).unwrap())
}

async fn keys(store: &dyn Store, prefix: &str) -> Vec<String> {
    let objects = store.list(prefix).await.unwrap();
    objects.into_iter().map(|object| object.key).collect()
}

/// Returns the keys without that of the object that only an encrypted store has made by itself.
async fn written_keys(store: &dyn Store) -> Vec<String> {
    let mut keys = keys(store, "").await;
    keys.retain(|key| key != layout::META);
    keys
}

#[tokio::test]
async fn an_object_is_read_as_it_was_put() {
    on_each(|store| async move {
        assert!(store.get("a/b.json").await.unwrap().is_none());
        let version = store.put("a/b.json", "one".into(), Condition::Any).await.unwrap();
        let object = store.get("a/b.json").await.unwrap().unwrap();
        assert_eq!((&object.bytes[..], object.version), (&b"one"[..], version));
        store.delete("a/b.json").await.unwrap();
        store.delete("a/b.json").await.unwrap();
        assert!(store.get("a/b.json").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_put_whose_condition_does_not_hold_changes_nothing() {
    on_each(|store| async move {
        let put = |text: &'static str, condition| store.put("k", text.into(), condition);
        let first = put("one", Condition::Absent).await.unwrap();
        let refused = put("two", Condition::Absent).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let second = put("two", Condition::Match(first.clone())).await.unwrap();
        assert_ne!(first, second);
        let refused = put("three", Condition::Match(first)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!(text(store.get("k").await.unwrap()).unwrap(), "two");
        store.delete("k").await.unwrap();
        let refused = put("four", Condition::Match(second)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
    })
    .await;
}

#[tokio::test]
async fn of_many_puts_with_one_version_exactly_one_wins() {
    on_each(|store| async move {
        let version = store.put("k", "0".into(), Condition::Any).await.unwrap();
        let puts = (0..16).map(|number| {
            let bytes = Bytes::from(number.to_string());
            store.put("k", bytes, Condition::Match(version.clone()))
        });
        let results = futures::future::join_all(puts).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    })
    .await;
}

#[tokio::test]
async fn appends_are_concatenated_in_order() {
    on_each(|store| async move {
        for part in ["a\n", "b\n", "c\n"] {
            store
                .append("j/x.journal", part.into(), Condition::Any)
                .await
                .unwrap();
        }
        assert_eq!(
            text(store.get("j/x.journal").await.unwrap()).unwrap(),
            "a\nb\nc\n"
        );
        store.delete("j/x.journal").await.unwrap();
        store
            .append("j/x.journal", "d\n".into(), Condition::Any)
            .await
            .unwrap();
        store
            .put("j/x.journal", "e\n".into(), Condition::Any)
            .await
            .unwrap();
        store
            .append("j/x.journal", "f\n".into(), Condition::Any)
            .await
            .unwrap();
        assert_eq!(text(store.get("j/x.journal").await.unwrap()).unwrap(), "e\nf\n");
    })
    .await;
}

#[tokio::test]
async fn an_append_whose_condition_does_not_hold_changes_nothing() {
    on_each(|store| async move {
        let append = |text: &'static str, condition| store.append("j", text.into(), condition);
        let refused = append("0", Condition::Match("any".into())).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(store.get("j").await.unwrap().is_none());
        let first = append("1", Condition::Absent).await.unwrap();
        assert_eq!(store.get("j").await.unwrap().unwrap().version, first);
        let refused = append("x", Condition::Absent).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let second = append("2", Condition::Match(first.clone())).await.unwrap();
        assert_eq!(store.get("j").await.unwrap().unwrap().version, second);
        let refused = append("x", Condition::Match(first.clone())).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let refused = store.delete_version("j", &first).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!(text(store.get("j").await.unwrap()).unwrap(), "12");
        // A new object of the same content and length has another version.
        store.delete("j").await.unwrap();
        store.put("j", "12".into(), Condition::Absent).await.unwrap();
        let refused = append("3", Condition::Match(second.clone())).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let current = store.get("j").await.unwrap().unwrap().version;
        store.delete_version("j", &current).await.unwrap();
        store.delete_version("j", &current).await.unwrap();
        let refused = append("3", Condition::Match(current)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(store.get("j").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_copy_and_its_original_change_apart() {
    on_each(|store| async move {
        store.append("a", "1".into(), Condition::Any).await.unwrap();
        store.copy("a", "b").await.unwrap();
        store.append("a", "2".into(), Condition::Any).await.unwrap();
        store.append("b", "3".into(), Condition::Any).await.unwrap();
        store.copy("a", "c").await.unwrap();
        store.put("a", "4".into(), Condition::Any).await.unwrap();
        store.copy("a", "a").await.unwrap();
        for (key, expected) in [("a", "4"), ("b", "13"), ("c", "12")] {
            assert_eq!(text(store.get(key).await.unwrap()).unwrap(), expected, "{key}");
        }
        let error = store.copy("nothing", "c").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn the_kept_content_of_a_put_is_unchanged() {
    on_each(|store| async move {
        let first = store.put("a", "1".into(), Condition::Any).await.unwrap();
        store.put("b", "0".into(), Condition::Any).await.unwrap();
        let stale = Condition::Match("stale".into());
        let error = store.put_keeping("a", "9".into(), stale, "b").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let kept = text(store.get("b").await.unwrap());
        assert_eq!(kept.unwrap(), "0", "another writer's previous content stays");
        let present = Condition::Match(first);
        store.put_keeping("a", "2".into(), present, "b").await.unwrap();
        store.append("b", "3".into(), Condition::Any).await.unwrap();
        store.append("a", "4".into(), Condition::Any).await.unwrap();
        for (key, expected) in [("a", "24"), ("b", "13")] {
            assert_eq!(text(store.get(key).await.unwrap()).unwrap(), expected, "{key}");
        }
        let error = store
            .put_keeping("nothing", "1".into(), Condition::Any, "c")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(written_keys(&*store).await, ["a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn a_listing_has_the_keys_with_the_prefix_in_order() {
    on_each(|store| async move {
        for key in [
            "s/p/b.json",
            "s/p/a.json",
            "s/pq/c.json",
            "t.json",
            "s/p/a/deep.json",
        ] {
            store.put(key, "xy".into(), Condition::Any).await.unwrap();
        }
        let all = [
            "s/p/a.json",
            "s/p/a/deep.json",
            "s/p/b.json",
            "s/pq/c.json",
            "t.json",
        ];
        assert_eq!(written_keys(&*store).await, all);
        assert_eq!(keys(&*store, "s/p/").await, all[..3]);
        assert_eq!(keys(&*store, "s/p").await, all[..4]);
        assert_eq!(keys(&*store, "s/p/a.").await, all[..1]);
        assert!(keys(&*store, "x/").await.is_empty());
        // What is encrypted has a begin, and a length, a nonce and a tag beside its content.
        let is_encrypted = store.get(layout::META).await.unwrap().is_some();
        let size = if is_encrypted { 2 + 4 + 4 + 12 + 16 } else { 2 };
        assert_eq!(store.list("t").await.unwrap()[0].size, size);
    })
    .await;
}

#[tokio::test]
async fn of_some_objects_those_that_exist_are_found_as_a_listing_has_them() {
    on_each(|store| async move {
        for key in [
            "f/a.json",
            "f/a.json.zst",
            "f/a.json.bak",
            "f/b.json",
            "f/a.json.gz/inner",
        ] {
            store.put(key, key.into(), Condition::Any).await.unwrap();
        }
        let wanted = [".json.zst", ".json.gz", ".json"].map(|ending| format!("f/a{ending}"));
        let mut listed = store.list("f/a.json").await.unwrap();
        listed.retain(|object| wanted.contains(&object.key));
        assert_eq!(store.find("f/a.json", &wanted).await.unwrap(), listed);
        assert_eq!(listed.len(), 2);
        let none = [String::from("g/a.json"), String::from("f/b.json/below")];
        assert_eq!(store.find("", &none).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_lock_conflicts_at_once_until_it_is_dropped() {
    on_each(|store| async move {
        let guard = store.lock("p/dev").await.unwrap();
        let error = store.lock("p/dev").await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        drop(store.lock("p/prod").await.unwrap());
        drop(guard);
        drop(store.lock("p/dev").await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_key_that_leads_out_of_the_store_is_refused() {
    on_each(|store| async move {
        for key in ["", "/etc/x", "a/../b", "..", "a//b", "a/./b", "a\\b", "a/"] {
            let error = store.get(key).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{key:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn two_stores_on_one_folder_exclude_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (left, right) = (file_store(folder.path()), file_store(folder.path()));
    let guard = left.lock("p/dev").await.unwrap();
    assert!(right.lock("p/dev").await.is_err());
    drop(guard);
    drop(right.lock("p/dev").await.unwrap());
    let version = left.put("k", "1".into(), Condition::Any).await.unwrap();
    let again = Condition::Match(version);
    right.put("k", "2".into(), again.clone()).await.unwrap();
    assert!(left.put("k", "3".into(), again).await.is_err());
    left.append("j", "1".into(), Condition::Any).await.unwrap();
    right.delete("j").await.unwrap();
    left.append("j", "2".into(), Condition::Any).await.unwrap();
    assert_eq!(text(right.get("j").await.unwrap()).unwrap(), "2");
}

#[tokio::test]
async fn a_retired_lock_leaves_nothing_behind_and_is_taken_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (left, right) = (file_store(folder.path()), file_store(folder.path()));
    let other = left.lock("q/dev").await.unwrap();
    left.lock("p/dev").await.unwrap().retire().await;
    let locks = folder.path().join(".stackwright-locks");
    let mut names: Vec<_> = fs::read_dir(&locks)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".writes", "q"]);
    let guard = right.lock("p/dev").await.unwrap();
    assert!(left.lock("p/dev").await.is_err() && right.lock("q/dev").await.is_err());
    drop((guard, other));
    drop(left.lock("p/dev").await.unwrap());
}

#[tokio::test]
async fn only_empty_folders_are_tidied_away() {
    let folder = tempfile::tempdir().unwrap();
    let store = file_store(folder.path());
    fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
    store.put("a/x", "1".into(), Condition::Any).await.unwrap();
    store.tidy("a/b/c/").await;
    store.tidy("a/").await;
    store.tidy("../").await;
    assert!(!folder.path().join("a/b").exists());
    assert_eq!(keys(&store, "").await, ["a/x"]);
}

#[tokio::test]
async fn a_listing_skips_sidecars_locks_and_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = file_store(folder.path());
    store.put("s/dev.json", "1".into(), Condition::Any).await.unwrap();
    drop(store.lock("s").await.unwrap());
    fs::write(folder.path().join("s/dev.json.attrs"), "{}").unwrap();
    fs::write(folder.path().join("s/.0123456789abcdef.tmp"), "half").unwrap();
    assert_eq!(keys(&store, "").await, ["s/dev.json"]);
    store.delete("s/dev.json").await.unwrap();
    assert!(!folder.path().join("s/dev.json.attrs").exists());
}

#[tokio::test]
async fn kept_and_present_content_share_no_file_even_after_a_crash() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = file_store(folder.path());
    let metadata = |name: &str| fs::metadata(folder.path().join(name)).unwrap();
    store.put("a", "1".into(), Condition::Any).await.unwrap();
    let first = metadata("a").ino();
    store
        .put_keeping("a", "2".into(), Condition::Any, "b")
        .await
        .unwrap();
    assert_eq!(metadata("b").ino(), first, "keeping costs no copy");
    assert_eq!((metadata("a").nlink(), metadata("b").nlink()), (1, 1));
    // As after the death of a writer between both names.
    fs::remove_file(folder.path().join("b")).unwrap();
    fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
    store
        .put_keeping("a", "3".into(), Condition::Any, "b")
        .await
        .unwrap();
    assert_eq!((metadata("a").nlink(), metadata("b").nlink()), (1, 1));
    assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "2");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        3,
        "no temporary file is left"
    );
}

#[tokio::test]
async fn copies_in_the_history_share_a_file_with_each_other_only_until_the_origin_changes() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = file_store(folder.path());
    let origin = ".pulumi/stacks/p/dev.json";
    let copy = |number: u32| format!(".pulumi/history/p/dev/dev-{number}.checkpoint.json");
    let path = |number| folder.path().join(copy(number));
    let inode = |number| fs::metadata(path(number)).unwrap().ino();
    store.put(origin, "1".into(), Condition::Any).await.unwrap();
    for number in 0..3 {
        store.copy(origin, &copy(number)).await.unwrap();
    }
    assert_eq!((inode(1), inode(2)), (inode(0), inode(0)));
    assert_ne!(inode(0), fs::metadata(folder.path().join(origin)).unwrap().ino());
    // Another program restores the origin in place, then changes a copy.
    fs::write(folder.path().join(origin), "21").unwrap();
    store.copy(origin, &copy(3)).await.unwrap();
    fs::write(path(3), "changed").unwrap();
    store.copy(origin, &copy(4)).await.unwrap();
    let read = |number| fs::read_to_string(path(number)).unwrap();
    assert_eq!(
        (read(2), read(3), read(4)),
        ("1".into(), "changed".into(), "21".into())
    );
    fs::remove_file(path(4)).unwrap();
    store.copy(origin, &copy(5)).await.unwrap();
    assert_eq!(read(5), "21");
}

#[tokio::test]
async fn the_digest_of_what_a_store_has_written_is_compared_once_another_program_has_written_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = file_store(folder.path());
    let key = ".pulumi/stacks/p/dev.json";
    let digest = async |store: &FileStore| store.get_with_digest(key).await.unwrap().unwrap().1;
    store.put(key, "1".into(), Condition::Any).await.unwrap();
    assert_eq!(digest(&store).await, None, "it is known");
    assert!(
        digest(&file_store(folder.path())).await.is_some(),
        "another store has no record of it"
    );
    let path = folder.path().join(key);
    let mut changed = fs::read(&path).unwrap();
    changed.push(b'2');
    fs::write(&path, changed).unwrap();
    assert!(digest(&store).await.is_some());
    store.put(key, "3".into(), Condition::Any).await.unwrap();
    assert_eq!(digest(&store).await, None);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "3").unwrap();
    assert!(digest(&store).await.is_some());
}

/// The system's clock, two hours later.
struct Later;

#[async_trait]
impl Clock for Later {
    fn now(&self) -> Timestamp {
        SystemClock.now() + jiff::SignedDuration::from_hours(2)
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }

    async fn wait(&self, duration: Duration) {
        SystemClock.wait(duration).await;
    }
}

#[tokio::test]
async fn old_files_of_dead_writers_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let abandoned = folder.path().join(".0123456789abcdef.tmp");
    // A new name of an old file counts as new.
    let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    let file = fs::File::create(&abandoned).unwrap();
    file.set_times(long_ago).unwrap();
    let put = async |store: FileStore| store.put("k", "1".into(), Condition::Any).await.unwrap();
    put(file_store(folder.path())).await;
    assert!(abandoned.exists());
    let clock = Arc::new(Later);
    let later = Runtime { clock, ..runtime() };
    put(FileStore::new(folder.path(), later).unwrap()).await;
    assert!(!abandoned.exists());
}

#[tokio::test]
async fn a_write_that_cannot_be_done_names_the_path_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "1").unwrap();
    let store = file_store(folder.path());
    let error = store
        .put("file/below", "2".into(), Condition::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let place = folder.path().join("file").display().to_string();
    assert!(error.message().contains(&place), "{error}");
    fs::create_dir(folder.path().join("taken")).unwrap();
    let error = store.put("taken", "2".into(), Condition::Any).await.unwrap_err();
    assert!(error.message().contains("taken"), "{error}");
    assert_eq!(keys(&store, "").await, ["file"]);
    assert!(
        !fs::read_dir(folder.path()).unwrap().any(|entry| entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".tmp"))
    );
}

#[tokio::test]
async fn files_have_mode_0600_with_any_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = file_store(folder.path());
    store.put("put", "1".into(), Condition::Any).await.unwrap();
    store
        .append("appended", "1".into(), Condition::Any)
        .await
        .unwrap();
    // A file of an earlier version.
    fs::write(folder.path().join("old"), "1").unwrap();
    fs::set_permissions(folder.path().join("old"), fs::Permissions::from_mode(0o644)).unwrap();
    for from in ["put", "appended", "old"] {
        store.copy(from, &format!("{from}.bak")).await.unwrap();
        store
            .append(&format!("{from}.bak"), "2".into(), Condition::Any)
            .await
            .unwrap();
    }
    store.put("old", "2".into(), Condition::Any).await.unwrap();
    let lock = store.lock("s").await.unwrap();
    let mut seen = 0;
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
                continue;
            }
            seen += 1;
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", entry.path().display());
        }
    }
    assert!(seen >= 8, "{seen}");
    drop(lock);
}
