//! Code of the host that declines secrets: its requests are sent without marks, and its answers are marked by what was sent,
//! as for plugins over gRPC.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;

use crate::{
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
        DeleteRequest, DiffRequest, DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Mapping,
        MappingRequest, PluginInfo, Provider, ProviderResult, ReadRequest, ReadResponse, SchemaRequest,
        UpdateRequest, UpdateResponse,
    },
};

/// A provider whose handshake answered that it accepts no secrets.
pub(super) struct PlainProvider {
    inner: Arc<dyn Provider>,
    /// Set when the answer to Configure accepts secrets after all.
    accepts: AtomicBool,
}

impl PlainProvider {
    pub(super) fn new(inner: Arc<dyn Provider>) -> Self {
        Self {
            inner,
            accepts: AtomicBool::new(false),
        }
    }

    /// Returns the provider that is called.
    pub(super) const fn inner(&self) -> &Arc<dyn Provider> {
        &self.inner
    }

    /// Takes the marks off `maps`; returns whether there were any.
    fn unmark<const N: usize>(&self, maps: [&mut PropertyMap; N]) -> bool {
        if self.accepts.load(Ordering::Acquire) {
            return false;
        }
        let mut marked = false;
        for map in maps {
            if map.contains_secrets() {
                *map = map.without_secrets();
                marked = true;
            }
        }
        marked
    }

    async fn checked<F>(
        &self,
        mut request: CheckRequest,
        check: impl FnOnce(CheckRequest) -> F,
    ) -> ProviderResult<CheckResponse>
    where
        F: Future<Output = ProviderResult<CheckResponse>>,
    {
        let sent = request.news.clone();
        let marked = self.unmark([&mut request.news]);
        if let Some(olds) = &mut request.olds {
            self.unmark([olds]);
        }
        let mut response = check(request).await?;
        if marked {
            response.inputs = response.inputs.annotated_from(&sent);
        }
        Ok(response)
    }
}

/// Marks what a failed initialization reports of a resource.
fn mark_failure<T>(
    answer: ProviderResult<T>,
    inputs: &PropertyMap,
    outputs: &PropertyMap,
) -> ProviderResult<T> {
    answer.map_err(|mut error| {
        if let Some(failure) = &mut error.init_failure {
            failure.outputs = failure.outputs.annotated_from(outputs);
            failure.inputs = failure.inputs.as_ref().map(|own| own.annotated_from(inputs));
        }
        error
    })
}

#[async_trait]
impl Provider for PlainProvider {
    async fn handshake(&self, request: HandshakeRequest) -> ProviderResult<Capabilities> {
        self.inner.handshake(request).await
    }

    async fn plugin_info(&self) -> ProviderResult<PluginInfo> {
        self.inner.plugin_info().await
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.checked(request, |request| self.inner.check_config(request))
            .await
    }

    async fn diff_config(&self, mut request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.unmark([
            &mut request.old_inputs,
            &mut request.old_outputs,
            &mut request.news,
        ]);
        self.inner.diff_config(request).await
    }

    async fn configure(&self, mut request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        self.unmark([&mut request.inputs]);
        let changed = self.inner.configure(request).await?;
        if let Some(capabilities) = &changed {
            self.accepts.store(capabilities.accept_secrets, Ordering::Release);
        }
        Ok(changed)
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.checked(request, |request| self.inner.check(request)).await
    }

    async fn supports_autonaming(&self) -> bool {
        self.inner.supports_autonaming().await
    }

    async fn diff(&self, mut request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.unmark([
            &mut request.old_inputs,
            &mut request.old_outputs,
            &mut request.news,
        ]);
        self.inner.diff(request).await
    }

    async fn create(&self, mut request: CreateRequest) -> ProviderResult<CreateResponse> {
        let sent = request.inputs.clone();
        if !self.unmark([&mut request.inputs]) {
            return self.inner.create(request).await;
        }
        let mut response = mark_failure(self.inner.create(request).await, &sent, &sent)?;
        response.outputs = response.outputs.annotated_from(&sent);
        Ok(response)
    }

    async fn read(&self, mut request: ReadRequest) -> ProviderResult<ReadResponse> {
        let inputs = request.inputs.clone().unwrap_or_default();
        let outputs = request.properties.clone().unwrap_or_default();
        let mut marked = false;
        for map in request.inputs.iter_mut().chain(&mut request.properties) {
            marked |= self.unmark([map]);
        }
        if !self.accepts.load(Ordering::Acquire) {
            request.views = request.views.without_secrets();
        }
        let answer = self.inner.read(request).await;
        if !marked {
            return answer;
        }
        let mut response = mark_failure(answer, &inputs, &outputs)?;
        response.inputs = response.inputs.map(|own| own.annotated_from(&inputs));
        response.outputs = response.outputs.map(|own| own.annotated_from(&outputs));
        Ok(response)
    }

    async fn update(&self, mut request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        let sent = request.news.clone();
        let marked = self.unmark([
            &mut request.old_inputs,
            &mut request.old_outputs,
            &mut request.news,
        ]);
        if !self.accepts.load(Ordering::Acquire) {
            request.views = request.views.without_secrets();
        }
        let answer = self.inner.update(request).await;
        if !marked {
            return answer;
        }
        let mut response = mark_failure(answer, &sent, &sent)?;
        response.outputs = response.outputs.annotated_from(&sent);
        Ok(response)
    }

    async fn delete(&self, mut request: DeleteRequest) -> ProviderResult<()> {
        self.unmark([&mut request.inputs, &mut request.outputs]);
        if !self.accepts.load(Ordering::Acquire) {
            request.views = request.views.without_secrets();
        }
        self.inner.delete(request).await
    }

    async fn invoke(&self, mut request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let marked = self.unmark([&mut request.arguments]);
        let mut response = self.inner.invoke(request).await?;
        if marked {
            // Which part of the result comes from the secret argument is not known.
            let values = std::mem::take(&mut response.result).into_iter();
            let secret = values.map(|(name, value)| (name, PropertyValue::secret(value)));
            response.result = secret.collect();
        }
        Ok(response)
    }

    async fn get_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        self.inner.get_schema(request).await
    }

    async fn get_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        self.inner.get_mapping(request).await
    }

    async fn get_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        self.inner.get_mappings(key).await
    }

    async fn cancel(&self) {
        self.inner.cancel().await;
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
