//! Hints of errors about stacks that have changed since they were opened, and about states that are damaged.

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Handle;

use super::test_key::Key;
use crate::{
    Engine, Stack, StackSettings,
    error::{Error, ErrorKind},
    runtime::Runtime,
    state::edit::StateEdit,
    store::{HistoryPoint, MemoryStore, Store},
};

const SITE: &str = "urn:pulumi:dev::shop::my:index:Site::site";

fn engine(store: &Arc<dyn Store>, key: &'static str) -> Engine {
    let builder = Engine::builder(Handle::current()).store(Arc::clone(store));
    builder.secrets(Arc::new(Key::new(key))).build().unwrap()
}

async fn open(store: &Arc<dyn Store>, key: &'static str) -> Stack {
    let engine = engine(store, key);
    let opened = engine.create_or_select_stack("shop/dev", StackSettings::default());
    opened.await.unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Runtime::system(Handle::current())))
}

fn require_hint(error: &Error, kind: ErrorKind, part: &str) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(
        error.hints().iter().any(|hint| hint.contains(part)),
        "{error}: {:?}",
        error.hints()
    );
}

#[tokio::test]
async fn a_handle_of_a_stack_with_another_key_has_the_hint_to_open_it_again() {
    let store = memory();
    let secret = json!({ "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": "\"hunter2\"" });
    let document = json!({ "version": 3, "deployment": { "resources": [
        { "urn": SITE, "custom": false, "type": "my:index:Site", "inputs": { "password": secret } } ] } });
    let stack = open(&store, "old").await;
    stack
        .import_deployment(document.to_string().as_bytes())
        .await
        .unwrap();
    let other = open(&store, "old").await;
    other
        .change_secrets(Arc::new(Key::new("new")), false)
        .await
        .unwrap();
    for handle in [stack, other] {
        let error = handle.snapshot().await.unwrap_err();
        require_hint(&error, ErrorKind::Decrypt, "after change_secrets() open it again");
        let error = handle.edit(&StateEdit::Repair, true).await.unwrap_err();
        require_hint(&error, ErrorKind::Decrypt, "after change_secrets() open it again");
    }
    let present = open(&store, "new").await;
    let error = present
        .restore(&HistoryPoint::Version(7), false)
        .await
        .unwrap_err();
    assert!(error.hints().iter().all(|hint| !hint.contains("change_secrets")));
}

#[tokio::test]
async fn a_state_that_a_repair_corrects_has_a_hint_and_another_one_has_none() {
    let record =
        |parent: &str| json!({ "urn": SITE, "custom": false, "type": "my:index:Site", "parent": parent });
    let missing = "urn:pulumi:dev::shop::my:index:Site::missing";
    let alone = || json!({ "urn": SITE, "custom": false, "type": "my:index:Site" });
    for (records, is_repairable) in [(vec![record(missing)], true), (vec![alone(), alone()], false)] {
        let store = memory();
        let stack = open(&store, "old").await;
        let document = json!({ "version": 3, "deployment": { "resources": records } });
        stack
            .import_deployment_with(document.to_string().as_bytes(), true, false)
            .await
            .unwrap();
        let error = stack.snapshot().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State, "{error}");
        let has_hint = error
            .hints()
            .iter()
            .any(|hint| hint.starts_with("repair() sorts"));
        assert_eq!(has_hint, is_repairable, "{error}: {:?}", error.hints());
        if is_repairable {
            stack.edit(&StateEdit::Repair, false).await.unwrap();
            stack.snapshot().await.unwrap();
        }
    }
}

#[tokio::test]
async fn every_handle_of_a_renamed_stack_refuses_its_history_and_its_locks() {
    let store = memory();
    let (renamed, other) = (open(&store, "old").await, open(&store, "old").await);
    renamed.rename_stack("live", false).await.unwrap();
    for (handle, hint) in [(renamed, "it was renamed to 'shop/live'"), (other, "shop/live")] {
        require_hint(&handle.history().await.unwrap_err(), ErrorKind::NotFound, hint);
        require_hint(&handle.unlock().await.unwrap_err(), ErrorKind::NotFound, hint);
    }
    let settings = StackSettings::default();
    let live = engine(&store, "old")
        .select_stack("shop/live", settings)
        .await
        .unwrap();
    assert!(live.history().await.unwrap().is_empty());
    assert_eq!(live.unlock().await.unwrap(), 0);
}
