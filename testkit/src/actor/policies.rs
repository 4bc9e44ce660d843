//! Policy packs that are functions of the actor: each call of one goes to the director.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use stackwright::{
    Error, ErrorKind,
    policy::{PolicyHost, PolicyPack, PolicyPackOption},
};

use super::{run::error, wire::Wire};
use crate::provider::AnswerSource as _;

/// Adds the functions of packs, described by name, to the options that name them.
pub(super) fn attach_packs<'a>(
    packs: impl IntoIterator<Item = &'a mut PolicyPackOption>,
    documents: &Value,
    wire: &Arc<Wire>,
) -> Result<(), Value> {
    for option in packs {
        let Some(document) = documents.get(&option.name) else {
            continue;
        };
        let host: Arc<dyn PolicyHost> = Arc::new(WiredPack {
            name: option.name.clone(),
            wire: Arc::clone(wire),
        });
        let pack = PolicyPack::from_json(document.to_string().as_bytes(), &host);
        option.host = Some(pack.map_err(|it| error(&it))?);
    }
    Ok(())
}

/// The functions of a policy pack, as calls of the director.
struct WiredPack {
    name: String,
    wire: Arc<Wire>,
}

#[async_trait]
impl PolicyHost for WiredPack {
    async fn call(&self, policy: &str, function: &str, argument: Vec<u8>) -> stackwright::Result<Vec<u8>> {
        let failed = |text: String| Error::new(ErrorKind::Program, text);
        let argument: Value = serde_json::from_slice(&argument).map_err(|error| failed(error.to_string()))?;
        let request = json!({ "policy": policy, "argument": argument });
        let method = format!("policy.{function}");
        match self.wire.answer(&self.name, &method, request).await {
            Ok(answer) => Ok(answer.to_string().into_bytes()),
            Err(failure) => {
                let text = failure["message"].as_str().unwrap_or_default();
                Err(failed(text.to_owned()))
            }
        }
    }
}
