//! Responses and failures: converts the return values and exceptions of a Python provider's methods.

use std::collections::BTreeMap;

use pyo3::{
    exceptions::{PyAttributeError, PyTypeError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyDict, PyMapping, PyModule, PyString, PyTuple, PyType},
};
use stackwright::{
    Error, ErrorKind,
    event::{DetailedDiff, DiffKind, PropertyDiff},
    property::PropertyMap,
    provider::{
        CheckFailure, CheckResponse, CreateResponse, DiffChanges, DiffResponse, InitFailure, InvokeResponse,
        Mapping, ProviderError, ProviderStatus, ReadResponse, UpdateResponse,
    },
    token::ResourceId,
};

use crate::{
    convert,
    errors::{self, invalid, text_with_causes},
    logs,
};

/// The exception classes of the package that a provider may raise.
struct Raised {
    provider_error: Py<PyType>,
    init_failure: Py<PyType>,
    log: Py<PyAny>,
}

static RAISED: PyOnceLock<Raised> = PyOnceLock::new();

impl Raised {
    fn get(py: Python<'_>) -> PyResult<&Self> {
        RAISED.get_or_try_init(py, || {
            let errors = PyModule::import(py, "stackwright.errors")?;
            Ok(Self {
                provider_error: errors.getattr("ProviderError")?.cast_into::<PyType>()?.unbind(),
                init_failure: errors.getattr("InitFailure")?.cast_into::<PyType>()?.unbind(),
                log: PyModule::import(py, "logging")?
                    .call_method1("getLogger", ("stackwright.provider",))?
                    .unbind(),
            })
        })
    }
}

/// Converts an exception of a method to the failure of its call.
pub(super) fn failure(py: Python<'_>, method: &'static str, raised: &PyErr) -> ProviderError {
    describe(py, method, raised)
        .unwrap_or_else(|second| ProviderError::without_answer(ProviderStatus::Unknown, second.to_string()))
}

/// As [`failure`], with the exception as the cause: the error of the operation is that of the component or the method.
pub(super) fn caused_failure(py: Python<'_>, method: &'static str, raised: &PyErr) -> ProviderError {
    let error = failure(py, method, raised);
    let cause =
        Error::new(ErrorKind::Provider, error.message.as_str()).with_source(errors::Raised::read(py, raised));
    ProviderError {
        cause: Some(cause),
        ..error
    }
}

/// Makes the error of a malformed return value, which names the class and the method.
pub(super) fn unreadable(class: &str, method: &str, returned: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = returned.py();
    describe_unreadable(class, method, returned, &error).map_or_else(
        |second| second,
        |text| {
            let Some(text) = text else { return error };
            let raised = Raised::get(py).and_then(|classes| classes.provider_error.bind(py).call1((text,)));
            raised.map_or_else(|second| second, PyErr::from_value)
        },
    )
}

fn describe_unreadable(
    class: &str,
    method: &str,
    returned: &Bound<'_, PyAny>,
    error: &PyErr,
) -> PyResult<Option<String>> {
    let py = returned.py();
    let name = if returned.is_none() {
        "None".to_owned()
    } else {
        returned.get_type().name()?.to_string()
    };
    if error.is_instance_of::<PyAttributeError>(py) {
        let expected = match method {
            "check" | "check_config" => "CheckResult or a mapping",
            "diff" | "diff_config" => "DiffResult, bool or None",
            "create" => "CreateResult",
            "read" => "ReadResult or None",
            "update" => "UpdateResult or a mapping",
            "invoke" | "construct" | "call" => "InvokeResult or a mapping",
            "get_schema" => "str or a mapping",
            "get_mapping" => "MappingResult or None",
            "get_mappings" => "a sequence of str or None",
            _ => "None",
        };
        return Ok(Some(format!(
            "{class}.{method} returned {name}, expected {expected}"
        )));
    }
    if error.is_instance_of::<PyTypeError>(py) {
        let reason = error.value(py);
        return Ok(Some(format!(
            "{class}.{method} returned a {name} that cannot be read: {reason}"
        )));
    }
    Ok(None)
}

fn describe(py: Python<'_>, method: &'static str, raised: &PyErr) -> PyResult<ProviderError> {
    let classes = Raised::get(py)?;
    let value = raised.value(py);
    if value.is_instance(classes.init_failure.bind(py))? {
        return Ok(match init_failure(value) {
            Ok(failure) => ProviderError::init_failed(failure),
            Err(error) => ProviderError::unreadable(id_of(value), error.value(py).to_string()),
        });
    }
    if value.is_instance(classes.provider_error.bind(py))? {
        let status = ProviderStatus::from_code(value.getattr("status")?.extract()?);
        let mut error = ProviderError::new(status, value.getattr("message")?.extract::<String>()?);
        error.missing_keys = value
            .getattr("missing_keys")?
            .extract::<BTreeMap<String, String>>()?
            .into_iter()
            .collect();
        match failures(
            &value.getattr("input_errors")?,
            "input_errors of the ProviderError",
        ) {
            Ok(failures) => error.input_errors = failures,
            // What the provider reports is not lost.
            Err(wrong) => error.message = format!("{}\n{}", error.message, wrong.value(py)),
        }
        return Ok(error);
    }
    // The texts of the exception and its causes may contain secrets: only the traceback is logged.
    let frames = match raised.traceback(py) {
        Some(traceback) => traceback.format()?,
        None => String::new(),
    };
    classes.log.bind(py).call_method1(
        "debug",
        (
            "a provider's %s() raised %s, which is not a ProviderError\n%s",
            method,
            value.get_type().qualname()?,
            // Lines of source code can contain secrets, too.
            logs::scrubbed(&frames),
        ),
    )?;
    if raised.is_instance_of::<pyo3::exceptions::PyNotImplementedError>(py) {
        return Ok(ProviderError::unimplemented(raised.to_string()));
    }
    let text = text_with_causes(py, raised, raised.to_string());
    Ok(ProviderError::new(ProviderStatus::Unknown, text))
}

/// Returns the id in a malformed return value of `create`; empty when it has none.
pub(super) fn created_id(returned: &Bound<'_, PyAny>) -> String {
    match returned.extract::<(String, Bound<'_, PyAny>)>() {
        Ok((id, _)) => id,
        Err(_) => id_of(returned),
    }
}

fn id_of(object: &Bound<'_, PyAny>) -> String {
    let id = object.getattr("id").and_then(|id| id.extract());
    id.unwrap_or_default()
}

fn init_failure(value: &Bound<'_, PyAny>) -> PyResult<InitFailure> {
    let inputs = value.getattr("inputs")?;
    Ok(InitFailure {
        id: value.getattr("id")?.extract()?,
        inputs: optional_map(&inputs, "the inputs of an InitFailure")?,
        outputs: convert::read_map(&value.getattr("outputs")?, "the outputs of an InitFailure")?,
        reasons: value.getattr("reasons")?.extract()?,
        refresh_before_update: value.getattr("refresh_before_update")?.extract()?,
        view_steps: Vec::new(),
    })
}

fn optional_map(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<PropertyMap>> {
    if object.is_none() {
        return Ok(None);
    }
    convert::read_map(object, what).map(Some)
}

fn is_mapping(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyDict>().is_ok() || object.cast::<PyMapping>().is_ok()
}

/// Reads failures: objects of the class `CheckFailure`, or tuples of a property and a reason; `what` names the list in errors.
pub(super) fn failures(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<CheckFailure>> {
    let py = object.py();
    let refused = |place: &str, wanted: &str, found: &Bound<'_, PyAny>| {
        let found = convert::kind_of(found);
        invalid(py, format!("{place}{what} takes {wanted}, not {found}"))
    };
    let elements = object
        .try_iter()
        .map_err(|_| refused("", "a list of objects of the class CheckFailure", object))?;
    let read = |(index, failure): (usize, PyResult<Bound<'_, PyAny>>)| {
        let failure = failure?;
        let parts = match failure.cast::<PyTuple>() {
            Ok(pair) => pair.extract(),
            Err(_) => {
                member(&failure, "property").and_then(|property| Ok((property, member(&failure, "reason")?)))
            }
        };
        let (property, reason) = parts.map_err(|_| {
            let wanted = "an object of the class CheckFailure, with a reason and a property as texts";
            refused(&format!("element {index} of "), wanted, &failure)
        })?;
        Ok(CheckFailure { property, reason })
    };
    elements.enumerate().map(read).collect()
}

fn member(object: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    object.getattr(name)?.extract()
}

/// Reads the result of `check` or `check_config`: inputs, or a `CheckResult`.
pub(super) fn check(returned: &Bound<'_, PyAny>) -> PyResult<CheckResponse> {
    if is_mapping(returned) {
        return Ok(CheckResponse {
            inputs: convert::read_map(returned, "what check() returned")?,
            failures: Vec::new(),
        });
    }
    Ok(CheckResponse {
        inputs: convert::read_map(&returned.getattr("inputs")?, "what check() returned")?,
        failures: failures(
            &returned.getattr("failures")?,
            "the failures that check() returned",
        )?,
    })
}

/// Reads the result of `diff`: a `DiffResult`, whether anything differs, or `None` when that is unknown.
pub(super) fn diff(returned: &Bound<'_, PyAny>) -> PyResult<DiffResponse> {
    if returned.is_none() {
        return Ok(DiffResponse::default());
    }
    if let Ok(changes) = returned.extract::<bool>() {
        return Ok(DiffResponse {
            changes: if changes {
                DiffChanges::Some
            } else {
                DiffChanges::None
            },
            ..DiffResponse::default()
        });
    }
    let changes = match returned.getattr("changes")?.extract::<Option<bool>>()? {
        None => DiffChanges::Unknown,
        Some(false) => DiffChanges::None,
        Some(true) => DiffChanges::Some,
    };
    let detailed = returned.getattr("detailed")?;
    let detailed_diff = if detailed.is_none() {
        None
    } else {
        Some(detailed_diff(&detailed)?)
    };
    Ok(DiffResponse {
        changes,
        replaces: returned.getattr("replaces")?.extract()?,
        stables: returned.getattr("stables")?.extract()?,
        diffs: returned.getattr("diffs")?.extract()?,
        detailed_diff,
        delete_before_replace: returned.getattr("delete_before_replace")?.extract()?,
        unavailable: None,
    })
}

/// Reads the differences of properties: kinds or `PropertyDiff`s, by path.
pub(super) fn detailed_diff(detailed: &Bound<'_, PyAny>) -> PyResult<DetailedDiff> {
    let differences: BTreeMap<String, Bound<'_, PyAny>> = detailed.extract()?;
    let mut diff = DetailedDiff::new();
    for (path, difference) in differences {
        let (name, input_diff) = match difference.extract::<String>() {
            Ok(name) => (name, false),
            Err(_) => (
                difference.getattr("kind")?.extract()?,
                difference.getattr("input_diff")?.extract()?,
            ),
        };
        let kind = diff_kind(detailed.py(), &name)?;
        diff.insert(path, PropertyDiff { kind, input_diff });
    }
    Ok(diff)
}

fn diff_kind(py: Python<'_>, name: &str) -> PyResult<DiffKind> {
    Ok(match name {
        "add" => DiffKind::Add,
        "add-replace" => DiffKind::AddReplace,
        "delete" => DiffKind::Delete,
        "delete-replace" => DiffKind::DeleteReplace,
        "update" => DiffKind::Update,
        "update-replace" => DiffKind::UpdateReplace,
        _ => return Err(invalid(py, format!("{name:?} is not a kind of difference"))),
    })
}

/// Reads the result of `create`: a `CreateResult`, or the id and the outputs.
pub(super) fn create(returned: &Bound<'_, PyAny>) -> PyResult<CreateResponse> {
    let what = "the outputs that create() returned";
    if let Ok((id, outputs)) = returned.extract::<(String, Bound<'_, PyAny>)>() {
        return Ok(CreateResponse {
            id: ResourceId::from(id),
            outputs: convert::read_map(&outputs, what)?,
            refresh_before_update: false,
        });
    }
    Ok(CreateResponse {
        id: ResourceId::from(returned.getattr("id")?.extract::<String>()?),
        outputs: convert::read_map(&returned.getattr("outputs")?, what)?,
        refresh_before_update: returned.getattr("refresh_before_update")?.extract()?,
    })
}

/// Reads the result of `read`: a `ReadResult`, or `None` when the resource does not exist.
pub(super) fn read(returned: &Bound<'_, PyAny>) -> PyResult<ReadResponse> {
    if returned.is_none() {
        return Ok(ReadResponse::default());
    }
    Ok(ReadResponse {
        id: ResourceId::from(returned.getattr("id")?.extract::<String>()?),
        inputs: optional_map(&returned.getattr("inputs")?, "the inputs that read() returned")?,
        outputs: optional_map(&returned.getattr("outputs")?, "the outputs that read() returned")?,
        refresh_before_update: returned.getattr("refresh_before_update")?.extract()?,
        is_recorded: false,
    })
}

/// Reads the result of `update`: outputs, or an `UpdateResult`.
pub(super) fn update(returned: &Bound<'_, PyAny>) -> PyResult<UpdateResponse> {
    let what = "the outputs that update() returned";
    if is_mapping(returned) {
        return Ok(UpdateResponse {
            outputs: convert::read_map(returned, what)?,
            refresh_before_update: false,
        });
    }
    Ok(UpdateResponse {
        outputs: convert::read_map(&returned.getattr("outputs")?, what)?,
        refresh_before_update: returned.getattr("refresh_before_update")?.extract()?,
    })
}

/// Reads the result of `invoke`: a mapping, or an `InvokeResult`.
pub(super) fn invoke(returned: &Bound<'_, PyAny>) -> PyResult<InvokeResponse> {
    if is_mapping(returned) {
        return Ok(InvokeResponse {
            result: convert::read_map(returned, "what invoke() returned")?,
            failures: Vec::new(),
        });
    }
    Ok(InvokeResponse {
        result: convert::read_map(&returned.getattr("result")?, "what invoke() returned")?,
        failures: failures(
            &returned.getattr("failures")?,
            "the failures that invoke() returned",
        )?,
    })
}

/// Reads the result of `get_schema`: the JSON text, or a mapping that is serialized.
pub(super) fn schema(returned: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = returned.cast::<PyString>() {
        return Ok(text.to_str()?.to_owned());
    }
    if !is_mapping(returned) {
        return Err(PyAttributeError::new_err("it is no mapping"));
    }
    let json = returned.py().import("json")?;
    json.call_method1("dumps", (returned,))?.extract()
}

/// Reads the result of `get_mapping`: a `MappingResult`, or `None` when there is no mapping.
pub(super) fn mapping(returned: &Bound<'_, PyAny>) -> PyResult<Mapping> {
    if returned.is_none() {
        return Ok(Mapping::default());
    }
    let data = returned.getattr("data")?;
    Ok(Mapping {
        provider: returned.getattr("provider")?.extract()?,
        data: data.cast::<PyBytes>()?.as_bytes().to_vec(),
    })
}

/// Reads the result of `get_mappings`: the names, or `None` when there is at most one mapping.
pub(super) fn mappings(returned: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if returned.is_none() {
        return Ok(Vec::new());
    }
    returned.extract()
}

/// Reads the optional version of a provider.
pub(super) fn version(value: &Bound<'_, PyAny>) -> PyResult<Option<semver::Version>> {
    let Ok(text) = value.cast::<PyString>() else {
        return Ok(None);
    };
    let text = text.to_str()?;
    semver::Version::parse(text)
        .map(Some)
        .map_err(|error| invalid(value.py(), format!("the version {text:?} of a provider: {error}")))
}
