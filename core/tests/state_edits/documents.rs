//! Documents, keys and folders of the reference engine: imports under other keys, a new key, and a stack that gets another name in its
//! folder.

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};
use stackwright::{
    Engine, ErrorKind, StackSettings, runtime::Runtime, secrets::PassphraseProvider, store::FileStore,
};
use tokio::runtime::Handle;

use super::{STATES, World, checkpoint, resources};

/// The mark of secrets in documents.
const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";

fn passphrase(text: &str) -> Arc<PassphraseProvider> {
    Arc::new(PassphraseProvider::new(text, Runtime::system(Handle::current())))
}

/// Returns all texts of a member at any depth.
fn texts_of(value: &Value, member: &str) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(|value| texts_of(value, member)).collect(),
        Value::Object(members) => {
            let own = members.get(member).filter(|_| members.contains_key(SIGNATURE));
            let own = own.and_then(Value::as_str).map(str::to_owned).into_iter();
            own.chain(members.values().flat_map(|value| texts_of(value, member)))
                .collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn a_new_passphrase_opens_what_the_former_one_did_and_no_ciphertext_stays() {
    for state in STATES {
        let world = World::of(state).await;
        let plain = world.stack.export_deployment(true).await.unwrap();
        let before = texts_of(&checkpoint(state), "ciphertext");
        assert!(!before.is_empty(), "{state}");
        let dry = world
            .stack
            .change_secrets(passphrase("battery staple"), true)
            .await
            .unwrap();
        assert_eq!(world.stored("dev").await, checkpoint(state), "{state}");
        let report = world
            .stack
            .change_secrets(passphrase("battery staple"), false)
            .await
            .unwrap();
        assert_eq!(report.records.len(), dry.records.len(), "{state}");
        let after = texts_of(&world.stored("dev").await, "ciphertext");
        assert_eq!(after.len(), before.len(), "{state}");
        assert!(!after.iter().any(|text| before.contains(text)), "{state}");
        let open = async |secrets: Arc<PassphraseProvider>| {
            let builder = Engine::builder(Handle::current()).store(Arc::clone(&world.store));
            let engine = builder.secrets(secrets).build().unwrap();
            let stack = engine
                .select_stack("fixtures/dev", StackSettings::default())
                .await?;
            stack.export_deployment(true).await
        };
        let error = open(passphrase("correct horse")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decrypt, "{state}: {error}");
        let shown = |document: &[u8]| -> Value {
            let document: Value = serde_json::from_slice(document).unwrap();
            document["deployment"]["resources"].clone()
        };
        let opened = open(passphrase("battery staple")).await.unwrap();
        assert_eq!(shown(&opened), shown(&plain), "{state}");
    }
}

#[tokio::test]
async fn a_document_under_another_passphrase_is_refused_and_one_with_plaintexts_or_another_salt_is_not() {
    let world = World::of("1-created").await;
    let document = world.stack.export_deployment(false).await.unwrap();
    let plain = world.stack.export_deployment(true).await.unwrap();
    let other = Engine::builder(Handle::current())
        .store(Arc::clone(&world.store))
        .secrets(passphrase("battery staple"))
        .build()
        .unwrap();
    let foreign = other
        .create_stack("fixtures/other", StackSettings::default())
        .await
        .unwrap();
    let before = world.stored("other").await;
    let refused = foreign.import_deployment_with(&document, true, false).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Decrypt);
    assert_eq!(world.stored("other").await, before);
    // Another stack under the same passphrase has another salt.
    let second = world
        .engine
        .create_stack("fixtures/second", StackSettings::default())
        .await
        .unwrap();
    second
        .import_deployment_with(&document, true, false)
        .await
        .unwrap();
    let shown = async |stack: &stackwright::Stack| -> Value {
        let document = stack.export_deployment(true).await.unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        document["deployment"]["resources"].clone()
    };
    assert_eq!(shown(&second).await, shown(&world.stack).await);
    // Plaintexts are encrypted.
    let third = world
        .engine
        .create_stack("fixtures/third", StackSettings::default())
        .await
        .unwrap();
    third.import_deployment_with(&plain, true, false).await.unwrap();
    let stored = world.stored("third").await;
    let texts = texts_of(&checkpoint("1-created"), "ciphertext").len();
    assert_eq!(texts_of(&stored, "ciphertext").len(), texts);
    assert_eq!(texts_of(&stored, "plaintext"), [""; 0]);
    assert_eq!(shown(&third).await, shown(&world.stack).await);
}

#[tokio::test]
async fn ciphertexts_without_a_manager_are_an_error_that_leaves_the_state() {
    let world = World::of("1-created").await;
    let document = world.stack.export_deployment(false).await.unwrap();
    let mut document: Value = serde_json::from_slice(&document).unwrap();
    document["deployment"]
        .as_object_mut()
        .unwrap()
        .remove("secrets_providers");
    let refused = world
        .stack
        .import_deployment(document.to_string().as_bytes())
        .await;
    let error = refused.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Decrypt | ErrorKind::State | ErrorKind::Secrets
        ),
        "{error}"
    );
    assert_eq!(world.stored("dev").await, checkpoint("1-created"));
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Returns the paths of the files below a folder, without sidecars and locks.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.retain(|path| !path.ends_with(".attrs") && !path.contains("locks/"));
    found.sort();
    found
}

#[tokio::test]
async fn a_stack_gets_another_name_in_the_folder_of_the_reference_engine_with_history_backups_and_tags() {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states/killed-with-lock/dot-pulumi");
    let folder = tempfile::tempdir().unwrap();
    copy(&fixture, &folder.path().join(".pulumi"));
    let tags = folder.path().join(".pulumi/stacks/fixtures/dev.pulumi-tags");
    fs::write(&tags, r#"{"owner":"me"}"#).unwrap();
    let before = files(folder.path());
    let store = FileStore::new(folder.path(), Runtime::system(Handle::current())).unwrap();
    let builder = Engine::builder(Handle::current()).store(Arc::new(store));
    let engine = builder.secrets(passphrase("correct horse")).build().unwrap();
    let stack = engine
        .select_stack("fixtures/dev", StackSettings::default())
        .await
        .unwrap();
    let locked = stack.rename_stack("live", false).await.unwrap_err();
    assert_eq!(locked.kind(), ErrorKind::Conflict);
    assert_eq!(files(folder.path()), before);
    assert_eq!(stack.unlock().await.unwrap(), 1);
    let history = stack.history().await.unwrap();
    let count = stack.snapshot().await.unwrap().resources.len();
    stack.rename_stack("live", false).await.unwrap();
    let mut expected: Vec<_> = before
        .iter()
        .map(|path| {
            path.replace("/dev/dev-", "/live/live-")
                .replace("/dev.", "/live.")
        })
        .collect();
    expected.sort();
    assert_eq!(files(folder.path()), expected);
    let live = engine
        .select_stack("fixtures/live", StackSettings::default())
        .await
        .unwrap();
    assert_eq!(live.history().await.unwrap(), history);
    assert_eq!(live.snapshot().await.unwrap().resources.len(), count);
    assert_eq!(live.list_tags().await.unwrap()["owner"], "me");
    let text = fs::read(folder.path().join(".pulumi/stacks/fixtures/live.json")).unwrap();
    let renamed: Value = serde_json::from_slice(&text).unwrap();
    assert!(
        resources(&renamed)
            .iter()
            .all(|record| record["urn"].as_str().unwrap().contains(":live::"))
    );
    let first = &resources(&renamed)[0]["urn"];
    assert_eq!(
        first,
        &json!("urn:pulumi:live::fixtures::pulumi:pulumi:Stack::fixtures-live")
    );
}
