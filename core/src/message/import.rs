//! Texts of the reference engine about imports.

/// The reference engine's warning about the configuration of providers outside of the list of resources.
pub(crate) const PROVIDER_INPUTS_DEPRECATED: &str = "the 'providerInputs' field is deprecated: declare the provider in 'resources' \
     and set its configuration via its 'inputs' instead";
