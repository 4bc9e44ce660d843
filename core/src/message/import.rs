//! Texts about imports.

/// The reference engine's warning about the configuration of providers outside of the list of resources.
pub(crate) const PROVIDER_INPUTS_DEPRECATED: &str = "the 'providerInputs' field is deprecated: declare the provider in 'resources' \
     and set its configuration via its 'inputs' instead";

/// Returns the reference engine's text for several errors.
pub(crate) fn numbered_errors(errors: impl Iterator<Item = String>) -> String {
    let mut count = 0;
    let lines: String = errors
        .inspect(|_| count += 1)
        .enumerate()
        .map(|(index, error)| format!("\n    {}) {error}", index + 1))
        .collect();
    format!("{count} errors occurred:{lines}")
}

/// Returns why no record of the resource with this id is added while `copy` is the URN of an old copy of it.
pub(crate) fn old_copy(id: &str, copy: &str) -> String {
    format!(
        "the resource with the id '{id}' is an old copy of '{copy}' that is pending deletion: the next update deletes it"
    )
}
