//! A provider in this process whose resources have their inputs as outputs, and which records the calls.

use std::sync::Mutex;

use stackwright::provider::{
    Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse,
    HandshakeRequest, InvokeRequest, InvokeResponse, Provider, ProviderResult, UpdateRequest, UpdateResponse,
};
use tokio::sync::Notify;

use crate::wait::Within as _;

/// Creates, updates and deletes all resources; their ids are `id-` and the name. Functions return their arguments.
#[derive(Debug, Default)]
pub struct EchoProvider {
    /// The property whose changes replace a resource.
    replaces: Option<&'static str>,
    delete_before_replace: bool,
    calls: Mutex<Vec<String>>,
    /// Notified when the creation of a resource named `held` has begun.
    pub started: Notify,
    /// Releases the creation of such a resource.
    pub release: Notify,
}

impl EchoProvider {
    /// Creates a provider that replaces resources when `property` changes.
    #[must_use]
    pub fn replacing(property: &'static str) -> Self {
        Self {
            replaces: Some(property),
            ..Self::default()
        }
    }

    /// Deletes the old resource of a replacement first.
    #[must_use]
    pub fn deleting_first(mut self) -> Self {
        self.delete_before_replace = true;
        self
    }

    fn record(&self, call: &str, name: &str) {
        self.calls.lock().unwrap().push(format!("{call} {name}"));
    }

    /// Returns the creations, updates, deletions and called functions since the last time, as `create a`.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl Provider for EchoProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let (old, new) = (&request.old_inputs, &request.news);
        let replaces = self
            .replaces
            .filter(|property| old.get(property) != new.get(property));
        Ok(DiffResponse {
            changes: if old == new {
                DiffChanges::None
            } else {
                DiffChanges::Some
            },
            replaces: replaces.into_iter().map(str::to_owned).collect(),
            delete_before_replace: self.delete_before_replace,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.record("create", &request.name);
        if request.name == "held" {
            self.started.notify_one();
            self.release
                .notified()
                .within("the release of the held creation")
                .await;
        }
        Ok(CreateResponse {
            id: format!("id-{}", request.name).into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.record("update", &request.name);
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        self.record("invoke", &request.token);
        Ok(InvokeResponse {
            result: request.arguments,
            ..InvokeResponse::default()
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.record("delete", &request.name);
        Ok(())
    }
}
