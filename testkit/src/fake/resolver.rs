//! Ways to a served provider: its address, or processes that name its port.

use async_trait::async_trait;
use stackwright::{
    Result,
    plugin::{PluginCommand, PluginSettings},
    provider::{Resolution, ResolutionRequest, Resolver},
};

/// Resolves every package to one address.
#[derive(Debug)]
pub struct AddressResolver(pub String);

#[async_trait]
impl Resolver for AddressResolver {
    async fn resolve(&self, _request: ResolutionRequest) -> Result<Resolution> {
        Ok(Resolution::Address(self.0.clone()))
    }
}

/// Returns settings in which each process of the plugin `package` names the port of `address`, and runs until the engine
/// ends it.
///
/// # Panics
/// When the address has no port.
#[must_use]
pub fn plugin_processes(package: &str, address: &str) -> PluginSettings {
    let port = address.rsplit_once(':').unwrap().1;
    let command = PluginCommand {
        program: "/bin/sh".into(),
        arguments: ["-c", &format!("echo {port}; exec sleep 600"), "plugin"]
            .map(Into::into)
            .to_vec(),
        ..PluginCommand::default()
    };
    PluginSettings {
        commands: [(package.to_owned(), command)].into(),
        ..PluginSettings::default()
    }
}
