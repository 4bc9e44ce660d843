//! A leased process of the pool: calls are passed on, closing returns it.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use async_trait::async_trait;

use super::{Instance, Launcher, ProviderPool};
use crate::{
    provider::{
        Call, ConfigureRequest, Extensible, ProviderBackend, ProviderError, ProviderResult, ProviderStatus,
        Reply,
    },
    resource::Extension,
};

/// A leased process. Configuring it may exchange it for one that already has the same configuration.
pub(in crate::provider) struct LeasedProvider {
    pool: ProviderPool,
    launcher: Arc<dyn Launcher>,
    /// `None` after its return.
    instance: Mutex<Option<Arc<Instance>>>,
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

    /// Returns an instance with this configuration or without one.
    async fn instance_for(&self, request: &ConfigureRequest) -> ProviderResult<Arc<Instance>> {
        let fits = |instance: &Instance| {
            let configuration = instance.configuration();
            configuration.as_ref().is_none_or(|have| have == request)
        };
        let current = self.instance()?;
        if fits(&current) {
            return Ok(current);
        }
        let configured = |instance: &Instance| instance.configuration().as_ref() == Some(request);
        let mut waiting = self.pool.take(self.launcher.as_ref(), configured).await;
        if waiting.is_none() {
            waiting = self.pool.take(self.launcher.as_ref(), fits).await;
        }
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

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Reply> {
        let instance = self.instance_for(&request).await?;
        {
            let mut configuration = instance.configuration();
            if configuration.is_some() {
                return Ok(Reply::Understands(None));
            }
            *configuration = Some(request.clone());
        }
        instance.provider.call(Call::Configure(request)).await
    }

    /// Returns the process to the pool.
    async fn close(&self) {
        let Some(instance) = self.exchange(None) else {
            return;
        };
        if let Some(surplus) = self.pool.put(self.launcher.key(), instance) {
            surplus.provider.end().await;
        }
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
impl Extensible for LeasedProvider {
    async fn extend(&self, extension: &Extension) -> ProviderResult<()> {
        let instance = self.instance()?;
        instance.spent.store(true, Ordering::Release);
        instance.provider.extend(extension).await
    }
}

#[async_trait]
impl ProviderBackend for LeasedProvider {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Handshake(_) => Ok(Reply::Capabilities(self.instance()?.capabilities)),
            Call::Configure(request) => self.configure(request).await,
            Call::Cancel => {
                if let Ok(instance) = self.instance() {
                    instance.spent.store(true, Ordering::Release);
                    instance.provider.give_up().await;
                }
                Ok(Reply::Done)
            }
            Call::Close => {
                self.close().await;
                Ok(Reply::Done)
            }
            other => {
                let instance = self.instance()?;
                instance.unfinished.fetch_add(1, Ordering::AcqRel);
                let answer = instance.provider.call(other).await;
                instance.unfinished.fetch_sub(1, Ordering::AcqRel);
                answer
            }
        }
    }
}
