//! Tests of locks whose files other processes have inherited, as forked children do.

use std::process::{Child, Command, Stdio};

use super::*;
use crate::{error::ErrorKind, runtime::Runtime};

/// A process that keeps its standard input open.
struct InheritingChild(Child);

impl InheritingChild {
    fn of(file: &File) -> Self {
        let input = Stdio::from(file.try_clone().unwrap());
        let started = Command::new("sleep").arg("600").stdin(input).spawn();
        Self(started.unwrap())
    }
}

impl Drop for InheritingChild {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn disk(folder: &Path) -> Disk {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Disk::new(folder.to_owned(), runtime)
}

fn is_free(disk: &Disk) -> bool {
    match Locks::default().take(disk, "p/dev") {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::Conflict => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_lock_ends_with_its_guard_although_a_child_has_inherited_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    let lock = Locks::default().take(&disk, "p/dev").unwrap();
    let _child = InheritingChild::of(&lock.held.file);
    assert!(!is_free(&disk));
    drop(lock);
    assert!(is_free(&disk));
}

#[tokio::test]
async fn the_lock_of_conditional_writes_ends_although_a_child_has_inherited_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    let writes = wait_for_writes(&disk, "key").unwrap();
    let _child = InheritingChild::of(&writes.file);
    drop(writes);
    let (file, _) = open(&disk, &lock_of_writes("key")).unwrap();
    file.try_lock().unwrap();
}

#[tokio::test]
async fn a_guard_that_a_forked_child_drops_releases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    let lock = Locks::default().take(&disk, "p/dev").unwrap();
    let copy = Held {
        file: lock.held.file.try_clone().unwrap(),
        owner: lock.held.owner + 1,
    };
    drop(copy);
    assert!(!is_free(&disk));
}

#[tokio::test]
async fn the_lock_of_a_dead_owner_is_replaced_although_its_child_holds_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    let (file, path) = open(&disk, "p/dev").unwrap();
    file.try_lock().unwrap();
    let child = InheritingChild::of(&file);
    drop(file);
    let note = |owner: &ProcessIdentity| fs::write(&path, serde_json::to_vec(owner).unwrap()).unwrap();

    assert!(!is_free(&disk), "its owner is unknown");
    let alive = ProcessIdentity::of(child.0.id());
    note(&alive);
    assert!(!is_free(&disk));
    note(&ProcessIdentity {
        system: "another boot".to_owned(),
        ..ProcessIdentity::of(u32::MAX)
    });
    assert!(!is_free(&disk), "processes of other systems are unknown");

    let mut ended = Command::new("true").spawn().unwrap();
    let owner = ProcessIdentity::of(ended.id());
    ended.wait().unwrap();
    note(&owner);
    assert!(is_free(&disk));
    // The child still holds the file, which is unlinked.
    assert!(is_free(&disk));
}
