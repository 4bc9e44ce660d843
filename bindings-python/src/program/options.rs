//! Options of a registration, as `stackwright.program` hands them over: resolved, by their names.

use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    monitor::Registration,
    resource::{Alias, CustomTimeouts, PropertyDependencies},
    token::ResourceId,
    urn::Urn,
};

use crate::{convert, errors::invalid};

/// Reads URNs.
pub(super) fn urns(py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<Urn>> {
    texts.iter().map(|text| convert::urn(py, text)).collect()
}

/// Reads which resources each input depends on; inputs that are not named depend on none.
pub(super) fn property_dependencies(
    py: Python<'_>,
    dependencies: Option<&Bound<'_, PyDict>>,
) -> PyResult<PropertyDependencies> {
    let mut by_property = PropertyDependencies::new();
    for (property, texts) in dependencies.into_iter().flat_map(|dictionary| dictionary.iter()) {
        let property: String = property.extract()?;
        by_property.insert(property, urns(py, texts.extract()?)?);
    }
    Ok(by_property)
}

/// Reads options into a registration that has nothing else yet.
pub(super) fn read(options: Option<&Bound<'_, PyDict>>) -> PyResult<Registration> {
    let mut registration = Registration::default();
    let Some(options) = options else {
        return Ok(registration);
    };
    let py = options.py();
    for (name, value) in options.iter() {
        let name: String = name.extract()?;
        match name.as_str() {
            "parent" => registration.parent = Some(convert::urn(py, &value.extract::<String>()?)?),
            "provider" => registration.package.provider = value.extract()?,
            "providers" => registration.providers = value.extract()?,
            "version" => registration.package.version = value.extract()?,
            "plugin_download_url" => registration.package.download_url = value.extract()?,
            "protect" => registration.protect = Some(value.extract()?),
            "delete_before_replace" => registration.delete_before_replace = Some(value.extract()?),
            "retain_on_delete" => registration.retain_on_delete = Some(value.extract()?),
            "ignore_changes" => registration.options.ignore_changes = value.extract()?,
            "replace_on_changes" => registration.options.replace_on_changes = value.extract()?,
            "additional_secret_outputs" => {
                registration.options.additional_secret_outputs = value.extract()?;
            }
            "hide_diffs" => registration.options.hide_diffs = value.extract()?,
            "import_id" => registration.options.import_id = ResourceId::from(value.extract::<String>()?),
            "deleted_with" => {
                registration.options.deleted_with = Some(convert::urn(py, &value.extract::<String>()?)?);
            }
            "replace_with" => registration.options.replace_with = urns(py, value.extract()?)?,
            "aliases" => registration.aliases = aliases(&value)?,
            "custom_timeouts" => registration.options.custom_timeouts = timeouts(&value)?,
            "replacement_trigger" => {
                registration.options.replacement_trigger =
                    Some(convert::read_value(&value, "the replacement trigger")?);
            }
            _ => return Err(invalid(py, format!("unknown resource option {name:?}"))),
        }
    }
    Ok(registration)
}

fn timeouts(value: &Bound<'_, PyAny>) -> PyResult<CustomTimeouts> {
    let seconds = |name: &str| -> PyResult<Option<f64>> {
        match value.get_item(name) {
            Ok(seconds) => seconds.extract(),
            Err(_) => Ok(None),
        }
    };
    Ok(CustomTimeouts {
        create: seconds("create")?,
        update: seconds("update")?,
        delete: seconds("delete")?,
        read: seconds("read")?,
    })
}

/// Reads aliases: each a URN, or a dictionary of the parts that differ.
fn aliases(value: &Bound<'_, PyAny>) -> PyResult<Vec<Alias>> {
    let py = value.py();
    value
        .try_iter()?
        .map(|alias| {
            let alias = alias?;
            if let Ok(urn) = alias.extract::<String>() {
                return Ok(Alias::Urn(convert::urn(py, &urn)?));
            }
            let parts = alias.cast::<PyDict>()?;
            let part = |name: &str| -> PyResult<Option<String>> {
                parts.get_item(name)?.map_or(Ok(None), |part| part.extract())
            };
            Ok(Alias::Spec {
                name: part("name")?,
                resource_type: part("type")?,
                stack: part("stack")?,
                project: part("project")?,
                parent: part("parent")?.map(|urn| convert::urn(py, &urn)).transpose()?,
                no_parent: parts
                    .get_item("no_parent")?
                    .is_some_and(|flag| flag.is_truthy().unwrap_or(false)),
            })
        })
        .collect()
}
