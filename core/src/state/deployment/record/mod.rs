//! One record as JSON: fields in the format's order, empty ones left out.

mod read;
mod texts;
mod write;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use crate::runtime::Timestamp;

pub(crate) use read::StateJson;
#[cfg(test)]
pub(super) use read::{KnownFields, is_known};
pub(super) use read::{RecordFields, RecordsJson};
pub use write::RecordJson;

/// A time in RFC 3339, in UTC, with as many fractional digits as needed.
pub(super) struct Time(pub(super) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

/// A frame of a stack trace. An unknown frame is an empty object.
#[derive(Serialize, Deserialize)]
struct Frame {
    #[serde(rename = "sourcePosition", default, skip_serializing_if = "Option::is_none")]
    source_position: Option<SmolStr>,
}
