//! Provider instances: loaded by their settings, then configured and known under their reference.

use std::sync::Arc;

use super::{ProviderHandle, ProviderRegistry};
use crate::{
    error::Result,
    property::PropertyMap,
    provider::{
        Capabilities, ConfigureRequest, Provider, ProviderResult, UnconfiguredProvider, builtin,
        settings::ProviderSettings,
    },
    resource::ProviderReference,
    urn::Urn,
};

#[derive(Clone)]
pub(super) struct Instance {
    pub(super) provider: Arc<dyn Provider>,
    capabilities: Capabilities,
    /// Previews do not reach its Create and Update.
    without_preview: bool,
}

impl Instance {
    pub(super) fn for_steps(&self) -> ProviderHandle {
        ProviderHandle {
            provider: Arc::clone(&self.provider),
            supports_preview: self.capabilities.supports_preview && !self.without_preview,
            supports_autonaming: self.capabilities.supports_autonaming,
            waits_for_registrations: self.capabilities.waits_for_registrations,
        }
    }
}

impl ProviderRegistry {
    pub(super) async fn load(&self, urn: &Urn, inputs: &PropertyMap) -> Result<Instance> {
        let package = urn.resource_type().rsplit(':').next().unwrap_or_default();
        let settings = ProviderSettings::read(package, inputs)?;
        let loaded = self.source.load(settings).await;
        let loaded = loaded.map_err(|error| error.with_urn(urn.clone()).with_provider(package))?;
        let instance = Instance {
            provider: loaded.provider,
            capabilities: loaded.capabilities,
            // What is part of the engine is no plugin.
            without_preview: self.disable_preview && package != builtin::PACKAGE,
        };
        self.state().all.push(instance.clone());
        Ok(instance)
    }

    /// Configures an instance and makes it known under its reference.
    pub(super) async fn configure(
        &self,
        mut instance: Instance,
        reference: &ProviderReference,
        inputs: &PropertyMap,
    ) -> ProviderResult<Instance> {
        let inputs = ProviderSettings::strip(inputs);
        if inputs.contains_unknowns() {
            // It cannot be configured before what its configuration comes from exists.
            instance.provider = Arc::new(UnconfiguredProvider::new(instance.provider));
            instance.capabilities.supports_preview = true;
            instance.capabilities.supports_autonaming = true;
            instance.without_preview = false;
        } else {
            let request = ConfigureRequest {
                urn: reference.urn.clone(),
                name: reference.urn.name().to_owned(),
                id: reference.id.clone(),
                inputs,
            };
            if let Some(capabilities) = instance.provider.configure(request).await? {
                // The settings may have declared it of a provider that does not do so itself.
                let waits = instance.capabilities.waits_for_registrations;
                instance.capabilities = capabilities;
                instance.capabilities.waits_for_registrations |= waits;
            }
        }
        self.state()
            .configured
            .insert(reference.to_string(), instance.clone());
        Ok(instance)
    }
}
