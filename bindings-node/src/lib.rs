//! The native module of the Node package: engine, stacks, operations, providers and values, without engine logic.

#![expect(
    unreachable_pub,
    reason = "what Node sees must be pub, and no other crate uses this one"
)]

mod errors;
mod convert;
mod registration;
mod bridge;
mod provider;
mod host;
mod store;
mod policy;
mod program;
mod functions;
mod sdk_functions;
mod monitor;
mod picture;
mod operation;
mod simulation;
mod fleet;
mod config_values;
mod project;
mod stack;
mod logs;
mod engine;
mod command;

/// Registrations are many short-lived allocations that cross threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
