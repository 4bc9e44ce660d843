//! Tests of the built-in provider.

use std::sync::Mutex;

use super::*;
use crate::{
    error::Error,
    provider::{DiffChanges, Views},
    runtime::SeededRandom,
};

struct World;

#[async_trait]
impl StackReader for World {
    async fn stack_outputs(&self, stack: &str) -> Result<PropertyMap> {
        match stack {
            "org/shop/dev" => Ok(object([
                ("url", "u".into()),
                ("token", vec![PropertyValue::secret("t".into())].into()),
                ("key", PropertyValue::secret("k".into())),
            ])),
            _ => Err(Error::new(
                crate::ErrorKind::NotFound,
                format!("no stack {stack}"),
            )),
        }
    }

    async fn stack_resource_outputs(&self, _stack: &str) -> Result<PropertyMap> {
        Ok(object([("urn", object([("a", "b".into())]).into())]))
    }
}

impl ResourceLookup for World {
    fn resource(&self, urn: &Urn) -> Option<FoundResource> {
        (urn.name() == "a").then(|| FoundResource {
            id: "id".into(),
            provider: "provider".into(),
            outputs: object([("path", "p".into())]),
        })
    }
}

fn provider(sink: Option<DiagnosticSink>) -> BuiltinProvider {
    BuiltinProvider::new(
        Some(Arc::new(World)),
        Arc::new(World),
        Arc::new(SeededRandom::new(1)),
        sink,
    )
}

fn urn() -> Urn {
    Urn::parse("urn:pulumi:dev::shop::files:index:File::a").unwrap()
}

async fn invoke(token: &str, arguments: PropertyMap) -> ProviderResult<PropertyMap> {
    let request = InvokeRequest {
        token: token.into(),
        arguments,
        preview: false,
    };
    Ok(provider(None).invoke(request).await?.result)
}

fn check(resource_type: &str, news: PropertyMap) -> CheckRequest {
    CheckRequest {
        urn: urn(),
        resource_type: resource_type.into(),
        name: "a".into(),
        olds: None,
        old_outputs: None,
        news,
        random_seed: vec![],
        preview: false,
        autonaming: None,
    }
}

#[tokio::test]
async fn a_stack_s_outputs_come_with_the_sorted_names_of_the_secret_ones() {
    let result = invoke(READ_STACK_OUTPUTS, object([("name", "org/shop/dev".into())]))
        .await
        .unwrap();
    assert_eq!(result.get("name"), Some(&"org/shop/dev".into()));
    assert_eq!(
        result.get("secretOutputNames"),
        Some(&vec!["key".into(), "token".into()].into())
    );
    let error = invoke(READ_STACK_OUTPUTS, object([("name", "other".into())]))
        .await
        .unwrap_err();
    assert_eq!(error.message, "no stack other");
}

#[tokio::test]
async fn a_stack_s_resources_come_under_the_stack_s_name() {
    let result = invoke(READ_STACK_RESOURCE_OUTPUTS, object([("stackName", "s".into())]))
        .await
        .unwrap();
    assert_eq!(result.keys().collect::<Vec<_>>(), ["name", "outputs"]);
}

#[tokio::test]
async fn resources_of_this_run_are_found_and_others_are_not() {
    let text = urn().to_string();
    let result = invoke(GET_RESOURCE, object([("urn", text.as_str().into())]))
        .await
        .unwrap();
    let state = object([("path", "p".into())]);
    let expected = object([
        ("urn", text.as_str().into()),
        ("id", "id".into()),
        ("provider", "provider".into()),
        ("state", state.into()),
    ]);
    assert_eq!(result, expected);
    let other = urn().with_name("b").to_string();
    let error = invoke(GET_RESOURCE, object([("urn", other.as_str().into())]))
        .await
        .unwrap_err();
    assert_eq!(error.message, format!("unknown resource {other}"));
}

#[tokio::test]
async fn unknown_types_and_functions_are_named() {
    let error = invoke("pulumi:pulumi:nothing", PropertyMap::new())
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "unrecognized function name: 'pulumi:pulumi:nothing'"
    );
    let request = check("pulumi:pulumi:Nothing", PropertyMap::new());
    let error = provider(None).check(request).await.unwrap_err();
    assert_eq!(
        error.message,
        "unrecognized resource type 'pulumi:pulumi:Nothing'"
    );
}

#[tokio::test]
async fn a_stack_reference_warns_that_it_is_deprecated_and_reads_by_name() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let provider = provider(Some(Arc::new(move |diagnostic: Diagnostic| {
        kept.lock()
            .unwrap()
            .push(diagnostic.message.reference().to_owned());
    })));
    let inputs = object([("name", "org/shop/dev".into())]);
    let checked = provider
        .check(check(STACK_REFERENCE, inputs.clone()))
        .await
        .unwrap();
    assert_eq!((checked.inputs, checked.failures), (inputs.clone(), vec![]));
    assert!(seen.lock().unwrap()[0].contains("resource type is deprecated"));

    let read = ReadRequest {
        urn: urn(),
        resource_type: STACK_REFERENCE.into(),
        name: "a".into(),
        id: "org/shop/dev".into(),
        inputs: Some(PropertyMap::new()),
        properties: Some(inputs),
        timeout: 0.0,
        preview: false,
        views: Views::default(),
    };
    let response = provider.read(read.clone()).await.unwrap();
    assert_eq!(response.id.as_str(), "org/shop/dev");
    assert!(response.outputs.unwrap().contains_key("outputs"));
    let nameless = ReadRequest {
        properties: None,
        ..read
    };
    let error = provider.read(nameless).await.unwrap_err();
    assert_eq!(error.message, "missing required property \"name\"");
}

#[tokio::test]
async fn a_stash_keeps_its_first_value_through_updates() {
    let provider = provider(None);
    let checked = provider.check(check(STASH, PropertyMap::new())).await.unwrap();
    assert_eq!(checked.failures[0].reason, "missing required property \"input\"");
    let create = |preview| CreateRequest {
        urn: urn(),
        resource_type: STASH.into(),
        name: "a".into(),
        inputs: object([("input", "one".into())]),
        timeout: 0.0,
        preview,
        views: Views::default(),
    };
    assert!(provider.create(create(true)).await.unwrap().id.is_empty());
    let created = provider.create(create(false)).await.unwrap();
    assert_eq!(created.id.as_str().len(), 36);
    let update = UpdateRequest {
        urn: urn(),
        resource_type: STASH.into(),
        name: "a".into(),
        id: created.id,
        old_inputs: object([("input", "one".into())]),
        old_outputs: created.outputs,
        news: object([("input", "two".into())]),
        ignore_changes: vec![],
        timeout: 0.0,
        preview: false,
        views: Views::default(),
    };
    let updated = provider.update(update).await.unwrap();
    let expected = object([("input", "two".into()), ("output", "one".into())]);
    assert_eq!(updated.outputs, expected);
}

#[tokio::test]
async fn another_name_is_another_stack() {
    let request = |name: &str| DiffRequest {
        urn: urn(),
        resource_type: STACK_REFERENCE.into(),
        name: "a".into(),
        id: "id".into(),
        old_inputs: object([("name", "one".into())]),
        old_outputs: PropertyMap::new(),
        news: object([("name", name.into())]),
        ignore_changes: vec![],
        preview: false,
    };
    let same = provider(None).diff(request("one")).await.unwrap();
    assert_eq!(same.changes, DiffChanges::None);
    let other = provider(None).diff(request("two")).await.unwrap();
    assert_eq!(
        (other.changes, other.replaces),
        (DiffChanges::Some, vec!["name".to_owned()])
    );
}
