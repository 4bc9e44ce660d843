//! Stackwright: an infrastructure deployment engine that runs inside the caller's process.
//!
//! An [`Engine`] is built from components: a store, a secrets provider, providers. It opens stacks, and these have
//! operations: preview, update, refresh, destroy. A program registers resources with the monitor, and providers manage
//! the real resources. Both can be code of the host, as here, or processes that implement the Pulumi protocols.
//!
//! ```
//! use std::sync::Arc;
//!
//! use stackwright::{
//!     Engine, Result, StackSettings,
//!     monitor::Registration,
//!     operation::OperationOptions,
//!     program::{self, ProgramContext},
//!     provider::{
//!         Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider, ProviderResult,
//!     },
//!     runtime::Runtime,
//!     secrets::PassphraseProvider,
//!     store::MemoryStore,
//! };
//! use tokio::runtime::Handle;
//!
//! /// Provides notes, which are nothing but their inputs.
//! struct Notes;
//!
//! impl Provider for Notes {
//!     async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
//!         Ok(Capabilities::all())
//!     }
//!
//!     async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
//!         Ok(CreateResponse {
//!             id: request.name.into(),
//!             outputs: request.inputs,
//!             ..CreateResponse::default()
//!         })
//!     }
//!
//!     async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
//!         Ok(())
//!     }
//! }
//!
//! async fn notes(context: ProgramContext) -> Result<()> {
//!     let note = Registration::from_json(
//!         br#"{"type": "notes:index:Note", "name": "first", "inputs": {"text": "hello"}}"#,
//!     )?;
//!     let registered = context.monitor.register(note).await?;
//!     assert_eq!(registered.outputs.get("text"), Some(&"hello".into()));
//!     Ok(())
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     let runtime = Runtime::system(Handle::current());
//!     let engine = Engine::builder(Handle::current())
//!         .store(Arc::new(MemoryStore::new(runtime.clone())))
//!         .secrets(Arc::new(PassphraseProvider::new("correct horse", runtime)))
//!         .provider("notes", Arc::new(Notes))
//!         .build()?;
//!     let settings = StackSettings {
//!         program: Some(program::from_fn(notes)),
//!         ..StackSettings::default()
//!     };
//!     let stack = engine.stack("shop/dev", settings).await?;
//!
//!     let preview = stack.preview(OperationOptions::default()).wait().await;
//!     println!("{}", preview.tree());
//!     let update = stack.update(OperationOptions::default()).wait().await;
//!     assert_eq!(update.changes["create"], 2, "the note and the stack itself");
//!     let destroy = stack.destroy(OperationOptions::default()).wait().await;
//!     assert_eq!(destroy.changes["delete"], 2);
//!     Ok(())
//! }
//! ```
//!
//! The modules are layers: each uses only those above it.

#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("Linux is the only system that this library is built and tested on");

mod message;
pub mod urn;
mod error;
pub mod token;
pub mod step;
pub mod diagnostic;
pub mod metrics;
pub mod runtime;
mod transport;
pub mod property;
pub mod resource;
pub mod secrets;
pub mod telemetry;
pub mod event;
pub mod config;
pub mod state;
pub mod store;
pub mod plugin;
mod run_info;
pub mod provider;
pub mod callback;
pub mod policy;
pub mod autonaming;
mod codegen;
pub mod moves;
mod executor;
pub mod plan;
pub mod picture;
mod generator;
pub mod monitor;
pub mod program;
pub mod simulation;
pub mod operation;
mod engine;
pub mod fleet;
pub mod expectation;
pub mod binding;

pub use engine::{Engine, EngineBuilder, Stack, StackSettings};
pub use error::{Error, ErrorClass, ErrorKind, Result};
pub use message::{Language, Text};
pub use operation::Opening;
pub use store::StackName;

/// The version of the reference engine that this one is compatible with, in the form of manifests.
pub const COMPATIBLE_VERSION: &str = "v3.260.0";
