//! Property values of programs, providers and state. Immutable and cheap to clone.

mod map;
pub(crate) mod signature;
mod value;

#[cfg(test)]
pub(crate) mod arbitrary;
mod contents;
pub(crate) mod diff;
pub mod hash;
pub mod json;
mod outputs;
pub(crate) mod path;
mod secrets;
mod survey;
mod text;
pub mod wire;

pub use map::{Key, PropertyMap};
pub use path::PathElement;
pub use path::PropertyPath;
pub(crate) use survey::Survey;
pub(crate) use text::{in_braces, plain_text};
pub(crate) use value::CachedCiphertext;
pub use value::Secret;
pub use value::{
    Archive, ArchiveSource, Asset, AssetSource, Output, PropertyValue, ResourceReference, Unknown,
};

/// The maximum nesting depth of values in both codecs; deeper values are an error instead of a stack overflow.
pub const MAX_DEPTH: usize = 1_024;

// Values beyond the decoding limit of messages are beyond this limit as well.
const _: () = assert!(MAX_DEPTH + 8 < stackwright_proto::values::MAX_MESSAGE_DEPTH);
