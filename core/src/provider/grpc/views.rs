//! Views over gRPC: the recorded views of a request, and the service at which plugins publish steps on views.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustc_hash::FxHashMap;
use stackwright_proto::{
    pulumirpc::{
        self, PublishViewStepsRequest, PublishViewStepsResponse, ViewStepState,
        resource_status_server::ResourceStatus,
        view_step::{Op, Status as WireStatus},
    },
    values::Struct,
};
use tonic::{Code, Request, Response, Status};

use super::{
    GrpcProvider,
    resource::detailed_diff,
    values::{Unknowns, encode, sending_recorded},
};
use crate::{
    event::OperationStatus,
    property::{
        PropertyMap,
        wire::{DecodeOptions, from_struct},
    },
    provider::{Capabilities, ProviderResult, View, ViewName, ViewStep, Views},
    step::StepOp,
};

/// The tokens of running calls, each with the publisher of its call. Clones share the tokens.
///
/// Implements the ResourceStatus service: a plugin publishes with the token of the call that it executes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewTokens(Arc<Mutex<FxHashMap<String, Views>>>);

impl ViewTokens {
    fn running(&self) -> MutexGuard<'_, FxHashMap<String, Views>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publisher(&self, token: &str) -> Result<Views, Status> {
        if token.is_empty() {
            return Err(Status::unknown("token is required"));
        }
        let publisher = self.running().get(token).cloned();
        publisher.ok_or_else(|| Status::unknown(format!("token {token} not found")))
    }
}

#[tonic::async_trait]
impl ResourceStatus for ViewTokens {
    async fn publish_view_steps(
        &self,
        request: Request<PublishViewStepsRequest>,
    ) -> Result<Response<PublishViewStepsResponse>, Status> {
        let PublishViewStepsRequest { token, steps } = request.into_inner();
        let publisher = self.publisher(&token)?;
        let steps = steps
            .into_iter()
            .map(view_step)
            .collect::<Result<Vec<_>, String>>()
            .map_err(Status::invalid_argument)?;
        let published = publisher.publish(steps);
        published.map_err(|error| Status::new(Code::from_i32(error.status as i32), error.message))?;
        Ok(Response::new(PublishViewStepsResponse {}))
    }
}

/// The address and the tokens of the ResourceStatus service.
#[derive(Clone, Debug)]
pub(crate) struct StatusService {
    /// The address, such as `127.0.0.1:4711`.
    pub address: String,
    /// The tokens of running calls.
    pub tokens: ViewTokens,
}

/// The token of one call, for publishing; it is removed when dropped.
#[derive(Default)]
pub(super) struct ViewToken {
    pub(super) address: String,
    pub(super) token: String,
    tokens: Option<ViewTokens>,
}

impl Drop for ViewToken {
    fn drop(&mut self) {
        if let Some(tokens) = &self.tokens {
            tokens.running().remove(&self.token);
        }
    }
}

impl ViewToken {
    /// Generates a token for a call if its step accepts steps on views.
    pub(super) fn new(provider: &GrpcProvider, views: &Views) -> Self {
        let Some(service) = provider.status.as_ref().filter(|_| views.owner().is_some()) else {
            return Self::default();
        };
        let token = provider.runtime.random.uuid();
        service.tokens.running().insert(token.clone(), views.clone());
        Self {
            address: service.address.clone(),
            token,
            tokens: Some(service.tokens.clone()),
        }
    }
}

/// Encodes the recorded views for a plugin.
pub(super) fn old_views(
    views: &Views,
    capabilities: Capabilities,
    unknowns: Unknowns,
) -> ProviderResult<Vec<pulumirpc::View>> {
    let options = |label| sending_recorded(label, capabilities, unknowns);
    let encoded = |view: &View| {
        let parent = view.parent.clone().unwrap_or_default();
        Ok(pulumirpc::View {
            r#type: view.resource_type.to_string(),
            name: view.name.clone(),
            parent_type: parent.resource_type.to_string(),
            parent_name: parent.name,
            inputs: encode(&view.inputs, &options("inputs of a view"))?,
            outputs: encode(&view.outputs, &options("outputs of a view"))?,
        })
    };
    views.recorded().iter().map(encoded).collect()
}

fn view_step(step: pulumirpc::ViewStep) -> Result<ViewStep, String> {
    let op = Op::try_from(step.op)
        .ok()
        .and_then(step_op)
        .ok_or_else(|| format!("unknown step operation {} of view '{}'", step.op, step.name))?;
    let status = match WireStatus::try_from(step.status) {
        Ok(WireStatus::Ok) => OperationStatus::Ok,
        Ok(WireStatus::PartialFailure) => OperationStatus::PartialFailure,
        Ok(WireStatus::Unknown) => OperationStatus::Unknown,
        Err(_) => {
            return Err(format!(
                "unknown step status {} of view '{}'",
                step.status, step.name
            ));
        }
    };
    let state = |state| view_state(state, &step.r#type, &step.name);
    let (old, new) = (step.old.map(state).transpose()?, step.new.map(state).transpose()?);
    let detailed: BTreeMap<_, _> = step.detailed_diff;
    let detailed = step
        .has_detailed_diff
        .then(|| detailed_diff(detailed, &step.name));
    Ok(ViewStep {
        op,
        resource_type: step.r#type.into(),
        name: step.name,
        old,
        new,
        keys: step.keys,
        diffs: step.diffs,
        detailed_diff: detailed.transpose()?,
        status,
        error: step.error,
    })
}

fn view_state(state: ViewStepState, kind: &str, name: &str) -> Result<View, String> {
    let or = |own: String, step: &str| if own.is_empty() { step.to_owned() } else { own };
    let values = |label, values: Option<Struct>| -> Result<PropertyMap, String> {
        let options = DecodeOptions {
            keep_outputs: false,
            ..DecodeOptions::all(label)
        };
        let decoded = from_struct(values.unwrap_or_default(), &options);
        decoded.map_err(|error| format!("bad values of view '{name}': {}", error.message()))
    };
    Ok(View {
        resource_type: or(state.r#type, kind).into(),
        parent: ViewName::given(state.parent_type, state.parent_name),
        inputs: values("inputs", state.inputs)?,
        outputs: values("outputs", state.outputs)?,
        name: or(state.name, name),
    })
}

const fn step_op(op: Op) -> Option<StepOp> {
    Some(match op {
        Op::Unspecified => return None,
        Op::Same => StepOp::Same,
        Op::Create => StepOp::Create,
        Op::Update => StepOp::Update,
        Op::Delete => StepOp::Delete,
        Op::Replace => StepOp::Replace,
        Op::CreateReplacement => StepOp::CreateReplacement,
        Op::DeleteReplaced => StepOp::DeleteReplaced,
        Op::Read => StepOp::Read,
        Op::ReadReplacement => StepOp::ReadReplacement,
        Op::Refresh => StepOp::Refresh,
        Op::ReadDiscard => StepOp::Discard,
        Op::DiscardReplaced => StepOp::DiscardReplaced,
        Op::RemovePendingReplace => StepOp::RemovePendingReplace,
        Op::Import => StepOp::Import,
        Op::ImportReplacement => StepOp::ImportReplacement,
    })
}
