//! Providers written in Python: the engine's trait over an object with methods, blocking or asynchronous.

mod call;
mod installer;
pub(crate) mod requests;
mod resolver;
mod responses;
mod views;

use async_trait::async_trait;
use pyo3::{prelude::*, types::PyTuple};
use stackwright::provider::{
    Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
    DeleteRequest, DiffRequest, DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Mapping,
    MappingRequest, PluginInfo, Provider, ProviderError, ProviderResult, ReadRequest, ReadResponse,
    SchemaRequest, UpdateRequest, UpdateResponse,
};

pub(crate) use self::{
    installer::PythonInstaller,
    resolver::{PythonResolver, ResolutionRequest},
};
use crate::function::{Caller, HostContext, Method};

/// A provider written in Python. Methods that it does not define are answered without entering Python.
pub(crate) struct PythonProvider {
    caller: Caller,
    capabilities: Capabilities,
    version: Option<semver::Version>,
    check_config: Option<Method>,
    diff_config: Option<Method>,
    configure: Option<Method>,
    check: Option<Method>,
    diff: Option<Method>,
    create: Option<Method>,
    read: Option<Method>,
    update: Option<Method>,
    delete: Option<Method>,
    invoke: Option<Method>,
    get_schema: Option<Method>,
    get_mapping: Option<Method>,
    get_mappings: Option<Method>,
    cancel: Option<Method>,
    close: Option<Method>,
}

impl PythonProvider {
    /// Reads `(name, bound method, whether it is asynchronous)` for each method that the object defines, as
    /// `stackwright.provider` prepares them.
    pub(crate) fn read(description: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        let (methods, facts): (Bound<'_, PyAny>, Bound<'_, PyAny>) = description.extract()?;
        let mut provider = Self {
            caller: Caller::new(&facts.get_item("class")?.extract::<String>()?, context),
            capabilities: Capabilities {
                accept_secrets: facts.get_item("accept_secrets")?.extract()?,
                supports_preview: facts.get_item("supports_preview")?.extract()?,
                waits_for_registrations: facts.get_item("waits_for_registrations")?.extract()?,
                ..Capabilities::all()
            },
            version: responses::version(&facts.get_item("version")?)?,
            check_config: None,
            diff_config: None,
            configure: None,
            check: None,
            diff: None,
            create: None,
            read: None,
            update: None,
            delete: None,
            invoke: None,
            get_schema: None,
            get_mapping: None,
            get_mappings: None,
            cancel: None,
            close: None,
        };
        for entry in methods.try_iter()? {
            let entry = entry?.cast_into::<PyTuple>()?;
            let (name, callable, is_async): (String, Py<PyAny>, bool) = entry.extract()?;
            let slot = match name.as_str() {
                "check_config" => &mut provider.check_config,
                "diff_config" => &mut provider.diff_config,
                "configure" => &mut provider.configure,
                "check" => &mut provider.check,
                "diff" => &mut provider.diff,
                "create" => &mut provider.create,
                "read" => &mut provider.read,
                "update" => &mut provider.update,
                "delete" => &mut provider.delete,
                "invoke" => &mut provider.invoke,
                "get_schema" => &mut provider.get_schema,
                "get_mapping" => &mut provider.get_mapping,
                "get_mappings" => &mut provider.get_mappings,
                "cancel" => &mut provider.cancel,
                "close" => &mut provider.close,
                _ => return Err(crate::errors::misuse("a provider has no such method")),
            };
            *slot = Some(Method::new(callable, is_async));
        }
        Ok(provider)
    }
}

impl PythonProvider {
    async fn check_by(
        &self,
        name: &'static str,
        method: Option<&Method>,
        request: CheckRequest,
    ) -> ProviderResult<CheckResponse> {
        let Some(method) = method else {
            return Ok(CheckResponse {
                inputs: request.news,
                failures: Vec::new(),
            });
        };
        let request = requests::CheckRequest::from(request);
        self.caller.call(name, method, request, responses::check).await
    }

    async fn diff_by(
        &self,
        name: &'static str,
        method: Option<&Method>,
        request: DiffRequest,
    ) -> ProviderResult<DiffResponse> {
        let Some(method) = method else {
            return Ok(DiffResponse::default());
        };
        let request = requests::DiffRequest::from(request);
        self.caller.call(name, method, request, responses::diff).await
    }
}

fn undefined(method: &str, what: impl std::fmt::Display) -> ProviderError {
    ProviderError::unimplemented(format!("the provider has no {method}() for {what}"))
}

#[async_trait]
impl Provider for PythonProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(self.capabilities)
    }

    async fn plugin_info(&self) -> ProviderResult<PluginInfo> {
        Ok(PluginInfo {
            version: self.version.clone(),
        })
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.check_by("check_config", self.check_config.as_ref(), request)
            .await
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.diff_by("diff_config", self.diff_config.as_ref(), request)
            .await
    }

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        if let Some(method) = &self.configure {
            let request = requests::ConfigureRequest::from(request);
            self.caller.call("configure", method, request, |_| Ok(())).await?;
        }
        Ok(None)
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.check_by("check", self.check.as_ref(), request).await
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.diff_by("diff", self.diff.as_ref(), request).await
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let Some(method) = &self.create else {
            return Err(undefined("create", &request.urn));
        };
        if request.preview && !self.capabilities.supports_preview {
            return Ok(CreateResponse {
                outputs: request.inputs,
                ..CreateResponse::default()
            });
        }
        let request = requests::CreateRequest::from(request);
        self.caller
            .call("create", method, request, responses::create)
            .await
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        let Some(method) = &self.read else {
            return Ok(ReadResponse {
                id: request.id,
                inputs: Some(request.inputs.unwrap_or_default()),
                outputs: Some(request.properties.unwrap_or_default()),
                refresh_before_update: false,
            });
        };
        let request = requests::ReadRequest::from(request);
        self.caller.call("read", method, request, responses::read).await
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        let Some(method) = &self.update else {
            return Err(undefined("update", &request.urn));
        };
        if request.preview && !self.capabilities.supports_preview {
            return Ok(UpdateResponse {
                outputs: request.news,
                refresh_before_update: false,
            });
        }
        let request = requests::UpdateRequest::from(request);
        self.caller
            .call("update", method, request, responses::update)
            .await
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        let Some(method) = &self.delete else {
            return Err(undefined("delete", &request.urn));
        };
        let request = requests::DeleteRequest::from(request);
        self.caller.call("delete", method, request, |_| Ok(())).await
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let Some(method) = &self.invoke else {
            return Err(ProviderError::unimplemented(format!(
                "unknown function {:?}",
                request.token
            )));
        };
        let request = requests::InvokeRequest::from(request);
        self.caller
            .call("invoke", method, request, responses::invoke)
            .await
    }

    async fn get_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        let Some(method) = &self.get_schema else {
            return Err(ProviderError::unimplemented("the provider has no get_schema()"));
        };
        let request = requests::SchemaRequest::from(request);
        self.caller
            .call("get_schema", method, request, responses::schema)
            .await
    }

    async fn get_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        let Some(method) = &self.get_mapping else {
            return Err(ProviderError::unimplemented("the provider has no get_mapping()"));
        };
        let request = requests::MappingRequest::from(request);
        self.caller
            .call("get_mapping", method, request, responses::mapping)
            .await
    }

    async fn get_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        let Some(method) = &self.get_mappings else {
            return Err(ProviderError::unimplemented("the provider has no get_mappings()"));
        };
        self.caller
            .call_with_text("get_mappings", method, key.to_owned(), responses::mappings)
            .await
    }

    async fn cancel(&self) {
        if let Some(method) = &self.cancel {
            // There is nothing to be told to a provider that fails to give up.
            let _given_up = self.caller.notify("cancel", method).await;
        }
    }

    async fn close(&self) {
        if let Some(method) = &self.close {
            let _closed = self.caller.notify("close", method).await;
        }
    }
}
