//! What providers have in common, between the engine and any backend: secrets that are declined, previews that are made up,
//! a configuration that is not known yet, methods that are missing.

mod defaults;
mod secrets;
mod unconfigured;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::provider::{
    Call, Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
    DeleteRequest, DiffRequest, DiffResponse, InvokeRequest, InvokeResponse, ProviderBackend, ProviderError,
    ProviderResult, ReadRequest, ReadResponse, Reply, UpdateRequest, UpdateResponse,
    backend::{mismatch, typed_calls},
};

pub(super) use defaults::{checked, no_mappings, no_schema, not_updated, read_back, unknown_function};
use secrets::Marks;

/// A provider as the engine calls it. Clones call the same provider.
#[derive(Clone)]
pub(crate) struct Adapter(Arc<Adapted>);

struct Adapted {
    backend: Arc<dyn ProviderBackend>,
    /// What Handshake said, or Configure after it.
    said: Mutex<Capabilities>,
    /// What the backend understands for good, where it said so as late as in its answer to Configure.
    settled: OnceLock<Capabilities>,
    options: AdapterOptions,
}

/// How calls to a provider differ from the usual.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AdapterOptions {
    /// Previews never reach Create and Update: the inputs become the outputs.
    pub(crate) disable_preview: bool,
    /// The configuration holds unknowns, so that nothing but questions about it reaches the provider.
    pub(crate) unconfigured: bool,
    /// It is a plugin: it is configured with secrets, of which the questions about its configuration have none.
    pub(crate) is_plugin: bool,
}

impl Adapter {
    /// Puts an adapter before a backend that understands `capabilities`.
    pub(crate) fn new(
        backend: Arc<dyn ProviderBackend>,
        capabilities: Capabilities,
        options: AdapterOptions,
    ) -> Self {
        Self(Arc::new(Adapted {
            backend,
            said: Mutex::new(capabilities),
            settled: OnceLock::new(),
            options,
        }))
    }

    /// Stands in for a provider that cannot be had: every call fails.
    pub(crate) fn failed(error: ProviderError) -> Self {
        Self::new(
            Arc::new(Failed(error)),
            Capabilities::all(),
            AdapterOptions::default(),
        )
    }

    /// Returns the same provider without a configuration, during a preview in which that is not known.
    pub(crate) fn unconfigured(&self) -> Self {
        Self::new(
            Arc::clone(&self.0.backend),
            // Questions about its configuration still reach it.
            self.said(),
            AdapterOptions {
                unconfigured: true,
                ..self.0.options
            },
        )
    }

    /// Returns what transports the calls.
    pub(crate) fn backend(&self) -> &Arc<dyn ProviderBackend> {
        &self.0.backend
    }

    /// Returns what the provider has said that it understands, so far.
    pub(crate) fn said(&self) -> Capabilities {
        *self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the provider understands, once its configuration has settled.
    pub(crate) async fn capabilities(&self) -> ProviderResult<Capabilities> {
        let said = self.said();
        // One that takes secrets has said so in its handshake, and with it all the rest.
        if said.accept_secrets {
            return Ok(said);
        }
        if let Some(settled) = self.0.settled.get() {
            return Ok(*settled);
        }
        match self.0.backend.call(Call::Understands).await? {
            Reply::Understands(None) => Ok(said),
            Reply::Understands(Some(settled)) => Ok(*self.0.settled.get_or_init(|| settled)),
            _ => Err(mismatch("understands")),
        }
    }

    /// Tells whether names that the engine proposes are heeded. What cannot be configured has not said that they are not.
    pub(crate) async fn supports_autonaming(&self) -> bool {
        let said = self.said().supports_autonaming;
        if said || self.0.options.unconfigured {
            return true;
        }
        match self.0.backend.call(Call::Understands).await {
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
            Call::CheckConfig(_) | Call::DiffConfig(_) | Call::Configure(_) => self.said(),
            _ => self.capabilities().await?,
        };
        if self.0.options.disable_preview || !capabilities.supports_preview {
            match made_up(call) {
                Ok(preview) => return Ok(preview),
                Err(passed) => call = *passed,
            }
        }
        let configures = matches!(call, Call::Configure(_));
        let accepts_secrets = match &call {
            Call::CheckConfig(_) | Call::DiffConfig(_) if self.0.options.is_plugin => false,
            Call::Configure(_) if self.0.options.is_plugin => true,
            _ => capabilities.accept_secrets,
        };
        let answer = if accepts_secrets {
            self.0.backend.call(call).await
        } else {
            let marks = Marks::take(&mut call);
            marks.put_back(self.0.backend.call(call).await)
        };
        if configures && let Ok(Reply::Understands(Some(changed))) = &answer {
            *self.0.said.lock().unwrap_or_else(PoisonError::into_inner) = *changed;
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

/// Makes up the preview of a creation or an update from its inputs; any other call comes back.
fn made_up(call: Call) -> Result<Reply, Box<Call>> {
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

/// A provider that could not be loaded or configured: each call fails with the reason, so that only what needs it fails.
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

    /// Keeps what it is called with, and has no method for it.
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
    async fn a_question_about_an_unknown_configuration_has_no_secrets_for_a_provider_that_declines_them() {
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
    async fn a_configuration_that_is_not_checked_keeps_its_marks_where_they_were() {
        let (_backend, adapter) = declining();
        let request = CheckRequest {
            urn: Urn::root_stack("dev", "shop"),
            resource_type: "pulumi:providers:files".into(),
            name: "files".to_owned(),
            olds: None,
            news: secrets(),
            random_seed: Vec::new(),
            preview: false,
            autonaming: None,
        };
        assert_eq!(adapter.check_config(request).await.unwrap().inputs, secrets());
    }
}
