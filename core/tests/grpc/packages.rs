//! Schemas and mappings of packages: requested during a run by programs, and by providers at the addresses they
//! receive.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Engine, Error, ErrorKind, Result, Stack, StackSettings,
    operation::OperationOptions,
    program::LanguageRuntimeProgram,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Mapping,
        MappingRequest, Provider, ProviderBackend, ProviderError, ProviderResult, ProviderStatus, Resolution,
        ResolutionRequest, Resolver, SchemaRequest,
    },
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::{
    codegen::{
        GetMappingRequest, GetSchemaRequest, Parameterization, loader_client::LoaderClient,
        mapper_client::MapperClient,
    },
    pulumirpc::{PackageDependency, RunResponse},
};
use stackwright_testkit::{
    fake::{EchoProvider, FakeRuntime, LoggingProvider},
    wait::Ended as _,
};
use tonic::{Code, Status};

use crate::fixture::{client, echo, register, root, runtime};

/// Returns a schema of its package without having been configured.
struct Known {
    schema: ProviderResult<&'static str>,
    mappings: Option<Vec<&'static str>>,
}

impl Provider for Known {
    async fn handshake(&self, request: HandshakeRequest) -> ProviderResult<Capabilities> {
        assert!(
            request.codegen_address.is_none(),
            "code of the host needs no address"
        );
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse::default())
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn get_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        let of = format!("{}@{}", request.subpackage_name, request.subpackage_version);
        self.schema.clone().map(|schema| schema.replace("$of", &of))
    }

    async fn get_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        let provider = match (&self.mappings, request.provider.as_str()) {
            (None, "") => "only",
            (Some(_), listed @ ("one" | "two")) => listed,
            (_, other) => return Err(ProviderError::unimplemented(other)),
        };
        Ok(Mapping {
            provider: provider.to_owned(),
            data: format!("{}/{provider}", request.key).into_bytes(),
        })
    }

    async fn get_mappings(&self, _key: &str) -> ProviderResult<Vec<String>> {
        match &self.mappings {
            Some(mappings) => Ok(mappings.iter().map(|name| (*name).to_owned()).collect()),
            None => Err(ProviderError::unimplemented("GetMappings")),
        }
    }
}

/// Resolves `remote` to a listening provider, refuses `forbidden`, and records the requests.
struct Named {
    address: String,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Resolver for Named {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        let version = request.version.map(|version| format!("@{version}"));
        let asked = format!("{}{}", request.name, version.unwrap_or_default());
        self.asked.lock().unwrap().push(asked);
        match request.name.as_str() {
            "remote" => Ok(Resolution::Address(self.address.clone())),
            "forbidden" => Err(Error::new(ErrorKind::Plugin, "the host does not allow that")),
            _ => Ok(Resolution::Default),
        }
    }
}

fn engine(address: String) -> (Engine, Arc<Named>) {
    let asked = Mutex::default();
    let resolver = Arc::new(Named { address, asked });
    let known = |schema, mappings| Arc::new(Known { schema, mappings }) as Arc<dyn ProviderBackend>;
    let failing = Err(ProviderError::new(ProviderStatus::DataLoss, "the disk is gone"));
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(EchoProvider::default()))
        .provider(
            "known",
            known(Ok(r#"{"name":"known","of":"$of"}"#), Some(vec!["one", "two"])),
        )
        .provider("single", known(failing, None))
        .resolver(Arc::clone(&resolver) as _)
        .build()
        .unwrap();
    (engine, resolver)
}

async fn schema(target: &str, request: GetSchemaRequest) -> Result<String, Status> {
    let mut loader = LoaderClient::connect(format!("http://{target}")).await.unwrap();
    let answer = loader.get_schema(request).await?.into_inner();
    Ok(String::from_utf8(answer.schema).unwrap())
}

fn of(package: &str) -> GetSchemaRequest {
    GetSchemaRequest {
        package: package.to_owned(),
        ..GetSchemaRequest::default()
    }
}

async fn mapping(target: &str, provider: &str, hint: &str, ecosystem: &str) -> Result<String, Status> {
    let mut mapper = MapperClient::connect(format!("http://{target}")).await.unwrap();
    let request = GetMappingRequest {
        provider: provider.to_owned(),
        pulumi_provider: hint.to_owned(),
        ecosystem: ecosystem.to_owned(),
        ..GetMappingRequest::default()
    };
    let answer = mapper.get_mapping(request).await?.into_inner();
    Ok(String::from_utf8(answer.data).unwrap())
}

async fn stack(engine: &Engine, program: FakeRuntime) -> Stack {
    let settings = StackSettings {
        program: Some(Arc::new(LanguageRuntimeProgram::new(program.serve().await))),
        ..StackSettings::default()
    };
    engine.stack("shop/dev", settings).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_serves_the_schemas_of_packages_wherever_their_providers_are() {
    let (remote, _) = LoggingProvider::serve(r#"{"name":"remote"}"#).await;
    let (engine, resolver) = engine(remote);
    let program = FakeRuntime::new(|request| async move {
        let target = &request.loader_target;
        let known = schema(target, of("known")).await.unwrap();
        assert_eq!(known, r#"{"name":"known","of":"@"}"#);
        let parameterized = GetSchemaRequest {
            parameterization: Some(Parameterization {
                name: "made".to_owned(),
                version: "2.0.0".to_owned(),
                value: b"x".to_vec(),
            }),
            ..of("known")
        };
        let made = schema(target, parameterized).await.unwrap();
        assert_eq!(made, r#"{"name":"known","of":"made@2.0.0"}"#);
        let versioned = GetSchemaRequest {
            version: "v1.2.3".to_owned(),
            ..of("remote")
        };
        assert_eq!(schema(target, versioned).await.unwrap(), r#"{"name":"remote"}"#);
        assert_eq!(
            schema(target, of("remote")).await.unwrap(),
            r#"{"name":"remote"}"#
        );
        Ok(RunResponse::default())
    });
    let program = program.requiring_packages(vec![PackageDependency {
        name: "remote".to_owned(),
        kind: "resource".to_owned(),
        version: "3.2.1".to_owned(),
        ..PackageDependency::default()
    }]);
    let result = stack(&engine, program)
        .await
        .update(OperationOptions::default())
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    // The resolver is called for every instance, also for these, with the version that the program requires.
    let asked = resolver.asked.lock().unwrap();
    assert_eq!(*asked, ["known", "known", "remote@1.2.3", "remote@3.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_schema_is_a_status_with_the_reason() {
    let (engine, _) = engine(String::new());
    let program = FakeRuntime::new(|request| async move {
        let target = &request.loader_target;
        let expected = [
            (of(""), Code::InvalidArgument, "of no package"),
            (of("nowhere"), Code::NotFound, "\"nowhere\" cannot be loaded"),
            (of("forbidden"), Code::NotFound, "the host does not allow that"),
            (of("echo"), Code::Unimplemented, "\"echo\" has no schema"),
            (of("pulumi"), Code::Unimplemented, "\"pulumi\" has no schema"),
            (of("single"), Code::DataLoss, "the disk is gone"),
            (
                GetSchemaRequest {
                    version: "soon".to_owned(),
                    ..of("known")
                },
                Code::InvalidArgument,
                "\"soon\" is no version of package \"known\"",
            ),
        ];
        for (request, code, part) in expected {
            let status = schema(target, request.clone()).await.unwrap_err();
            assert_eq!(status.code(), code, "{request:?}: {status}");
            assert!(status.message().contains(part), "{status}");
        }
        // The run continues.
        let mut client = client(&request.monitor_address).await;
        let root = root(&mut client, &request.project, &request.stack).await;
        register(&mut client, echo("a", &root, "1")).await.unwrap();
        Ok(RunResponse::default())
    });
    let result = stack(&engine, program)
        .await
        .update(OperationOptions::default())
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_serves_the_mappings_of_packages_and_nothing_for_unknown_ones() {
    let (engine, _) = engine(String::new());
    let program = FakeRuntime::new(|request| async move {
        let target = &request.mapper_target;
        for (provider, hint, ecosystem, expected) in [
            ("one", "known", "", "terraform/one"),
            ("two", "known", "helm", "helm/two"),
            // Without a hint at a provider, or with one that has no mapping.
            ("one", "", "", "terraform/one"),
            ("one", "nowhere", "", "terraform/one"),
            ("one", "forbidden", "", "terraform/one"),
            ("only", "single", "", "terraform/only"),
            ("three", "known", "", ""),
            ("three", "", "", ""),
        ] {
            let found = mapping(target, provider, hint, ecosystem).await.unwrap();
            assert_eq!(found, expected, "{provider} of {hint:?}");
        }
        let status = mapping(target, "", "known", "").await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        Ok(RunResponse::default())
    });
    let result = stack(&engine, program)
        .await
        .update(OperationOptions::default())
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_receives_the_addresses_of_schemas_and_mappings() {
    let (remote, greetings) = LoggingProvider::serve("{}").await;
    let (engine, _) = engine(remote);
    let program = FakeRuntime::new(move |request| {
        let greetings = Arc::clone(&greetings);
        async move {
            schema(&request.loader_target, of("remote")).await.unwrap();
            let greeting = greetings.lock().unwrap().pop().unwrap();
            let (loader, mapper) = (greeting.loader_target.unwrap(), greeting.mapper_target.unwrap());
            assert_eq!(loader, greeting.engine_address);
            let known = schema(&loader, of("known")).await.unwrap();
            assert_eq!(known, r#"{"name":"known","of":"@"}"#);
            assert_eq!(
                mapping(&mapper, "two", "known", "").await.unwrap(),
                "terraform/two"
            );
            assert_eq!(mapping(&mapper, "two", "", "").await.unwrap(), "terraform/two");
            Ok(RunResponse::default())
        }
    });
    let result = stack(&engine, program)
        .await
        .update(OperationOptions::default())
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
}
