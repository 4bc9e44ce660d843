//! What a random world begins with: its stores, and more in the documents of both states.

use std::sync::Arc;

use bytes::Bytes;
use proptest::{prelude::*, sample};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;

use super::deployment::{MARK, ROOT_TYPE, is_provider, shown_secret};
use crate::{
    runtime::Runtime,
    state::edit::random::PROJECT,
    store::{FileStore, MemoryStore, Store},
};

/// How the stacks of a world are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) is_compressed: bool,
    /// The second stack is in another project, and in another store.
    pub(super) is_apart: bool,
}

/// An addition to both states.
#[derive(Clone, Debug)]
pub(super) enum Extra {
    /// An old copy of a record, which is pending deletion.
    Copy(sample::Index),
    /// Another provider of a record.
    Provider(sample::Index),
}

pub(super) fn extra() -> impl Strategy<Value = Extra> {
    prop_oneof![
        any::<sample::Index>().prop_map(Extra::Copy),
        any::<sample::Index>().prop_map(Extra::Provider),
    ]
}

/// Returns the stores of both stacks, with the folders in which they are when there are two.
pub(super) fn stores(is_apart: bool) -> ([Arc<dyn Store>; 2], Vec<TempDir>) {
    let runtime = || Runtime::system(Handle::current());
    if !is_apart {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime()));
        return ([Arc::clone(&store), store], Vec::new());
    }
    // In memory, where there is such a folder: every write of the store waits for the disk.
    let folder = || TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
    let folders = [0, 1].map(|_| folder().unwrap());
    let stores = folders
        .each_ref()
        .map(|folder| Arc::new(FileStore::new(folder.path(), runtime()).unwrap()) as Arc<dyn Store>);
    (stores, folders.into())
}

pub(super) async fn objects(store: &dyn Store) -> Vec<(String, Bytes)> {
    let mut found = Vec::new();
    for object in store.list(".pulumi/").await.unwrap() {
        let bytes = store.get(&object.key).await.unwrap().unwrap().bytes;
        found.push((object.key, bytes));
    }
    found
}

/// Returns a document of a project other than the first one.
pub(super) fn of_project(document: &[u8], project: &str) -> Vec<u8> {
    let text = String::from_utf8(document.to_vec()).unwrap();
    let text = text.replace(&format!("::{PROJECT}::"), &format!("::{project}::"));
    let root = |project: &str| format!("{ROOT_TYPE}::{project}-");
    text.replace(&root(PROJECT), &root(project)).into_bytes()
}

fn add_extras(records: &mut Vec<Value>, stack: &str, extras: &[Extra]) {
    let provider = format!("urn:pulumi:{stack}::{PROJECT}::pulumi:providers:pkg::other");
    for (number, extra) in extras.iter().enumerate() {
        let (Extra::Copy(index) | Extra::Provider(index)) = extra;
        let place = index.index(records.len());
        if records[place]["custom"] != true || is_provider(&records[place]) {
            continue;
        }
        match extra {
            Extra::Copy(_) => {
                let mut copy = records[place].clone();
                copy["id"] = format!("old-id-{number}").into();
                copy["delete"] = true.into();
                records.insert(place + 1, copy);
            }
            Extra::Provider(_) => {
                records[place]["provider"] = format!("{provider}::other-id").into();
                if !records.iter().any(|record| record["urn"] == provider.as_str()) {
                    let other = json!({
                        "urn": provider, "custom": true, "id": "other-id", "type": "pulumi:providers:pkg", "inputs": { "region": "east" },
                    });
                    records.insert(1, other);
                }
            }
        }
    }
}

/// Returns a document with more in each record: secrets in lists of the outputs, a former URN, that of the record before in a text,
/// which is no reference, and a member that no version of the engine knows. A snippet refers to each record.
/// An old copy of a record is added, or a record gets another provider, where they can.
pub(super) fn enriched(document: &[u8], stack: &str, extras: &[Extra]) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(document).unwrap();
    let deployment = &mut document["deployment"];
    if let Some(records) = deployment["resources"].as_array_mut() {
        add_extras(records, stack, extras);
    }
    let mut snippets = Vec::new();
    for list in ["resources", "pending_operations"] {
        let mut former: Option<String> = None;
        for (number, entry) in deployment[list].as_array_mut().into_iter().flatten().enumerate() {
            let (record, kind) = match entry.get_mut("resource") {
                Some(record) => (record, "pending"),
                None => (entry, "record"),
            };
            let mark = format!("{stack}-{kind}-{number}");
            let secret = shown_secret(&json!(format!("secret of {mark}")));
            record["outputs"]["nested"] = json!({ "list": ["plain", secret], "of": { "object": secret } });
            record[MARK] = mark.clone().into();
            record["aliases"] = json!([format!("urn:pulumi:{stack}::{PROJECT}::my:index:Site::of-{mark}")]);
            let urn = record["urn"].as_str().unwrap().to_owned();
            if let Some(former) = former {
                record["inputs"]["text"] = format!("it follows {former}").into();
            }
            snippets.push(json!({ "uuid": mark, "references": { "of": urn } }));
            former = Some(urn);
        }
    }
    deployment["snippets"] = snippets.into();
    document["version"] = 4.into();
    document["features"] = json!(["replaceWith", "snippets-prototype", "taint"]);
    serde_json::to_vec(&document).unwrap()
}
