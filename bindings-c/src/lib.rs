//! The C ABI of Stackwright: handles, status codes and callbacks over the engine, and no engine logic.
//!
//! `include/stackwright.h` is generated from this crate and never edited. Names are those of the header.

#![expect(
    non_camel_case_types,
    reason = "the names are those of the header, so that each is found in the other"
)]

pub mod version;
mod threads;
pub mod status;
mod failure;
pub mod bytes;
pub mod error;
pub mod foreign;
pub mod guard;
pub mod callback;
pub mod json;
pub mod runtime;
pub mod context;
pub mod provider;
pub mod function;
pub mod policy;
pub mod store;
pub mod host;
pub mod engine;
pub mod plugin;
pub mod program;
pub mod picture;
pub mod operation;
pub mod stack;
pub mod project;
