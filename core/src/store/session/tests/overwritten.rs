//! Checkpoints that another program overwrites in a store without sidecars, as a bucket and a database are.

use super::*;
use crate::store::{
    HistoryEntry,
    numbered::{Removal, with_journals},
};

/// A store as one host sees it, whose write `at` fails.
fn host(objects: &Arc<dyn Store>, removal: Removal, fault: Fault, at: usize) -> Arc<dyn Store> {
    with_journals(
        FaultyStore::new(Arc::clone(objects), fault, at),
        &runtime(),
        removal,
    )
}

fn sound(objects: &Arc<dyn Store>, removal: Removal) -> Arc<dyn Store> {
    host(objects, removal, Fault::Refused, usize::MAX)
}

/// Runs an operation that creates a resource and is recorded in the history.
async fn recorded(stack: &StackStorage, name: &'static str) {
    run(stack, name, &mut Vec::new()).await.unwrap();
    let entry: HistoryEntry = serde_json::from_str(r#"{"kind": "update"}"#).unwrap();
    stack.record(&entry).await.unwrap();
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

async fn warnings(stack: &StackStorage) -> Vec<String> {
    let loaded = stack.load(&Base64Provider).await.unwrap();
    let warnings = loaded.warnings.iter();
    warnings
        .map(|warning| warning.message.library().to_owned())
        .collect()
}

async fn stored(objects: &Arc<dyn Store>) -> bytes::Bytes {
    objects.get(CHECKPOINT).await.unwrap().unwrap().bytes
}

#[tokio::test]
async fn a_checkpoint_that_another_program_has_overwritten_is_reported_until_it_is_written_again() {
    for removal in [Removal::Conditional, Removal::Replacement] {
        for is_encrypted in [false, true] {
            let objects = memory();
            let open = || match (sound(&objects, removal), is_encrypted) {
                (store, false) => storage(&store, "shop/dev"),
                (store, true) => storage(&encrypted(store, reversing(), runtime()), "shop/dev"),
            };
            let stack = open();
            stack.create().await.unwrap();
            recorded(&stack, "a").await;
            let first = stored(&objects).await;
            recorded(&stack, "b").await;
            let second = stored(&objects).await;
            let newest = stack.newest_copy().await.unwrap().unwrap();
            for stack in [&stack, &open()] {
                assert!(warnings(stack).await.is_empty());
            }
            objects
                .put(CHECKPOINT, first.clone(), Condition::Any)
                .await
                .unwrap();
            for stack in [&stack, &open()] {
                let found = warnings(stack).await;
                let [warning] = &found[..] else {
                    panic!("{removal:?}, {is_encrypted}: {found:?}");
                };
                assert!(
                    warning.contains("has been changed since it was last written"),
                    "{warning}"
                );
                assert!(warning.contains(&newest), "{warning}");
            }
            // The state of the last operation is restored.
            objects.put(CHECKPOINT, second, Condition::Any).await.unwrap();
            assert!(warnings(&open()).await.is_empty());
            objects
                .put(CHECKPOINT, first.clone(), Condition::Any)
                .await
                .unwrap();
            edit(&open(), "c").await.unwrap();
            assert!(warnings(&stack).await.is_empty());
            objects.put(CHECKPOINT, first, Condition::Any).await.unwrap();
            assert_eq!(warnings(&open()).await.len(), 1, "edits are known, too");
        }
    }
}

#[tokio::test]
async fn a_checkpoint_that_is_overwritten_before_the_first_journal_is_reported() {
    for removal in [Removal::Conditional, Removal::Replacement] {
        for is_edited in [false, true] {
            let objects = memory();
            let open = || storage(&sound(&objects, removal), "shop/dev");
            let stack = open();
            stack.create().await.unwrap();
            if is_edited {
                edit(&stack, "a").await.unwrap();
            }
            assert!(objects.get(&stack.name().journal()).await.unwrap().is_some());
            for stack in [&stack, &open()] {
                assert!(warnings(stack).await.is_empty(), "{removal:?}");
            }
            let text = String::from_utf8(stored(&objects).await.to_vec()).unwrap();
            let other = format!("{text}\n");
            objects
                .put(CHECKPOINT, other.into(), Condition::Any)
                .await
                .unwrap();
            for stack in [&stack, &open()] {
                let found = warnings(stack).await;
                assert_eq!(found.len(), 1, "{removal:?}: {found:?}");
                assert!(found[0].contains("has been changed since it was last written"));
            }
            // The next operation goes on from what was found.
            run(&open(), "b", &mut Vec::new()).await.unwrap();
            assert!(warnings(&open()).await.is_empty());
        }
    }
}

#[tokio::test]
async fn an_operation_of_another_program_that_is_in_the_history_is_not_reported() {
    let objects = memory();
    let stack = storage(&sound(&objects, Removal::Replacement), "shop/dev");
    stack.create().await.unwrap();
    recorded(&stack, "a").await;
    // It has no journals.
    let other = storage(&objects, "shop/dev");
    let text = String::from_utf8(stored(&objects).await.to_vec()).unwrap();
    objects
        .put(CHECKPOINT, format!("{text}\n").into(), Condition::Any)
        .await
        .unwrap();
    assert_eq!(warnings(&stack).await.len(), 1);
    let entry: HistoryEntry = serde_json::from_str(r#"{"kind": "update"}"#).unwrap();
    other.record(&entry).await.unwrap();
    assert!(warnings(&stack).await.is_empty());
}

#[tokio::test]
async fn a_write_that_fails_anywhere_is_not_taken_for_that_of_another_program() {
    for (removal, fault) in [Removal::Conditional, Removal::Replacement]
        .into_iter()
        .flat_map(|removal| Fault::ALL.map(|fault| (removal, fault)))
    {
        for at in 0.. {
            let objects = memory();
            let stack = storage(&sound(&objects, removal), "shop/dev");
            stack.create().await.unwrap();
            recorded(&stack, "a").await;
            recorded(&stack, "b").await;
            let mut results = Vec::new();
            let faulty = storage(&host(&objects, removal, fault, at), "shop/dev");
            for name in ["c", "d"] {
                results.push(edit(&faulty, name).await);
            }
            results.push(run(&faulty, "e", &mut Vec::new()).await);
            results.push(edit(&faulty, "f").await);
            let found = warnings(&storage(&sound(&objects, removal), "shop/dev")).await;
            let found: Vec<_> = found
                .iter()
                .filter(|text| text.contains("has been changed since"))
                .collect();
            assert!(found.is_empty(), "{removal:?}, {fault:?} at {at}: {found:?}");
            if results.iter().all(Result::is_ok) && at > 20 {
                break;
            }
        }
    }
}
