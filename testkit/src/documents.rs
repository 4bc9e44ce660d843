//! Pages of the documentation whose blocks in Rust rustdoc compiles and runs.

#[doc = include_str!("../../docs/get-started/rust.md")]
pub struct GetStarted;
