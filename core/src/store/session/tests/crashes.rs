//! Operations that fail or crash at every write, one after another.

use super::*;
use crate::store::numbered::{Removal, with_journals};

/// Runs an operation that creates a resource until its store fails. Acknowledged creations are recorded.
pub(super) async fn run(
    stack: &StackStorage,
    name: &'static str,
    acknowledged: &mut Vec<&'static str>,
) -> Result<()> {
    let (session, journal) = operation(stack).await?;
    let operation = journal.next_operation_id();
    let new = StateRef {
        id: journal.next_state_id(),
        state: thing(name),
    };
    journal.append(operation, created(new)).await?;
    acknowledged.push(name);
    let (replay, written) = journal.close().await?;
    session.commit(&mut replay.to_snapshot()?).await?;
    session.discard().await?;
    written
}

/// Runs operations with refreshes of the checkpoint in between, whose failures do not fail the operation.
pub(super) async fn run_refreshing(
    stack: &StackStorage,
    names: [&'static str; 2],
    acknowledged: &mut Vec<&'static str>,
) -> Result<()> {
    let (session, journal) = operation(stack).await?;
    let begun = journal.next_operation_id();
    journal.append(begun, beginning(names[0])).await?;
    drop(session.refresh(&journal).await);
    for name in names {
        let new = StateRef {
            id: journal.next_state_id(),
            state: thing(name),
        };
        journal.append(begun, created(new)).await?;
        acknowledged.push(name);
        drop(session.refresh(&journal).await);
    }
    let (replay, written) = journal.close().await?;
    session.commit(&mut replay.to_snapshot()?).await?;
    session.discard().await?;
    written
}

/// Returns an operation's store, which fails at the write `at`.
pub(super) fn faulty_storage(
    store: &Arc<dyn Store>,
    fault: Fault,
    at: usize,
) -> (Arc<FaultyStore>, StackStorage) {
    faulty_layer(store, Layer::Plain, fault, at)
}

/// What is above the store that fails.
#[derive(Clone, Copy)]
enum Layer {
    Plain,
    Encrypted,
    /// Journals consist of numbered objects.
    Numbered,
    EncryptedNumbered,
}

impl Layer {
    fn over(self, store: FaultyStore) -> Arc<dyn Store> {
        let numbered = |store| with_journals(store, &runtime(), Removal::Replacement);
        match self {
            Self::Plain => Arc::new(store),
            Self::Encrypted => encrypted(Arc::new(store), reversing(), runtime()),
            Self::Numbered => numbered(store),
            Self::EncryptedNumbered => encrypted(numbered(store), reversing(), runtime()),
        }
    }
}

fn faulty_layer(
    store: &Arc<dyn Store>,
    layer: Layer,
    fault: Fault,
    at: usize,
) -> (Arc<FaultyStore>, StackStorage) {
    let faulty = FaultyStore::new(Arc::clone(store), fault, at);
    let counting = Arc::new(faulty.beside(Arc::clone(store)));
    (counting, storage(&layer.over(faulty), "shop/dev"))
}

/// Checks that a stack opens with the acknowledged creations, and that another operation succeeds.
pub(super) async fn check(stack: &StackStorage, acknowledged: &[&'static str], fault: Fault, case: &str) {
    let loaded = stack.load(&Base64Provider).await;
    let loaded = loaded.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(
        loaded.warnings.is_empty() || matches!(fault, Fault::DeathWithin | Fault::TornOnce),
        "{case}: {:?}",
        loaded.warnings
    );
    let found = names(&loaded.snapshot);
    for name in acknowledged {
        assert_eq!(
            found.iter().filter(|found| *found == name).count(),
            1,
            "{case}: {found:?}"
        );
    }
}

#[tokio::test]
async fn operations_that_fail_at_any_write_one_after_another_leave_a_stack_that_opens() {
    fail_at_any_write(Layer::Plain).await;
}

#[tokio::test]
async fn operations_that_fail_at_any_write_leave_an_encrypted_stack_that_opens() {
    fail_at_any_write(Layer::Encrypted).await;
}

#[tokio::test]
async fn operations_that_fail_at_any_write_leave_a_stack_with_a_numbered_journal_that_opens() {
    fail_at_any_write(Layer::Numbered).await;
}

#[tokio::test]
async fn operations_that_fail_at_any_write_leave_an_encrypted_stack_with_a_numbered_journal_that_opens() {
    fail_at_any_write(Layer::EncryptedNumbered).await;
}

async fn fail_at_any_write(layer: Layer) {
    for fault in Fault::ALL {
        let mut longest = 0;
        for first in 0..64 {
            let mut ended = false;
            for second in 0..64 {
                let store = memory();
                let (_, stack) = faulty_layer(&store, layer, Fault::Refused, usize::MAX);
                stack.create().await.unwrap();
                let mut acknowledged = Vec::new();
                {
                    let (_session, journal) = operation(&stack).await.unwrap();
                    create(&journal, "a").await;
                    acknowledged.push("a");
                }
                let case = format!("{fault:?} at writes {first} and {second}");
                let (one, faulty_once) = faulty_layer(&store, layer, fault, first);
                drop(run(&faulty_once, "b", &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                let (two, faulty_twice) = faulty_layer(&store, layer, fault, second);
                drop(run(&faulty_twice, "c", &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                run(&stack, "d", &mut acknowledged).await.unwrap();
                check(&stack, &acknowledged, fault, &case).await;
                assert!(stack.read().await.unwrap().journal.is_none(), "{case}");
                ended = first >= one.writes();
                longest = longest.max(one.writes());
                if second >= two.writes() {
                    break;
                }
            }
            if ended {
                break;
            }
        }
        assert!(
            longest >= 8,
            "recovery has four writes, and so has the operation: {longest}"
        );
    }
}

// A store that is full for a while: several commits fail one after another.
#[tokio::test]
async fn the_state_survives_any_number_of_failed_commits() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let mut acknowledged = Vec::new();
    {
        let (_session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
    }
    for attempt in 0..5 {
        // The announcement is written, the copy of the checkpoint is not. The first attempt records the operation before, with its state.
        let announcement = if attempt == 0 { 2 } else { 0 };
        let (_, full) = faulty_storage(&store, Fault::DeathAfter, announcement);
        run(&full, "b", &mut acknowledged).await.unwrap_err();
    }
    let journal = store.get(&stack.name().journal()).await.unwrap().unwrap();
    let text = String::from_utf8(journal.bytes.to_vec()).unwrap();
    assert_eq!(text.matches(r#"{"folded":"#).count(), 5);
    assert_eq!(names(&stack.load(&Base64Provider).await.unwrap().snapshot), ["a"]);
    run(&stack, "b", &mut acknowledged).await.unwrap();
    assert_eq!(
        names(&stack.load(&Base64Provider).await.unwrap().snapshot),
        ["b", "a"]
    );
}
