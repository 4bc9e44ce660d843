//! Secrets in the values of a program, registered with the redactor as soon as the program makes or passes them.

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use stackwright::secrets::Redactor;

use crate::convert::{self, MAX_VALUE_DEPTH};

/// Registers the secrets of a value: all of it when `is_secret`, else the content of each `Secret`. Deeper values than
/// [`MAX_VALUE_DEPTH`] are not searched: they are refused when they are read.
///
/// Only the language's own types are searched, so that no code of the program runs. Values of other types are
/// registered when they are read.
pub(super) fn learn(redactor: &Redactor, value: &Bound<'_, PyAny>, is_secret: bool) -> PyResult<()> {
    search(redactor, value, is_secret, 0)
}

fn search(redactor: &Redactor, value: &Bound<'_, PyAny>, is_secret: bool, depth: usize) -> PyResult<()> {
    if depth > MAX_VALUE_DEPTH {
        return Ok(());
    }
    if let Ok(text) = value.cast::<PyString>() {
        if is_secret {
            // A text with half of a surrogate pair has no UTF-8 form and is rejected when it is read.
            redactor.learn_text(&text.to_string_lossy(), false);
        }
    } else if value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
    {
        // Python does not convert integers of very many digits to text.
        if is_secret && let Ok(text) = value.repr() {
            redactor.learn_text(&text.to_string_lossy(), true);
            redactor.learn_text(&text.to_string_lossy().to_lowercase(), true);
        }
    } else if let Ok(dictionary) = value.cast::<PyDict>() {
        for (_, element) in dictionary.iter() {
            search(redactor, &element, is_secret, depth + 1)?;
        }
    } else if let Ok(list) = value.cast::<PyList>() {
        for element in list.iter() {
            search(redactor, &element, is_secret, depth + 1)?;
        }
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        for element in tuple.iter() {
            search(redactor, &element, is_secret, depth + 1)?;
        }
    } else if let Some(content) = convert::secret_content(value)? {
        search(redactor, &content, true, depth + 1)?;
    } else if let Some((content, holds_secret)) = convert::output_content(value)? {
        search(redactor, &content, is_secret || holds_secret, depth + 1)?;
    }
    Ok(())
}
