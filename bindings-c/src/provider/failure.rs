//! The JSON document of a provider's failure with details.

use serde::Deserialize;
use stackwright::{
    property::json::PlainMap,
    provider::{InitFailure, ProviderError, ProviderStatus, ViewStep},
};

use super::response::{PropertyFailure, check_failures};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct InitFailureDocument {
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

/// A failure with details.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FailureDocument {
    #[serde(default)]
    status: Option<i32>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    init_failure: Option<InitFailureDocument>,
    #[serde(default)]
    missing_keys: Vec<MissingKey>,
    #[serde(default)]
    input_errors: Vec<PropertyFailure>,
}

impl From<FailureDocument> for ProviderError {
    fn from(failed: FailureDocument) -> Self {
        let mut error = match failed.init_failure {
            Some(init_failure) => Self::init_failed(InitFailure {
                id: init_failure.id,
                inputs: init_failure.inputs.map(|map| map.0),
                outputs: init_failure.outputs.0,
                reasons: init_failure.reasons,
                refresh_before_update: init_failure.refresh_before_update,
                view_steps: init_failure.view_steps,
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
        error.input_errors = check_failures(failed.input_errors);
        error
    }
}
