//! The native module behind the Node package: engine, stacks, operations, providers and values, and no logic of its own.

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
mod program;
mod monitor;
mod operation;
mod stack;
mod engine;

/// Registrations by the thousand are short-lived and cross threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
