//! The protobuf codec: property maps to and from `google.protobuf.Struct`, their form in every call of the protocol.

mod decode;
mod encode;
mod fault;
#[cfg(test)]
mod tests;

pub(crate) use decode::from_value;
pub use decode::{DecodeOptions, from_struct};
pub(crate) use encode::to_value;
pub use encode::{EncodeOptions, to_struct};
