//! The calls about the package itself, which need no configuration.

use stackwright_proto::pulumirpc;

use super::GrpcProvider;
use crate::provider::{Mapping, MappingRequest, ProviderResult, SchemaRequest, package::SCHEMA_FORMAT};

impl GrpcProvider {
    pub(super) async fn ask_for_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        let message = pulumirpc::GetSchemaRequest {
            version: SCHEMA_FORMAT,
            subpackage_name: request.subpackage_name,
            subpackage_version: request.subpackage_version,
        };
        match self.client().get_schema(message).await {
            Ok(answer) => Ok(answer.into_inner().schema),
            Err(failure) => Err(self.peer.fault("GetSchema", failure, &self.runtime).await),
        }
    }

    pub(super) async fn ask_for_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        let message = pulumirpc::GetMappingRequest {
            key: request.key,
            provider: request.provider,
        };
        match self.client().get_mapping(message).await {
            Ok(answer) => {
                let answer = answer.into_inner();
                Ok(Mapping {
                    provider: answer.provider,
                    data: answer.data,
                })
            }
            Err(failure) => Err(self.peer.fault("GetMapping", failure, &self.runtime).await),
        }
    }

    pub(super) async fn ask_for_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        let message = pulumirpc::GetMappingsRequest { key: key.to_owned() };
        match self.client().get_mappings(message).await {
            Ok(answer) => Ok(answer.into_inner().providers),
            Err(failure) => Err(self.peer.fault("GetMappings", failure, &self.runtime).await),
        }
    }
}
