//! Tests of renamings: what moves, and what a crash at any write leaves.

use std::{collections::BTreeSet, sync::Arc};

use super::*;
use crate::{
    runtime::Runtime,
    store::{
        HostFacts, MemoryStore, Store, SystemProcesses,
        faulty::{Fault, FaultyStore},
    },
};

fn storage(store: Arc<dyn Store>, name: &str) -> StackStorage {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let facts = HostFacts {
        pid: std::process::id(),
        username: "me".into(),
        hostname: "here".into(),
        system: "boot 1".into(),
        processes: Arc::new(SystemProcesses),
    };
    StackStorage::new(store, StackName::parse(name).unwrap(), facts, runtime)
}

const OLD: &str = r#"{"version":3,"checkpoint":{"stack":"organization/shop/dev"}}"#;
const NEW: &str = r#"{"version":3,"checkpoint":{"stack":"organization/shop/live"}}"#;

/// The last trace of a removed stack.
const REMOVED: &str = "orphan of a removed stack";

async fn with_stack() -> Arc<dyn Store> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
    let objects = [
        (".pulumi/meta.yaml", "version: 1\n"),
        (".pulumi/stacks/shop/dev.json", OLD),
        (".pulumi/stacks/shop/dev.json.bak", "previous"),
        (".pulumi/stacks/shop/dev.pulumi-tags", "tags"),
        (".pulumi/history/shop/dev/dev-1.history.json", "{}"),
        (".pulumi/history/shop/dev/dev-1.checkpoint.json", OLD),
        (".pulumi/journals/shop/dev.journal.orphan-1", "orphan"),
        (".pulumi/journals/shop/dev.journal.orphan-3", "newer orphan"),
        (".pulumi/journals/shop/live.journal.orphan-2", REMOVED),
        (".pulumi/stacks/shop/other.json", OLD),
    ];
    for (key, text) in objects {
        store.put(key, text.into(), Condition::Absent).await.unwrap();
    }
    store
}

async fn keys(store: &Arc<dyn Store>) -> BTreeSet<String> {
    let objects = store.list("").await.unwrap().into_iter().map(|object| object.key);
    objects.filter(|key| !key.contains("/locks/")).collect()
}

async fn rename(store: Arc<dyn Store>) -> Result<()> {
    let (from, to) = (
        storage(Arc::clone(&store), "shop/dev"),
        storage(store, "shop/live"),
    );
    Rename::new(&from, &to)
        .run(OLD.as_bytes(), NEW.into(), None)
        .await
}

#[tokio::test]
async fn everything_of_a_stack_moves_to_its_new_name() {
    let store = with_stack().await;
    let before = keys(&store).await;
    rename(Arc::clone(&store)).await.unwrap();
    let renamed = |key: &String| match key.contains("shop/dev") {
        true => key.replace("/dev", "/live"),
        false => key.clone(),
    };
    let expected: BTreeSet<_> = before
        .iter()
        .map(|key| renamed(key).replace("live/dev-", "live/live-"))
        .map(|key| key.replace("live.journal.orphan-3", "live.journal.orphan-4"))
        .map(|key| key.replace("live.journal.orphan-1", "live.journal.orphan-3"))
        .collect();
    assert_eq!(keys(&store).await, expected);
    for (number, expected) in [(2, REMOVED), (3, "orphan"), (4, "newer orphan")] {
        let key = format!(".pulumi/journals/shop/live.journal.orphan-{number}");
        assert_eq!(store.get(&key).await.unwrap().unwrap().bytes, expected);
    }
    let checkpoint = store.get(".pulumi/stacks/shop/live.json").await.unwrap().unwrap();
    assert_eq!(checkpoint.bytes, NEW);
    let error = rename(store).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn a_renaming_that_goes_on_late_leaves_the_new_stack_of_its_former_name() {
    for is_removed_before in [false, true] {
        let store = with_stack().await;
        let (from, to) = (
            storage(Arc::clone(&store), "shop/dev"),
            storage(Arc::clone(&store), "shop/live"),
        );
        let checkpoint = from.name.checkpoint(".json");
        if is_removed_before {
            store.delete(&checkpoint).await.unwrap();
        }
        let renaming = Renaming {
            from: from.name.to_string(),
            to: to.name.to_string(),
            old: content_hash(OLD.as_bytes()),
            new: content_hash(NEW.as_bytes()),
            orphans: BTreeMap::new(),
            config: false,
            stored: false,
        };
        let former = Former::of(&from).await.unwrap();
        // Another process has finished it, and created a stack under the former name.
        rename(Arc::clone(&store)).await.ok();
        let written = [
            (checkpoint.clone(), OLD),
            (from.name.tags(), "new tags"),
            (format!("{}2.history.json", from.name.history_stem()), "{}"),
        ];
        for (key, text) in &written {
            let text = Bytes::from_static(text.as_bytes());
            store.put(key, text, Condition::Any).await.unwrap();
        }
        let rename = Rename::new(&from, &to);
        let finished = rename.finish(renaming, &former, None).await;
        let refused = finished.err().map(|error| error.kind());
        assert_eq!(refused, (!is_removed_before).then_some(ErrorKind::Conflict));
        for (key, text) in written {
            let left = store.get(&key).await.unwrap().unwrap();
            assert_eq!(left.bytes, text, "{key}, removed before: {is_removed_before}");
        }
    }
}

#[tokio::test]
async fn after_a_crash_at_any_write_the_next_opening_of_either_name_leaves_one_whole_stack() {
    let counting = Arc::new(FaultyStore::new(with_stack().await, Fault::Refused, usize::MAX));
    rename(Arc::clone(&counting) as _).await.unwrap();
    let writes = counting.writes();
    assert!(writes > 12, "{writes}");
    for fault in Fault::ALL {
        for at in 0..writes {
            for opened in ["shop/dev", "shop/live"] {
                let store = with_stack().await;
                let before = keys(&store).await;
                drop(rename(Arc::new(FaultyStore::new(Arc::clone(&store), fault, at))).await);
                settle_renaming(&storage(Arc::clone(&store), opened), None)
                    .await
                    .unwrap();
                let place = format!("{fault:?} at {at}, then {opened}");
                let notes = |left: &BTreeSet<String>, name: &str| {
                    left.iter().any(|key| key.ends_with(&format!("{name}.renaming")))
                };
                let is_new = storage(Arc::clone(&store), "shop/live").exists().await.unwrap();
                let is_old = storage(Arc::clone(&store), "shop/dev").exists().await.unwrap();
                assert!(is_new != is_old, "{place}");
                let left = keys(&store).await;
                if is_old {
                    // The note may stay under the other name.
                    assert!(!notes(&left, "dev"), "{place}");
                    let left: BTreeSet<_> = left
                        .into_iter()
                        .filter(|key| !key.ends_with(".renaming"))
                        .collect();
                    assert_eq!(left, before, "{place}");
                    rename(Arc::clone(&store)).await.unwrap();
                } else {
                    assert!(!notes(&left, "live"), "{place}");
                    settle_renaming(&storage(Arc::clone(&store), "shop/dev"), None)
                        .await
                        .unwrap();
                    let left = keys(&store).await;
                    assert_eq!(left.len(), before.len(), "{place}");
                    assert!(!left.iter().any(|key| key.contains("/dev")), "{place}: {left:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_state_that_has_changed_since_is_neither_removed_nor_replaced() {
    let store = with_stack().await;
    let counting = FaultyStore::new(Arc::clone(&store), Fault::DeathAfter, 9);
    drop(rename(Arc::new(counting)).await);
    let (from, to) = (
        storage(Arc::clone(&store), "shop/dev"),
        storage(Arc::clone(&store), "shop/live"),
    );
    assert!(from.exists().await.unwrap() && to.exists().await.unwrap());
    let key = ".pulumi/stacks/shop/dev.json";
    store
        .put(key, "another state".into(), Condition::Any)
        .await
        .unwrap();
    let error = settle_renaming(&to, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("'shop/dev' to 'shop/live'"), "{error}");
    assert!(from.exists().await.unwrap() && to.exists().await.unwrap());
}

#[tokio::test]
async fn a_handle_from_before_a_crash_changes_nothing_until_one_of_the_names_is_opened() {
    let store = with_stack().await;
    let names = ["shop/dev", "shop/live"].map(|name| storage(Arc::clone(&store), name));
    let crash = FaultyStore::new(Arc::clone(&store), Fault::DeathAfter, 4);
    drop(rename(Arc::new(crash)).await);
    for stack in &names {
        let error = stack.lock_for("update").await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(
            error
                .message()
                .contains("the renaming of stack 'shop/dev' to 'shop/live' was interrupted"),
            "{error}"
        );
        assert!(stack.holder().await.unwrap().is_none());
    }
    settle_renaming(&names[1], None).await.unwrap();
    for stack in &names {
        stack.lock_for("update").await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn the_journal_of_a_stack_whose_checkpoint_is_gone_is_no_part_of_the_one_that_gets_its_name() {
    let store = with_stack().await;
    let journal = ".pulumi/journals/shop/live.journal";
    store
        .put(journal, "steps of live".into(), Condition::Absent)
        .await
        .unwrap();
    rename(Arc::clone(&store)).await.unwrap();
    assert!(store.get(journal).await.unwrap().is_none());
    let aside = store.get(&format!("{journal}.orphan-3")).await.unwrap().unwrap();
    assert_eq!(aside.bytes, "steps of live");
    // Those of the renamed stack follow.
    let own = store.get(&format!("{journal}.orphan-5")).await.unwrap().unwrap();
    assert_eq!(own.bytes, "newer orphan");
}

#[tokio::test]
async fn the_history_of_a_stack_whose_checkpoint_is_gone_refuses_its_name() {
    let store = with_stack().await;
    let last = ".pulumi/history/shop/live/live-1.checkpoint.json";
    store.put(last, NEW.into(), Condition::Absent).await.unwrap();
    let before = keys(&store).await;
    let error = rename(Arc::clone(&store)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains(".pulumi/history/shop/live/"), "{error}");
    assert!(error.hints()[0].contains("restore()"), "{error:?}");
    assert_eq!(keys(&store).await, before);
    // As in the hint.
    let live = storage(Arc::clone(&store), "shop/live");
    live.create().await.unwrap();
    super::super::remove_stack(&live, false).await.unwrap();
    rename(store).await.unwrap();
}

#[tokio::test]
async fn a_note_under_the_former_name_alone_removes_no_history_of_the_new_name() {
    let store = with_stack().await;
    rename(Arc::clone(&store)).await.unwrap();
    let renaming = Renaming {
        from: "shop/dev".into(),
        to: "shop/live".into(),
        old: content_hash(OLD.as_bytes()),
        new: content_hash(NEW.as_bytes()),
        orphans: BTreeMap::new(),
        config: false,
        stored: false,
    };
    let note = Bytes::from(serde_json::to_vec(&renaming).unwrap());
    let dev = storage(Arc::clone(&store), "shop/dev");
    store
        .put(&dev.name().renaming(), note, Condition::Absent)
        .await
        .unwrap();
    // The state is lost later.
    store.delete(".pulumi/stacks/shop/live.json").await.unwrap();
    settle_renaming(&dev, None).await.unwrap();
    let left = store.list(".pulumi/history/shop/live/").await.unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(store.get(&dev.name().renaming()).await.unwrap().is_none());
}

#[tokio::test]
async fn tags_that_are_set_while_the_stack_is_renamed_have_its_new_name() {
    let store = with_stack().await;
    let (from, to) = (
        storage(Arc::clone(&store), "shop/dev"),
        storage(Arc::clone(&store), "shop/live"),
    );
    rename(Arc::new(FaultyStore::new(
        Arc::clone(&store),
        Fault::DeathAfter,
        9,
    )))
    .await
    .unwrap_err();
    assert!(to.exists().await.unwrap(), "the state has both names");
    store
        .put(&from.name().tags(), "{}".into(), Condition::Any)
        .await
        .unwrap();
    from.tags().change("owner", Some("me")).await.unwrap();
    settle_renaming(&to, None).await.unwrap();
    assert_eq!(to.tags().all().await.unwrap()["owner"], "me");
    let error = from.tags().change("owner", Some("you")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(store.get(&from.name().tags()).await.unwrap().is_none());
}

#[tokio::test]
async fn files_in_the_folder_of_the_history_that_are_no_part_of_it_stay() {
    let store = with_stack().await;
    let foreign = ".pulumi/history/shop/dev/notes.txt";
    store
        .put(foreign, "mine".into(), Condition::Absent)
        .await
        .unwrap();
    rename(Arc::clone(&store)).await.unwrap();
    assert!(store.get(foreign).await.unwrap().is_some());
}
