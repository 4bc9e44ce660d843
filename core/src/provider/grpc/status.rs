//! Failed calls: the provider's own statuses with the details that the protocol defines, and transport failures.

use std::{error::Error as _, fmt::Write as _};

use prost::{DecodeError, Message};
use stackwright_proto::{
    MESSAGE_LIMIT, google,
    pulumirpc::{
        ConfigureErrorMissingKeys, ErrorResourceAwaitFailed, ErrorResourceInitFailed, InputPropertiesError,
    },
};
use tonic::{Code, ConnectError, Status};

use crate::{
    error::{Error, ErrorKind},
    message::{Message::MissingConfiguration, Text},
    property::wire::{DecodeOptions, from_struct},
    provider::{CheckFailure, InitFailure, ProviderError, ProviderStatus},
};

/// The failure of a call without a response of the provider.
pub(crate) struct TransportFailure {
    pub(super) kind: TransportFailureKind,
    /// The causes, outermost first.
    pub(crate) text: String,
}

/// The kind of a transport failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransportFailureKind {
    /// The connection broke: the progress of the call is unknown.
    Connection,
    /// No connection could be established: the call was not sent.
    Unreachable,
    /// The response is malformed: the call was made.
    Malformed,
    /// The request is too large: the call was not sent.
    Unsent,
}

/// Beginnings of statuses that the client generates for a malformed response.
const MALFORMED_RESPONSES: [&str; 4] = [
    "failed to decode Protobuf message",
    "grpc-status header missing",
    "protocol error: received message with",
    "Unexpected EOF decoding stream",
];

/// Returns whether a response exceeded the client's limit. A provider reports a request beyond its own limit with the
/// same text and another number.
fn is_too_large(text: &str) -> bool {
    text.starts_with("Error, decoded message length too large")
        && text.ends_with(&format!("the limit is: {MESSAGE_LIMIT} bytes"))
}

/// The text of the stream error that the client causes for a request that is too large.
const UNSENT: &str = "stream error sent by user";

/// Returns the failure if the client generated the status; `None` for a status of the provider.
pub(crate) fn transport_failure(status: &Status) -> Option<TransportFailure> {
    let text = status.message();
    let malformed = MALFORMED_RESPONSES.iter().any(|start| text.starts_with(start)) || is_too_large(text);
    if status.source().is_none() && !malformed {
        return None;
    }
    let mut text = status.message().to_owned();
    let mut source = status.source();
    let mut is_connected = true;
    while let Some(cause) = source {
        is_connected &= !cause.is::<ConnectError>();
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            // Writing to a string never fails.
            let _written = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    let kind = if malformed {
        TransportFailureKind::Malformed
    } else if text.contains(UNSENT) {
        TransportFailureKind::Unsent
    } else if !is_connected {
        TransportFailureKind::Unreachable
    } else {
        TransportFailureKind::Connection
    };
    Some(TransportFailure { kind, text })
}

/// Returns a detail of a status, or its decoding error.
fn detail<T: Message + Default>(status: &Status, name: &str) -> Option<Result<T, DecodeError>> {
    let details = google::rpc::Status::decode(status.details()).ok()?.details;
    let any = details
        .into_iter()
        .find(|any| any.type_url.rsplit('/').next() == Some(name))?;
    Some(T::decode(any.value.as_slice()))
}

/// Converts a provider's own status to an error; the message is unchanged.
pub(super) fn provider_error(status: &Status) -> ProviderError {
    let kind = ProviderStatus::from_code(i32::from(status.code()));
    let mut error = ProviderError::new(kind, status.message());
    if status.details().is_empty() {
        return error;
    }
    let failed = detail::<ErrorResourceInitFailed>(status, "pulumirpc.ErrorResourceInitFailed");
    let fault = match failed {
        None => None,
        Some(Ok(failed)) => {
            let (failure, fault) = init_failure(failed);
            error.init_failure = Some(Box::new(failure));
            fault
        }
        Some(Err(fault)) => Some(fault.to_string()),
    };
    if let Some(fault) = fault {
        error.message = format!("{}: {fault}", error.message);
        error.status = ProviderStatus::DataLoss;
        error.outcome_unknown = true;
    }
    let awaits = detail::<ErrorResourceAwaitFailed>(status, "pulumirpc.ErrorResourceAwaitFailed");
    error.must_wait = awaits.is_some();
    let missing = detail::<ConfigureErrorMissingKeys>(status, "pulumirpc.ConfigureErrorMissingKeys");
    if let Some(Ok(missing)) = missing {
        error.missing_keys = missing
            .missing_keys
            .into_iter()
            .map(|key| (key.name, key.description))
            .collect();
        if !error.missing_keys.is_empty() {
            let text = Text::from(MissingConfiguration {
                keys: &error.missing_keys,
            });
            error.message = text.reference().to_owned();
            error.cause = Some(Error::new(ErrorKind::Provider, text).with_phase("configure"));
        }
    }
    let refused = detail::<InputPropertiesError>(status, "pulumirpc.InputPropertiesError");
    if let Some(Ok(refused)) = refused {
        let errors = refused.errors.into_iter().map(|error| CheckFailure {
            property: error.property_path,
            reason: error.reason,
        });
        error.input_errors = errors.collect();
    }
    error
}

/// Reads an initialization failure. If properties cannot be decoded, only the id and the decoding error remain.
fn init_failure(failed: ErrorResourceInitFailed) -> (InitFailure, Option<String>) {
    let options = |label| DecodeOptions {
        reject_unknowns: true,
        ..DecodeOptions::all(label)
    };
    let mut failure = InitFailure {
        id: failed.id,
        reasons: failed.reasons,
        refresh_before_update: failed.refresh_before_update,
        ..InitFailure::default()
    };
    let inputs = failed
        .inputs
        .map(|inputs| from_struct(inputs, &options("inputs")));
    let outputs = from_struct(failed.properties.unwrap_or_default(), &options("outputs"));
    match (inputs.transpose(), outputs) {
        (Ok(inputs), Ok(outputs)) => {
            (failure.inputs, failure.outputs) = (inputs, outputs);
            (failure, None)
        }
        (Err(error), _) | (_, Err(error)) => {
            let fault = error.message().to_owned();
            failure.reasons.push(fault.clone());
            (failure, Some(fault))
        }
    }
}

/// Returns whether the provider does not implement the call. Two providers report that with their own texts.
pub(super) fn is_unknown_call(provider: &str, status: &Status) -> bool {
    match status.code() {
        Code::Unimplemented => true,
        Code::Internal => provider == "pulumi-nodejs",
        Code::Unknown => provider == "kubernetes" && status.message().contains("Unimplemented"),
        _ => false,
    }
}
