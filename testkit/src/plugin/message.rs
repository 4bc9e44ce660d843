//! Messages of a provider's calls: requests as scenarios see them, and answers of scenarios as the wire has them.

use prost::Message as _;
use serde_json::{Value, json};
use stackwright::property::{
    json::PlainMap,
    wire::{DecodeOptions, EncodeOptions, from_struct, to_struct},
};
use stackwright_proto::{
    google,
    pulumirpc::{self as rpc, diff_response::DiffChanges},
    values::Struct,
};
use tonic::{Code, Status};

use crate::provider::plain;

/// Returns properties in plain JSON form; null where there are none.
pub(super) fn read(message: Option<Struct>) -> Result<Value, Status> {
    let Some(message) = message else {
        return Ok(Value::Null);
    };
    let properties = from_struct(message, &DecodeOptions::all("properties"));
    let properties = properties.map_err(|error| Status::invalid_argument(error.message().to_owned()))?;
    Ok(plain(properties))
}

pub(super) fn write(properties: &Value) -> Result<Option<Struct>, Status> {
    if properties.is_null() {
        return Ok(None);
    }
    let properties: PlainMap = serde_json::from_value(properties.clone())
        .map_err(|error| Status::internal(format!("the scenario answers nonsense: {error}")))?;
    let message = to_struct(&properties.0, &EncodeOptions::all("properties"));
    message
        .map(Some)
        .map_err(|error| Status::internal(error.message().to_owned()))
}

/// Returns the status of a provider that has to wait.
pub(super) fn awaits(code: Code, message: String) -> Status {
    let mut status = google::rpc::Status {
        code: code.into(),
        message: message.clone(),
        details: vec![Default::default()],
    };
    status.details[0].type_url = "type.googleapis.com/pulumirpc.ErrorResourceAwaitFailed".to_owned();
    status.details[0].value = rpc::ErrorResourceAwaitFailed {}.encode_to_vec();
    Status::with_details(code, message, status.encode_to_vec().into())
}

pub(super) fn text(answer: &Value, name: &str) -> String {
    answer[name].as_str().unwrap_or_default().to_owned()
}

fn texts(answer: &Value, name: &str) -> Vec<String> {
    let texts = answer[name].as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(super) fn failures(answer: &Value) -> Vec<rpc::CheckFailure> {
    let failures = answer["failures"].as_array().into_iter().flatten();
    let failure = |failure: &Value| rpc::CheckFailure {
        property: text(failure, "property"),
        reason: text(failure, "reason"),
    };
    failures.map(failure).collect()
}

pub(super) fn check(request: rpc::CheckRequest) -> Result<Value, Status> {
    Ok(json!({
        "urn": request.urn, "type": request.r#type, "name": request.name,
        "olds": read(request.olds)?, "oldOutputs": read(request.old_outputs)?, "news": read(request.news)?,
        "autonaming": request.autonaming.map(|naming| json!({ "proposedName": naming.proposed_name, "mode": naming.mode })),
    }))
}

pub(super) fn checked(answer: &Value) -> Result<rpc::CheckResponse, Status> {
    Ok(rpc::CheckResponse {
        inputs: write(&answer["inputs"])?,
        failures: failures(answer),
    })
}

pub(super) fn diff(request: rpc::DiffRequest) -> Result<Value, Status> {
    Ok(json!({
        "urn": request.urn, "type": request.r#type, "name": request.name, "id": request.id,
        "oldInputs": read(request.old_inputs)?, "oldOutputs": read(request.olds)?,
        "news": read(request.news)?, "ignoreChanges": request.ignore_changes,
    }))
}

pub(super) fn compared(answer: &Value) -> rpc::DiffResponse {
    let changes = match answer["changes"].as_str() {
        Some("none") => DiffChanges::DiffNone,
        Some("some") => DiffChanges::DiffSome,
        _ => DiffChanges::DiffUnknown,
    };
    rpc::DiffResponse {
        changes: changes.into(),
        replaces: texts(answer, "replaces"),
        diffs: texts(answer, "diffs"),
        delete_before_replace: answer["deleteBeforeReplace"] == json!(true),
        ..rpc::DiffResponse::default()
    }
}
