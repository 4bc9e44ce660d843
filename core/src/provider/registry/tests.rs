//! Tests of the registry: the calls of providers when resources move between them.

use async_trait::async_trait;

use super::*;
use crate::{
    property::PropertyValue,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffChanges, HandshakeRequest,
        LoadedProvider, Provider, ProviderBackend, ProviderStatus,
    },
};

/// Replaces all its resources when its configuration changes; fails if the configuration contains `trouble`.
struct Strict;

impl Provider for Strict {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        if request.news.contains_key("trouble") {
            return Err(ProviderError::new(ProviderStatus::Internal, "trouble"));
        }
        let changed = request.old_inputs != request.news;
        Ok(DiffResponse {
            changes: DiffChanges::Some,
            replaces: changed.then(|| "region".to_owned()).into_iter().collect(),
            ..DiffResponse::default()
        })
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Err(ProviderError::unimplemented("nothing is made here"))
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

struct Source;

#[async_trait]
impl ProviderSource for Source {
    async fn load(&self, _settings: ProviderSettings) -> Result<LoadedProvider> {
        Ok(LoadedProvider {
            provider: Arc::new(Strict),
            capabilities: Capabilities::all(),
            plugin: None,
            is_plugin: false,
            call_limit: None,
        })
    }

    async fn release(&self, _provider: Arc<dyn ProviderBackend>) {}
}

fn registry(preview: bool) -> Arc<ProviderRegistry> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    ProviderRegistry::new(Arc::new(Source), runtime, preview, false, Scope::default())
}

fn recorded(name: &str, key: &'static str, value: PropertyValue) -> ResourceState {
    let urn = Urn::new("dev", "shop", "", "pulumi:providers:test", name);
    let mut state = ResourceState::new(urn, "pulumi:providers:test".into(), true);
    state.id = format!("id-of-{name}").into();
    state.inputs = [(key, value)].into_iter().collect();
    state
}

async fn moved(
    registry: &ProviderRegistry,
    before: &ResourceState,
    after: &ResourceState,
) -> ProviderResult<bool> {
    registry.ensure(after).await.unwrap();
    let after = ProviderReference::new(after.urn.clone(), after.id.clone());
    registry.replaces_resources(before, &after).await
}

#[tokio::test]
async fn a_recorded_provider_is_compared_by_its_record() {
    let registry = registry(false);
    let before = recorded("p", "region", "us".into());
    let same = moved(&registry, &before, &recorded("q", "region", "us".into())).await;
    assert!(!same.unwrap());
    let other = moved(&registry, &before, &recorded("r", "region", "eu".into())).await;
    assert!(other.unwrap());
}

#[tokio::test]
async fn a_provider_compares_an_unknown_configuration() {
    let registry = registry(true);
    let before = recorded("p", "region", "us".into());
    let unknown = recorded("q", "region", PropertyValue::unknown());
    assert!(moved(&registry, &before, &unknown).await.unwrap());
}

#[tokio::test]
async fn an_error_of_diff_config_is_reported_with_its_status() {
    let registry = registry(false);
    let before = recorded("p", "region", "us".into());
    let trouble = recorded("q", "trouble", "yes".into());
    let error = moved(&registry, &before, &trouble).await.unwrap_err();
    assert_eq!(error.message, "rpc error: code = Internal desc = trouble");
}
