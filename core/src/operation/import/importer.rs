//! The importer: keeps the recorded resources, and imports the rows of a request, each as soon as its parent and its provider
//! are there.

use std::sync::Arc;

use futures::{StreamExt as _, stream::FuturesUnordered};

use super::{
    super::relation::is_old_copy,
    order::edges,
    providers::{ImportProviders, ReadyProvider},
    row::{Parent, Row, RowKind, RowProvider},
};
use crate::{
    error::{Error, ErrorKind},
    executor::{Executor, Failure, PlannedImport, Step, StepDetail},
    message::Text,
    resource::ResourceState,
    runtime::Random,
    state::PriorState,
    step::StepOp,
    token::TypeToken,
    urn::Urn,
};

/// The length of the random seed of Check.
const SEED_LENGTH: usize = 32;

/// Imports the rows of a request.
pub(super) struct Importer {
    pub(super) executor: Arc<Executor>,
    pub(super) base: Arc<PriorState>,
    pub(super) providers: ImportProviders,
    pub(super) random: Arc<dyn Random>,
    /// The URN of the stack.
    pub(super) root: Urn,
    /// Whether imported resources are protected.
    pub(super) protects: bool,
}

/// What has become of a row.
#[derive(Clone, Debug)]
pub(super) enum Settled {
    /// It is imported, or a provider has been created.
    Imported(Arc<ResourceState>),
    /// It was recorded before.
    Existing(Arc<ResourceState>),
    /// It could not be imported.
    Failed(Error),
    /// It was not tried.
    NotTried(Error),
}

impl Settled {
    /// Returns the record.
    pub(super) fn record(&self) -> Option<&Arc<ResourceState>> {
        match self {
            Self::Imported(state) | Self::Existing(state) => Some(state),
            Self::Failed(_) | Self::NotTried(_) => None,
        }
    }
}

impl Importer {
    /// Keeps each recorded resource as it is: its record precedes those of the import. Views follow their owners.
    pub(super) async fn keep_recorded(&self) {
        for record in self.base.records() {
            if record.state.delete || record.state.view_of.is_some() {
                continue;
            }
            let detail = StepDetail {
                untargeted: true,
                ..StepDetail::default()
            };
            let new = Some(Arc::clone(&record.state));
            let Some(step) = Step::new(StepOp::Same, Some(record.clone()), new) else {
                continue;
            };
            if self
                .executor
                .run_step(&mut step.with_detail(detail))
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// Creates the stack's own record, unless there is one.
    pub(super) async fn create_root(&self) {
        if self.base.live(&self.root).is_some() {
            return;
        }
        let root = ResourceState::new(
            self.root.clone(),
            TypeToken::from(self.root.resource_type()),
            false,
        );
        if let Some(mut step) = Step::new(StepOp::Create, None, Some(Arc::new(root))) {
            // A failure has been reported, and ends the run.
            drop(self.executor.run_step(&mut step).await);
        }
    }

    /// Imports all rows; returns what has become of each.
    pub(super) async fn import(&self, rows: &[Row]) -> Vec<Settled> {
        let before: Vec<Vec<usize>> = rows.iter().map(edges).collect();
        let mut waiting: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
        for (index, before) in before.iter().enumerate() {
            for row in before {
                followers[*row].push(index);
            }
        }
        let mut settled: Vec<Option<Settled>> = vec![None; rows.len()];
        let mut ready: Vec<usize> = (0..rows.len()).filter(|index| waiting[*index] == 0).collect();
        let mut running = FuturesUnordered::new();
        loop {
            for index in std::mem::take(&mut ready) {
                let row = &rows[index];
                let parent = match row.parent {
                    Parent::Row(parent) => settled[parent].clone(),
                    Parent::Root | Parent::Recorded(_) => None,
                };
                let provider = match row.provider {
                    RowProvider::Row(provider) => settled[provider].clone(),
                    _ => None,
                };
                running.push(async move { (index, self.row(row, parent, provider).await) });
            }
            let Some((index, outcome)) = running.next().await else {
                break;
            };
            settled[index] = Some(outcome);
            for follower in &followers[index] {
                waiting[*follower] -= 1;
                if waiting[*follower] == 0 {
                    ready.push(*follower);
                }
            }
        }
        let never = || Settled::NotTried(Error::internal("the resource waits for itself"));
        settled
            .into_iter()
            .map(|settled| settled.unwrap_or_else(never))
            .collect()
    }

    /// Imports a row. `parent` and `provider` are what has become of the rows that it refers to.
    async fn row(&self, row: &Row, parent: Option<Settled>, provider: Option<Settled>) -> Settled {
        if self.executor.control().is_stopped() {
            return Settled::NotTried(not_tried("the import has ended"));
        }
        let mut refusal: Option<Text> = None;
        if let Some(record) = self.base.live(&row.urn) {
            let recorded = &record.state;
            refusal = refusal_over(row, recorded);
            if refusal.is_none() {
                return Settled::Existing(Arc::clone(recorded));
            }
        }
        let mut state = ResourceState::new(
            row.urn.clone(),
            row.resource_type.clone(),
            row.kind != RowKind::Component,
        );
        state.protect = self.protects;
        state.id = row.id.as_str().into();
        state.options.import_id = row.id.as_str().into();
        state.parent = Some(match (&row.parent, &parent) {
            (Parent::Recorded(urn), _) => {
                if self.base.live(urn).is_none() && refusal.is_none() {
                    refusal = Some(format!("unknown parent '{urn}' for resource '{}'", row.urn).into());
                }
                urn.clone()
            }
            (Parent::Row(_), Some(parent)) => match parent.record() {
                Some(parent) => parent.urn.clone(),
                None => return self.skip(state, "its parent could not be imported"),
            },
            _ => self.root.clone(),
        });
        if row.kind == RowKind::Provider && refusal.is_none() {
            return self.create_provider(row, state).await;
        }
        if let Some(refusal) = refusal {
            return self.run(state, None, refused(refusal)).await;
        }
        let provider = match self.provider_of(row, provider.as_ref()).await {
            Ok(provider) => provider,
            Err(text) => return self.skip(state, text),
        };
        if let Some(provider) = &provider {
            state.provider = provider.reference.clone();
        }
        if let Some(copy) = self
            .base
            .old_copy(&state, &state.id)
            .filter(|_| row.kind == RowKind::Custom)
        {
            let text = is_old_copy(&row.urn, &state.id, &copy.urn).text().clone();
            return self.run(state, None, refused(text)).await;
        }
        if let (Some(extension), Some(provider)) = (&row.extension, &provider) {
            if let Err(error) = self
                .providers
                .extend(&provider.reference, extension, &row.urn)
                .await
            {
                return self.run(state, None, refused(error.text().clone())).await;
            }
            state.extension_ref = extension.reference().clone();
        }
        let planned = PlannedImport {
            refusal: None,
            inputs: row.inputs.clone(),
            outputs: row.outputs.clone(),
            properties: row.properties.clone(),
            seed: self.seed(),
        };
        // The provider of a remote component is recorded, and not called.
        let provider = provider.filter(|_| row.kind == RowKind::Custom);
        self.run(state, provider, planned).await
    }

    /// Returns the provider of a row; `None` for a component of the program.
    async fn provider_of(&self, row: &Row, settled: Option<&Settled>) -> Result<Option<ReadyProvider>, Text> {
        match (&row.provider, settled) {
            (RowProvider::None, _) => Ok(None),
            (RowProvider::Row(_), settled) => match settled.and_then(Settled::record) {
                Some(record) => self.providers.of_record(record).await.map(Some),
                None => Err("its provider could not be created".into()),
            },
            (RowProvider::Recorded(urn, inputs), _) => {
                let is_own = (urn.stack(), urn.project()) == (self.root.stack(), self.root.project());
                if !is_own && self.base.live(urn).is_none() {
                    let text = format!(
                        "the provider '{urn}' for resource '{}' is one of the stack '{}/{}', not of '{}/{}'",
                        row.urn,
                        urn.project(),
                        urn.stack(),
                        self.root.project(),
                        self.root.stack()
                    );
                    return Err(self.providers.report(&row.urn, text.into()));
                }
                self.providers.named(urn, inputs, &row.urn).await.map(Some)
            }
            (RowProvider::Referred(reference), _) => {
                let recorded = self.base.live(&reference.urn).map(|record| &record.state);
                match recorded.filter(|recorded| recorded.id == reference.id) {
                    Some(recorded) => self.providers.of_record(recorded).await.map(Some),
                    None => {
                        let text = format!("unknown provider '{reference}' for resource '{}'", row.urn);
                        Err(self.providers.report(&row.urn, text.into()))
                    }
                }
            }
            (RowProvider::Default(settings), _) => {
                self.providers.default_of(settings, &row.urn).await.map(Some)
            }
        }
    }

    /// Creates a provider of the request.
    async fn create_provider(&self, row: &Row, mut state: ResourceState) -> Settled {
        state.protect = false;
        state.options = Default::default();
        match self.providers.create(state, row.inputs.clone(), &row.urn).await {
            Ok(created) => Settled::Imported(created),
            Err(text) => Settled::Failed(failed(&row.urn, text)),
        }
    }

    /// Runs the step of a row.
    async fn run(
        &self,
        state: ResourceState,
        provider: Option<ReadyProvider>,
        planned: PlannedImport,
    ) -> Settled {
        let urn = state.urn.clone();
        let Some(step) = Step::new(StepOp::Import, None, Some(Arc::new(state))) else {
            return Settled::NotTried(Error::internal("a step without a record"));
        };
        let mut step = step.with_provider(provider.map(|provider| provider.handle));
        step.import = Some(Arc::new(planned));
        match self.executor.run_step(&mut step).await {
            Ok(outcome) => match outcome.new {
                Some(record) => Settled::Imported(record.state),
                None => Settled::NotTried(Error::internal("an import without a record")),
            },
            Err(failure) if failure.cancelled => Settled::NotTried(not_tried("the import has ended")),
            Err(failure) => Settled::Failed(failed(&urn, failure.message)),
        }
    }

    /// Reports a row that is not tried in the result; the reason has been reported.
    fn skip(&self, state: ResourceState, why: impl Into<Text>) -> Settled {
        let urn = state.urn.clone();
        let why = why
            .into()
            .map(str::to_owned, |why| format!("{urn} was not imported: {why}"));
        let error = Error::new(ErrorKind::Failed, why).with_urn(urn);
        let refusal = Failure::Step(error.clone());
        self.executor
            .reporter()
            .keep_refusal(StepOp::Import, None, Some(state), &refusal);
        Settled::NotTried(error)
    }

    fn seed(&self) -> Vec<u8> {
        let mut seed = vec![0; SEED_LENGTH];
        self.random.fill(&mut seed);
        seed
    }
}

/// The refusal of a row whose URN has the record of another resource.
fn exists_already(recorded: &ResourceState) -> Text {
    let reference = format!("resource '{}' already exists", recorded.urn);
    let id = match (recorded.custom, recorded.id.as_str()) {
        (false, _) => " as a component".to_owned(),
        (true, id) => format!(" with the id '{id}'"),
    };
    let library = format!(
        "{reference}{id}: import this one under another name, give the recorded one another name with rename(), or remove its record \
         with delete_resources()"
    );
    Text::pair(reference, library)
}

/// Returns why a row is not imported over the record of its URN; `None` where that is the one of its resource.
fn refusal_over(row: &Row, recorded: &ResourceState) -> Option<Text> {
    let urn = &row.urn;
    let is_it = match row.kind {
        RowKind::Custom => recorded.custom && recorded.id.as_str() == row.id,
        RowKind::Component => !recorded.custom,
        RowKind::Provider => true,
    };
    match () {
        // An update would create the resource that a program declares in place of one of these.
        () if recorded.external => Some(
            format!(
                "resource '{urn}' is recorded as one that the program reads, and is not managed: once delete_resources() has removed \
                 that record, it can be imported"
            )
            .into(),
        ),
        () if recorded.pending_replacement => Some(
            format!(
                "resource '{urn}' was deleted, and its record waits for the replacement: an update creates that, or, once \
                 delete_resources() has removed the record, another resource can be imported"
            )
            .into(),
        ),
        () if is_it => None,
        () => Some(exists_already(recorded)),
    }
}

fn refused(refusal: impl Into<Text>) -> PlannedImport {
    PlannedImport {
        refusal: Some(refusal.into()),
        ..PlannedImport::default()
    }
}

fn failed(urn: &Urn, text: Text) -> Error {
    Error::new(ErrorKind::Failed, text).with_urn(urn.clone())
}

fn not_tried(why: &str) -> Error {
    Error::new(ErrorKind::Cancelled, why)
}
