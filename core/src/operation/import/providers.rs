//! The providers of an import: recorded ones, and those that it creates, each once.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::sync::OnceCell;

use crate::{
    error::{Error, ErrorKind, Result},
    executor::{Executor, Failure, Step},
    message::Text,
    monitor::PlannedDefaults,
    property::PropertyMap,
    provider::{CheckRequest, ProviderError, ProviderHandle, ProviderRegistry, settings::ProviderSettings},
    resource::{Extension, ProviderReference, ResourceState},
    state::PriorState,
    step::StepOp,
    token::TypeToken,
    urn::Urn,
};

/// A configured provider, and its reference in records.
#[derive(Clone)]
pub(super) struct ReadyProvider {
    pub(super) reference: SmolStr,
    pub(super) handle: ProviderHandle,
}

/// A provider that several resources wait for.
type Created = Arc<OnceCell<Result<Arc<ResourceState>, Text>>>;

/// Finds and creates the providers of an import.
pub(super) struct ImportProviders {
    executor: Arc<Executor>,
    registry: Arc<ProviderRegistry>,
    base: Arc<PriorState>,
    defaults: PlannedDefaults,
    created: Mutex<FxHashMap<Urn, Created>>,
}

impl ImportProviders {
    pub(super) fn new(
        executor: Arc<Executor>,
        registry: Arc<ProviderRegistry>,
        base: Arc<PriorState>,
        defaults: PlannedDefaults,
    ) -> Self {
        Self {
            executor,
            registry,
            base,
            defaults,
            created: Mutex::default(),
        }
    }

    /// Returns the default provider of a package. A recorded one is used as it is.
    pub(super) async fn default_of(
        &self,
        settings: &ProviderSettings,
        user: &Urn,
    ) -> Result<ReadyProvider, Text> {
        let found = self.defaults.find(settings.clone(), user.as_str());
        let (urn, inputs) = found.map_err(|error| self.report(user, error.text().clone()))?;
        self.named(&urn, &inputs, user).await
    }

    /// Returns the provider of a URN, which is created with `inputs` when it is not recorded.
    pub(super) async fn named(
        &self,
        urn: &Urn,
        inputs: &PropertyMap,
        user: &Urn,
    ) -> Result<ReadyProvider, Text> {
        if let Some(recorded) = self.base.live(urn) {
            return self.of_record(&recorded.state).await;
        }
        let cell = {
            let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(created.entry(urn.clone()).or_default())
        };
        let state = ResourceState::new(urn.clone(), TypeToken::from(urn.resource_type()), true);
        let creating = self.create(state, inputs.clone(), user);
        let created = cell.get_or_init(|| creating).await.clone();
        let created = created?;
        self.of_record(&created).await
    }

    /// Returns the provider of a record, configured.
    pub(super) async fn of_record(&self, record: &ResourceState) -> Result<ReadyProvider, Text> {
        let reference = ProviderReference::new(record.urn.clone(), record.id.clone());
        let handle = match self.registry.get(&reference) {
            Some(handle) => handle,
            None => {
                let loaded = self.unless_terminated(self.registry.ensure(record)).await?;
                loaded.map_err(|error| self.report(&record.urn, error.text().clone()))?
            }
        };
        Ok(ReadyProvider {
            reference: smol_str::format_smolstr!("{reference}"),
            handle,
        })
    }

    /// Gives a provider an extension, and makes that durable before a record refers to it.
    pub(super) async fn extend(&self, reference: &str, extension: &Arc<Extension>, user: &Urn) -> Result<()> {
        self.registry.extend(reference, extension, user.as_str()).await?;
        let added = self.executor.add_extension(extension).await;
        added.map_err(|failure| Error::new(ErrorKind::Failed, failure.message))
    }

    /// Creates a provider: its plugin is loaded, checks the configuration, and is configured. `user` needs it first.
    pub(super) async fn create(
        &self,
        mut state: ResourceState,
        inputs: PropertyMap,
        user: &Urn,
    ) -> Result<Arc<ResourceState>, Text> {
        let urn = state.urn.clone();
        if urn != *user {
            self.executor.control().first_user(urn.clone(), user.clone());
        }
        state.inputs = match self.check(&urn, inputs).await {
            Ok(inputs) => inputs,
            Err(text) => return Err(text),
        };
        let Some(step) = Step::new(StepOp::Create, None, Some(Arc::new(state))) else {
            return Err("a step without a record".into());
        };
        let mut step = step.with_provider(Some(self.registry.manager()));
        match self.executor.run_step(&mut step).await {
            Ok(outcome) => outcome
                .new
                .map(|record| record.state)
                .ok_or_else(|| "there is no record".into()),
            Err(failure) => Err(failure.message),
        }
    }

    /// Loads the plugin of a new provider, and has it check the configuration.
    async fn check(&self, urn: &Urn, inputs: PropertyMap) -> Result<PropertyMap, Text> {
        let loading = self.registry.manager_of(urn, &inputs);
        let manager = self.unless_terminated(loading).await?;
        let manager = manager.map_err(|error| self.fail(urn, &error))?;
        let request = CheckRequest {
            urn: urn.clone(),
            resource_type: urn.resource_type().into(),
            name: urn.name().to_owned(),
            olds: None,
            old_outputs: None,
            news: inputs.clone(),
            random_seed: Vec::new(),
            preview: self.executor.is_preview(),
            autonaming: None,
        };
        let question = async {
            let _turn = self.executor.question(urn, "check", false).await;
            let response = manager.provider.check(request).await?;
            self.executor.sanitizer().sanitize_check(&inputs, response)
        };
        let response = self.unless_terminated(question).await?;
        let response = response.map_err(|error| self.fail(urn, &error))?;
        let mut first = None;
        for failure in &response.failures {
            let text = self.report(urn, failure.text(urn, &inputs));
            first.get_or_insert(text);
        }
        match first {
            Some(text) => Err(text),
            None => Ok(response.inputs),
        }
    }

    /// Reports the failure of a provider.
    fn fail(&self, urn: &Urn, error: &ProviderError) -> Text {
        self.report(urn, error.text())
    }

    /// Reports a fault of a resource: the import fails at its end, and continues with resources that do not need it.
    pub(super) fn report(&self, urn: &Urn, text: Text) -> Text {
        let diagnostic = crate::diagnostic::Diagnostic::error(text.clone()).about(urn.clone());
        self.executor.diagnose(diagnostic);
        let error = Error::new(ErrorKind::Failed, text.clone()).with_urn(urn.clone());
        self.executor.control().fail(Failure::Step(error), false);
        text
    }

    /// Awaits a call until running calls are abandoned.
    async fn unless_terminated<T>(&self, call: impl Future<Output = T>) -> Result<T, Text> {
        tokio::select! {
            biased;
            answer = call => Ok(answer),
            () = self.executor.terminated() => Err("the operation was terminated".into()),
        }
    }
}
