//! Reads answers and errors from JavaScript objects.

use std::sync::Arc;

use bytes::Bytes;
use napi::{Result, sys::ValueType};
use stackwright::{
    autonaming::Proposal,
    binding::ObjectAnswer,
    event::{DetailedDiff, DiffKind, PropertyDiff},
    property::PropertyMap,
    provider::{
        Autonaming, AutonamingMode, CheckFailure, CheckResponse, CreateResponse, DiffChanges, DiffResponse,
        InitFailure, InvokeResponse, ProviderError, ProviderStatus, ReadResponse, Reply, Resolution,
        UpdateResponse,
    },
};

use super::{
    ProviderEntry,
    bodies::{self, Returned},
    functions::{self, FunctionResult},
    method, package, provider_of, views,
};
use crate::{
    bridge::Shared,
    convert::{Js, Reader},
};

/// An answer, by its shape.
pub(crate) enum Answered {
    /// To a provider's call.
    Reply(Reply),
    /// What the code of a component or a method has returned.
    Returned(Returned),
    Resolution(Resolution),
    Values(PropertyMap),
    Texts(Vec<String>),
    Content(Bytes),
    Proposal(Option<Proposal>),
    Yes(bool),
    Version(Option<String>),
    Function(FunctionResult),
    /// What a store has returned; of credentials, the JSON is in the place of a listing.
    Supplied(ObjectAnswer),
    /// An exception of the host; the code is set for errors of this package.
    Refused {
        code: Option<String>,
        message: String,
    },
    Nothing,
}

impl Answered {
    /// Reads the answer to a method. `inputs` are the inputs of the call.
    pub(super) fn read(
        reader: &Reader,
        shared: &Arc<Shared>,
        method: u32,
        value: Js,
        inputs: PropertyMap,
    ) -> Result<Self> {
        let present = reader.scope().kind(value)? == ValueType::napi_object;
        if present {
            refuse_unknown(reader, members(method), value)?;
        }
        match method {
            method::RESOLVE if present => resolution(reader, shared, value),
            method::RESOLVE => Ok(Self::Resolution(Resolution::Default)),
            method::RECEIVE..=method::SUPPLY if present => host(reader, method, value),
            method::CONFIGURE | method::DELETE | method::CANCEL | method::CLOSE => Ok(Self::Nothing),
            method::CONSTRUCT | method::CALL => bodies::returned(reader, value).map(Self::Returned),
            method::CHECK_CONFIG..method::RESOLVE => {
                reply(reader, method, value, present, inputs).map(Self::Reply)
            }
            _ => Ok(Self::Nothing),
        }
    }
}

/// Reads the answer to a provider's call.
fn reply(reader: &Reader, method: u32, value: Js, present: bool, inputs: PropertyMap) -> Result<Reply> {
    Ok(match method {
        method::CHECK | method::CHECK_CONFIG => {
            Reply::Check(check(reader, present.then_some(value), inputs)?)
        }
        method::DIFF | method::DIFF_CONFIG if present => Reply::Diff(diff(reader, value)?),
        method::DIFF | method::DIFF_CONFIG => Reply::Diff(DiffResponse::default()),
        method::CREATE if present => Reply::Create(CreateResponse {
            id: reader.text_field(value, "id")?.unwrap_or_default().into(),
            outputs: reader.map_field(value, "outputs")?.unwrap_or(inputs),
            refresh_before_update: refresh_before_update(reader, value)?,
        }),
        method::READ if present => Reply::Read(ReadResponse {
            id: reader.text_field(value, "id")?.unwrap_or_default().into(),
            inputs: reader.map_field(value, "inputs")?,
            outputs: reader.map_field(value, "outputs")?,
            refresh_before_update: refresh_before_update(reader, value)?,
            is_recorded: false,
        }),
        method::READ => Reply::Read(ReadResponse::default()),
        method::UPDATE if present => Reply::Update(UpdateResponse {
            outputs: reader.map_field(value, "outputs")?.unwrap_or(inputs),
            refresh_before_update: refresh_before_update(reader, value)?,
        }),
        method::UPDATE => Reply::Update(UpdateResponse {
            outputs: inputs,
            ..UpdateResponse::default()
        }),
        method::INVOKE if present => Reply::Invoke(InvokeResponse {
            result: reader.map_field(value, "result")?.unwrap_or_default(),
            failures: failures(reader, value, "failures")?,
        }),
        method::INVOKE => Reply::Invoke(InvokeResponse::default()),
        method::GET_SCHEMA => Reply::Schema(package::schema(reader, value)?),
        method::GET_MAPPING => Reply::Mapping(package::mapping(reader, value)?),
        method::GET_MAPPINGS => Reply::Mappings(package::mappings(reader, value)?),
        _ => {
            let returned = match reader.scope().kind(value)? {
                ValueType::napi_undefined => "undefined",
                ValueType::napi_null => "null",
                _ => "no object",
            };
            return Err(napi::Error::from_reason(format!(
                "it returned {returned}, expected an object with an id"
            )));
        }
    })
}

/// Returns the known members of the answer to a method; empty when the answer is not an object with members.
const fn members(method: u32) -> &'static [&'static str] {
    match method {
        method::CHECK | method::CHECK_CONFIG => &["inputs", "failures"],
        method::DIFF | method::DIFF_CONFIG => &[
            "changes",
            "replaces",
            "stables",
            "diffs",
            "detailedDiff",
            "deleteBeforeReplace",
        ],
        method::CREATE => &["id", "outputs", "refreshBeforeUpdate", "viewSteps"],
        method::READ => &["id", "inputs", "outputs", "refreshBeforeUpdate", "viewSteps"],
        method::UPDATE => &["outputs", "refreshBeforeUpdate", "viewSteps"],
        method::INVOKE => &["result", "failures"],
        method::GET_MAPPING => &["provider", "data"],
        _ => &[],
    }
}

/// Rejects unknown members: most likely they are misspelt.
fn refuse_unknown(reader: &Reader, known: &[&str], value: Js) -> Result<()> {
    if known.is_empty() {
        return Ok(());
    }
    reader.entries(value, |name, _| {
        if known.contains(&name) {
            return Ok(());
        }
        let known = known.join(", ");
        Err(napi::Error::from_reason(format!(
            "it has the unknown key {name:?}; there are: {known}"
        )))
    })
}

/// Reads the package's form of a host's answer: `{ values }`, `{ inputs }`, `{ texts }`, `{ content }`, `{ proposal }`, `{ yes }`,
/// `{ version }`, the parts of an object and `{ text }`, or `{ refused: { code, message } }`.
fn host(reader: &Reader, method: u32, value: Js) -> Result<Answered> {
    if let Some(refused) = reader.field(value, "refused")? {
        return Ok(Answered::Refused {
            code: reader.text_field(refused, "code")?,
            message: reader.text_field(refused, "message")?.unwrap_or_default(),
        });
    }
    Ok(match method {
        method::STACK_OUTPUTS | method::STACK_RESOURCE_OUTPUTS => {
            Answered::Values(reader.map_field(value, "values")?.unwrap_or_default())
        }
        method::ENCRYPT | method::DECRYPT => Answered::Texts(reader.texts_field(value, "texts")?),
        method::FETCH => {
            let content = content(reader, value)?;
            let wrong = || napi::Error::from_reason("expected a Buffer or Uint8Array");
            Answered::Content(content.ok_or_else(wrong)?)
        }
        method::PROPOSE_NAME => Answered::Proposal(match reader.field(value, "proposal")? {
            Some(proposal) => Some(read_proposal(reader, proposal)?),
            None => None,
        }),
        method::IS_INSTALLED | method::INSTALL => {
            Answered::Yes(reader.bool_field(value, "yes")?.unwrap_or_default())
        }
        method::CHECK_POLICY => match reader.map_field(value, "inputs")? {
            Some(inputs) => Answered::Values(inputs),
            None => Answered::Texts(reader.texts_field(value, "texts")?),
        },
        method::LATEST_VERSION => Answered::Version(reader.text_field(value, "version")?),
        method::CALL_FUNCTION => Answered::Function(functions::result(reader, value)?),
        method::SUPPLY => Answered::Supplied(ObjectAnswer {
            content: content(reader, value)?,
            version: reader.text_field(value, "version")?,
            listing: reader.text_field(value, "text")?.map(Into::into),
        }),
        _ => Answered::Nothing,
    })
}

/// Reads the bytes of an answer; `None` when there are none.
fn content(reader: &Reader, value: Js) -> Result<Option<Bytes>> {
    match reader.field(value, "content")? {
        Some(content) => reader.scope().as_bytes(content),
        None => Ok(None),
    }
}

/// Reads the package's description of a proposed name.
fn read_proposal(reader: &Reader, value: Js) -> Result<Proposal> {
    let name = reader.text_field(value, "mode")?.unwrap_or_default();
    let mode = AutonamingMode::ALL.into_iter().find(|mode| mode.name() == name);
    let mode = mode.ok_or_else(|| napi::Error::from_reason(format!("there is no mode {name:?} of names")))?;
    let flag = |name| -> Result<bool> { Ok(reader.bool_field(value, name)?.unwrap_or_default()) };
    Ok(Proposal {
        autonaming: Autonaming {
            proposed_name: reader.text_field(value, "name")?.unwrap_or_default(),
            mode,
        },
        delete_before_replace: flag("deleteBeforeReplace")?,
        warn_if_unsupported: flag("warnIfUnsupported")?,
    })
}

/// Reads `{ address }`, or the package's description of a provider in this process.
fn resolution(reader: &Reader, shared: &Arc<Shared>, value: Js) -> Result<Answered> {
    if let Some(address) = reader.text_field(value, "address")? {
        return Ok(Answered::Resolution(Resolution::Address(address)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the package's numbers are small and whole"
    )]
    let number = |name| -> Result<u32> { Ok(reader.number_field(value, name)?.unwrap_or_default() as u32) };
    let flag = |name| -> Result<bool> { Ok(reader.bool_field(value, name)?.unwrap_or_default()) };
    let entry = ProviderEntry {
        package: String::new(),
        number: number("number")?,
        methods: number("methods")?,
        secrets: flag("secrets")?,
        outputs: flag("outputs")?,
        preview: flag("preview")?,
        waits: flag("waits")?,
    };
    let provider = Arc::new(provider_of(shared, entry));
    Ok(Answered::Resolution(Resolution::InProcess(provider)))
}

fn check(reader: &Reader, value: Option<Js>, inputs: PropertyMap) -> Result<CheckResponse> {
    let Some(value) = value else {
        let failures = Vec::new();
        return Ok(CheckResponse { inputs, failures });
    };
    Ok(CheckResponse {
        inputs: reader.map_field(value, "inputs")?.unwrap_or(inputs),
        failures: failures(reader, value, "failures")?,
    })
}

/// Reads a list of failures, which may be absent.
pub(super) fn failures(reader: &Reader, value: Js, name: &str) -> Result<Vec<CheckFailure>> {
    let Some(list) = reader.field(value, name)? else {
        return Ok(Vec::new());
    };
    let mut place = 0..;
    reader.elements(list, name, |failure| {
        let place = place.next().unwrap_or_default();
        read_failure(reader, failure)
            .map_err(|error| napi::Error::from_reason(format!("{name}[{place}]: {}", error.reason)))
    })
}

fn read_failure(reader: &Reader, failure: Js) -> Result<CheckFailure> {
    if reader.scope().kind(failure)? != ValueType::napi_object || reader.scope().is_array(failure)? {
        return Err(napi::Error::from_reason(
            "expected an object with property and reason",
        ));
    }
    refuse_unknown(reader, &["property", "reason"], failure)?;
    Ok(CheckFailure {
        property: reader.text_field(failure, "property")?.unwrap_or_default(),
        reason: reader.text_field(failure, "reason")?.unwrap_or_default(),
    })
}

fn refresh_before_update(reader: &Reader, value: Js) -> Result<bool> {
    Ok(reader
        .bool_field(value, "refreshBeforeUpdate")?
        .unwrap_or_default())
}

fn diff(reader: &Reader, value: Js) -> Result<DiffResponse> {
    let replaces = reader.texts_field(value, "replaces")?;
    let diffs = reader.texts_field(value, "diffs")?;
    let detailed_diff = match reader.field(value, "detailedDiff")? {
        Some(detailed) => Some(detailed_diff(reader, detailed)?),
        None => None,
    };
    let something = !replaces.is_empty()
        || !diffs.is_empty()
        || detailed_diff
            .as_ref()
            .is_some_and(|detailed| !detailed.is_empty());
    let changes = match changes(reader, value)? {
        Some(changes) => changes,
        None if something => DiffChanges::Some,
        None => DiffChanges::Unknown,
    };
    Ok(DiffResponse {
        changes,
        replaces,
        stables: reader.texts_field(value, "stables")?,
        diffs,
        detailed_diff,
        delete_before_replace: reader
            .bool_field(value, "deleteBeforeReplace")?
            .unwrap_or_default(),
        unavailable: None,
    })
}

/// Reads whether anything differs; `None` when the member is absent.
fn changes(reader: &Reader, value: Js) -> Result<Option<DiffChanges>> {
    let Some(changes) = reader.field(value, "changes")? else {
        return Ok(None);
    };
    if reader.scope().kind(changes)? != ValueType::napi_string {
        let changes = reader.bool_field(value, "changes")?;
        return Ok(changes.map(|changes| match changes {
            true => DiffChanges::Some,
            false => DiffChanges::None,
        }));
    }
    match reader.scope().as_text(changes)?.as_str() {
        "none" => Ok(Some(DiffChanges::None)),
        "some" => Ok(Some(DiffChanges::Some)),
        "unknown" => Ok(Some(DiffChanges::Unknown)),
        other => Err(napi::Error::from_reason(format!(
            "changes: there is no answer {other:?}"
        ))),
    }
}

/// Reads `{ path: "update" }` or `{ path: { kind: "update", inputDiff: true } }`.
pub(super) fn detailed_diff(reader: &Reader, value: Js) -> Result<DetailedDiff> {
    let mut result = DetailedDiff::new();
    reader.entries(value, |path, entry| {
        let (name, input_diff) = if reader.scope().kind(entry)? == ValueType::napi_string {
            (reader.scope().as_text(entry)?, false)
        } else {
            let kind = reader.text_field(entry, "kind")?.unwrap_or_default();
            (kind, reader.bool_field(entry, "inputDiff")?.unwrap_or_default())
        };
        let kind = match name.as_str() {
            "add" => DiffKind::Add,
            "add-replace" => DiffKind::AddReplace,
            "delete" => DiffKind::Delete,
            "delete-replace" => DiffKind::DeleteReplace,
            "update" => DiffKind::Update,
            "update-replace" => DiffKind::UpdateReplace,
            _ => {
                let message = format!("detailedDiff.{path}: there is no kind {name:?} of differences");
                return Err(napi::Error::from_reason(message));
            }
        };
        result.insert(path.to_owned(), PropertyDiff { kind, input_diff });
        Ok(())
    })?;
    Ok(result)
}

/// Reads the package's description of an exception.
pub(super) fn error(reader: &Reader, value: Js) -> ProviderError {
    read_error(reader, value).unwrap_or_else(|error| {
        let message = format!("the provider's error cannot be read: {}", error.reason);
        let failure = reader.field(value, "initFailure").ok().flatten();
        ProviderError::unreadable(
            failure.map_or_else(String::new, |failure| id(reader, failure)),
            message,
        )
    })
}

/// Returns the id in a malformed answer; empty when it has none.
pub(super) fn id(reader: &Reader, value: Js) -> String {
    let id = reader.text_field(value, "id");
    id.ok().flatten().unwrap_or_default()
}

fn read_error(reader: &Reader, value: Js) -> Result<ProviderError> {
    let message = reader.text_field(value, "message")?.unwrap_or_default();
    if let Some(failure) = reader.field(value, "initFailure")? {
        let mut error = ProviderError::init_failed(InitFailure {
            id: reader.text_field(failure, "id")?.unwrap_or_default(),
            inputs: reader.map_field(failure, "inputs")?,
            outputs: reader.map_field(failure, "outputs")?.unwrap_or_default(),
            reasons: reader.texts_field(failure, "reasons")?,
            refresh_before_update: refresh_before_update(reader, failure)?,
            view_steps: views::steps(reader, failure)?,
        });
        if !message.is_empty() {
            error.message = message;
        }
        return Ok(error);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "codes that gRPC does not define are unknown"
    )]
    let status = reader
        .number_field(value, "status")?
        .map_or(2, |code| code as i32);
    // What the provider reports otherwise is kept.
    let (input_errors, message) = match failures(reader, value, "inputErrors") {
        Ok(errors) => (errors, message),
        Err(error) => {
            let reason = &error.reason;
            let text = format!("{message}\nthe inputErrors of this ProviderError cannot be read: {reason}");
            (Vec::new(), text)
        }
    };
    Ok(ProviderError {
        input_errors,
        ..ProviderError::new(ProviderStatus::from_code(status), message)
    })
}
