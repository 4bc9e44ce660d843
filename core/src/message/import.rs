//! Texts of the reference engine about imports.

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
