//! Refresh and destroy with the program: their journal, and their requirements.

use std::sync::Arc;

use serde_json::{Value, json};
use stackwright::{
    ErrorKind, StackSettings,
    monitor::Registration,
    operation::{OperationKind, OperationOptions},
    program::{Program, from_fn},
    property::json::SecretForm,
    resource::Alias,
    state::{JournalReplay, integrity, journal::EntryJson},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Entries, Scripted, program, resource, stack};

fn former(name: &str) -> Alias {
    Alias::Spec {
        name: Some(name.to_owned()),
        resource_type: None,
        stack: None,
        project: None,
        parent: None,
        no_parent: false,
    }
}

/// Registers a resource with an alias, its dependent, and a component around that.
fn renaming(name: &'static str) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let first = Registration {
            aliases: vec![former("a"), former("b")],
            ..resource(name, "1")
        };
        let first = context.monitor.register(first).await?;
        let group = Registration {
            resource_type: "echo:index:Group".into(),
            name: "group".into(),
            parent: Some(first.urn.clone()),
            ..Registration::default()
        };
        let group = context.monitor.register(group).await?;
        let tail = Registration {
            dependencies: vec![first.urn],
            parent: Some(group.urn),
            ..resource("gone", "2")
        };
        let tail = context.monitor.register(tail).await?;
        let last = Registration {
            dependencies: vec![tail.urn],
            ..resource("last", "3")
        };
        context.monitor.register(last).await?;
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_prefix_is_a_valid_snapshot_and_refreshed_records_are_flagged() {
    let provider = Arc::new(Scripted::default());
    let entries = Arc::new(Entries::default());
    let settings = StackSettings {
        journal: Some(Arc::clone(&entries) as _),
        ..StackSettings::default()
    };
    let stack = stack(&provider, settings).await;
    let with = |text: &str| serde_json::from_str::<OperationOptions>(text).unwrap();
    let runs = [
        (OperationKind::Update, with("{}"), "a"),
        (OperationKind::Refresh, with(r#"{"refreshProgram":true}"#), "b"),
        (
            OperationKind::Update,
            with(r#"{"refresh":true,"refreshProgram":true}"#),
            "b",
        ),
        (OperationKind::Destroy, with(r#"{"destroyProgram":true}"#), "c"),
    ];
    let mut flagged = Vec::new();
    for (kind, options, name) in runs {
        let before = stack.snapshot().await.unwrap();
        entries.0.lock().unwrap().clear();
        let result = stack.start(kind, options, Some(renaming(name))).ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let mut replay = JournalReplay::new(before);
        for entry in &*entries.0.lock().unwrap() {
            replay.apply(entry).unwrap();
            integrity::verify(&replay.to_snapshot().unwrap()).unwrap();
            let form = SecretForm::Plaintext;
            let json = serde_json::to_value(EntryJson::new(entry, form)).unwrap();
            flagged.extend(flags(kind, &json));
        }
        assert_eq!(replay.to_snapshot().unwrap().resources, result.snapshot.resources);
        provider.gone.lock().unwrap().push("gone".into());
    }
    assert_eq!(
        flagged,
        [
            json!([OperationKind::Refresh.name(), "b", false]),
            json!([OperationKind::Refresh.name(), null, true]),
            json!([OperationKind::Refresh.name(), "last", false]),
            json!([OperationKind::Update.name(), "b", false]),
            json!([OperationKind::Update.name(), "last", false]),
        ]
    );
    assert!(stack.snapshot().await.unwrap().resources.is_empty());
}

/// Returns operation, resource and whether it is deleted, for an entry with one of the flags.
fn flags(kind: OperationKind, entry: &Value) -> Option<Value> {
    let gone = entry["deletedByRefresh"] == json!(true);
    assert!(!gone || entry["resultOp"] == "delete", "{entry}");
    let urn = entry["new"]["state"]["urn"].as_str();
    let name = urn.and_then(|urn| urn.rsplit("::").next());
    (entry["persistedRefresh"] == json!(true)).then(|| json!([kind.name(), name, gone]))
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_need_a_program_are_refused_without_one() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let made = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("a", "1")])),
    );
    assert!(made.ended().await.error.is_none());
    provider.calls.lock().unwrap().clear();
    for (kind, option) in [
        (OperationKind::Refresh, "refreshProgram"),
        (OperationKind::Destroy, "destroyProgram"),
    ] {
        let options = format!(r#"{{"{option}":true}}"#);
        let options = serde_json::from_str::<OperationOptions>(&options).unwrap();
        let error = stack
            .start(kind, options, None)
            .ended()
            .await
            .error
            .clone()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            error.message(),
            format!("the option {option} needs a program, and the stack shop/dev has none")
        );
    }
    assert!(provider.calls.lock().unwrap().is_empty());
    let recorded = stack.snapshot().await.unwrap().resources;
    assert!(recorded.iter().any(|state| state.urn.name() == "a"));
}
