//! The faults of a resource of a request in itself, and how faults name it.

use super::request::{GivenInputs, ImportResource};
use crate::{
    error::Error,
    message::{Text, numbered_errors},
    token::TypeToken,
    urn::{ROOT_STACK_TYPE, name_fault},
};

/// Returns the error of all faults.
pub(super) fn joined(mut faults: Vec<String>) -> Error {
    faults.dedup();
    if faults.len() == 1 {
        return Error::invalid(faults.remove(0));
    }
    let library = format!("{} errors occurred:\n  * {}", faults.len(), faults.join("\n  * "));
    Error::invalid(Text::pair(numbered_errors(faults.into_iter()), library))
}

/// Describes a resource in faults.
pub(super) fn described(index: usize, row: &ImportResource) -> String {
    match (own_name(row), row.resource_type.as_str(), row.id.as_str()) {
        ("", "", "") => format!("resource {index}"),
        ("", "", id) => format!("resource {index} with the ID '{id}'"),
        ("", kind, _) => format!("resource {index} of type '{kind}'"),
        (name, "", _) => format!("resource '{name}'"),
        (name, kind, _) => format!("resource '{name}' of type '{kind}'"),
    }
}

/// Returns the name by which other rows refer to a row.
pub(super) fn own_name(row: &ImportResource) -> &str {
    if row.name.is_empty() {
        &row.logical_name
    } else {
        &row.name
    }
}

/// Returns the name in the URN of a row.
pub(super) fn logical_name(row: &ImportResource) -> &str {
    if row.logical_name.is_empty() {
        &row.name
    } else {
        &row.logical_name
    }
}

/// Returns why no row can have a type that is not empty.
fn type_fault(token: &TypeToken) -> Option<&'static str> {
    match token.as_str() {
        "" => None,
        ROOT_STACK_TYPE => Some("it is that of the stack itself, which is no resource of an import"),
        _ => token.fault(),
    }
}

pub(super) fn is_provider(row: &ImportResource) -> bool {
    TypeToken::from(row.resource_type.as_str()).is_provider()
}

/// Returns the faults of a row in itself.
pub(super) fn own_faults(index: usize, row: &ImportResource) -> Vec<String> {
    let it = described(index, row);
    let token = TypeToken::from(row.resource_type.as_str());
    let provider = token.is_provider();
    let unknown =
        |values: &Option<GivenInputs>| values.as_ref().is_some_and(|values| values.0.contains_unknowns());
    let needs_full = !row.component || row.remote;
    [
        (row.resource_type.is_empty(), "has no type"),
        (own_name(row).is_empty(), "has no name"),
        (row.id.is_empty() && !row.component && !provider, "has no ID"),
        (
            !row.id.is_empty() && row.component,
            "has an ID, but is marked as a component",
        ),
        (
            row.remote && !row.component,
            "is marked as remote, but not as a component",
        ),
        (
            !row.id.is_empty() && provider,
            "has an ID, but is a provider, which is created rather than read",
        ),
        (
            provider && row.component,
            "is a provider and may not be marked as a component",
        ),
        (
            provider && row.outputs.is_some(),
            "is a provider and may not have outputs",
        ),
        (
            row.component && !row.remote && !row.provider.is_empty(),
            "is a component without a provider of its own, and may not name one",
        ),
        (
            row.component && (row.inputs.is_some() || row.outputs.is_some()),
            "is a component, which is recorded without inputs and outputs",
        ),
        (
            row.parameterization.is_some() && row.extension.is_some(),
            "has both a parameterization and an extension, which are mutually exclusive",
        ),
        (
            row.parameterization.is_some() && row.version.is_empty(),
            "has a parameterization: version must be provided",
        ),
    ]
    .into_iter()
    .filter(|(is_wrong, _)| *is_wrong)
    .map(|(_, fault)| format!("{it} {fault}"))
    .chain(
        name_fault(logical_name(row))
            .filter(|_| !own_name(row).is_empty())
            .map(|fault| format!("{it} cannot have its name: it {fault}")),
    )
    .chain(type_fault(&token).map(|fault| format!("{it} cannot have its type: {fault}")))
    .chain(
        (!row.resource_type.is_empty() && needs_full && !token.is_full()).then(|| {
            format!(
                "import type {:?} is not a valid resource type token. Type tokens must be of the format \
             <package>:<module>:<type> - refer to the import section of the provider resource documentation.",
                row.resource_type
            )
        }),
    )
    .chain(
        unknown(&row.inputs)
            .then(|| format!("the inputs for {it} contain unknown values; fill them in before importing")),
    )
    .chain(
        unknown(&row.outputs)
            .then(|| format!("the outputs for {it} contain unknown values; fill them in before importing")),
    )
    .collect()
}
