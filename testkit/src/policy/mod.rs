//! Policy packs of scenarios, which evaluate the policies of their scripts: analyzers on loopback, or functions of the actor.

mod host;
mod judge;
mod server;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};
use stackwright_proto::pulumirpc::analyzer_server::AnalyzerServer;
use tokio::task::AbortHandle;
use tonic::transport::Server;

use crate::{
    fake::listen,
    scenario::{PackScript, PackServed},
    script::Scene,
};

use server::Served;

/// The options that name policy packs.
const OPTIONS: [&str; 2] = ["requiredPolicies", "localPolicyPacks"];

/// The scene that calls belong to.
type Stage = Arc<Mutex<Option<Arc<Scene>>>>;

/// The packs of one scenario; dropping it ends them.
#[derive(Default)]
pub struct Packs {
    addresses: BTreeMap<String, String>,
    /// The packs that are functions of the actor.
    hosted: BTreeMap<String, PackScript>,
    stage: Stage,
    servers: Vec<AbortHandle>,
}

impl Packs {
    /// Serves packs.
    ///
    /// # Errors
    /// When nothing can be listened on.
    pub async fn serve(scripts: &BTreeMap<String, PackScript>) -> Result<Self, String> {
        let mut packs = Self::default();
        for (name, script) in scripts {
            if script.served == PackServed::Host {
                packs.hosted.insert(name.clone(), script.clone());
                continue;
            }
            let served = Served::new(name, script, Arc::clone(&packs.stage));
            let listening = listen(Server::builder().add_service(AnalyzerServer::new(served))).await;
            let (address, server) =
                listening.map_err(|error| format!("cannot serve the pack {name}: {error}"))?;
            packs.servers.push(server);
            packs.addresses.insert(name.clone(), address.to_string());
        }
        Ok(packs)
    }

    /// Lets calls belong to a scene from here on.
    pub fn enter(&self, scene: &Arc<Scene>) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(scene));
    }

    /// Completes options with the addresses of the packs that they name.
    #[must_use]
    pub fn addressed(&self, options: &Map<String, Value>) -> Map<String, Value> {
        let mut options = options.clone();
        for name in OPTIONS {
            let packs = options.get_mut(name).and_then(Value::as_array_mut);
            for pack in packs.into_iter().flatten().filter_map(Value::as_object_mut) {
                let address = pack.get("name").and_then(Value::as_str);
                if let Some(address) = address.and_then(|name| self.addresses.get(name)).cloned() {
                    pack.entry("address").or_insert(address.into());
                }
            }
        }
        options
    }
}

impl Drop for Packs {
    fn drop(&mut self) {
        self.servers.iter().for_each(AbortHandle::abort);
    }
}
