//! The program in Rust that an import generates: it is the file `program.rs.inc`, which compiles, and changes nothing.

/// The generated program, unchanged.
#[expect(unreachable_pub, reason = "as it is generated")]
mod program {
    include!("program.rs.inc");
}

use std::sync::Arc;

use stackwright::{
    StackSettings,
    config::ConfigValue,
    operation::{ImportRequest, OperationKind, OperationOptions},
    program::from_fn,
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffRequest, DiffResponse,
        HandshakeRequest, Provider, ProviderResult, ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
    },
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::engine;

/// The program as the file has it.
const PROGRAM: &str = include_str!("program.rs.inc");

/// Machines that exist already.
struct Cloud;

fn machine() -> PropertyMap {
    let disks = PropertyValue::Object(PropertyMap::from_iter([
        ("size", PropertyValue::from(20.0)),
        ("key", PropertyValue::secret("hyacinth".into())),
    ]));
    PropertyMap::from_iter([
        ("name", PropertyValue::from("a \"quoted\" \\ name\n")),
        ("special-key", PropertyValue::from(true)),
        ("password", PropertyValue::secret("narcissus".into())),
        ("disks", PropertyValue::array(vec![disks])),
        ("nothing", PropertyValue::array(Vec::new())),
    ])
}

impl Provider for Cloud {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        assert_eq!(request.old_inputs, request.news, "{}", request.urn);
        Ok(DiffResponse::default())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        unreachable!("{} exists", request.urn)
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        Ok(ReadResponse {
            id: request.id,
            inputs: Some(machine()),
            outputs: Some(machine()),
            ..ReadResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        unreachable!("{} is as the program declares it", request.urn)
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        unreachable!("{} is declared", request.urn)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_that_an_import_generates_compiles_and_changes_nothing() {
    let engine = engine().provider("cloud", Arc::new(Cloud)).build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let request = br#"{"resources": [
        {"type": "shop:index:Shelf", "name": "shelf", "component": true},
        {"type": "pulumi:providers:cloud", "name": "mine", "inputs": {"region": "north"}},
        {"type": "cloud:index:Machine", "name": "web", "id": "vm-1", "parent": "shelf", "provider": "mine"},
        {"type": "cloud:index:Machine", "name": "type", "id": "vm-2"}]}"#;
    let request = ImportRequest::from_json(request).unwrap();
    let imported = stack
        .import_resources(request, OperationOptions::default())
        .ended()
        .await;
    assert!(imported.error.is_none(), "{:?}", imported.error);
    let report = imported.imported.as_ref().unwrap();
    let code = &report.code.rust;
    assert!(
        !code.contains("narcissus") && !code.contains("hyacinth"),
        "{code}"
    );
    assert_eq!(code, PROGRAM, "imported/program.rs.inc has another program");

    let mut settings = StackSettings::default();
    for (key, value) in &report.configuration.0 {
        let key = key.parse().unwrap();
        settings.config.insert(key, ConfigValue::secret(value.as_str()));
    }
    let stack = engine.stack("shop/dev", settings).await.unwrap();
    let program = from_fn(program::program);
    let result = stack
        .start(OperationKind::Update, OperationOptions::default(), Some(program))
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(
        result.changes.keys().collect::<Vec<_>>(),
        [&"same"],
        "{}",
        result.tree()
    );
}
