//! The JSON of a provider's failure with all its details.

use serde::Deserialize;
use stackwright::{
    property::json::PlainMap,
    provider::{InitFailure, ProviderError, ProviderStatus, ViewStep},
};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Unfinished {
    id: String,
    inputs: Option<PlainMap>,
    outputs: PlainMap,
    reasons: Vec<String>,
    refresh_before_update: bool,
    view_steps: Vec<ViewStep>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MissingKey {
    name: String,
    description: String,
}

/// A failure with all its details.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Failed {
    #[serde(default)]
    status: Option<i32>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    init_failure: Option<Unfinished>,
    #[serde(default)]
    missing_keys: Vec<MissingKey>,
}

impl From<Failed> for ProviderError {
    fn from(failed: Failed) -> Self {
        let mut error = match failed.init_failure {
            Some(unfinished) => Self::init_failed(InitFailure {
                id: unfinished.id,
                inputs: unfinished.inputs.map(|map| map.0),
                outputs: unfinished.outputs.0,
                reasons: unfinished.reasons,
                refresh_before_update: unfinished.refresh_before_update,
                view_steps: unfinished.view_steps,
            }),
            None => Self::new(ProviderStatus::Unknown, ""),
        };
        if let Some(status) = failed.status {
            error.status = ProviderStatus::from_code(status);
        }
        if let Some(message) = failed.message {
            error.message = message;
        }
        error.missing_keys = failed
            .missing_keys
            .into_iter()
            .map(|key| (key.name, key.description))
            .collect();
        error
    }
}
