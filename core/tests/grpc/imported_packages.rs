//! Imports of packages that another plugin serves: the generated programs compile, and change nothing.

use std::sync::Arc;

use stackwright::{
    Engine, StackSettings,
    operation::{ImportRequest, OperationKind, OperationOptions},
    program::{Program, from_fn},
    provider::Resolver,
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_testkit::{
    fake::{BasePlugins, ExtensiblePlugins},
    wait::Ended as _,
};

use crate::fixture::runtime;

/// The generated program of a parameterized package, unchanged.
#[expect(unreachable_pub, reason = "as it is generated")]
mod parameterized {
    include!("imported_parameterized.rs.inc");
}

/// The generated program of an extension, unchanged.
#[expect(unreachable_pub, reason = "as it is generated")]
mod extended {
    include!("imported_extension.rs.inc");
}

/// Imports resources, and runs the generated program, which must be `source`.
async fn import_and_run(
    plugins: impl Resolver + 'static,
    request: &str,
    source: &str,
    program: Arc<dyn Program>,
) {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::new(plugins))
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let request = ImportRequest::from_json(request.as_bytes()).unwrap();
    let imported = stack
        .import_resources(request, OperationOptions::default())
        .ended()
        .await;
    assert!(imported.error.is_none(), "{:?}", imported.error);
    let code = &imported.imported.as_ref().unwrap().code.rust;
    assert_eq!(code, source, "the file has another program");
    let result = stack
        .start(OperationKind::Update, OperationOptions::default(), Some(program))
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let changes: Vec<_> = result.changes.keys().collect();
    assert_eq!(changes, [&"same"], "{}", result.tree());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_a_parameterized_package_names_the_plugin_and_the_parameter() {
    let parameter = r#""version": "3.6.0", "parameterization":
        {"pluginName": "base", "pluginVersion": "0.8.1", "value": "aW50byBtYWRl"}"#;
    let request = format!(
        r#"{{"resources": [
        {{"type": "made:index:Thing", "name": "a", "id": "id-a", {parameter}}},
        {{"type": "pulumi:providers:made", "name": "own", {parameter}}},
        {{"type": "made:index:Thing", "name": "b", "id": "id-b", "provider": "own"}}]}}"#
    );
    let source = include_str!("imported_parameterized.rs.inc");
    let program = from_fn(parameterized::program);
    import_and_run(BasePlugins::default(), &request, source, program).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_an_extension_names_the_plugin_and_the_extension() {
    let request = r#"{"resources": [
        {"type": "pulumi:providers:base", "name": "own"},
        {"type": "more:index:Thing", "name": "a", "id": "id-a", "provider": "own",
            "extension": {"name": "more", "version": "1.0.0", "value": "aW50byBtb3Jl"}}]}"#;
    let source = include_str!("imported_extension.rs.inc");
    let program = from_fn(extended::program);
    import_and_run(ExtensiblePlugins::default(), request, source, program).await;
}
