//! The native module behind the Node package: engine, stacks, operations, providers and values, and no logic of its own.

#![expect(
    unreachable_pub,
    reason = "what Node sees must be pub, and no other crate uses this one"
)]

mod bridge;
mod convert;
mod engine;
mod errors;
mod host;
mod monitor;
mod operation;
mod program;
mod provider;
mod registration;
mod stack;

/// Registrations by the thousand are short-lived and cross threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
