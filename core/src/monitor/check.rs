//! Refusals of registrations that are invalid in themselves.

use crate::{
    monitor::{Registration, WireStatus, hooks::check_moments},
    property::PropertyPath,
    resource::ProviderReference,
};

/// Refuses an invalid registration.
pub(super) fn check(registration: &Registration) -> Result<(), WireStatus> {
    check_type(registration)?;
    if !registration.env_var_mappings.is_empty() && !registration.resource_type.is_provider() {
        let text = "envVarMappings can only be used with provider resources";
        return Err(WireStatus::invalid(text));
    }
    check_moments(&registration.name, &registration.options.resource_hooks)?;
    for provider in registration
        .providers
        .values()
        .filter(|provider| !provider.is_empty())
    {
        ProviderReference::parse(provider).map_err(|error| WireStatus::unknown(error.message()))?;
    }
    let mut hidden = registration.options.hide_diffs.iter();
    if let Some(error) = hidden.find_map(|path| PropertyPath::parse(path).err()) {
        let text = format!(
            "hideDiffs of resource '{}': {}",
            registration.name,
            error.message()
        );
        return Err(WireStatus::unknown(text));
    }
    Ok(())
}

/// Refuses a resource of a provider whose type is not of the form `package:module:member`.
pub(super) fn check_type(registration: &Registration) -> Result<(), WireStatus> {
    let Registration {
        custom,
        remote,
        resource_type,
        ..
    } = registration;
    if (*custom || *remote) && !resource_type.is_full() {
        return Err(WireStatus::invalid(format!(
            "Type '{resource_type}' is not a valid type token (must have format '*:*:*')"
        )));
    }
    Ok(())
}
