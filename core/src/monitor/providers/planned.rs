//! The default providers of an operation without a program.

use std::sync::Arc;

use super::{configuration, known::Known, name::default_name};
use crate::{
    error::{Error, Result},
    monitor::RunInfo,
    property::PropertyMap,
    provider::settings::ProviderSettings,
    state::PriorState,
    token::TypeToken,
    urn::Urn,
};

/// Finds the default provider of each package: with the settings of the newest one that is recorded, where a request leaves them
/// out, and the configuration of the stack.
pub(crate) struct PlannedDefaults {
    run: Arc<RunInfo>,
    recorded: Known,
    denied: Vec<String>,
}

impl PlannedDefaults {
    /// Collects the recorded settings.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a fault of the configuration.
    pub(crate) fn new(run: Arc<RunInfo>, base: &PriorState) -> Result<Self> {
        Ok(Self {
            recorded: Known::of_base(base),
            denied: configuration::denied(&run).map_err(Error::invalid)?,
            run,
        })
    }

    /// Returns the URN and the inputs of the default provider for these settings. `user` is what needs it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the configuration forbids it.
    pub(crate) fn find(&self, mut settings: ProviderSettings, user: &str) -> Result<(Urn, PropertyMap)> {
        self.recorded.complete(&mut settings);
        let package = &settings.package;
        if self
            .denied
            .iter()
            .any(|denied| denied == "*" || denied == package)
        {
            return Err(Error::invalid(format!(
                "Default provider for '{package}' disabled. '{user}' must use an explicit provider."
            )));
        }
        let resource_type = TypeToken::provider_of(package);
        let (stack, project) = (&self.run.stack, &self.run.project);
        let urn = Urn::new(
            stack,
            project,
            "",
            resource_type.as_str(),
            &default_name(&settings),
        );
        let inputs = settings.write(configuration::inputs(package, &self.run));
        Ok((urn, inputs))
    }
}
