//! Suggested moves: a deletion and a creation that look like one resource under another URN.

use schemars::JsonSchema;
use serde::Serialize;

use crate::urn::Urn;

/// A deletion and a creation that look like one resource under another URN: a renamed one, for instance.
///
/// Its texts contain names, types and URNs only, and never the values of properties.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[serde(rename_all = "camelCase")]
pub struct SuggestedMove {
    /// The recorded URN, which the update would delete.
    #[schemars(with = "String")]
    pub old_urn: Urn,
    /// The URN that the program registers, which the update would create.
    #[schemars(with = "String")]
    pub new_urn: Urn,
    /// What differs, and what is equal. A change of the provider or of the type is part of it.
    pub reason: String,
    /// How sure the suggestion is, from 0 to 1; `null` for a move that the options list although it is not suggested.
    pub confidence: Option<f64>,
    /// The option of the new resource that has the same effect, as source code in the language of the program: Python, TypeScript or
    /// Rust. For programs in other languages, and in C, it is the member `aliases` of the resource's options as JSON.
    pub alias: String,
    /// The resources below it, or of its stack, that move with it.
    pub following: Vec<MovedResource>,
    /// Whether the operation has applied it, because its options accept it.
    pub accepted: bool,
}

/// A resource that moves with another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[serde(rename_all = "camelCase")]
pub struct MovedResource {
    /// The recorded URN.
    #[schemars(with = "String")]
    pub old_urn: Urn,
    /// The URN that the program registers.
    #[schemars(with = "String")]
    pub new_urn: Urn,
}
