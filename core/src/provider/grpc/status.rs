//! Failed calls: the provider's own statuses with the details that the protocol defines, and broken connections.

use std::{error::Error as _, fmt::Write as _};

use prost::{DecodeError, Message};
use stackwright_proto::{
    MESSAGE_LIMIT, google,
    pulumirpc::{ConfigureErrorMissingKeys, ErrorResourceInitFailed},
};
use tonic::{Code, ConnectError, Status};

use crate::{
    error::{Error, ErrorKind},
    message::{Message::MissingConfiguration, Text},
    property::wire::{DecodeOptions, from_struct},
    provider::{InitFailure, ProviderError, ProviderStatus},
};

/// What kept a call from getting an answer of the provider's.
pub(crate) struct BreakDown {
    pub(super) kind: BreakDownKind,
    /// The causes, outermost first.
    pub(crate) text: String,
}

/// Where a call broke down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakDownKind {
    /// The connection broke: how far the call came is not known.
    Connection,
    /// No connection could be made: the call was never sent.
    Unreachable,
    /// What came over it made no sense: the call was made.
    Nonsense,
    /// The call was never made, because its message is too large.
    Unsent,
}

/// Texts of statuses that this side makes when what it receives is no answer of the protocol.
const NONSENSE: [&str; 4] = [
    "failed to decode Protobuf message",
    "grpc-status header missing",
    "protocol error: received message with",
    "Unexpected EOF decoding stream",
];

/// Tells whether an answer was too large for this side. A provider may say the same of a request, with its own limit.
fn is_too_large(text: &str) -> bool {
    text.starts_with("Error, decoded message length too large")
        && text.ends_with(&format!("the limit is: {MESSAGE_LIMIT} bytes"))
}

/// What a message that is too large to be sent makes of its own stream.
const UNSENT: &str = "stream error sent by user";

/// Tells whether a status was made on this side of the connection, and why.
pub(crate) fn break_down(status: &Status) -> Option<BreakDown> {
    let text = status.message();
    let nonsense = NONSENSE.iter().any(|start| text.starts_with(start)) || is_too_large(text);
    if status.source().is_none() && !nonsense {
        return None;
    }
    let mut text = status.message().to_owned();
    let mut source = status.source();
    let mut is_connected = true;
    while let Some(cause) = source {
        is_connected &= !cause.is::<ConnectError>();
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            // Writing to a string does not fail.
            let _written = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    let kind = if nonsense {
        BreakDownKind::Nonsense
    } else if text.contains(UNSENT) {
        BreakDownKind::Unsent
    } else if !is_connected {
        BreakDownKind::Unreachable
    } else {
        BreakDownKind::Connection
    };
    Some(BreakDown { kind, text })
}

/// Returns a detail of a status, or what is wrong with it.
fn detail<T: Message + Default>(status: &Status, name: &str) -> Option<Result<T, DecodeError>> {
    let details = google::rpc::Status::decode(status.details()).ok()?.details;
    let any = details
        .into_iter()
        .find(|any| any.type_url.rsplit('/').next() == Some(name))?;
    Some(T::decode(any.value.as_slice()))
}

/// Turns a provider's own status into an error; the message stays as it is.
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
    error
}

/// Reads what exists. Of what cannot be read nothing is left but the id, and the reason why.
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

/// Tells whether the provider does not know the call. Two providers have words of their own for that.
pub(super) fn is_unknown_call(provider: &str, status: &Status) -> bool {
    match status.code() {
        Code::Unimplemented => true,
        Code::Internal => provider == "pulumi-nodejs",
        Code::Unknown => provider == "kubernetes" && status.message().contains("Unimplemented"),
        _ => false,
    }
}
