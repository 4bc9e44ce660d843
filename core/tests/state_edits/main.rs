//! Edits of states that the reference engine wrote have its results, apart from its defects.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod documents;
mod selections;

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use stackwright::{
    Engine, Error, ErrorKind, Stack, StackSettings,
    runtime::Runtime,
    secrets::PassphraseProvider,
    state::edit::{Delete, EditKind, Move, MoveReport, Rename, Selection, StateEdit},
    store::{Condition, MemoryStore, Store},
    urn::Urn,
};
use tokio::runtime::Handle;

const STATES: [&str; 6] = [
    "1-created",
    "1b-noop",
    "2-changed-delete-failed",
    "2b-refreshed",
    "4-create-failed",
    "5-pending-operations",
];

/// The members of a record that hold its URN and those of others.
const REFERENCES: [&str; 6] = [
    "urn",
    "parent",
    "provider",
    "dependencies",
    "propertyDependencies",
    "deletedWith",
];

fn checkpoint(state: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states");
    serde_json::from_slice(&std::fs::read(folder.join(state).join("checkpoint.json")).unwrap()).unwrap()
}

/// A stack in a store of its own that has a state of the reference engine.
struct World {
    engine: Engine,
    store: Arc<dyn Store>,
    stack: Stack,
}

impl World {
    async fn of(state: &str) -> Self {
        let runtime = Runtime::system(Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime.clone()));
        let meta = store.put(".pulumi/meta.yaml", "version: 1\n".into(), Condition::Absent);
        meta.await.unwrap();
        let key = ".pulumi/stacks/fixtures/dev.json";
        let text = checkpoint(state).to_string();
        store.put(key, text.into(), Condition::Absent).await.unwrap();
        let secrets = Arc::new(PassphraseProvider::new("correct horse", runtime));
        let builder = Engine::builder(Handle::current()).store(Arc::clone(&store));
        let engine = builder.secrets(secrets).build().unwrap();
        let stack = engine
            .select_stack("fixtures/dev", StackSettings::default())
            .await
            .unwrap();
        Self { engine, store, stack }
    }

    /// Returns the checkpoint as it stands in the store.
    async fn stored(&self, name: &str) -> Value {
        let object = self
            .store
            .get(&format!(".pulumi/stacks/fixtures/{name}.json"))
            .await
            .unwrap();
        serde_json::from_slice(&object.unwrap().bytes).unwrap()
    }

    async fn edit(&self, edit: StateEdit) -> Value {
        self.stack.edit(&edit, false).await.unwrap();
        self.stored("dev").await
    }

    async fn refusal(&self, edit: StateEdit) -> Error {
        self.stack.edit(&edit, false).await.unwrap_err()
    }
}

fn urn(rest: &str) -> String {
    format!("urn:pulumi:dev::fixtures::{rest}")
}

fn echo(name: &str) -> String {
    urn(&format!("testprovider:index:Echo::{name}"))
}

fn parsed(urn: &str) -> Urn {
    Urn::parse(urn).unwrap()
}

fn resources(checkpoint: &Value) -> &Vec<Value> {
    checkpoint["checkpoint"]["latest"]["resources"]
        .as_array()
        .unwrap()
}

/// Applies a change of the text to each record of a state.
fn replaced(checkpoint: &Value, from: &str, to: &str) -> Value {
    // A URN that is a prefix of another one ends with a quotation mark or before the id of a provider.
    let text = checkpoint.to_string();
    let text = text.replace(&format!("{from}\""), &format!("{to}\""));
    let text = text.replace(&format!("{from}::"), &format!("{to}::"));
    serde_json::from_str(&text).unwrap()
}

fn delete(urns: &[&str]) -> Delete {
    Delete {
        urns: urns.iter().map(|urn| parsed(urn)).collect(),
        ..Delete::default()
    }
}

#[tokio::test]
async fn a_rename_changes_the_urn_wherever_it_stands_and_nothing_else() {
    for state in STATES {
        let world = World::of(state).await;
        let before = checkpoint(state);
        for (old, new) in [
            (echo("values"), echo("valuables")),
            (
                urn("pulumi:providers:testprovider::explicit"),
                urn("pulumi:providers:testprovider::stated"),
            ),
            (urn("fixtures:index:Box::box"), urn("fixtures:index:Box::crate")),
        ] {
            let name = new.rsplit("::").next().unwrap();
            let renamed = world
                .edit(StateEdit::Rename(Rename::to_name(parsed(&old), name)))
                .await;
            assert_eq!(renamed, replaced(&before, &old, &new), "{state}");
            // The inverse has the same bytes as before: secrets, empty lists, times and the writer are kept.
            let inverse = Rename::to_name(parsed(&new), old.rsplit("::").next().unwrap());
            assert_eq!(world.edit(StateEdit::Rename(inverse)).await, before, "{state}");
        }
        let taken = Rename::to_name(parsed(&echo("values")), "plain");
        let error = world.refusal(StateEdit::Rename(taken)).await;
        assert_eq!(
            error.reference_message(),
            "The chosen new urn for the state corresponds to an already existing resource"
        );
    }
}

#[tokio::test]
async fn an_old_copy_makes_a_urn_ambiguous_and_marks_are_about_the_live_one() {
    let world = World::of("2-changed-delete-failed").await;
    let plain = echo("plain");
    let rename = StateEdit::Rename(Rename::to_name(parsed(&plain), "other"));
    let error = world.refusal(rename).await;
    assert_eq!(
        error.reference_message(),
        "The input URN ambiguously refers to multiple resources"
    );
    let error = world.refusal(StateEdit::Delete(delete(&[&plain]))).await;
    assert_eq!(
        error.reference_message(),
        "Resource URN ambiguously referred to multiple resources. Did you mean:\n  1\n  4"
    );
    let tainted = world
        .edit(StateEdit::Taint(Selection::of([parsed(&plain)])))
        .await;
    assert_eq!(
        (&tainted["version"], &tainted["features"]),
        (&json!(4), &json!(["taint"]))
    );
    let marks = resources(&tainted)
        .iter()
        .filter(|record| record["urn"] == plain.as_str());
    let marks: Vec<_> = marks
        .map(|record| (record["id"].clone(), record["taint"] == json!(true)))
        .collect();
    assert_eq!(marks, [(json!("1"), true), (json!("4"), false)]);
    let untainted = world
        .edit(StateEdit::Untaint(Selection::of([parsed(&plain)])))
        .await;
    assert_eq!(untainted, checkpoint("2-changed-delete-failed"));
}

#[tokio::test]
async fn all_records_are_protected_and_dependents_protection_and_providers_refuse_deletions() {
    let world = World::of("1-created").await;
    let error = world
        .refusal(StateEdit::Delete(delete(&[&echo("options")])))
        .await;
    let expected = format!(
        "{} can't be safely deleted because it is protected. Re-run this command with --force to force deletion",
        echo("options")
    );
    assert_eq!(error.reference_message(), expected);
    let error = world.refusal(StateEdit::Delete(delete(&[&echo("values")]))).await;
    let expected = format!(
        "{} can't be safely deleted because the following resources depend on it:\n * \"reference\"     ({})\n\nDelete those resources first or pass --target-dependents.",
        echo("values"),
        echo("reference")
    );
    assert_eq!(error.reference_message(), expected);
    let error = world
        .refusal(StateEdit::Delete(delete(&[&urn("fixtures:index:Box::box")])))
        .await;
    for below in [
        "\"nested\"        (",
        "\"box-inner\"     (",
        "\"nested-inner\"  (",
    ] {
        assert!(
            error.reference_message().contains(below),
            "{}",
            error.reference_message()
        );
    }
    let provider = Delete {
        force: true,
        ..delete(&[&urn("pulumi:providers:testprovider::explicit")])
    };
    let error = world.refusal(StateEdit::Delete(provider)).await;
    assert!(
        error.reference_message().contains("* \"via-provider\"  ("),
        "{error}"
    );
    // Dependents first, in whichever order they are named.
    let both = world
        .edit(StateEdit::Delete(delete(&[&echo("values"), &echo("reference")])))
        .await;
    assert_eq!(
        resources(&both).len(),
        resources(&checkpoint("1-created")).len() - 2
    );
    let all = Selection {
        all: true,
        ..Selection::default()
    };
    let protected = world.edit(StateEdit::Protect(all)).await;
    assert!(
        resources(&protected)
            .iter()
            .all(|record| record["protect"] == json!(true))
    );
    let everything = Delete {
        all: true,
        force: true,
        ..Delete::default()
    };
    let emptied = world.edit(StateEdit::Delete(everything)).await;
    let latest = &emptied["checkpoint"]["latest"];
    assert_eq!(latest.get("resources"), None);
    assert_eq!(
        latest["manifest"],
        checkpoint("1-created")["checkpoint"]["latest"]["manifest"]
    );
}

#[tokio::test]
async fn a_valid_state_needs_no_repair_and_pending_operations_stay() {
    for state in STATES {
        let world = World::of(state).await;
        let report = world.stack.edit(&StateEdit::Repair, false).await.unwrap();
        assert!(report.is_empty(), "{state}");
        assert_eq!(world.stored("dev").await, checkpoint(state));
    }
    let world = World::of("5-pending-operations").await;
    let edited = world
        .edit(StateEdit::Protect(Selection::of([parsed(&echo("values"))])))
        .await;
    let pending = |checkpoint: &Value| checkpoint["checkpoint"]["latest"]["pending_operations"].clone();
    assert_eq!(pending(&edited), pending(&checkpoint("5-pending-operations")));
}

#[tokio::test]
async fn a_repair_sorts_and_drops_what_is_missing() {
    let world = World::of("1-created").await;
    let mut broken = checkpoint("1-created");
    let records = broken["checkpoint"]["latest"]["resources"]
        .as_array_mut()
        .unwrap();
    // The parent of one, the dependency of another; a third stands before its dependency.
    records.retain(|record| {
        ![echo("parent"), echo("values")].contains(&record["urn"].as_str().unwrap().to_owned())
    });
    let last = records
        .iter()
        .position(|record| record["urn"] == echo("depends-on-random"))
        .unwrap();
    let first = records.remove(last);
    records.insert(2, first);
    let key = ".pulumi/stacks/fixtures/dev.json";
    world
        .store
        .put(key, broken.to_string().into(), Condition::Any)
        .await
        .unwrap();
    let error = world.stack.snapshot().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    let report = world.stack.edit(&StateEdit::Repair, false).await.unwrap();
    let repaired = world.stored("dev").await;
    let record = |urn: &str| {
        resources(&repaired)
            .iter()
            .find(|record| record["urn"] == urn)
            .cloned()
            .unwrap()
    };
    let orphan = record(&echo("child"));
    assert_eq!(
        (orphan.get("parent"), &orphan["dependencies"]),
        (None, &json!([echo("plain")]))
    );
    assert_eq!(
        record(&echo("reference"))["propertyDependencies"],
        json!({"echo": [echo("plain")]})
    );
    assert_eq!(record(&echo("options")).get("deletedWith"), None);
    let former = report
        .records
        .iter()
        .filter_map(|record| record.former_urn.as_ref());
    let former: Vec<_> = former.map(Urn::to_string).collect();
    assert_eq!(
        former,
        [urn("testprovider:index:Echo$testprovider:index:Echo::child")]
    );
    assert!(world.stack.snapshot().await.is_ok());
}

/// Moves four resources, and one below them, of the state `1-created` to the new stack `fixtures/prod`.
async fn moved() -> (World, Stack, MoveReport) {
    let world = World::of("1-created").await;
    let other = world
        .engine
        .create_stack("fixtures/prod", StackSettings::default());
    let other = other.await.unwrap();
    let nested = urn("fixtures:index:Box$fixtures:index:Box::nested");
    let named = [nested, echo("secrets"), echo("values"), echo("via-provider")];
    let edit = Move::of(named.iter().map(|urn| parsed(urn)));
    let report = world.stack.move_resources(&other, &edit, false).await.unwrap();
    (world, other, report)
}

fn prod(rest: &str) -> String {
    format!("urn:pulumi:prod::fixtures::{rest}")
}

fn record(checkpoint: &Value, urn: &str) -> Value {
    let mut records = resources(checkpoint).iter();
    records.find(|record| record["urn"] == urn).cloned().unwrap()
}

#[tokio::test]
async fn a_move_copies_providers_and_rewrites_stack_and_types() {
    const EXPECTED: [&str; 8] = [
        "pulumi:pulumi:Stack::fixtures-prod",
        "pulumi:providers:testprovider::default",
        "pulumi:providers:testprovider::explicit",
        "testprovider:index:Echo::values",
        "fixtures:index:Box::nested",
        "testprovider:index:Echo::via-provider",
        "testprovider:index:Echo::secrets",
        "fixtures:index:Box$testprovider:index:Echo::nested-inner",
    ];
    let (world, _, _) = moved().await;
    let (moved, before) = (world.stored("prod").await, checkpoint("1-created"));
    let urns = resources(&moved)
        .iter()
        .map(|record| record["urn"].as_str().unwrap());
    assert_eq!(urns.collect::<Vec<_>>(), EXPECTED.map(prod));
    for provider in &EXPECTED[1..3] {
        let mut copy = record(&before, &urn(provider));
        copy["urn"] = prod(provider).into();
        copy["parent"] = prod(EXPECTED[0]).into();
        assert_eq!(record(&moved, &prod(provider)), copy);
    }
    let former = urn("fixtures:index:Box$fixtures:index:Box$testprovider:index:Echo::nested-inner");
    let mut inner = record(&before, &former);
    inner["urn"] = prod(EXPECTED[7]).into();
    inner["parent"] = prod(EXPECTED[4]).into();
    let provider = inner["provider"].as_str().unwrap().replace(":dev::", ":prod::");
    inner["provider"] = provider.into();
    assert_eq!(resources(&moved).last(), Some(&inner));
}

#[tokio::test]
async fn a_move_leaves_providers_and_cuts_references_to_what_is_gone() {
    let (world, _, report) = moved().await;
    let (left, before) = (world.stored("dev").await, checkpoint("1-created"));
    assert_eq!(resources(&left).len(), resources(&before).len() - 5);
    let mut expected = record(&before, &echo("reference"));
    expected["dependencies"] = json!([echo("plain")]);
    expected["propertyDependencies"]["echo"] = json!([echo("plain")]);
    assert_eq!(record(&left, &echo("reference")), expected);
    let mut kept = resources(&left).iter();
    assert!(kept.all(|record| record["urn"] == echo("reference") || resources(&before).contains(record)));
    let changed = report.source.records.iter();
    let changed = changed.filter(|record| record.kind == EditKind::Changed);
    let changed: Vec<_> = changed.map(|record| record.urn.to_string()).collect();
    assert_eq!(changed, [echo("reference")]);
}

#[tokio::test]
async fn moved_secrets_have_the_same_plaintexts_under_the_key_of_the_destination() {
    let (world, other, _) = moved().await;
    let shown = |document: Vec<u8>| -> Value { serde_json::from_slice(&document).unwrap() };
    let plain = shown(other.export_deployment(true).await.unwrap());
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states/1-created");
    let golden = shown(std::fs::read(folder.join("export-plaintext.json")).unwrap());
    let inputs = |document: &Value| {
        let mut records = document["deployment"]["resources"].as_array().unwrap().iter();
        let found = records.find(|record| record["urn"].as_str().unwrap().ends_with("Echo::secrets"));
        found.unwrap()["inputs"].clone()
    };
    assert_eq!(inputs(&plain), inputs(&golden));
    let salt =
        |checkpoint: &Value| checkpoint["checkpoint"]["latest"]["secrets_providers"]["state"]["salt"].clone();
    assert_ne!(
        salt(&world.stored("prod").await),
        salt(&world.stored("dev").await)
    );
}

/// The signature of resource references among the values of properties.
const REFERENCE_SIGNATURE: &str = "5cf8f73096256a8f31e491e813e4eb8e";

/// Gives the URNs of a value the new name: plain texts stay, apart from those of `members` and of resource references.
fn with_stack_name(value: &Value, is_reference: bool, renamed: &dyn Fn(&str) -> String) -> Value {
    let nested = |value: &Value| with_stack_name(value, is_reference, renamed);
    match value {
        Value::String(text) if is_reference => renamed(text).into(),
        Value::Array(values) => values.iter().map(nested).collect(),
        Value::Object(members) => {
            let is_resource = members.values().any(|value| value == REFERENCE_SIGNATURE);
            let member = |(name, value): (&String, &Value)| {
                let value = match is_resource && name == "urn" {
                    true => with_stack_name(value, true, renamed),
                    false => nested(value),
                };
                (name.clone(), value)
            };
            members.iter().map(member).collect()
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn a_renamed_stack_has_its_name_in_every_urn_and_keeps_its_ciphertexts_and_plain_texts() {
    let renamed = |text: &str| {
        let text = text.replace("urn:pulumi:dev::fixtures::", "urn:pulumi:live::fixtures::");
        text.replace(
            "pulumi:pulumi:Stack::fixtures-dev",
            "pulumi:pulumi:Stack::fixtures-live",
        )
    };
    for state in STATES {
        let world = World::of(state).await;
        world.stack.rename_stack("live", false).await.unwrap();
        let mut expected = checkpoint(state);
        expected["checkpoint"]["stack"] = "organization/fixtures/live".into();
        let latest = &mut expected["checkpoint"]["latest"];
        let pending = latest.get("pending_operations").cloned();
        let records = latest["resources"].as_array().unwrap().iter();
        let record = |record: &Value| -> Value {
            let members = record.as_object().unwrap().iter();
            let member = |(name, value): (&String, &Value)| {
                let is_reference = !["inputs", "outputs"].contains(&name.as_str());
                (name.clone(), with_stack_name(value, is_reference, &renamed))
            };
            members.map(member).collect()
        };
        latest["resources"] = records.map(record).collect();
        if let Some(pending) = pending {
            let operation = |operation: &Value| {
                let mut operation = operation.clone();
                operation["resource"] = record(&operation["resource"]);
                operation
            };
            latest["pending_operations"] = pending.as_array().unwrap().iter().map(operation).collect();
        }
        assert_eq!(world.stored("live").await, expected, "{state}");
    }
}

#[tokio::test]
async fn an_import_of_another_stacks_state_names_every_record_and_is_accepted_by_force() {
    let world = World::of("1-created").await;
    let other = world
        .engine
        .create_stack("fixtures/prod", StackSettings::default())
        .await
        .unwrap();
    let document = world.stack.export_deployment(false).await.unwrap();
    let error = other.import_deployment(&document).await.unwrap_err();
    let text = error.reference_message().into_owned();
    let count = resources(&checkpoint("1-created")).len();
    assert!(
        text.starts_with(&format!("{} errors occurred:\n", count + 1)),
        "{text}"
    );
    let first = "1) resource 'urn:pulumi:dev::fixtures::pulumi:pulumi:Stack::fixtures-dev' is from a different stack (dev != prod)";
    assert!(text.contains(first), "{text}");
    assert!(text.ends_with("importing this file could be dangerous; rerun with --force to proceed anyway"));
    other
        .import_deployment_with(&document, true, false)
        .await
        .unwrap();
    let (imported, own) = (world.stored("prod").await, world.stored("dev").await);
    assert_eq!(
        imported["checkpoint"]["latest"]["resources"],
        own["checkpoint"]["latest"]["resources"]
    );
    assert_eq!(
        imported["checkpoint"]["latest"]["manifest"],
        own["checkpoint"]["latest"]["manifest"]
    );
}

#[tokio::test]
async fn a_stack_renamed_to_another_project_has_both_in_every_urn() {
    for state in STATES {
        let world = World::of(state).await;
        world.stack.rename_stack("other/live", false).await.unwrap();
        let key = ".pulumi/stacks/other/live.json";
        let object = world.store.get(key).await.unwrap().unwrap();
        let renamed: Value = serde_json::from_slice(&object.bytes).unwrap();
        let before = checkpoint(state);
        assert_eq!(resources(&renamed).len(), resources(&before).len(), "{state}");
        for (new, old) in resources(&renamed).iter().zip(resources(&before)) {
            for member in REFERENCES {
                let renamed = |value: &Value| -> Value {
                    let text = value.to_string();
                    let text = text.replace("urn:pulumi:dev::fixtures::", "urn:pulumi:live::other::");
                    serde_json::from_str(&text.replace("Stack::fixtures-dev", "Stack::other-live")).unwrap()
                };
                let expected = old.get(member).map(renamed);
                assert_eq!(new.get(member), expected.as_ref(), "{state}: {}", old["urn"]);
            }
        }
        let former = world.store.get(".pulumi/stacks/fixtures/dev.json").await.unwrap();
        assert!(former.is_none(), "{state}");
    }
}

#[tokio::test]
async fn a_move_to_another_project_rewrites_the_project_and_the_providers_have_its_root_as_parent() {
    let world = World::of("1-created").await;
    let other = world.engine.create_stack("other/prod", StackSettings::default());
    let other = other.await.unwrap();
    let edit = Move::of([parsed(&echo("values")), parsed(&echo("via-provider"))]);
    world.stack.move_resources(&other, &edit, false).await.unwrap();
    let object = world.store.get(".pulumi/stacks/other/prod.json").await.unwrap();
    let moved: Value = serde_json::from_slice(&object.unwrap().bytes).unwrap();
    let rests = [
        "pulumi:pulumi:Stack::other-prod",
        "pulumi:providers:testprovider::default",
        "pulumi:providers:testprovider::explicit",
        "testprovider:index:Echo::values",
        "testprovider:index:Echo::via-provider",
    ];
    let of_other = |rest: &str| format!("urn:pulumi:prod::other::{rest}");
    let urns: Vec<_> = resources(&moved)
        .iter()
        .map(|record| record["urn"].clone())
        .collect();
    assert_eq!(urns, rests.map(|rest| json!(of_other(rest))));
    for record in &resources(&moved)[1..] {
        assert_eq!(record["parent"], of_other(rests[0]), "{}", record["urn"]);
        assert!(
            !record["provider"].to_string().contains(":dev::"),
            "{}",
            record["urn"]
        );
    }
}

#[tokio::test]
async fn an_import_of_no_deployment_empties_the_stack() {
    for empty in [json!(null), json!({})] {
        let world = World::of("5-pending-operations").await;
        let document = json!({"version": 3, "deployment": empty}).to_string();
        let report = world.stack.import_deployment(document.as_bytes()).await.unwrap();
        assert!(!report.is_empty(), "{empty}");
        let snapshot = world.stack.snapshot().await.unwrap();
        assert!(
            snapshot.resources.is_empty() && snapshot.pending_operations.is_empty(),
            "{empty}"
        );
    }
}

#[tokio::test]
async fn an_import_keeps_the_pending_operations_of_the_document_with_a_warning_each() {
    let world = World::of("5-pending-operations").await;
    let document = world.stack.export_deployment(false).await.unwrap();
    let pending = world.stack.pending().await.unwrap();
    assert!(!pending.is_empty());
    let report = world.stack.import_deployment(&document).await.unwrap();
    for entry in &pending {
        let urn = entry.operation.resource.urn.as_str();
        let named = |warning: &str| warning.contains(urn) && warning.contains(&entry.kind());
        assert!(
            report.warnings.iter().any(|warning| named(warning)),
            "{:?}",
            report.warnings
        );
    }
    assert_eq!(world.stack.pending().await.unwrap(), pending);
    let (stored, before) = (world.stored("dev").await, checkpoint("5-pending-operations"));
    assert_eq!(resources(&stored), resources(&before));
}
