//! The provider's calls, each with its function of the table; what the table lacks does what the engine's trait says.

use async_trait::async_trait;
use serde_json::value::RawValue;
use stackwright::provider::{
    Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
    DeleteRequest, DiffRequest, DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Mapping,
    MappingRequest, PluginInfo, Provider, ProviderError, ProviderResult, ProviderStatus, ReadRequest,
    ReadResponse, SchemaRequest, UpdateRequest, UpdateResponse,
};

use super::{
    Table,
    request::{
        Check, Configure, Create, Delete, Diff, Invoke, MappingOf, Mappings, Nothing, Read, Schema, Update,
    },
    response::{Checked, Created, Deleted, Diffed, Facts, Invoked, Mapped, Understands, Updated, WasRead},
};

impl Table {
    async fn checked(
        &self,
        name: &str,
        function: super::sw_call_t,
        request: CheckRequest,
    ) -> ProviderResult<CheckResponse> {
        let sent = request.news.clone();
        if function.is_none() {
            return Ok(CheckResponse {
                inputs: sent,
                failures: Vec::new(),
            });
        }
        let checked: Checked = self.call(name, function, Check::from(request)).await?;
        Ok(checked.into_response(sent))
    }

    async fn diffed(
        &self,
        name: &str,
        function: super::sw_call_t,
        request: DiffRequest,
    ) -> ProviderResult<DiffResponse> {
        if function.is_none() {
            return Ok(DiffResponse::default());
        }
        let diffed: Diffed = self.call(name, function, Diff::from(request)).await?;
        Ok(diffed.into())
    }
}

#[async_trait]
impl Provider for Table {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        if self.functions.handshake.is_none() {
            return Ok(Capabilities::all());
        }
        let answer: Understands = self
            .call("handshake", self.functions.handshake, Nothing {})
            .await?;
        Ok(*self.understands.get_or_init(|| answer.over(Capabilities::all())))
    }

    async fn plugin_info(&self) -> ProviderResult<PluginInfo> {
        if self.functions.plugin_info.is_none() {
            return Ok(PluginInfo::default());
        }
        let facts: Facts = self
            .call("plugin_info", self.functions.plugin_info, Nothing {})
            .await?;
        let parse = |text: &String| {
            semver::Version::parse(text).map_err(|error| {
                let message = format!("the provider gave a version that cannot be read: {text:?}: {error}");
                ProviderError::new(ProviderStatus::InvalidArgument, message)
            })
        };
        Ok(PluginInfo {
            version: facts.version.as_ref().map(parse).transpose()?,
        })
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.checked("check_config", self.functions.check_config, request)
            .await
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.diffed("diff_config", self.functions.diff_config, request)
            .await
    }

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        if self.functions.configure.is_none() {
            return Ok(None);
        }
        let request = Configure::from(request);
        let answer: Option<Understands> = self.call("configure", self.functions.configure, request).await?;
        let base = self.understands.get().copied().unwrap_or(Capabilities::all());
        Ok(answer.map(|answer| answer.over(base)))
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.checked("check", self.functions.check, request).await
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.diffed("diff", self.functions.diff, request).await
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let views = request.views.clone();
        let request = Create::from(request);
        let mut created: Created = self.call("create", self.functions.create, request).await?;
        views.publish_with_answer(std::mem::take(&mut created.view_steps));
        Ok(created.into())
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        if self.functions.read.is_none() {
            return Ok(ReadResponse {
                id: request.id,
                inputs: Some(request.inputs.unwrap_or_default()),
                outputs: Some(request.properties.unwrap_or_default()),
                ..ReadResponse::default()
            });
        }
        let views = request.views.clone();
        let mut read: WasRead = self
            .call("read", self.functions.read, Read::from(request))
            .await?;
        views.publish_with_answer(std::mem::take(&mut read.view_steps));
        Ok(read.into())
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        if self.functions.update.is_none() {
            let message = format!("{} can not be updated in place", request.urn);
            return Err(ProviderError::unimplemented(message));
        }
        let views = request.views.clone();
        let request = Update::from(request);
        let mut updated: Updated = self.call("update", self.functions.update, request).await?;
        views.publish_with_answer(std::mem::take(&mut updated.view_steps));
        Ok(updated.into())
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        if self.functions.delete_.is_none() {
            let message = format!("{} cannot be deleted: its provider has no delete_", request.urn);
            return Err(ProviderError::unimplemented(message));
        }
        let views = request.views.clone();
        let request = Delete::from(request);
        let deleted: Deleted = self.call("delete_", self.functions.delete_, request).await?;
        views.publish_with_answer(deleted.view_steps);
        Ok(())
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        if self.functions.invoke.is_none() {
            let message = format!("unknown function {:?}", request.token);
            return Err(ProviderError::unimplemented(message));
        }
        let invoked: Invoked = self
            .call("invoke", self.functions.invoke, Invoke::from(request))
            .await?;
        Ok(invoked.into())
    }

    async fn get_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        let request = Schema::from(request);
        let schema: Option<Box<RawValue>> = self
            .call("get_schema", self.functions.get_schema, request)
            .await?;
        let text = schema.as_deref().map(RawValue::get).unwrap_or_default();
        if text.starts_with('{') {
            return Ok(text.to_owned());
        }
        let message = "the provider gave get_schema an answer that is no JSON object";
        Err(ProviderError::new(ProviderStatus::Internal, message))
    }

    async fn get_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        let request = MappingOf::from(request);
        let mapped: Mapped = self
            .call("get_mapping", self.functions.get_mapping, request)
            .await?;
        mapped.into_mapping()
    }

    async fn get_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        let request = Mappings { key: key.to_owned() };
        self.call("get_mappings", self.functions.get_mappings, request)
            .await
    }

    async fn cancel(&self) {
        self.tell(self.functions.cancel).await;
    }

    async fn close(&self) {
        self.tell(self.functions.close).await;
    }
}
