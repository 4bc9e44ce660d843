//! Providers written in Python: a backend over an object with methods, blocking or asynchronous.

mod bodies;
mod call;
mod installer;
pub(crate) mod requests;
mod resolver;
mod responses;
mod shown;
mod views;

use std::collections::HashMap;

use async_trait::async_trait;
use pyo3::{prelude::*, types::PyTuple};
use stackwright::provider::{Call, Capabilities, PluginInfo, ProviderBackend, ProviderResult, Reply};

pub(crate) use self::{
    bodies::{ConstructRequest, MethodRequest},
    installer::PythonInstaller,
    resolver::{PythonResolver, ResolutionRequest},
};
use crate::function::{Caller, HostContext, Method};

/// The methods that an object may define, by the names of the calls.
const METHODS: [&str; 17] = [
    "check_config",
    "diff_config",
    "configure",
    "check",
    "diff",
    "create",
    "read",
    "update",
    "delete",
    "invoke",
    "construct",
    "call",
    "get_schema",
    "get_mapping",
    "get_mappings",
    "cancel",
    "close",
];

/// A provider written in Python. Calls without a method are answered without entering Python.
pub(crate) struct PythonProvider {
    caller: Caller,
    capabilities: Capabilities,
    version: Option<semver::Version>,
    methods: HashMap<&'static str, Method>,
}

impl PythonProvider {
    /// Reads `(name, bound method, whether it is asynchronous)` for each method that the object defines, from
    /// `stackwright.provider`.
    pub(crate) fn read(description: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        let (described, facts): (Bound<'_, PyAny>, Bound<'_, PyAny>) = description.extract()?;
        let mut methods = HashMap::new();
        for entry in described.try_iter()? {
            let entry = entry?.cast_into::<PyTuple>()?;
            let (name, callable, is_async): (String, Py<PyAny>, bool) = entry.extract()?;
            let Some(known) = METHODS.into_iter().find(|known| *known == name) else {
                return Err(crate::errors::misuse("a provider has no such method"));
            };
            methods.insert(known, Method::new(callable, is_async));
        }
        Ok(Self {
            caller: Caller::new(&facts.get_item("class")?.extract::<String>()?, context),
            capabilities: Capabilities {
                accept_secrets: facts.get_item("accept_secrets")?.extract()?,
                supports_preview: facts.get_item("supports_preview")?.extract()?,
                waits_for_registrations: facts.get_item("waits_for_registrations")?.extract()?,
                ..Capabilities::all()
            },
            version: responses::version(&facts.get_item("version")?)?,
            methods,
        })
    }
}

impl PythonProvider {
    /// Makes a call about the package or the provider as a whole.
    async fn call_about_package(&self, method: &Method, call: Call) -> ProviderResult<Reply> {
        let (name, caller) = (call.name(), &self.caller);
        match call {
            Call::GetSchema(request) => {
                let request = requests::SchemaRequest::from(request);
                caller
                    .call(name, method, request, responses::schema)
                    .await
                    .map(Reply::Schema)
            }
            Call::GetMapping(request) => {
                let request = requests::MappingRequest::from(request);
                caller
                    .call(name, method, request, responses::mapping)
                    .await
                    .map(Reply::Mapping)
            }
            Call::GetMappings(key) => {
                let mappings = caller
                    .call_with_text(name, method, key, responses::mappings)
                    .await;
                mappings.map(Reply::Mappings)
            }
            Call::Cancel | Call::Close => caller.notify(name, method).await.map(|()| Reply::Done),
            other => other.without_method(),
        }
    }
}

#[async_trait]
impl ProviderBackend for PythonProvider {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        let name = call.name();
        let caller = &self.caller;
        let method = match (self.methods.get(name), &call) {
            (_, Call::Handshake(_)) => return Ok(Reply::Capabilities(self.capabilities)),
            (_, Call::PluginInfo) => {
                let version = self.version.clone();
                return Ok(Reply::PluginInfo(PluginInfo { version }));
            }
            (None, _) => return call.without_method(),
            (Some(method), _) => method,
        };
        match call {
            Call::CheckConfig(request) | Call::Check(request) => {
                let request = requests::CheckRequest::from(request);
                caller
                    .call(name, method, request, responses::check)
                    .await
                    .map(Reply::Check)
            }
            Call::DiffConfig(request) | Call::Diff(request) => {
                let request = requests::DiffRequest::from(request);
                caller
                    .call(name, method, request, responses::diff)
                    .await
                    .map(Reply::Diff)
            }
            Call::Configure(request) => {
                let request = requests::ConfigureRequest::from(request);
                let configured = caller.call(name, method, request, |_| Ok(())).await;
                configured.map(|()| Reply::Understands(None))
            }
            Call::Create(request) => {
                let request = requests::CreateRequest::from(request);
                caller
                    .call(name, method, request, responses::create)
                    .await
                    .map(Reply::Create)
            }
            Call::Read(request) => {
                let request = requests::ReadRequest::from(request);
                caller
                    .call(name, method, request, responses::read)
                    .await
                    .map(Reply::Read)
            }
            Call::Update(request) => {
                let request = requests::UpdateRequest::from(request);
                caller
                    .call(name, method, request, responses::update)
                    .await
                    .map(Reply::Update)
            }
            Call::Delete(request) => {
                let request = requests::DeleteRequest::from(request);
                caller
                    .call(name, method, request, |_| Ok(()))
                    .await
                    .map(|()| Reply::Done)
            }
            Call::Invoke(request) => {
                let request = requests::InvokeRequest::from(request);
                caller
                    .call(name, method, request, responses::invoke)
                    .await
                    .map(Reply::Invoke)
            }
            Call::Construct(request) => self.construct(method, *request).await,
            Call::Method(request) => self.call_method(method, *request).await,
            other => self.call_about_package(method, other).await,
        }
    }
}
