//! A process on loan from the pool: calls go through, closing gives it back.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use async_trait::async_trait;

use super::{Instance, Launcher, ProviderPool};
use crate::provider::{
    Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
    DeleteRequest, DiffRequest, DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Mapping,
    MappingRequest, PluginInfo, Provider, ProviderError, ProviderResult, ProviderStatus, ReadRequest,
    ReadResponse, SchemaRequest, UpdateRequest, UpdateResponse,
};

/// A leased process. Configuring it may exchange it for one that already has the same configuration.
pub(super) struct LeasedProvider {
    pool: ProviderPool,
    launcher: Arc<dyn Launcher>,
    /// `None` once it has been given back.
    instance: Mutex<Option<Arc<Instance>>>,
}

/// A call in progress.
struct Call(Arc<Instance>);

impl Call {
    fn end<T>(self, answer: T) -> T {
        self.0.unfinished.fetch_sub(1, Ordering::AcqRel);
        answer
    }
}

impl LeasedProvider {
    pub(super) fn new(pool: ProviderPool, launcher: Arc<dyn Launcher>, instance: Arc<Instance>) -> Self {
        Self {
            pool,
            launcher,
            instance: Mutex::new(Some(instance)),
        }
    }

    fn exchange(&self, instance: Option<Arc<Instance>>) -> Option<Arc<Instance>> {
        std::mem::replace(
            &mut *self.instance.lock().unwrap_or_else(PoisonError::into_inner),
            instance,
        )
    }

    fn instance(&self) -> ProviderResult<Arc<Instance>> {
        let instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        instance.clone().ok_or_else(|| {
            let name = &self.launcher.key().name;
            ProviderError::new(
                ProviderStatus::FailedPrecondition,
                format!("provider {name} is closed"),
            )
        })
    }

    fn begin(&self) -> ProviderResult<Call> {
        let instance = self.instance()?;
        instance.unfinished.fetch_add(1, Ordering::AcqRel);
        Ok(Call(instance))
    }

    /// Gets an instance that has this configuration or none yet.
    async fn instance_for(&self, request: &ConfigureRequest) -> ProviderResult<Arc<Instance>> {
        let fits = |instance: &Instance| {
            let configuration = instance.configuration();
            configuration.as_ref().is_none_or(|have| have == request)
        };
        let current = self.instance()?;
        if fits(&current) {
            return Ok(current);
        }
        let waiting = self
            .pool
            .take(self.launcher.as_ref(), |instance| {
                instance.configuration().as_ref() == Some(request)
            })
            .or_else(|| self.pool.take(self.launcher.as_ref(), fits));
        let instance = match waiting {
            Some(instance) => instance,
            None => {
                let launched = self.launcher.launch().await;
                Arc::new(launched.map_err(|error| ProviderError::unreached(&error))?)
            }
        };
        if let Some(previous) = self.exchange(Some(Arc::clone(&instance))) {
            self.pool.put_in_background(self.launcher.key(), previous);
        }
        Ok(instance)
    }
}

impl Drop for LeasedProvider {
    fn drop(&mut self) {
        if let Some(instance) = self.exchange(None) {
            self.pool.put_in_background(self.launcher.key(), instance);
        }
    }
}

#[async_trait]
impl Provider for LeasedProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(self.instance()?.capabilities)
    }

    async fn plugin_info(&self) -> ProviderResult<PluginInfo> {
        let call = self.begin()?;
        let answer = call.0.provider.plugin_info().await;
        call.end(answer)
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.check_config(request).await;
        call.end(answer)
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.diff_config(request).await;
        call.end(answer)
    }

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        let instance = self.instance_for(&request).await?;
        {
            let mut configuration = instance.configuration();
            if configuration.is_some() {
                return Ok(None);
            }
            *configuration = Some(request.clone());
        }
        instance.provider.configure(request).await
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.check(request).await;
        call.end(answer)
    }

    async fn supports_autonaming(&self) -> bool {
        match self.instance() {
            Ok(instance) => instance.provider.supports_autonaming().await,
            Err(_) => false,
        }
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.diff(request).await;
        call.end(answer)
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.create(request).await;
        call.end(answer)
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.read(request).await;
        call.end(answer)
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.update(request).await;
        call.end(answer)
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        let call = self.begin()?;
        let answer = call.0.provider.delete(request).await;
        call.end(answer)
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let call = self.begin()?;
        let answer = call.0.provider.invoke(request).await;
        call.end(answer)
    }

    async fn get_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        let call = self.begin()?;
        let answer = call.0.provider.get_schema(request).await;
        call.end(answer)
    }

    async fn get_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        let call = self.begin()?;
        let answer = call.0.provider.get_mapping(request).await;
        call.end(answer)
    }

    async fn get_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        let call = self.begin()?;
        let answer = call.0.provider.get_mappings(key).await;
        call.end(answer)
    }

    async fn cancel(&self) {
        if let Ok(instance) = self.instance() {
            instance.spent.store(true, Ordering::Release);
            instance.provider.cancel().await;
        }
    }

    async fn close(&self) {
        let Some(instance) = self.exchange(None) else {
            return;
        };
        if let Some(surplus) = self.pool.put(self.launcher.key(), instance) {
            surplus.provider.close().await;
        }
    }
}
