//! The calls about resources: requests, responses, and local responses without a call.

use std::collections::BTreeMap;

use stackwright_proto::pulumirpc::{
    self, check_request, diff_response::DiffChanges as WireChanges, property_diff::Kind,
};

use super::{
    GrpcProvider,
    values::{Unknowns, decode, encode, optional, sending, sending_recorded},
    views::{ViewToken, old_views},
};
use crate::{
    event::{DetailedDiff, DiffKind, PropertyDiff},
    provider::{
        Autonaming, AutonamingMode, CheckFailure, CheckRequest, CheckResponse, CreateRequest, CreateResponse,
        DeleteRequest, DiffChanges, DiffRequest, DiffResponse, ProviderError, ProviderResult, ProviderStatus,
        ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
    },
    urn::Urn,
};

fn autonaming(autonaming: Autonaming) -> check_request::AutonamingOptions {
    use check_request::autonaming_options::Mode;
    let mode = match autonaming.mode {
        AutonamingMode::Propose => Mode::Propose,
        AutonamingMode::Enforce => Mode::Enforce,
        AutonamingMode::Disable => Mode::Disable,
    };
    check_request::AutonamingOptions {
        proposed_name: autonaming.proposed_name,
        mode: mode.into(),
    }
}

pub(super) async fn check(provider: &GrpcProvider, request: CheckRequest) -> ProviderResult<CheckResponse> {
    let capabilities = provider.configured().await?;
    let unknowns = Unknowns::in_preview(request.preview);
    let olds = request.olds.unwrap_or_default();
    let message = pulumirpc::CheckRequest {
        urn: request.urn.to_string(),
        name: request.name,
        r#type: request.resource_type.to_string(),
        olds: encode(&olds, &sending("olds", capabilities, unknowns))?,
        old_outputs: optional(
            request.old_outputs.as_ref(),
            &sending_recorded("old outputs", capabilities, unknowns),
        )?,
        news: encode(&request.news, &sending("news", capabilities, unknowns))?,
        random_seed: request.random_seed,
        autonaming: request
            .autonaming
            .filter(|_| capabilities.supports_autonaming)
            .map(autonaming),
    };
    let answer = match provider.client().check(message).await {
        Ok(answer) => answer.into_inner(),
        Err(failure) => {
            return Err(provider
                .peer
                .call_error("Check", failure, &provider.runtime)
                .await);
        }
    };
    check_response(provider, "Check", answer, unknowns)
}

pub(super) async fn diff(provider: &GrpcProvider, request: DiffRequest) -> ProviderResult<DiffResponse> {
    let capabilities = provider.configured().await?;
    let options = |label| sending_recorded(label, capabilities, Unknowns::in_preview(request.preview));
    let message = pulumirpc::DiffRequest {
        id: request.id.to_string(),
        urn: request.urn.to_string(),
        name: request.name,
        r#type: request.resource_type.to_string(),
        olds: encode(&request.old_outputs, &options("old outputs"))?,
        news: encode(&request.news, &options("news"))?,
        old_inputs: encode(&request.old_inputs, &options("old inputs"))?,
        ignore_changes: request.ignore_changes,
    };
    match provider.client().diff(message).await {
        Ok(answer) => diff_response(answer.into_inner(), &request.urn),
        Err(failure) => Err(provider.peer.call_error("Diff", failure, &provider.runtime).await),
    }
}

pub(super) async fn create(
    provider: &GrpcProvider,
    request: CreateRequest,
) -> ProviderResult<CreateResponse> {
    let capabilities = provider.configured().await?;
    let unknowns = Unknowns::in_preview(request.preview);
    let view_token = ViewToken::new(provider, &request.views);
    let message = pulumirpc::CreateRequest {
        urn: request.urn.to_string(),
        name: request.name,
        r#type: request.resource_type.to_string(),
        properties: encode(&request.inputs, &sending("inputs", capabilities, unknowns))?,
        timeout: request.timeout,
        preview: request.preview,
        resource_status_address: view_token.address.clone(),
        resource_status_token: view_token.token.clone(),
    };
    match provider.client().create(message).await {
        Ok(answer) => {
            let answer = answer.into_inner();
            let outputs = match decode(provider, "Create", "outputs", answer.properties, unknowns) {
                Ok(outputs) => outputs,
                Err(error) if request.preview => return Err(error),
                Err(error) => return Err(ProviderError::unreadable(answer.id, error.message)),
            };
            Ok(CreateResponse {
                id: answer.id.into(),
                outputs,
                refresh_before_update: answer.refresh_before_update,
            })
        }
        Err(failure) => Err(provider
            .peer
            .call_error("Create", failure, &provider.runtime)
            .await),
    }
}

pub(super) async fn update(
    provider: &GrpcProvider,
    request: UpdateRequest,
) -> ProviderResult<UpdateResponse> {
    let capabilities = provider.configured().await?;
    let unknowns = Unknowns::in_preview(request.preview);
    let recorded = |label| sending_recorded(label, capabilities, unknowns);
    let view_token = ViewToken::new(provider, &request.views);
    let message = pulumirpc::UpdateRequest {
        id: request.id.to_string(),
        urn: request.urn.to_string(),
        name: request.name,
        r#type: request.resource_type.to_string(),
        olds: encode(&request.old_outputs, &recorded("old outputs"))?,
        old_inputs: encode(&request.old_inputs, &recorded("old inputs"))?,
        news: encode(&request.news, &sending("news", capabilities, unknowns))?,
        timeout: request.timeout,
        ignore_changes: request.ignore_changes,
        preview: request.preview,
        resource_status_address: view_token.address.clone(),
        resource_status_token: view_token.token.clone(),
        old_views: old_views(&request.views, capabilities, unknowns)?,
    };
    match provider.client().update(message).await {
        Ok(answer) => {
            let answer = answer.into_inner();
            let outputs = match decode(provider, "Update", "outputs", answer.properties, unknowns) {
                Ok(outputs) => outputs,
                Err(error) if request.preview => return Err(error),
                Err(error) => return Err(ProviderError::unreadable(request.id.as_str(), error.message)),
            };
            Ok(UpdateResponse {
                outputs,
                refresh_before_update: answer.refresh_before_update,
            })
        }
        Err(failure) => Err(provider
            .peer
            .call_error("Update", failure, &provider.runtime)
            .await),
    }
}

pub(super) async fn delete(provider: &GrpcProvider, request: DeleteRequest) -> ProviderResult<()> {
    let capabilities = provider.configured().await?;
    let options = |label| sending_recorded(label, capabilities, Unknowns::Drop);
    let view_token = ViewToken::new(provider, &request.views);
    let message = pulumirpc::DeleteRequest {
        id: request.id.to_string(),
        urn: request.urn.to_string(),
        name: request.name,
        r#type: request.resource_type.to_string(),
        properties: encode(&request.outputs, &options("outputs"))?,
        old_inputs: encode(&request.inputs, &options("inputs"))?,
        timeout: request.timeout,
        resource_status_address: view_token.address.clone(),
        resource_status_token: view_token.token.clone(),
        old_views: old_views(&request.views, capabilities, Unknowns::Drop)?,
    };
    match provider.client().delete(message).await {
        Ok(_) => Ok(()),
        Err(failure) => Err(provider
            .peer
            .call_error("Delete", failure, &provider.runtime)
            .await),
    }
}

pub(super) async fn read(provider: &GrpcProvider, request: ReadRequest) -> ProviderResult<ReadResponse> {
    let capabilities = provider.configured().await?;
    let options = |label| sending_recorded(label, capabilities, Unknowns::Drop);
    let view_token = ViewToken::new(provider, &request.views);
    let message = pulumirpc::ReadRequest {
        id: request.id.to_string(),
        urn: request.urn.to_string(),
        name: request.name,
        r#type: request.resource_type.to_string(),
        properties: optional(request.properties.as_ref(), &options("outputs"))?,
        inputs: optional(request.inputs.as_ref(), &options("inputs"))?,
        timeout: request.timeout,
        resource_status_address: view_token.address.clone(),
        resource_status_token: view_token.token.clone(),
        old_views: old_views(&request.views, capabilities, Unknowns::Drop)?,
    };
    let answer = match provider.client().read(message).await {
        Ok(answer) => answer.into_inner(),
        Err(failure) => return Err(provider.peer.call_error("Read", failure, &provider.runtime).await),
    };
    // Without properties the resource does not exist, even if the response has an id.
    let Some(properties) = answer.properties else {
        return Ok(ReadResponse::default());
    };
    let inputs = match answer.inputs {
        Some(inputs) => Some(decode(provider, "Read", "inputs", Some(inputs), Unknowns::Drop)?),
        None => None,
    };
    let outputs = decode(provider, "Read", "outputs", Some(properties), Unknowns::Drop)?;
    Ok(ReadResponse {
        id: answer.id.into(),
        inputs,
        outputs: Some(outputs),
        refresh_before_update: answer.refresh_before_update,
        is_recorded: false,
    })
}

/// Reads the failures of a check.
pub(super) fn failures(failures: Vec<pulumirpc::CheckFailure>) -> Vec<CheckFailure> {
    failures
        .into_iter()
        .map(|failure| CheckFailure {
            property: failure.property,
            reason: failure.reason,
        })
        .collect()
}

/// Reads the response of Check and CheckConfig.
pub(super) fn check_response(
    provider: &GrpcProvider,
    call: &'static str,
    answer: pulumirpc::CheckResponse,
    unknowns: Unknowns,
) -> ProviderResult<CheckResponse> {
    Ok(CheckResponse {
        inputs: decode(provider, call, "inputs", answer.inputs, unknowns)?,
        failures: failures(answer.failures),
    })
}

/// Reads the response of Diff and DiffConfig for `urn`.
pub(super) fn diff_response(answer: pulumirpc::DiffResponse, urn: &Urn) -> ProviderResult<DiffResponse> {
    let refused = |what: String| Err(ProviderError::new(ProviderStatus::Internal, what));
    let changes = match WireChanges::try_from(answer.changes) {
        Ok(WireChanges::DiffUnknown) => DiffChanges::Unknown,
        Ok(WireChanges::DiffNone) => DiffChanges::None,
        Ok(WireChanges::DiffSome) => DiffChanges::Some,
        Err(_) => return refused(format!("unrecognized diff state for {urn}: {}", answer.changes)),
    };
    let detailed = match detailed_diff(answer.detailed_diff, urn) {
        Ok(detailed) => detailed,
        Err(fault) => return refused(fault),
    };
    Ok(DiffResponse {
        changes,
        replaces: answer.replaces,
        stables: answer.stables,
        diffs: answer.diffs,
        // The flag distinguishes an empty map from none; without it the map is ignored.
        detailed_diff: answer.has_detailed_diff.then_some(detailed),
        delete_before_replace: answer.delete_before_replace,
        unavailable: None,
    })
}

/// Reads the detailed diff of `what`.
pub(super) fn detailed_diff(
    detailed: BTreeMap<String, pulumirpc::PropertyDiff>,
    what: &impl std::fmt::Display,
) -> Result<DetailedDiff, String> {
    let read = |(path, property): (String, pulumirpc::PropertyDiff)| {
        let kind = match Kind::try_from(property.kind) {
            Ok(Kind::Add) => DiffKind::Add,
            Ok(Kind::AddReplace) => DiffKind::AddReplace,
            Ok(Kind::Delete) => DiffKind::Delete,
            Ok(Kind::DeleteReplace) => DiffKind::DeleteReplace,
            Ok(Kind::Update) => DiffKind::Update,
            Ok(Kind::UpdateReplace) => DiffKind::UpdateReplace,
            Err(_) => {
                let kind = property.kind;
                return Err(format!(
                    "unrecognized kind of difference at '{path}' for {what}: {kind}"
                ));
            }
        };
        let input_diff = property.input_diff;
        Ok((path, PropertyDiff { kind, input_diff }))
    };
    detailed.into_iter().map(read).collect()
}
