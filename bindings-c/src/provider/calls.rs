//! The calls of a provider, as calls of the table's functions.

use async_trait::async_trait;
use serde_json::value::RawValue;
use stackwright::provider::{
    Call, Capabilities, CheckRequest, PluginInfo, ProviderBackend, ProviderError, ProviderResult,
    ProviderStatus, Reply,
};

use super::{
    CProvider,
    pending_call::Function,
    request::{
        Check, Configure, Create, Delete, Diff, Empty, Invoke, MappingOf, Mappings, Read, Schema, Update,
    },
    response::{
        CapabilitiesDocument, Checked, Created, Deleted, Diffed, Invoked, Mapped, PluginInfoDocument,
        ReadOutcome, Updated,
    },
    sw_call_t,
};

impl CProvider {
    /// Returns the name and the function of a call with a response; `None` when the table has none.
    fn function(&self, call: &Call) -> (&'static str, sw_call_t) {
        let table = &self.functions;
        let function = match call {
            Call::Handshake(_) => table.handshake,
            Call::PluginInfo => table.plugin_info,
            Call::CheckConfig(_) => table.check_config,
            Call::DiffConfig(_) => table.diff_config,
            Call::Configure(_) => table.configure,
            Call::Check(_) => table.check,
            Call::Diff(_) => table.diff,
            Call::Create(_) => table.create,
            Call::Read(_) => table.read,
            Call::Update(_) => table.update,
            Call::Delete(_) => return ("delete_", table.delete_),
            Call::Invoke(_) => table.invoke,
            Call::GetSchema(_) => table.get_schema,
            Call::GetMapping(_) => table.get_mapping,
            Call::GetMappings(_) => table.get_mappings,
            Call::Understands | Call::Construct(_) | Call::Method(_) | Call::Cancel | Call::Close => None,
        };
        (call.name(), function)
    }

    async fn checked(&self, name: &str, function: Function, request: CheckRequest) -> ProviderResult<Reply> {
        let sent = request.news.clone();
        let checked: Checked = self.ask(name, function, Check::from(request)).await?;
        Ok(Reply::Check(checked.into_response(sent)))
    }

    async fn schema(&self, name: &str, function: Function, request: Schema) -> ProviderResult<String> {
        let schema: Option<Box<RawValue>> = self.ask(name, function, request).await?;
        let text = schema.as_deref().map(RawValue::get).unwrap_or_default();
        if text.starts_with('{') {
            return Ok(text.to_owned());
        }
        let message = "malformed get_schema response from the provider: no JSON object";
        Err(ProviderError::new(ProviderStatus::Internal, message))
    }
}

fn info(document: &PluginInfoDocument) -> ProviderResult<PluginInfo> {
    let parse = |text: &String| {
        semver::Version::parse(text).map_err(|error| {
            let message =
                format!("malformed plugin_info response from the provider: version {text:?}: {error}");
            ProviderError::new(ProviderStatus::InvalidArgument, message)
        })
    };
    let version = document.version.as_ref().map(parse).transpose()?;
    Ok(PluginInfo { version })
}

impl CProvider {
    /// Calls a function without a context.
    async fn call_function(&self, call: Call) -> ProviderResult<Reply> {
        let (name, Some(function)) = self.function(&call) else {
            return call.without_method();
        };
        match call {
            Call::Handshake(_) => {
                let answer: CapabilitiesDocument = self.ask(name, function, Empty {}).await?;
                let capabilities = self.capabilities.get_or_init(|| answer.or(Capabilities::all()));
                Ok(Reply::Capabilities(*capabilities))
            }
            Call::PluginInfo => {
                let document: PluginInfoDocument = self.ask(name, function, Empty {}).await?;
                info(&document).map(Reply::PluginInfo)
            }
            Call::CheckConfig(request) | Call::Check(request) => self.checked(name, function, request).await,
            Call::DiffConfig(request) | Call::Diff(request) => {
                let diffed: Diffed = self.ask(name, function, Diff::from(request)).await?;
                Ok(Reply::Diff(diffed.into()))
            }
            Call::Configure(request) => {
                let request = Configure::from(request);
                let answer: Option<CapabilitiesDocument> = self.ask(name, function, request).await?;
                let base = self.capabilities.get().copied().unwrap_or(Capabilities::all());
                Ok(Reply::Understands(answer.map(|answer| answer.or(base))))
            }
            Call::Create(request) => {
                let views = request.views.clone();
                let mut created: Created = self.ask(name, function, Create::from(request)).await?;
                views.publish_with_answer(std::mem::take(&mut created.view_steps));
                Ok(Reply::Create(created.into()))
            }
            Call::Read(request) => {
                let views = request.views.clone();
                let mut read: ReadOutcome = self.ask(name, function, Read::from(request)).await?;
                views.publish_with_answer(std::mem::take(&mut read.view_steps));
                Ok(Reply::Read(read.into()))
            }
            Call::Update(request) => {
                let views = request.views.clone();
                let mut updated: Updated = self.ask(name, function, Update::from(request)).await?;
                views.publish_with_answer(std::mem::take(&mut updated.view_steps));
                Ok(Reply::Update(updated.into()))
            }
            Call::Delete(request) => {
                let views = request.views.clone();
                let deleted: Deleted = self.ask(name, function, Delete::from(request)).await?;
                views.publish_with_answer(deleted.view_steps);
                Ok(Reply::Done)
            }
            Call::Invoke(request) => {
                let invoked: Invoked = self.ask(name, function, Invoke::from(request)).await?;
                Ok(Reply::Invoke(invoked.into()))
            }
            Call::GetSchema(request) => {
                let schema = self.schema(name, function, Schema::from(request)).await;
                schema.map(Reply::Schema)
            }
            Call::GetMapping(request) => {
                let mapped: Mapped = self.ask(name, function, MappingOf::from(request)).await?;
                mapped.into_mapping().map(Reply::Mapping)
            }
            Call::GetMappings(key) => {
                let mappings = self.ask(name, function, Mappings { key }).await?;
                Ok(Reply::Mappings(mappings))
            }
            other => other.without_method(),
        }
    }
}

#[async_trait]
impl ProviderBackend for CProvider {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Cancel => {
                self.notify(self.functions.cancel).await;
                Ok(Reply::Done)
            }
            Call::Close => {
                self.notify(self.functions.close).await;
                Ok(Reply::Done)
            }
            Call::Construct(request) => self.construct(request).await,
            Call::Method(request) => self.call_method(request).await,
            call => self.call_function(call).await,
        }
    }
}
