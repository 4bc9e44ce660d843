//! The Loader and Mapper services: schemas of packages and mappings to them, for code generators and other tools.

use std::sync::Arc;

use stackwright_proto::codegen::{
    GetMappingRequest, GetMappingResponse, GetSchemaRequest, GetSchemaResponse,
    loader_server::{Loader, LoaderServer},
    mapper_server::{Mapper, MapperServer},
};
use tonic::{Code, Request, Response, Status, service::Routes};

use super::MESSAGE_LIMIT;
use crate::provider::{
    MappingQuestion, PackageError, PackageSource, ProviderSpec, grpc::Parameter, mapping, schema,
};

/// The default ecosystem of mapping requests.
const DEFAULT_ECOSYSTEM: &str = "terraform";

/// Adds both services to those of a server.
pub(crate) fn with_package_services(services: Routes, source: &Arc<dyn PackageSource>) -> Routes {
    let service = Packages(Arc::clone(source));
    let loader = LoaderServer::new(service.clone())
        .max_decoding_message_size(MESSAGE_LIMIT)
        .max_encoding_message_size(MESSAGE_LIMIT);
    let mapper = MapperServer::new(service)
        .max_decoding_message_size(MESSAGE_LIMIT)
        .max_encoding_message_size(MESSAGE_LIMIT);
    services.add_service(loader).add_service(mapper)
}

/// The handler of both services.
#[derive(Clone)]
struct Packages(Arc<dyn PackageSource>);

impl From<PackageError> for Status {
    fn from(error: PackageError) -> Self {
        Self::new(Code::from_i32(error.status as i32), error.message)
    }
}

#[tonic::async_trait]
impl Loader for Packages {
    async fn get_schema(
        &self,
        request: Request<GetSchemaRequest>,
    ) -> Result<Response<GetSchemaResponse>, Status> {
        let request = request.into_inner();
        let package = request.package;
        if package.is_empty() {
            return Err(Status::invalid_argument("a schema is asked for of no package"));
        }
        let version = match request.version.trim_start_matches('v') {
            "" => None,
            text => Some(semver::Version::parse(text).map_err(|error| {
                let version = &request.version;
                Status::invalid_argument(format!(
                    "{version:?} is no version of package {package:?}: {error}"
                ))
            })?),
        };
        let spec = ProviderSpec {
            plugin: package,
            version,
            download_url: request.download_url.trim_end_matches('/').to_owned(),
            parameter: request.parameterization.map(|made| Parameter {
                name: made.name,
                version: made.version,
                value: made.value,
            }),
            ..ProviderSpec::default()
        };
        let schema = schema(&*self.0, spec).await?.into_bytes();
        Ok(Response::new(GetSchemaResponse { schema }))
    }
}

#[tonic::async_trait]
impl Mapper for Packages {
    async fn get_mapping(
        &self,
        request: Request<GetMappingRequest>,
    ) -> Result<Response<GetMappingResponse>, Status> {
        let request = request.into_inner();
        if request.provider.is_empty() {
            return Err(Status::invalid_argument("a mapping is asked for of no provider"));
        }
        let ecosystem = if request.ecosystem.is_empty() {
            DEFAULT_ECOSYSTEM.to_owned()
        } else {
            request.ecosystem
        };
        let question = MappingQuestion {
            ecosystem,
            provider: request.provider,
            plugin: request.pulumi_provider,
            parameter: request.parameterization_hint.map(|made| Parameter {
                name: made.name,
                version: made.version,
                value: made.value,
            }),
        };
        let data = mapping(&*self.0, question).await?;
        Ok(Response::new(GetMappingResponse { data }))
    }
}
