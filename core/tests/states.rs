//! States that the reference engine wrote are read, verified, decrypted, and written with the same bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::PathBuf;

use stackwright::{
    ErrorKind,
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider},
    state::deployment::{
        Layout, SecretsAccess, SecretsShown, read_checkpoint, read_deployment, write_checkpoint,
        write_deployment,
    },
};

const STATES: [&str; 6] = [
    "1-created",
    "1b-noop",
    "2-changed-delete-failed",
    "2b-refreshed",
    "4-create-failed",
    "5-pending-operations",
];

fn fixture(state: &str, file: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states");
    std::fs::read(folder.join(state).join(file)).unwrap()
}

fn provider(passphrase: &str) -> PassphraseProvider {
    PassphraseProvider::new(passphrase, Runtime::system(tokio::runtime::Handle::current()))
}

/// Panics with the position of the first difference instead of two complete files.
fn assert_same(state: &str, written: &[u8], expected: &[u8]) {
    if written == expected {
        return;
    }
    let place = written
        .iter()
        .zip(expected)
        .take_while(|(left, right)| left == right)
        .count();
    let around = |text: &[u8]| {
        let end = text.len().min(place + 80);
        String::from_utf8_lossy(&text[place.saturating_sub(80).min(end)..end]).into_owned()
    };
    panic!(
        "{state}, byte {place}:\nwritten  {}\nexpected {}",
        around(written),
        around(expected)
    );
}

#[tokio::test]
async fn every_state_is_written_back_with_the_same_bytes() {
    let provider = provider("correct horse");
    for state in STATES {
        let bytes = fixture(state, "checkpoint.json");
        let checkpoint = read_checkpoint(&bytes, SecretsAccess::Open(&provider), true)
            .await
            .unwrap();
        let snapshot = checkpoint.snapshot.unwrap();
        let stack = &checkpoint.stack;
        assert_eq!(stack, "organization/fixtures/dev");
        let written = write_checkpoint(stack, &snapshot, SecretsShown::Encrypted)
            .await
            .unwrap();
        assert_same(state, &written, &bytes);
        let shown = write_deployment(&snapshot, SecretsShown::Plaintext, Layout::Pretty)
            .await
            .unwrap();
        assert_same(state, &shown, &fixture(state, "export-plaintext.json"));
        let exported = write_deployment(&snapshot, SecretsShown::Encrypted, Layout::Pretty)
            .await
            .unwrap();
        assert_same(state, &exported, &fixture(state, "export.json"));
    }
}

#[tokio::test]
async fn the_state_beside_a_dead_lock_is_written_back_with_the_same_bytes() {
    let state = "killed-with-lock";
    let bytes = fixture(state, "dot-pulumi/stacks/fixtures/dev.json");
    let provider = provider("correct horse");
    let checkpoint = read_checkpoint(&bytes, SecretsAccess::Open(&provider), true)
        .await
        .unwrap();
    let written = write_checkpoint(
        &checkpoint.stack,
        &checkpoint.snapshot.unwrap(),
        SecretsShown::Encrypted,
    )
    .await
    .unwrap();
    assert_same(state, &written, &bytes);
}

#[tokio::test]
async fn a_plaintext_export_reads_as_the_same_state_and_is_encrypted_when_it_is_written() {
    let provider = provider("correct horse");
    let access = SecretsAccess::Open(&provider);
    let bytes = fixture("1-created", "checkpoint.json");
    let encrypted = read_checkpoint(&bytes, access, true)
        .await
        .unwrap()
        .snapshot
        .unwrap();
    let shown = read_deployment(&fixture("1-created", "export-plaintext.json"), access, true)
        .await
        .unwrap();
    assert_eq!(shown.resources, encrypted.resources);
    let written = write_deployment(&shown, SecretsShown::Encrypted, Layout::Compact)
        .await
        .unwrap();
    let text = String::from_utf8(written.clone()).unwrap();
    assert!(text.contains("ciphertext") && !text.contains("plaintext"));
    let again = read_deployment(&written, access, true).await.unwrap();
    assert_eq!(again.resources, encrypted.resources);
}

#[tokio::test]
async fn the_passphrase_is_needed_only_for_the_secrets() {
    let provider = provider("wrong horse");
    let bytes = fixture("5-pending-operations", "checkpoint.json");
    let error = read_checkpoint(&bytes, SecretsAccess::Open(&provider), true)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Decrypt, "incorrect passphrase")
    );
    let sealed = read_checkpoint(&bytes, SecretsAccess::Sealed, true)
        .await
        .unwrap();
    let snapshot = sealed.snapshot.unwrap();
    assert_eq!(snapshot.pending_operations.len(), 3);
    let written = write_checkpoint(&sealed.stack, &snapshot, SecretsShown::Sealed)
        .await
        .unwrap();
    assert_same("5-pending-operations", &written, &bytes);
}

#[tokio::test]
async fn every_feature_of_a_record_is_written_back_with_the_same_bytes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states/features");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read(&path).unwrap();
        for access in [SecretsAccess::Open(&Base64Provider), SecretsAccess::Sealed] {
            let read = read_deployment(&text, access, true).await;
            if name.starts_with("secrets-of-") && matches!(access, SecretsAccess::Open(_)) {
                // Managers that only the host can open.
                assert_eq!(read.unwrap_err().kind(), ErrorKind::Decrypt, "{name}");
                continue;
            }
            let snapshot = read.unwrap_or_else(|error| panic!("{name}: {error}"));
            let shown = match access {
                SecretsAccess::Open(_) => SecretsShown::Encrypted,
                SecretsAccess::Sealed => SecretsShown::Sealed,
            };
            let written = write_deployment(&snapshot, shown, Layout::Compact).await.unwrap();
            assert_same(&name, written.trim_ascii_end(), &text);
        }
        count += 1;
    }
    assert_eq!(count, 35, "a file for each feature");
}
