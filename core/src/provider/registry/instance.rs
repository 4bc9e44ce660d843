//! Provider instances: loaded by their settings, then configured and registered under their reference.

use super::{ProviderHandle, ProviderRegistry};
use crate::{
    error::Result,
    property::PropertyMap,
    provider::{
        Adapter, AdapterOptions, ConfigureRequest, ProviderResult, builtin, settings::ProviderSettings,
    },
    resource::ProviderReference,
    urn::Urn,
};

/// A provider that serves provider resources of this run.
#[derive(Clone)]
pub(super) struct Instance {
    pub(super) adapter: Adapter,
    /// Whether calls may wait for later registrations, by the provider or the settings.
    waits_for_registrations: bool,
}

impl Instance {
    pub(super) fn for_steps(&self) -> ProviderHandle {
        ProviderHandle {
            provider: self.adapter.clone(),
            waits_for_registrations: self.waits_for_registrations,
        }
    }
}

impl ProviderRegistry {
    pub(super) async fn load(&self, urn: &Urn, inputs: &PropertyMap) -> Result<Instance> {
        let package = urn.resource_type().rsplit(':').next().unwrap_or_default();
        let settings = ProviderSettings::read(package, inputs)?;
        let loaded = self.source.load(settings).await;
        let loaded = loaded.map_err(|error| error.with_urn(urn.clone()).with_provider(package))?;
        let options = AdapterOptions {
            // The built-in provider is not a plugin.
            disable_preview: self.disable_preview && package != builtin::PACKAGE,
            is_plugin: loaded.is_plugin,
            ..AdapterOptions::default()
        };
        let instance = Instance {
            waits_for_registrations: loaded.capabilities.waits_for_registrations,
            adapter: Adapter::with_limit(loaded.provider, loaded.capabilities, options, loaded.call_limit),
        };
        self.state().all.push(instance.clone());
        Ok(instance)
    }

    /// Configures an instance and registers it under its reference.
    pub(super) async fn configure(
        &self,
        mut instance: Instance,
        reference: &ProviderReference,
        inputs: &PropertyMap,
    ) -> ProviderResult<Instance> {
        let inputs = ProviderSettings::strip(inputs);
        if inputs.contains_unknowns() {
            // The configuration depends on values that are unknown in this preview.
            instance.adapter = instance.adapter.unconfigured();
        } else {
            let request = ConfigureRequest {
                urn: reference.urn.clone(),
                name: reference.urn.name().to_owned(),
                id: reference.id.clone(),
                inputs,
            };
            if let Some(capabilities) = instance.adapter.configure(request).await? {
                // The settings may declare it for a provider that does not.
                instance.waits_for_registrations |= capabilities.waits_for_registrations;
            }
        }
        self.state()
            .configured
            .insert(reference.to_string(), instance.clone());
        Ok(instance)
    }
}
