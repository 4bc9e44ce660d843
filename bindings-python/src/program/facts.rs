//! Options of registrations and records as the functions of a program see them: dictionaries with the names of this language.

use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    monitor::{PackageChoice, TransformOptions},
    resource::{Alias, CustomTimeouts, ResourceOptions, ResourceState},
    urn::Urn,
};

use crate::convert;

/// Returns texts of URNs.
fn texts(urns: &[Urn]) -> Vec<&str> {
    urns.iter().map(Urn::as_str).collect()
}

/// Returns limits in seconds by the name of the call; those that are not set are left out.
pub(crate) fn timeouts<'py>(py: Python<'py>, given: &CustomTimeouts) -> PyResult<Bound<'py, PyDict>> {
    let timeouts = PyDict::new(py);
    for (name, seconds) in [
        ("create", given.create),
        ("update", given.update),
        ("delete", given.delete),
        ("read", given.read),
    ] {
        if let Some(seconds) = seconds {
            timeouts.set_item(name, seconds)?;
        }
    }
    Ok(timeouts)
}

/// Returns a former name as programs write it: a URN, or the parts that differ.
fn alias<'py>(py: Python<'py>, alias: &Alias) -> PyResult<Bound<'py, PyAny>> {
    let (name, resource_type, stack, project, parent, no_parent) = match alias {
        Alias::Urn(urn) => return Ok(urn.as_str().into_pyobject(py)?.into_any()),
        Alias::Spec {
            name,
            resource_type,
            stack,
            project,
            parent,
            no_parent,
        } => (name, resource_type, stack, project, parent, *no_parent),
    };
    let parts = PyDict::new(py);
    for (part, text) in [
        ("name", name.as_deref()),
        ("type", resource_type.as_deref()),
        ("stack", stack.as_deref()),
        ("project", project.as_deref()),
        ("parent", parent.as_ref().map(Urn::as_str)),
    ] {
        if let Some(text) = text {
            parts.set_item(part, text)?;
        }
    }
    if no_parent {
        parts.set_item("no_parent", true)?;
    }
    Ok(parts.into_any())
}

fn set_texts(options: &Bound<'_, PyDict>, name: &str, texts: &[impl AsRef<str>]) -> PyResult<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    options.set_item(name, texts)
}

fn set_text(options: &Bound<'_, PyDict>, name: &str, text: &str) -> PyResult<()> {
    if text.is_empty() {
        return Ok(());
    }
    options.set_item(name, text)
}

/// Returns the options that choose a provider; what is not set is left out.
pub(super) fn package<'py>(py: Python<'py>, package: &PackageChoice) -> PyResult<Bound<'py, PyDict>> {
    let options = PyDict::new(py);
    set_text(&options, "provider", &package.provider)?;
    set_text(&options, "version", &package.version)?;
    set_text(&options, "plugin_download_url", &package.download_url)?;
    Ok(options)
}

/// Returns the options of a registration by the names that programs give them; what is not set is left out.
pub(super) fn registration<'py>(py: Python<'py>, given: &TransformOptions) -> PyResult<Bound<'py, PyDict>> {
    let options = package(py, &given.package)?;
    set_texts(&options, "depends_on", &texts(&given.depends_on))?;
    if !given.providers.is_empty() {
        options.set_item("providers", given.providers.clone())?;
    }
    for (name, flag) in [
        ("protect", given.protect),
        ("delete_before_replace", given.delete_before_replace),
        ("retain_on_delete", given.retain_on_delete),
    ] {
        if let Some(flag) = flag {
            options.set_item(name, flag)?;
        }
    }
    if !given.aliases.is_empty() {
        let aliases = given.aliases.iter().map(|given| alias(py, given));
        options.set_item("aliases", aliases.collect::<PyResult<Vec<_>>>()?)?;
    }
    set_others(&options, &given.others)?;
    if !given.others.resource_hooks.is_empty() {
        options.set_item("hooks", given.others.resource_hooks.clone())?;
    }
    Ok(options)
}

/// Sets the options that most resources leave out.
fn set_others(options: &Bound<'_, PyDict>, given: &ResourceOptions) -> PyResult<()> {
    let py = options.py();
    set_texts(options, "ignore_changes", &given.ignore_changes)?;
    set_texts(options, "replace_on_changes", &given.replace_on_changes)?;
    set_texts(
        options,
        "additional_secret_outputs",
        &given.additional_secret_outputs,
    )?;
    set_texts(options, "hide_diffs", &given.hide_diffs)?;
    set_texts(options, "replace_with", &texts(&given.replace_with))?;
    set_text(options, "import_id", given.import_id.as_str())?;
    if let Some(urn) = &given.deleted_with {
        options.set_item("deleted_with", urn.as_str())?;
    }
    if !given.custom_timeouts.is_empty() {
        options.set_item("custom_timeouts", timeouts(py, &given.custom_timeouts)?)?;
    }
    if let Some(trigger) = &given.replacement_trigger {
        options.set_item("replacement_trigger", convert::value(py, trigger)?)?;
    }
    Ok(())
}

/// Returns the options of a record, all of them.
pub(super) fn record<'py>(py: Python<'py>, state: &ResourceState) -> PyResult<Bound<'py, PyDict>> {
    let given = &*state.options;
    let options = PyDict::new(py);
    options.set_item("parent", state.parent.as_ref().map(Urn::as_str))?;
    options.set_item("dependencies", texts(&state.dependencies))?;
    options.set_item("provider", state.provider.as_str())?;
    options.set_item("protect", state.protect)?;
    options.set_item("retain_on_delete", state.retain_on_delete)?;
    options.set_item("aliases", texts(&state.aliases))?;
    options.set_item("ignore_changes", given.ignore_changes.clone())?;
    options.set_item("replace_on_changes", given.replace_on_changes.clone())?;
    options.set_item(
        "additional_secret_outputs",
        given.additional_secret_outputs.clone(),
    )?;
    options.set_item("import_id", given.import_id.as_str())?;
    options.set_item("custom_timeouts", timeouts(py, &given.custom_timeouts)?)?;
    options.set_item("deleted_with", given.deleted_with.as_ref().map(Urn::as_str))?;
    options.set_item("replace_with", texts(&given.replace_with))?;
    options.set_item("hide_diffs", given.hide_diffs.clone())?;
    let trigger = given.replacement_trigger.as_ref();
    options.set_item(
        "replacement_trigger",
        trigger.map(|value| convert::value(py, value)).transpose()?,
    )?;
    options.set_item("hooks", given.resource_hooks.clone())?;
    Ok(options)
}
