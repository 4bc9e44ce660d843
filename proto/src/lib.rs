//! The messages and services of the Pulumi protocols.
//!
//! Everything here is generated from the `.proto` files of this crate: [`pulumirpc`] holds the messages
//! and, for each service, a module with its client and one with its server. Maps are `BTreeMap`, so that
//! equal messages always encode to equal bytes. Free-form values are those of [`values`].

pub mod values;

/// The largest message that any service of the protocols sends or takes, in bytes.
pub const MESSAGE_LIMIT: usize = 400 * 1024 * 1024;

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
