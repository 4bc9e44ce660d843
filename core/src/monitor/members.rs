//! Members that several documents of our own API have in common: the type of each gives its meaning and its schema.
//!
//! Documents cannot share a part: serde refuses unknown names only in structs without flattened parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::urn::Urn;

/// The parent: a resource or its URN. Left out, it is the stack.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("x-python" = "Resource | str | None", "x-typescript" = "AnyResource | string"))]
pub(crate) struct Parent(#[schemars(with = "Option<Reference>")] pub(super) Option<Urn>);

/// Whether the resource has no parent at all, not even the stack.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("x-in" = ["c"]))]
pub(crate) struct NoParent(pub(super) bool);

/// The URNs of all resources that must exist before it, those that its inputs come from included.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("x-in" = ["c"]))]
pub(crate) struct Dependencies(#[schemars(with = "Vec<String>")] pub(super) Vec<Urn>);

/// Resources that must exist before it, beside those that its inputs come from: one or several, each itself or its URN. An
/// output stands for the resources that it comes from.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    inline,
    extend(
        "x-takes" = "resources or their URNs",
        "x-python" = "Awaited | str | Sequence[Awaited | str] | None",
        "x-typescript" = "Source | readonly Source[]"
    )
)]
pub(crate) struct Sources(#[schemars(with = "SourceSchema")] References);

/// The provider resource to use, or its reference, `<urn>::<id>`.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("x-python" = "Resource | str | None", "x-typescript" = "AnyResource | string"))]
pub(crate) struct ProviderName(#[schemars(with = "ProviderReference")] pub(super) String);

/// The version of the package.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct PackageVersion(pub(super) String);

/// The address from which the plugin of the package can be downloaded, for the resolver and the installer.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct DownloadUrl(pub(super) String);

/// Names of outputs that are secret.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct SecretOutputs(pub(super) Vec<String>);

/// The schema of a resource's URN.
#[derive(JsonSchema)]
#[schemars(
    inline,
    extend("format" = "urn", "x-reference" = ["a resource"], "x-takes" = "a resource or its URN")
)]
#[expect(dead_code, reason = "a schema has no values")]
pub(super) struct Reference(String);

/// The schema of a resource's URN where an output can stand for its resources.
#[derive(JsonSchema)]
#[schemars(
    inline,
    extend(
        "format" = "urn",
        "x-reference" = ["a resource", "an output"],
        "x-takes" = "a resource or its URN"
    )
)]
#[expect(dead_code, reason = "a schema has no values")]
struct Source(String);

/// The schema of a provider's reference.
#[derive(JsonSchema)]
#[schemars(inline, extend("x-reference" = ["a resource"], "x-takes" = "a provider resource"))]
#[expect(dead_code, reason = "a schema has no values")]
pub(super) struct ProviderReference(String);

/// The URNs of one resource or of several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a URN, or an array of URNs")]
#[schemars(inline)]
pub(crate) enum References {
    /// One.
    One(#[schemars(with = "Reference")] Urn),
    /// Several.
    Several(#[schemars(with = "Vec<Reference>")] Vec<Urn>),
}

/// The schema of [`Sources`].
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "a schema has no values")]
enum SourceSchema {
    One(Source),
    Several(Vec<Source>),
}

impl Default for References {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl From<References> for Vec<Urn> {
    fn from(references: References) -> Self {
        match references {
            References::One(urn) => vec![urn],
            References::Several(urns) => urns,
        }
    }
}

impl Sources {
    /// Returns them behind others, each once.
    pub(super) fn behind(self, mut others: Vec<Urn>) -> Vec<Urn> {
        for urn in Vec::from(self.0) {
            if !others.contains(&urn) {
                others.push(urn);
            }
        }
        others
    }
}
