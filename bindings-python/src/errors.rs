//! Errors: the engine's error becomes the Python exception of its kind, with every fact that it carries.

use std::fmt;

use pyo3::{exceptions::PyRuntimeError, prelude::*, sync::PyOnceLock, types::PyModule};
use serde_json::Value;
use stackwright::{Error, ErrorKind, Language, binding};

static FROM_PARTS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Turns the engine's error into an exception of the class that belongs to its kind.
pub(crate) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let from_parts = FROM_PARTS.get_or_try_init(py, || {
        PyModule::import(py, "stackwright.errors")?
            .getattr("_from_parts")
            .map(Bound::unbind)
    })?;
    let source = std::error::Error::source(error);
    let mut sources = std::iter::successors(source, |error| error.source());
    let raised = sources.find_map(|error| error.downcast_ref::<Raised>());
    let exception = from_parts.bind(py).call1((
        error.kind().name(),
        error.message(),
        error.reference_message(),
        error.message_code(),
        error
            .message_arguments()
            .map(|arguments| Value::Object(arguments.clone()).to_string()),
        error.urn().map(|urn| urn.as_str()),
        error.provider(),
        error.phase(),
        error.config_key(),
        error.hints_in(Language::Python),
        raised.map(|raised| raised.exception().clone_ref(py)),
        source.map(ToString::to_string),
    ))?;
    Ok(PyErr::from_value(exception))
}

/// Returns the text of what code of the host raised, with a line for each exception that it was raised from.
pub(crate) fn text_with_causes(py: Python<'_>, raised: &PyErr, text: String) -> String {
    let causes = PyModule::import(py, "stackwright._raised")
        .and_then(|module| module.getattr("causes_of")?.call1((raised.value(py),)))
        .and_then(|lines| lines.extract::<Vec<String>>());
    // What cannot be read of the causes is left out.
    let lines = causes.unwrap_or_default();
    [text].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// Creates the exception of a caller's mistake.
pub(crate) fn invalid(py: Python<'_>, message: impl Into<String>) -> PyErr {
    to_exception(py, &Error::invalid(message.into()))
}

/// Creates the exception of a use that only a bug of this package can lead to.
pub(crate) fn misuse(message: &'static str) -> PyErr {
    PyRuntimeError::new_err(message)
}

/// Returns every kind of error as `(name, class)`: the table that the classes are checked against.
#[pyfunction]
pub(crate) fn error_kinds() -> Vec<(&'static str, &'static str)> {
    ErrorKind::ALL
        .iter()
        .map(|kind| (kind.name(), kind.class().name()))
        .collect()
}

/// Refuses a name that does not exist, with the most similar one; `part` is the noun of a name, and `owner` has them.
#[pyfunction]
pub(crate) fn refuse_name(
    py: Python<'_>,
    part: &str,
    name: &str,
    owner: &str,
    known: Vec<String>,
) -> PyResult<()> {
    let error = binding::unknown_name(Language::Python, part, name, owner, &known);
    Err(to_exception(py, &error))
}

/// Extension of results whose error is the engine's.
pub(crate) trait OrRaise<T> {
    /// Turns the error into an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for stackwright::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_exception(py, &error))
    }
}

/// What a function of the host raised, with its text: to show it must not need the interpreter.
pub(crate) struct Raised {
    kind: Option<ErrorKind>,
    message: String,
    exception: Py<PyAny>,
}

impl Raised {
    pub(crate) fn read(py: Python<'_>, raised: &PyErr) -> Self {
        let value = raised.value(py);
        let text = |name: &str| -> Option<String> { value.getattr(name).ok()?.extract().ok() };
        let kind = text("kind").and_then(|name| ErrorKind::ALL.iter().find(|kind| kind.name() == name));
        let own = kind
            .and_then(|_| text("message"))
            .filter(|message| !message.is_empty());
        let message = own.unwrap_or_else(|| {
            let own = value.str().ok().map(|text| text.to_string());
            let own = own
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| raised.to_string());
            text_with_causes(py, raised, own)
        });
        Self {
            kind: kind.copied(),
            message,
            exception: value.clone().into_any().unbind(),
        }
    }

    pub(crate) fn into_error(self, kind: ErrorKind) -> Error {
        Error::new(self.kind.unwrap_or(kind), self.message.clone()).with_source(self)
    }

    /// The exception itself.
    pub(crate) fn exception(&self) -> &Py<PyAny> {
        &self.exception
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl fmt::Debug for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Raised {}
