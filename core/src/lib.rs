//! Stackwright: an infrastructure deployment engine that runs inside the caller's process.
//!
//! The modules read from top to bottom: each uses only those above it.

#![forbid(unsafe_code)]

mod error;

pub mod diagnostic;
pub mod runtime;
pub mod urn;
pub mod token;
pub mod property;
pub mod resource;
pub mod event;
pub mod secrets;
pub mod project;
pub mod state;
pub mod store;
pub mod plugin;
pub mod provider;
pub mod executor;
pub mod generator;
pub mod monitor;
pub mod program;
pub mod operation;
mod engine;

pub use engine::{Engine, EngineBuilder, Stack, StackSettings};
pub use error::{Error, ErrorKind, Result};
pub use store::StackName;

/// The version of the reference engine that this one takes itself to be compatible with, as manifests have it.
pub const COMPATIBLE_VERSION: &str = "v3.260.0";
