//! The adapter between the engine and any provider backend: secrets for providers that decline them, previews of
//! providers without preview, unknown configurations, missing methods.

mod defaults;
mod secrets;
mod unconfigured;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::provider::{
    Call, CallLimit, CallObserver, Capabilities, CheckRequest, CheckResponse, ConfigureRequest,
    ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
    DiffResponse, InvokeRequest, InvokeResponse, MethodRequest, MethodResponse, ObservedCall,
    ProviderBackend, ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse, Reply,
    UpdateRequest, UpdateResponse,
    backend::{mismatch, typed_calls},
};

pub(super) use defaults::{
    checked, no_mappings, no_schema, not_updated, read_back, unknown_component, unknown_function,
    unknown_method,
};
use secrets::Marks;

/// A provider with the adapter's rules. Clones call the same provider.
#[derive(Clone)]
pub(crate) struct Adapter(Arc<Adapted>);

struct Adapted {
    backend: Arc<dyn ProviderBackend>,
    /// The capabilities reported by Handshake, or by Configure after it.
    reported: Mutex<Capabilities>,
    /// The final capabilities, of a backend that reports them in its response to Configure.
    settled: OnceLock<Capabilities>,
    options: AdapterOptions,
    /// How long calls may take; `None` without a limit.
    limit: Option<CallLimit>,
    /// Observes the calls; `None` for what only stands in the place of a provider.
    observer: Option<CallObserver>,
}

/// Deviations from the default handling of a provider's calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AdapterOptions {
    /// Create and Update are not called in previews: the inputs become the outputs.
    pub(crate) disable_preview: bool,
    /// The configuration contains unknowns: only CheckConfig and DiffConfig reach the provider.
    pub(crate) unconfigured: bool,
    /// The provider is a plugin: Configure receives secrets, CheckConfig and DiffConfig receive plain values.
    pub(crate) is_plugin: bool,
}

impl Adapter {
    /// Creates an adapter for a backend with `capabilities`.
    pub(crate) fn new(
        backend: Arc<dyn ProviderBackend>,
        capabilities: Capabilities,
        options: AdapterOptions,
    ) -> Self {
        Self::with_limit(backend, capabilities, options, None, None)
    }

    /// Creates an adapter whose calls may not take longer than the limit, and are observed.
    pub(crate) fn with_limit(
        backend: Arc<dyn ProviderBackend>,
        capabilities: Capabilities,
        options: AdapterOptions,
        limit: Option<CallLimit>,
        observer: Option<CallObserver>,
    ) -> Self {
        Self(Arc::new(Adapted {
            backend,
            reported: Mutex::new(capabilities),
            settled: OnceLock::new(),
            options,
            limit,
            observer,
        }))
    }

    /// Creates a provider that could not be loaded: every call fails with `error`.
    pub(crate) fn failed(error: ProviderError) -> Self {
        Self::new(
            Arc::new(Failed(error)),
            Capabilities::all(),
            AdapterOptions::default(),
        )
    }

    /// Returns the same provider without a configuration, for a preview in which that is unknown.
    pub(crate) fn unconfigured(&self) -> Self {
        Self::with_limit(
            Arc::clone(&self.0.backend),
            // CheckConfig and DiffConfig still reach it.
            self.reported(),
            AdapterOptions {
                unconfigured: true,
                ..self.0.options
            },
            self.0.limit.clone(),
            self.0.observer.clone(),
        )
    }

    /// Returns the backend that transports the calls.
    pub(crate) fn backend(&self) -> &Arc<dyn ProviderBackend> {
        &self.0.backend
    }

    /// Returns the capabilities that the provider has reported so far.
    pub(crate) fn reported(&self) -> Capabilities {
        *self.0.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the provider's capabilities, after its configuration has settled.
    pub(crate) async fn capabilities(&self) -> ProviderResult<Capabilities> {
        let reported = self.reported();
        // A provider that accepts secrets has reported all capabilities in its handshake.
        if reported.accept_secrets {
            return Ok(reported);
        }
        if let Some(settled) = self.0.settled.get() {
            return Ok(*settled);
        }
        match self.transport(Call::Understands).await? {
            Reply::Understands(None) => Ok(reported),
            Reply::Understands(Some(settled)) => Ok(*self.0.settled.get_or_init(|| settled)),
            _ => Err(mismatch("understands")),
        }
    }

    /// Returns the limit of the duration of its calls.
    pub(crate) fn limit(&self) -> Option<&CallLimit> {
        self.0.limit.as_ref()
    }

    /// Returns whether the configuration contains unknowns, so that the provider cannot be called.
    pub(crate) fn is_unconfigured(&self) -> bool {
        self.0.options.unconfigured
    }

    /// Constructs a component.
    ///
    /// # Errors
    /// The provider's error; one for a plugin that declines secrets, which components cannot do without. Providers of the
    /// host get them in any case: what a component registers would be recorded in plain.
    pub(crate) async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        if self.0.options.is_plugin && !self.capabilities().await?.accept_secrets {
            return Err(ProviderError::new(
                ProviderStatus::FailedPrecondition,
                "plugins that can construct components must support secrets",
            ));
        }
        match self.call(Call::Construct(Box::new(request))).await? {
            Reply::Construct(response) => Ok(response),
            _ => Err(mismatch("construct")),
        }
    }

    /// Calls a method.
    ///
    /// # Errors
    /// The provider's error.
    pub(crate) async fn call_method(&self, request: MethodRequest) -> ProviderResult<MethodResponse> {
        match self.call(Call::Method(Box::new(request))).await? {
            Reply::Method(response) => Ok(response),
            _ => Err(mismatch("call")),
        }
    }

    /// Returns whether the provider uses names that the engine proposes; true for a provider that cannot be configured
    /// yet.
    pub(crate) async fn supports_autonaming(&self) -> bool {
        let reported = self.reported().supports_autonaming;
        if reported || self.0.options.unconfigured {
            return true;
        }
        match self.transport(Call::Understands).await {
            Ok(Reply::Understands(settled)) => settled.is_some_and(|settled| settled.supports_autonaming),
            _ => true,
        }
    }

    async fn call(&self, mut call: Call) -> ProviderResult<Reply> {
        if self.0.options.unconfigured {
            match unconfigured::answer(call) {
                Ok(answer) => return answer,
                Err(passed) => call = *passed,
            }
        }
        let capabilities = match &call {
            Call::CheckConfig(_) | Call::DiffConfig(_) | Call::Configure(_) => self.reported(),
            _ => self.capabilities().await?,
        };
        if self.0.options.disable_preview || !capabilities.supports_preview {
            match preview_from_inputs(call) {
                Ok(preview) => return Ok(preview),
                Err(passed) => call = *passed,
            }
        }
        if let Call::Invoke(request) = &mut call
            && !capabilities.accept_outputs_in_invoke
        {
            request.arguments = request.arguments.without_outputs();
        }
        let configures = matches!(call, Call::Configure(_));
        let accepts_secrets = match &call {
            Call::CheckConfig(_) | Call::DiffConfig(_) if self.0.options.is_plugin => false,
            Call::Configure(_) if self.0.options.is_plugin => true,
            // What a method of the host registers would be recorded in plain.
            Call::Method(_) if !self.0.options.is_plugin => true,
            _ => capabilities.accept_secrets,
        };
        let answer = if accepts_secrets {
            self.transport(call).await
        } else {
            let marks = Marks::take(&mut call);
            marks.put_back(self.transport(call).await)
        };
        if configures && let Ok(Reply::Understands(Some(changed))) = &answer {
            *self.0.reported.lock().unwrap_or_else(PoisonError::into_inner) = *changed;
        }
        answer
    }

    /// Hands a call to the backend, within the limit of its duration.
    async fn transport(&self, call: Call) -> ProviderResult<Reply> {
        // Not a call of the provider: it only waits for the answer to another one.
        let observer = self
            .0
            .observer
            .as_ref()
            .filter(|_| !matches!(call, Call::Understands));
        let observed = observer.map(|observer| observer.observe(&call));
        let scope = observed.as_ref().map(ObservedCall::scope).unwrap_or_default();
        // Not one future that is wrapped later: it would hold the call twice, and very many run at the same time.
        let answer = match &self.0.limit {
            Some(limit) => scope.within(limit.call(&*self.0.backend, call)).await,
            None => scope.within(self.0.backend.call(call)).await,
        };
        if let (Err(error), Some(observed)) = (&answer, &observed) {
            observed.failed(error);
        }
        answer
    }

    typed_calls! {
        check_config: CheckConfig(CheckRequest) -> Check(CheckResponse);
        diff_config: DiffConfig(DiffRequest) -> Diff(DiffResponse);
        configure: Configure(ConfigureRequest) -> Understands(Option<Capabilities>);
        check: Check(CheckRequest) -> Check(CheckResponse);
        diff: Diff(DiffRequest) -> Diff(DiffResponse);
        create: Create(CreateRequest) -> Create(CreateResponse);
        read: Read(ReadRequest) -> Read(ReadResponse);
        update: Update(UpdateRequest) -> Update(UpdateResponse);
        invoke: Invoke(InvokeRequest) -> Invoke(InvokeResponse);
    }

    pub(crate) async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        match self.call(Call::Delete(request)).await? {
            Reply::Done => Ok(()),
            _ => Err(mismatch("delete")),
        }
    }
}

/// Returns the preview of a creation or an update from its inputs, and any other call unchanged as the error.
fn preview_from_inputs(call: Call) -> Result<Reply, Box<Call>> {
    match call {
        Call::Create(request) if request.preview => Ok(Reply::Create(CreateResponse {
            outputs: request.inputs,
            ..CreateResponse::default()
        })),
        Call::Update(request) if request.preview => Ok(Reply::Update(UpdateResponse {
            outputs: request.news,
            ..UpdateResponse::default()
        })),
        other => Err(Box::new(other)),
    }
}

/// A provider that could not be loaded or configured: each call fails with the reason, so only dependent resources
/// fail.
struct Failed(ProviderError);

#[async_trait::async_trait]
impl ProviderBackend for Failed {
    async fn call(&self, _call: Call) -> ProviderResult<Reply> {
        Err(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{
        property::{PropertyMap, PropertyValue},
        urn::Urn,
    };

    /// Records its calls, and has no methods.
    #[derive(Default)]
    struct Recording(Mutex<Vec<Call>>);

    #[async_trait::async_trait]
    impl ProviderBackend for Recording {
        async fn call(&self, call: Call) -> ProviderResult<Reply> {
            self.0.lock().unwrap().push(call.clone());
            call.without_method()
        }
    }

    fn secrets() -> PropertyMap {
        let list = vec!["plain".into(), PropertyValue::secret("hunter2".into())];
        [("list", list.into())].into_iter().collect()
    }

    fn declining() -> (Arc<Recording>, Adapter) {
        let backend = Arc::new(Recording::default());
        let capabilities = Capabilities {
            accept_secrets: false,
            ..Capabilities::all()
        };
        let adapter = Adapter::new(Arc::clone(&backend) as _, capabilities, AdapterOptions::default());
        (backend, adapter)
    }

    #[tokio::test]
    async fn diff_config_of_an_unknown_configuration_sends_no_secrets_to_a_provider_that_declines_them() {
        let (backend, adapter) = declining();
        let request = DiffRequest {
            urn: Urn::root_stack("dev", "shop"),
            resource_type: "pulumi:providers:files".into(),
            name: "files".to_owned(),
            id: "1".into(),
            old_inputs: secrets(),
            old_outputs: secrets(),
            news: secrets(),
            ignore_changes: Vec::new(),
            preview: true,
        };
        adapter.unconfigured().diff_config(request).await.unwrap();
        let calls = std::mem::take(&mut *backend.0.lock().unwrap());
        let sent = calls.into_iter().find_map(|call| match call {
            Call::DiffConfig(request) => Some([request.old_inputs, request.old_outputs, request.news]),
            _ => None,
        });
        assert!(sent.unwrap().iter().all(|map| !map.contains_secrets()));
    }

    #[tokio::test]
    async fn an_unchecked_configuration_keeps_its_secrets_where_they_were() {
        let (_backend, adapter) = declining();
        let request = CheckRequest {
            urn: Urn::root_stack("dev", "shop"),
            resource_type: "pulumi:providers:files".into(),
            name: "files".to_owned(),
            olds: None,
            old_outputs: None,
            news: secrets(),
            random_seed: Vec::new(),
            preview: false,
            autonaming: None,
        };
        assert_eq!(adapter.check_config(request).await.unwrap().inputs, secrets());
    }
}
