//! Edits of a stack whose journal belongs to another checkpoint: their reports name it, and where it is kept.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{
    edit_journal::{Case, EDITS, import, make, prepared},
    test_key::Key,
};
use crate::{
    resource::{PendingOperationKind, ResourceState},
    runtime::Runtime,
    state::{Journal, JournalRecord, JournalReplay},
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
    let altered = [&checkpoint[..], b"\n"].concat();
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
