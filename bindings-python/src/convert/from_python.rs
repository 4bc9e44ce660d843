//! From Python to the engine: exact types first, then types that behave like them. Errors name the path of the value.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple},
};
use smol_str::SmolStr;
use stackwright::{
    property::{
        Archive, ArchiveSource, Asset, AssetSource, PropertyMap, PropertyValue, ResourceReference, Unknown,
    },
    token::ResourceId,
    urn::Urn,
};

use super::{
    nesting::{Above, Misfit},
    types::Types,
};
use crate::errors::OrRaise as _;

/// Reads a mapping with text keys.
pub(super) fn map(object: &Bound<'_, PyAny>, above: &Above<'_>) -> Result<PropertyMap, Misfit> {
    let above = &above.enter(object)?;
    if let Ok(dictionary) = object.cast::<PyDict>() {
        let mut entries = Vec::with_capacity(dictionary.len());
        for (key, element) in dictionary.iter() {
            entries.push(entry(&key, &element, above)?);
        }
        return Ok(entries.into_iter().collect());
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        let mut entries = Vec::with_capacity(mapping.len()?);
        for pair in mapping.items()?.iter() {
            let (key, element): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            entries.push(entry(&key, &element, above)?);
        }
        return Ok(entries.into_iter().collect());
    }
    Err(Misfit::new(format!("must be a mapping, not {}", kind_of(object))))
}

fn entry(
    key: &Bound<'_, PyAny>,
    element: &Bound<'_, PyAny>,
    above: &Above<'_>,
) -> Result<(SmolStr, PropertyValue), Misfit> {
    let Ok(name) = key.cast::<PyString>() else {
        return Err(Misfit::new(format!("a key is {}; keys are texts", kind_of(key))));
    };
    let name = SmolStr::from(name.to_str()?);
    match value(element, above) {
        Ok(element) => Ok((name, element)),
        Err(misfit) => Err(misfit.below(format!(".{name}"))),
    }
}

/// Reads one value.
pub(super) fn value(object: &Bound<'_, PyAny>, above: &Above<'_>) -> Result<PropertyValue, Misfit> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(PropertyValue::string(text.to_str()?));
    }
    if object.is_none() {
        return Ok(PropertyValue::Null);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(PropertyValue::Bool(truth.is_true()));
    }
    if let Ok(number) = object.cast::<PyInt>() {
        return integer(number);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(PropertyValue::Number(number.value()));
    }
    if object.cast::<PyDict>().is_ok() {
        return map(object, above).map(PropertyValue::Object);
    }
    if let Ok(list) = object.cast::<PyList>() {
        return array(list.iter(), list.len(), &above.enter(object)?);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return array(tuple.iter(), tuple.len(), &above.enter(object)?);
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(PropertyValue::Bytes(bytes::Bytes::copy_from_slice(
            bytes.as_bytes(),
        )));
    }
    if let Some(wrapped) = special(object, above)? {
        return Ok(wrapped);
    }
    if object.cast::<PyMapping>().is_ok() {
        return map(object, above).map(PropertyValue::Object);
    }
    Err(Misfit::new(format!(
        "{} is not a property value",
        kind_of(object)
    )))
}

fn array<'py>(
    elements: impl Iterator<Item = Bound<'py, PyAny>>,
    length: usize,
    above: &Above<'_>,
) -> Result<PropertyValue, Misfit> {
    let mut values = Vec::with_capacity(length);
    for (index, element) in elements.enumerate() {
        match value(&element, above) {
            Ok(element) => values.push(element),
            Err(misfit) => return Err(misfit.below(format!("[{index}]"))),
        }
    }
    Ok(PropertyValue::array(values))
}

#[expect(clippy::cast_precision_loss, reason = "the comparison detects the loss")]
fn integer(number: &Bound<'_, PyInt>) -> Result<PropertyValue, Misfit> {
    let double: f64 = match number.extract::<i64>() {
        Ok(small) if i128::from(small) == (small as f64) as i128 => small as f64,
        Ok(_) => return Err(inexact(number)),
        Err(_) => {
            let double: f64 = number.extract()?;
            let back = number.py().get_type::<PyInt>().call1((double,))?;
            if !back.eq(number)? {
                return Err(inexact(number));
            }
            double
        }
    };
    Ok(PropertyValue::Number(double))
}

fn inexact(number: &Bound<'_, PyInt>) -> Misfit {
    Misfit::new(format!(
        "{number} has no exact double, and the protocol knows only doubles; pass it as a text"
    ))
}

/// Names the type of a value, for messages.
pub(crate) fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(
        |_| "an object".to_owned(),
        |name| format!("a value of type {name}"),
    )
}

fn special(object: &Bound<'_, PyAny>, above: &Above<'_>) -> Result<Option<PropertyValue>, Misfit> {
    let py = object.py();
    let types = Types::get(py)?;
    if object.is_instance(types.secret.bind(py))? {
        let inner = value(&object.getattr("value")?, &above.unwrap(object)?)?;
        return Ok(Some(PropertyValue::secret(inner)));
    }
    if let Some((inner, is_secret)) = output_content(object)? {
        let inner = value(&inner, &above.unwrap(object)?)?;
        return Ok(Some(if is_secret {
            PropertyValue::secret(inner)
        } else {
            inner
        }));
    }
    if object.is_instance(types.unknown.bind(py))? {
        return Ok(Some(PropertyValue::Unknown(unknown_kind(object)?)));
    }
    if object.is_instance(types.asset.bind(py))? {
        return Ok(Some(PropertyValue::Asset(Arc::new(asset(object)?))));
    }
    if object.is_instance(types.archive.bind(py))? {
        return Ok(Some(PropertyValue::Archive(Arc::new(archive(object, above)?))));
    }
    if object.is_instance(types.resource_reference.bind(py))? {
        let reference = reference(object)?;
        return Ok(Some(PropertyValue::ResourceReference(Arc::new(reference))));
    }
    if object.is_instance(types.awaited.bind(py))? {
        return Err(Misfit::new(
            "is the output of a resource, which can only be used as an input of another resource",
        ));
    }
    Ok(None)
}

fn unknown_kind(object: &Bound<'_, PyAny>) -> Result<Unknown, Misfit> {
    let kind: String = object.getattr("kind")?.extract()?;
    Ok(match kind.as_str() {
        "bool" => Unknown::Bool,
        "number" => Unknown::Number,
        "array" => Unknown::Array,
        "asset" => Unknown::Asset,
        "archive" => Unknown::Archive,
        "object" => Unknown::Object,
        _ => Unknown::String,
    })
}

fn text_field(object: &Bound<'_, PyAny>, name: &str) -> Result<Option<String>, Misfit> {
    let field = object.getattr(name)?;
    if field.is_none() {
        return Ok(None);
    }
    // Paths of the standard library are accepted as texts.
    let text = if field.cast::<PyString>().is_ok() {
        field
    } else {
        field.call_method0("__fspath__")?
    };
    Ok(Some(text.extract()?))
}

fn asset(object: &Bound<'_, PyAny>) -> Result<Asset, Misfit> {
    let source = if let Some(text) = text_field(object, "text")? {
        AssetSource::Text(text)
    } else if let Some(path) = text_field(object, "path")? {
        AssetSource::Path(path)
    } else {
        AssetSource::Uri(text_field(object, "uri")?.unwrap_or_default())
    };
    let hash = text_field(object, "hash")?.unwrap_or_default().into();
    Ok(Asset { hash, source })
}

fn archive(object: &Bound<'_, PyAny>, above: &Above<'_>) -> Result<Archive, Misfit> {
    let assets = object.getattr("assets")?;
    let source = if assets.is_none() {
        match text_field(object, "path")? {
            Some(path) => ArchiveSource::Path(path),
            None => ArchiveSource::Uri(text_field(object, "uri")?.unwrap_or_default()),
        }
    } else {
        let mut entries = BTreeMap::new();
        for (name, element) in map(&assets, &above.unwrap(object)?)? {
            if !matches!(element, PropertyValue::Asset(_) | PropertyValue::Archive(_)) {
                return Err(Misfit::new("is neither an asset nor an archive").below(format!(".{name}")));
            }
            entries.insert(name.to_string(), element);
        }
        ArchiveSource::Assets(entries)
    };
    let hash = text_field(object, "hash")?.unwrap_or_default().into();
    Ok(Archive { hash, source })
}

fn reference(object: &Bound<'_, PyAny>) -> Result<ResourceReference, Misfit> {
    let id = object.getattr("id")?;
    let id = if id.is_none() {
        None
    } else if id.cast::<PyString>().is_ok() {
        Some(Ok(ResourceId::from(id.extract::<String>()?)))
    } else {
        Some(Err(unknown_kind(&id)?))
    };
    let urn: String = object.getattr("urn")?.extract()?;
    Ok(ResourceReference {
        urn: Urn::parse(&urn).map_err(|error| Misfit::new(error.to_string()))?,
        id,
        package_version: text_field(object, "package_version")?.unwrap_or_default().into(),
    })
}

/// Returns the content of a `Secret`; `None` for anything else.
pub(crate) fn secret_content<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if object.is_instance(Types::get(py)?.secret.bind(py))? {
        return object.getattr("value").map(Some);
    }
    Ok(None)
}

/// Returns what an `OutputValue` holds, and whether that is secret; `None` for anything else.
pub(crate) fn output_content<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, bool)>> {
    let py = object.py();
    if object.is_instance(Types::get(py)?.output_value.bind(py))? {
        let is_secret = object.getattr("secret")?.is_truthy()?;
        return Ok(Some((object.getattr("value")?, is_secret)));
    }
    Ok(None)
}

/// Returns what a `Ciphertext` of the configuration holds; `None` for anything else.
pub(crate) fn ciphertext(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    if object.is_instance(Types::get(py)?.ciphertext.bind(py))? {
        return object.getattr("text")?.extract().map(Some);
    }
    Ok(None)
}

/// Reads a URN.
pub(crate) fn urn(py: Python<'_>, text: &str) -> PyResult<Urn> {
    Urn::parse(text).map_err(stackwright::Error::from).or_raise(py)
}

/// Lists the outputs and resources anywhere in `inputs`, each with the name of the input that contains it.
#[pyfunction]
pub(crate) fn find_outputs<'py>(
    inputs: &Bound<'py, PyDict>,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let types = Types::get(inputs.py())?;
    let mut found = Vec::new();
    for (key, element) in inputs.iter() {
        search(types, &key, &element, &Above::ROOT, &mut found)?;
    }
    Ok(found)
}

fn search<'py>(
    types: &Types,
    key: &Bound<'py, PyAny>,
    element: &Bound<'py, PyAny>,
    above: &Above<'_>,
    found: &mut Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
) -> PyResult<()> {
    let py = element.py();
    let plain = element.is_none()
        || element.is_exact_instance_of::<PyString>()
        || element.is_exact_instance_of::<PyInt>()
        || element.is_exact_instance_of::<PyBool>()
        || element.is_exact_instance_of::<PyFloat>();
    if plain {
        return Ok(());
    }
    // Cycles and too deep values are reported when the values are read.
    let Ok(above) = &above.enter(element) else {
        return Ok(());
    };
    if let Ok(dictionary) = element.cast::<PyDict>() {
        for (_, inner) in dictionary.iter() {
            search(types, key, &inner, above, found)?;
        }
    } else if let Ok(list) = element.cast::<PyList>() {
        for inner in list.iter() {
            search(types, key, &inner, above, found)?;
        }
    } else if let Ok(tuple) = element.cast::<PyTuple>() {
        for inner in tuple.iter() {
            search(types, key, &inner, above, found)?;
        }
    } else if element.is_instance(types.awaited.bind(py))? {
        found.push((key.clone(), element.clone()));
    } else if element.is_instance(types.secret.bind(py))? {
        search(types, key, &element.getattr("value")?, above, found)?;
    }
    Ok(())
}
