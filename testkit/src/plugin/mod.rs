//! Served providers of scenarios: gRPC servers on loopback, reached at an address or as plugin processes.

mod body;
mod message;
mod server;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;
use tonic::transport::Server;

use crate::{
    fake::{ProviderServer, listen},
    scenario::{PackageScript, Serving},
    script::{Providers, Scene},
};

use server::Served;

/// The scene that calls belong to.
type Stage = Arc<Mutex<Option<Arc<Scene>>>>;

/// The served providers of one scenario; dropping it ends them.
#[derive(Default)]
pub struct Plugins {
    /// By package: the address that the resolver names.
    addresses: Map<String, Value>,
    /// By package: the command that starts a process.
    commands: Map<String, Value>,
    stage: Stage,
    servers: Vec<AbortHandle>,
}

impl Plugins {
    /// Serves the packages whose scripts have `served`.
    ///
    /// # Errors
    /// When nothing can be listened on.
    pub async fn serve(
        packages: &BTreeMap<String, PackageScript>,
        providers: &Arc<Providers>,
    ) -> Result<Self, String> {
        let mut plugins = Self::default();
        for (package, script) in packages {
            let Some(serving) = script.served else { continue };
            let provider = Served::new(package, script, Arc::clone(providers), Arc::clone(&plugins.stage));
            let router = Server::builder().add_service(ProviderServer::service(provider));
            let listening = listen(router).await;
            let (address, server) = listening.map_err(|error| format!("cannot serve {package}: {error}"))?;
            plugins.servers.push(server);
            match serving {
                Serving::Address => plugins
                    .addresses
                    .insert(package.clone(), address.to_string().into()),
                Serving::Process => plugins.commands.insert(package.clone(), command(address.port())),
            };
        }
        Ok(plugins)
    }

    /// Lets calls belong to a scene from here on.
    pub fn enter(&self, scene: &Arc<Scene>) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(scene));
    }

    /// Returns the addresses at which providers listen, by package.
    #[must_use]
    pub fn addresses(&self) -> &Map<String, Value> {
        &self.addresses
    }

    /// Returns the commands that start processes, by package.
    #[must_use]
    pub fn commands(&self) -> &Map<String, Value> {
        &self.commands
    }
}

impl Drop for Plugins {
    fn drop(&mut self) {
        self.servers.iter().for_each(AbortHandle::abort);
    }
}

/// The variable of the environment of actors whose value plugin processes can be given under another name, and that name.
pub const HOST_VARIABLE: (&str, &str) = ("STORY_HOST", "of the host");
const PLUGIN_VARIABLE: &str = "STORY_PLUGIN";

/// Returns the command of a process that prints the server's port as its own, and runs until the engine ends it. It logs the
/// variable that it has been given.
fn command(port: u16) -> Value {
    let log =
        format!("[ -z \"${PLUGIN_VARIABLE}\" ] || echo \"{PLUGIN_VARIABLE} is ${PLUGIN_VARIABLE}\" >&2");
    let script = format!("{log}; echo {port}; exec sleep 600");
    json!({ "program": "/bin/sh", "arguments": ["-c", script, "plugin"] })
}
