//! The reference engine's own checkpoint and export: values are written byte for byte as they were read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

const CHECKPOINT: &[u8] = include_bytes!("../../../tests/fixtures/states/1-created/checkpoint.json");
const EXPORT: &[u8] = include_bytes!("../../../tests/fixtures/states/1-created/export-plaintext.json");

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    outputs: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Deployment<'a> {
    #[serde(borrow)]
    resources: Vec<Record<'a>>,
}

#[derive(Deserialize)]
struct Checkpoint<'a> {
    #[serde(borrow)]
    latest: Deployment<'a>,
}

fn values<'a>(deployment: &Deployment<'a>) -> Vec<&'a RawValue> {
    deployment
        .resources
        .iter()
        .flat_map(|record| [record.inputs, record.outputs])
        .flatten()
        .collect()
}

#[test]
fn a_checkpoint_is_written_as_it_was_read() {
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        checkpoint: Checkpoint<'a>,
    }
    let file: File<'_> = serde_json::from_slice(CHECKPOINT).unwrap();
    let mut secrets = SealedSecrets::new();
    let texts = values(&file.checkpoint.latest);
    assert!(texts.len() > 20);
    for text in texts {
        let StateMap(map) = from_slice(text.get().as_bytes()).unwrap();
        secrets.collect(&map);
        let written = to_vec(&MapJson::new(&map, SecretForm::Encrypted(&Ciphertexts::sealed()))).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text.get());
    }
    assert!(secrets.ciphertexts().len() > 5);
}

#[test]
fn an_export_that_shows_secrets_is_written_as_it_was_read() {
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        deployment: Deployment<'a>,
    }
    let file: File<'_> = serde_json::from_slice(EXPORT).unwrap();
    let mut with_secrets = 0;
    for text in values(&file.deployment) {
        let StateMap(map) = from_slice(text.get().as_bytes()).unwrap();
        with_secrets += usize::from(map.contains_secrets());
        let written = to_vec(&MapJson::new(&map, SecretForm::Plaintext)).unwrap();
        // The export is indented, so both are compared without white space.
        let written: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&written).unwrap();
        let expected: BTreeMap<String, serde_json::Value> = serde_json::from_str(text.get()).unwrap();
        assert_eq!(written, expected);
    }
    assert!(with_secrets > 5);
}
