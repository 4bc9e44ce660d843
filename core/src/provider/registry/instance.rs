//! Provider instances: loaded by their settings, then configured and registered under their reference.

use std::sync::Arc;

use super::{ProviderHandle, ProviderRegistry};
use crate::{
    error::{Error, ErrorKind, Result},
    property::PropertyMap,
    provider::{
        Adapter, AdapterOptions, CallLimit, CallObserver, ConfigureRequest, Extensible, ProviderResult,
        builtin, extensible::Extended, settings::ProviderSettings,
    },
    resource::{Extension, ProviderReference},
    urn::Urn,
};

/// A provider that serves provider resources of this run.
#[derive(Clone)]
pub(super) struct Instance {
    pub(super) adapter: Adapter,
    /// Whether calls may wait for later registrations, by the provider or the settings.
    waits_for_registrations: bool,
    /// How long its calls may take; `None` without a limit.
    limit: Option<CallLimit>,
    /// The plugin, for its extensions; `None` for code of this process.
    plugin: Option<Arc<dyn Extensible>>,
    /// The extensions that it has been given since its configuration.
    extended: Extended,
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
        let observer = (package != builtin::PACKAGE).then(|| CallObserver {
            package: package.into(),
            meter: self.runtime.meter.package(package),
            scope: self.scope.clone(),
        });
        let (provider, limit) = (loaded.provider, loaded.call_limit);
        let instance = Instance {
            waits_for_registrations: loaded.capabilities.waits_for_registrations,
            limit: limit.clone(),
            plugin: loaded.plugin,
            extended: Extended::default(),
            adapter: Adapter::with_limit(provider, loaded.capabilities, options, limit, observer),
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
        // Configuring may exchange the process of a plugin for another one.
        instance.extended = Extended::default();
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

    /// Gives an instance an extension, once. `reference` is that of its provider resource, `user` what needs the extension:
    /// a resource or a function.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] for code of the host; [`ErrorKind::Provider`] when the plugin fails or makes another package of
    /// the extension. Both name the extension, the provider and the user.
    pub(super) async fn add_extension(
        &self,
        instance: &Instance,
        reference: &str,
        extension: &Arc<Extension>,
        user: &str,
    ) -> Result<()> {
        let head = || {
            format!("could not add the extension '{extension}' to the provider '{reference}' for '{user}'")
        };
        let Some(plugin) = &instance.plugin else {
            let text = format!("{}: code of the host serves it, which has no extensions", head());
            return Err(Error::new(ErrorKind::Plugin, text).with_phase("parameterize"));
        };
        let limit = instance.limit.as_ref();
        let extending = instance.extended.extend(plugin, extension, limit, &self.runtime);
        extending.await.map_err(|error| {
            let text = format!("{}: {}", head(), error.message);
            Error::new(ErrorKind::Provider, text).with_phase("parameterize")
        })
    }
}
