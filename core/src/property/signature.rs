//! Signatures and sentinels: the reserved texts of special values in messages and state.

use crate::property::Unknown;

/// The key of a special value's object; its value is the kind's signature.
pub(crate) const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
/// Marks a secret.
pub(crate) const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
/// Marks an asset.
pub(crate) const ASSET: &str = "c44067f5952c0a294b673a41bacd8c17";
/// Marks an archive.
pub(crate) const ARCHIVE: &str = "0def7320c3a5731c473e5ecbe6d01bc7";
/// Marks a reference to a resource.
pub(crate) const RESOURCE: &str = "5cf8f73096256a8f31e491e813e4eb8e";
/// Marks an output value; never in state.
pub(crate) const OUTPUT: &str = "d0e6a833031e9bbcd3f4e8bde6ca49a4";
/// Marks a byte string.
pub(crate) const BYTES: &str = "803fd3297a5875dc03ca845dda5d2a98";
/// Marks a number that JSON cannot represent; only in JSON.
pub(crate) const SPECIAL_NUMBER: &str = "8ad145fe-0d11-4827-bfd7-1abcbf086f5c";

impl Unknown {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Bool,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Asset,
        Self::Archive,
        Self::Object,
    ];

    /// Returns the text of an unknown of this kind in messages; state uses only that of a string.
    #[must_use]
    pub const fn sentinel(self) -> &'static str {
        match self {
            Self::Bool => "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
            Self::Number => "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
            Self::String => "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
            Self::Array => "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
            Self::Asset => "030794c1-ac77-496b-92df-f27374a8bd58",
            Self::Archive => "e48ece36-62e2-4504-bad9-02848725956a",
            Self::Object => "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
        }
    }

    /// Returns the kind with the sentinel `text`.
    #[must_use]
    pub fn from_sentinel(text: &str) -> Option<Self> {
        // All sentinels have the length of a UUID, which excludes most texts.
        if text.len() != 36 {
            return None;
        }
        Self::ALL.into_iter().find(|kind| kind.sentinel() == text)
    }
}
