//! The record of a default provider that an older engine used without recording it.

use std::sync::Arc;

use super::{configuration, known::Known};
use crate::{
    monitor::RunInfo,
    provider::settings::ProviderSettings,
    resource::ResourceState,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The default providers that older engines did not record: with the current configuration of the stack, in the version
/// of the state's manifest.
pub(crate) struct UnrecordedDefaults {
    run: Arc<RunInfo>,
    known: Known,
}

impl UnrecordedDefaults {
    /// Collects the package settings; `plugins` are those of the state's manifest.
    pub(crate) fn new(run: Arc<RunInfo>, plugins: &[serde_json::Value]) -> Self {
        Self {
            run,
            known: Known::of_plugins(plugins),
        }
    }

    /// Returns the record of a package's provider, as the reference engine writes it: its name has no version.
    pub(crate) fn record(&self, package: &str, id: ResourceId) -> ResourceState {
        let mut settings = ProviderSettings {
            package: package.to_owned(),
            ..ProviderSettings::default()
        };
        self.known.complete(&mut settings);
        let inputs = settings.write(configuration::inputs(package, &self.run));
        let resource_type = TypeToken::provider_of(package);
        let urn = Urn::new(
            &self.run.stack,
            &self.run.project,
            "",
            resource_type.as_str(),
            "default",
        );
        let mut record = ResourceState::new(urn, resource_type, true);
        record.id = id;
        record.outputs = inputs.clone();
        record.inputs = inputs;
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_stack_configuration_and_the_version_of_the_manifest() {
        let run = RunInfo {
            project: "shop".to_owned(),
            stack: "dev".to_owned(),
            config: [("files:root", "/srv"), ("other:root", "/etc")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..RunInfo::default()
        };
        let plugins = [serde_json::json!({"name": "files", "type": "resource", "version": "1.2.0"})];
        let defaults = UnrecordedDefaults::new(Arc::new(run), &plugins);
        let record = defaults.record("files", ResourceId::from("made"));
        assert_eq!(
            record.urn.as_str(),
            "urn:pulumi:dev::shop::pulumi:providers:files::default"
        );
        assert_eq!(record.id.as_str(), "made");
        assert_eq!(record.inputs.get("root"), Some(&"/srv".into()));
        assert_eq!(record.inputs.get("version"), Some(&"1.2.0".into()));
        assert_eq!(record.outputs, record.inputs);
    }
}
