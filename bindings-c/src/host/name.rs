//! The JSON request and response of `propose_name`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use stackwright::{
    Error,
    autonaming::{NamingRequest, Proposal},
    provider::{Autonaming, AutonamingMode},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamingDocument {
    urn: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    random_seed: String,
    preview: bool,
}

impl From<NamingRequest> for NamingDocument {
    fn from(request: NamingRequest) -> Self {
        Self {
            urn: request.urn.to_string(),
            resource_type: request.resource_type.to_string(),
            name: request.name,
            random_seed: STANDARD.encode(request.random_seed),
            preview: request.preview,
        }
    }
}

/// The proposal of the host; an empty one leaves the name to the provider.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Proposed {
    proposed_name: Option<String>,
    mode: Option<String>,
    delete_before_replace: bool,
    warn_if_unsupported: bool,
}

impl Proposed {
    pub(super) fn into_proposal(self) -> stackwright::Result<Option<Proposal>> {
        let mode = match self.mode.as_deref() {
            None if self.proposed_name.is_none() => return Ok(None),
            None => AutonamingMode::Propose,
            Some(name) => AutonamingMode::ALL
                .into_iter()
                .find(|mode| mode.name() == name)
                .ok_or_else(|| {
                    Error::invalid(format!(
                        "malformed propose_name response from the host: unknown mode {name:?}"
                    ))
                })?,
        };
        let proposed_name = self.proposed_name.unwrap_or_default();
        if proposed_name.is_empty() && mode != AutonamingMode::Disable {
            return Err(Error::invalid(format!(
                "malformed propose_name response from the host: mode {:?} without a proposedName",
                mode.name()
            )));
        }
        Ok(Some(Proposal {
            autonaming: Autonaming { proposed_name, mode },
            delete_before_replace: self.delete_before_replace,
            warn_if_unsupported: self.warn_if_unsupported,
        }))
    }
}
