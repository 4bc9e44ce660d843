//! Recordings: the calls of real providers with their answers, to be played in their place.
//!
//! A recording is JSON. For each Check, Diff, Create, Read, Update, function and method it has the package, the type or token,
//! the name and id of the resource, the inputs, and the answer: ids, outputs, failures. It has no configuration of providers.
//! Secrets are masked: see [`mask`].

mod mask;
mod play;
mod record;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    property::json::PlainMap,
};

pub(super) use mask::Masks;
pub(super) use play::Player;
pub(super) use record::{Recorder, Recording};

/// The version of the form.
const VERSION: u32 = 1;

/// A recording as it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tape {
    version: u32,
    /// What the file is, for its readers.
    #[serde(default)]
    about: String,
    pub(super) calls: Vec<Exchange>,
}

const ABOUT: &str =
    "calls of real providers, recorded for tests; secrets are masked, ids and other values are not";

/// A call and its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exchange {
    pub(super) call: String,
    /// Whether a preview made a call that changes something otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) preview: bool,
    /// The type of the resource, or the token of the function.
    #[serde(rename = "type")]
    pub(super) token: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) old_inputs: PlainMap,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) inputs: PlainMap,
    pub(super) answer: Answer,
}

fn is_empty(map: &PlainMap) -> bool {
    map.0.is_empty()
}

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inputs: Option<PlainMap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outputs: Option<PlainMap>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) failures: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<Difference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure>,
}

/// The answer to Diff.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Difference {
    /// Left out where the provider leaves the comparison to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<bool>,
    #[serde(default)]
    pub(super) replaces: Vec<String>,
    #[serde(default)]
    pub(super) diffs: Vec<String>,
    #[serde(default)]
    pub(super) delete_before_replace: bool,
}

/// A failed call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) status: i32,
    pub(super) message: String,
}

impl Tape {
    pub(super) fn read(text: &[u8], file: Option<&str>) -> Result<Self> {
        let place = file.map(|file| format!("{file}: ")).unwrap_or_default();
        let refused = |why: String| {
            Error::invalid(format!("{place}the recording cannot be read: {why}"))
                .with_hint("remove the file: the next run with real providers writes it anew")
        };
        let value: Value = serde_json::from_slice(text).map_err(|error| refused(error.to_string()))?;
        if !value.is_object() {
            return Err(refused("it is no JSON object".to_owned()));
        }
        let tape: Self = serde_json::from_value(value).map_err(|error| refused(error.to_string()))?;
        match tape.version {
            VERSION => Ok(tape),
            other => Err(refused(format!("its version is {other}, not {VERSION}"))),
        }
    }

    fn write(calls: Vec<Exchange>) -> Result<Vec<u8>> {
        let tape = Self {
            version: VERSION,
            about: ABOUT.to_owned(),
            calls,
        };
        let mut text = serde_json::to_vec_pretty(&tape)
            .map_err(|error| Error::internal(format!("the recording cannot be written: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
