//! Checkpoints that are changed outside of the store: the change is detected, and copies in the history keep their
//! content, which restores bring back.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use stackwright::{
    ErrorKind, Stack, StackSettings,
    event::EventPayload,
    operation::{Operation, OperationOptions},
    runtime::{Runtime, Timestamp},
    store::{FileStore, HistoryPoint},
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, engine, program};

/// A stack in a folder, with a program of these resources.
async fn stack(folder: &Path, values: &'static [(&'static str, &'static str)]) -> Stack {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = Arc::new(FileStore::new(folder, runtime).unwrap());
    let engine = engine()
        .store(store)
        .provider("echo", Arc::new(Scripted::default()));
    let settings = StackSettings {
        program: Some(program(values)),
        ..StackSettings::default()
    };
    engine.build().unwrap().stack("shop/dev", settings).await.unwrap()
}

/// Returns the warnings about the checkpoint among the events of an operation, which must succeed.
async fn warnings(operation: Operation) -> Vec<String> {
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut events = operation.events();
    let mut found = Vec::new();
    while let Some(event) = events.next().within("the next event").await {
        if let EventPayload::Diagnostic(diagnostic) = &event.payload
            && diagnostic
                .message
                .library()
                .contains("has been changed since it was last written")
        {
            found.push(diagnostic.message.library().to_owned());
        }
    }
    found
}

fn update(stack: &Stack) -> Operation {
    stack.update(OperationOptions::default())
}

fn checkpoint(folder: &Path) -> PathBuf {
    folder.join(".pulumi/stacks/shop/dev.json")
}

/// Overwrites a file in place, as `cp` does.
fn overwrite(path: &Path, content: &[u8]) {
    let inode = |path| fs::metadata(path).map(|metadata| std::os::unix::fs::MetadataExt::ino(&metadata));
    let before = inode(path).unwrap();
    fs::write(path, content).unwrap();
    assert_eq!(inode(path).unwrap(), before);
}

/// Returns the copies of the checkpoint in the history, the oldest first, with their paths.
fn copies(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder.join(".pulumi/history/shop/dev")).unwrap();
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".checkpoint.json"))
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_overwritten_in_place_leaves_the_copies_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = checkpoint(folder.path());
    let stack = stack(folder.path(), &[("a", "1")]).await;
    assert_eq!(warnings(update(&stack)).await, [""; 0]);
    let before = copies(folder.path());
    assert_eq!(before[0].1, fs::read(&path).unwrap());
    let backup = fs::read(path.with_extension("json.bak")).unwrap();
    overwrite(&path, b"{}");
    assert_eq!(copies(folder.path()), before);
    assert_eq!(fs::read(path.with_extension("json.bak")).unwrap(), backup);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_checkpoint_is_reported_until_it_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = checkpoint(folder.path());
    let first = stack(folder.path(), &[("a", "1")]).await;
    assert_eq!(warnings(update(&first)).await, [""; 0]);
    let text = fs::read_to_string(&path).unwrap();
    let second = stack(folder.path(), &[("a", "1"), ("b", "1")]).await;
    assert_eq!(warnings(update(&second)).await, [""; 0]);

    // An older state is restored.
    overwrite(&path, text.as_bytes());
    let preview = second.preview(OperationOptions::default());
    let newest = copies(folder.path()).pop().unwrap().0;
    for operation in [preview, second.refresh(OperationOptions::default())] {
        let found = warnings(operation).await;
        let [warning] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(warning.contains(&format!("{}", path.display())), "{warning}");
        assert!(warning.contains(&newest), "{warning}");
    }
    assert_eq!(
        warnings(update(&second)).await.len(),
        1,
        "it adds b to the older state"
    );
    assert_eq!(warnings(update(&second)).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_without_a_sidecar_is_not_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = checkpoint(folder.path());
    let stack = stack(folder.path(), &[("a", "1")]).await;
    assert_eq!(warnings(update(&stack)).await, [""; 0]);
    let sidecar = path.with_extension("json.attrs");
    // A crash between the two writes leaves a new checkpoint without a sidecar.
    fs::remove_file(&sidecar).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("\"1\"", "\"2\"");
    overwrite(&path, text.as_bytes());
    assert_eq!(warnings(update(&stack)).await, [""; 0]);
    assert!(sidecar.exists());
    // A power failure may leave an empty one.
    overwrite(&sidecar, b"");
    assert_eq!(warnings(update(&stack)).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_an_unreadable_changed_checkpoint_names_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = checkpoint(folder.path());
    let stack = stack(folder.path(), &[("a", "1")]).await;
    assert_eq!(warnings(update(&stack)).await, [""; 0]);
    let newest = copies(folder.path()).pop().unwrap().0;
    let half = fs::read(&path).unwrap();
    overwrite(&path, &half[..half.len() / 2]);
    let error = update(&stack).ended().await.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(
        error.hints().iter().any(|hint| hint.contains(&newest)),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_restores_what_the_last_operation_before_it_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = stack(folder.path(), &[("a", "1")]).await;
    assert_eq!(warnings(update(&last)).await, [""; 0]);
    for values in [&[("a", "2")], &[("a", "3")]] {
        last = stack(folder.path(), values).await;
        assert_eq!(warnings(update(&last)).await, [""; 0]);
    }
    let records = fs::read_dir(folder.path().join(".pulumi/history/shop/dev")).unwrap();
    let records = records.map(|entry| entry.unwrap().path());
    let mut records: Vec<PathBuf> = records
        .filter(|path| path.to_string_lossy().ends_with(".history.json"))
        .collect();
    records.sort();
    for (path, time) in records.iter().zip([1000, 2000, 3000]) {
        let mut record: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        record["endTime"] = time.into();
        fs::write(path, record.to_string()).unwrap();
    }
    let input = async || {
        let records = last.resources().await.unwrap();
        let record = records.iter().find(|record| record.urn.name() == "a").unwrap();
        format!("{:?}", record.inputs)
    };
    for (seconds, expected) in [(1500, "1"), (2999, "2"), (3000, "3"), (2000, "2")] {
        let before = input().await;
        let point = HistoryPoint::Time(Timestamp::from_second(seconds).unwrap());
        last.restore(&point, true).await.unwrap();
        assert_eq!(input().await, before, "a dry run changes nothing");
        last.restore(&point, false).await.unwrap();
        let found = input().await;
        assert!(found.contains(&format!("{expected:?}")), "{seconds}: {found}");
    }
    let early = HistoryPoint::Time(Timestamp::from_second(999).unwrap());
    let error = last.restore(&early, false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
