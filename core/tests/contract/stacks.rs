//! Relations of stacks: the organization, tags, outputs of other stacks, locks.

use std::sync::{Arc, Mutex};

use stackwright::{
    Engine, ErrorKind, StackSettings,
    monitor::Invoke,
    operation::{ImportRequest, OperationOptions},
    program::from_fn,
    property::{PropertyMap, PropertyValue},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, engine, program};

fn settings(values: &'static [(&'static str, &'static str)]) -> StackSettings {
    StackSettings {
        program: Some(program(values)),
        organization: "acme".to_owned(),
        ..StackSettings::default()
    }
}

fn echo_engine() -> Engine {
    let provider = Arc::new(Scripted::default());
    engine().provider("echo", provider).build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_reads_resources_of_a_stack_that_it_names_by_its_own_organization() {
    let engine = echo_engine();
    let base = engine.stack("net/base", settings(&[("a", "1")])).await.unwrap();
    let made = base.update(OperationOptions::default()).ended().await;
    assert!(made.error.is_none(), "{:?}", made.error);
    let found = Arc::new(Mutex::new(PropertyMap::new()));
    let finds = Arc::clone(&found);
    let reader = from_fn(move |context| {
        let finds = Arc::clone(&finds);
        async move {
            let name = format!("{}/net/base", context.info.organization);
            let invoke = Invoke {
                token: "pulumi:pulumi:readStackResourceOutputs".to_owned(),
                arguments: [("stackName", name.into())].into_iter().collect(),
                ..Invoke::default()
            };
            *finds.lock().unwrap() = context.monitor.invoke(invoke).await?;
            Ok(())
        }
    });
    let shop = StackSettings {
        program: Some(reader),
        ..settings(&[])
    };
    let shop = engine.stack("shop/dev", shop).await.unwrap();
    let read = shop.preview(OperationOptions::default()).ended().await;
    assert!(read.error.is_none(), "{:?}", read.error);
    let found = found.lock().unwrap().clone();
    assert_eq!(found.get("name"), Some(&"acme/net/base".into()));
    let Some(PropertyValue::Object(resources)) = found.get("outputs") else {
        panic!("{found:?}");
    };
    let described: PropertyMap = [
        ("type", "echo:index:Echo".into()),
        ("outputs", PropertyMap::from_iter([("value", "1".into())]).into()),
    ]
    .into_iter()
    .collect();
    let made = made.snapshot.resources.last().unwrap().urn.clone();
    assert_eq!(made.name(), "a");
    assert_eq!(resources.get(made.as_str()), Some(&described.into()));
    let root = resources.get("urn:pulumi:base::net::pulumi:pulumi:Stack::net-base");
    assert!(root.is_some(), "the stack itself is one of its resources");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_keeps_its_organization_and_its_tags_and_refuses_invalid_ones() {
    let engine = echo_engine();
    let tagged = StackSettings {
        tags: [("team:owner".to_owned(), "net".to_owned())].into(),
        ..settings(&[])
    };
    let stack = engine.stack("shop/dev", tagged.clone()).await.unwrap();
    assert_eq!(stack.organization(), "acme");
    assert_eq!(stack.tags()["team:owner"], "net");
    for settings in [
        StackSettings {
            organization: "a/b".to_owned(),
            ..tagged.clone()
        },
        StackSettings {
            tags: [("no name".to_owned(), String::new())].into(),
            ..tagged.clone()
        },
    ] {
        let refused = engine.stack("shop/other", settings).await.err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(
        engine.stacks(None, false).await.unwrap().len(),
        1,
        "nothing was created"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_names_the_call_that_removes_the_locks_of_the_dead() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = stackwright::runtime::Runtime::system(tokio::runtime::Handle::current());
    let url = format!("file://{}", folder.path().display());
    let store = stackwright::store::open(&url, folder.path(), &runtime).unwrap();
    let provider = Arc::new(Scripted::default());
    let engine = engine().store(store).provider("echo", provider).build().unwrap();
    let stack = engine.stack("shop/dev", settings(&[])).await.unwrap();
    let locks = folder.path().join(".pulumi/locks/organization/shop/dev");
    std::fs::create_dir_all(&locks).unwrap();
    std::fs::write(
        locks.join("1.json"),
        r#"{"pid":1,"username":"me","hostname":"elsewhere","timestamp":"2026-01-01T00:00:00Z"}"#,
    )
    .unwrap();
    let refused = stack.update(OperationOptions::default()).ended().await;
    let error = refused.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("the stack's `unlock`"), "{error}");
    assert_eq!(stack.unlock().await.unwrap(), 1);
    let updated = stack.update(OperationOptions::default()).ended().await;
    assert!(updated.error.is_none(), "{:?}", updated.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_of_a_renamed_stack_creates_no_second_one() {
    let engine = engine().build().unwrap();
    // Without a program, the first write creates the stack.
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let import = || {
        let shelf = br#"{"resources": [{"type": "shop:index:Shelf", "name": "shelf", "component": true}]}"#;
        let request = ImportRequest::from_json(shelf).unwrap();
        stack.import_resources(request, OperationOptions::default())
    };
    let imported = import().ended().await;
    assert!(imported.error.is_none(), "{:?}", imported.error);
    stack.rename_stack("live", false).await.unwrap();
    let again = import().ended().await;
    let error = again.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.hints(),
        ["it was renamed to 'shop/live': open the stack of that name"]
    );
    let document = stack.export_deployment(false).await.map(drop).unwrap_err();
    assert_eq!(document.kind(), ErrorKind::NotFound);
    let stacks = engine.stacks(None, false).await.unwrap();
    let names: Vec<_> = stacks.iter().map(|stack| stack.name.to_string()).collect();
    assert_eq!(names, ["shop/live"]);
}
