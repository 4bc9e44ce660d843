//! What edits say: their reports name a journal of another checkpoint and where it is kept, and conflicts name the edit.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::runtime::Handle;

use super::{
    edit_journal::{Case, EDITS, engine, import, make, prepared},
    test_key::Key,
};
use crate::{
    Stack, StackSettings,
    error::{ErrorKind, Result},
    resource::{PendingOperationKind, ResourceState},
    runtime::Runtime,
    state::{
        Journal, JournalEntry, JournalRecord, JournalReplay,
        edit::{Selection, StateEdit},
        journal::JournalReceiver,
    },
    step::StepOp,
    store::{Condition, HistoryPoint, HostFacts, StackName, StackSession, StackStorage, Store},
    urn::Urn,
};

/// Interrupts a creation of an update of a stack of the project `shop`; then another program writes the checkpoint.
async fn interrupt(store: &Arc<dyn Store>, stack: &str) {
    let runtime = Runtime::system(Handle::current());
    let name = StackName::new("shop", stack).unwrap();
    let storage = StackStorage::new(Arc::clone(store), name, HostFacts::system(), runtime.clone());
    let loaded = storage.load(&Key::new("old")).await.unwrap();
    let mut snapshot = loaded.snapshot.clone();
    let session = StackSession::begin(&storage, loaded, &mut snapshot, "update")
        .await
        .unwrap();
    let journal = Journal::start(JournalReplay::new(snapshot), session.sink(), &runtime);
    let urn = Urn::new(stack, "shop", "", "my:index:Site", "new");
    let record = JournalRecord::Begin {
        op: StepOp::Create,
        pending: Some(PendingOperationKind::Creating),
        old: None,
        new: Some(Arc::new(ResourceState::new(urn, "my:index:Site".into(), false))),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
    };
    journal.append(journal.next_operation_id(), record).await.unwrap();
    let key = format!(".pulumi/stacks/shop/{stack}.json");
    let checkpoint = store.get(&key).await.unwrap().unwrap().bytes;
    // Blanks at the end make no other checkpoint.
    let altered = [b"\n", &checkpoint[..]].concat();
    store.put(&key, altered.into(), Condition::Any).await.unwrap();
}

fn require_warning(warnings: &[String], part: &str, place: &str) {
    let found = warnings.iter().filter(|warning| warning.contains(part)).count();
    assert_eq!(found, 1, "{place}: {part}: {warnings:#?}");
}

#[tokio::test]
async fn the_report_of_an_edit_names_a_journal_of_another_checkpoint_and_where_it_is_kept() {
    // A pending operation that was forgotten is not a report.
    for edit in EDITS.into_iter().filter(|edit| *edit != "forget") {
        for stack in ["dev", "live"] {
            if stack == "live" && edit != "move" {
                continue;
            }
            let store = prepared().await;
            interrupt(&store, stack).await;
            let case = Case::over(&store).await;
            let place = format!("{edit}, {stack}");
            let warnings = match edit {
                "restore" => {
                    let restored = case.from.0.restore(&HistoryPoint::Version(1), false).await;
                    restored.expect(&place).warnings
                }
                _ => make(&case, edit).await.expect(&place),
            };
            require_warning(&warnings, "does not belong to its checkpoint", &place);
            let kept = format!(
                "the journal of the interrupted operation is kept as {}.orphan-1",
                StackName::new("shop", stack).unwrap().journal()
            );
            require_warning(&warnings, &kept, &place);
        }
    }
}

#[tokio::test]
async fn the_report_of_a_dry_run_names_a_journal_of_another_checkpoint() {
    let store = prepared().await;
    interrupt(&store, "dev").await;
    let case = Case::over(&store).await;
    let imported = import(&case.from.0, true).await.unwrap();
    let restored = case
        .from
        .0
        .restore(&HistoryPoint::Version(1), true)
        .await
        .unwrap();
    for (report, place) in [(imported, "import"), (restored, "restore")] {
        require_warning(&report.warnings, "does not belong to its checkpoint", place);
        assert!(
            report
                .warnings
                .iter()
                .all(|warning| !warning.contains(".orphan-")),
            "{place}: {:?}",
            report.warnings
        );
    }
}

/// Tries to edit the stack while an edit is in progress.
struct Rival {
    stack: Stack,
    conflicts: Mutex<Vec<String>>,
}

#[async_trait]
impl JournalReceiver for Rival {
    async fn receive(&self, _entry: &Arc<JournalEntry>) -> Result<()> {
        let all = StateEdit::Protect(Selection {
            all: true,
            ..Selection::default()
        });
        match self.stack.edit(&all, false).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                self.conflicts.lock().unwrap().push(error.hints().join("\n"));
                Ok(())
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_conflict_names_the_edit_that_holds_the_stack() {
    let store = prepared().await;
    let engine = engine(&store, "old");
    let rival = Arc::new(Rival {
        stack: engine.stack("shop/dev", StackSettings::default()).await.unwrap(),
        conflicts: Mutex::default(),
    });
    let settings = StackSettings {
        journal: Some(Arc::clone(&rival) as _),
        ..StackSettings::default()
    };
    let stack = engine.stack("shop/dev", settings).await.unwrap();
    import(&stack, false).await.unwrap();
    stack.restore(&HistoryPoint::Version(1), false).await.unwrap();
    let conflicts = rival.conflicts.lock().unwrap();
    let [import, restore] = &conflicts[..] else {
        panic!("{conflicts:?}");
    };
    assert!(import.contains("the import that this very process"), "{import}");
    assert!(
        restore.contains("the restore that this very process"),
        "{restore}"
    );
}
