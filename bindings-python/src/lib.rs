//! The native half of the Python package `stackwright`: thin objects over the engine, no engine logic.
//!
//! The public face is the typed Python package around it; nothing here is meant to be used directly.

mod completions;
mod config;
mod convert;
mod engine;
mod errors;
mod gate;
mod host;
mod operation;
mod program;
mod provider;
mod runtime;
mod stack;

/// Registrations by the thousand are short-lived and cross threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module `stackwright._stackwright`.
#[pyo3::pymodule(gil_used = false)]
mod _stackwright {
    #[pymodule_export]
    use crate::{
        completions::Completions,
        convert::{find_outputs, from_json, round_trip, to_json},
        engine::{Engine, opening_of},
        errors::error_kinds,
        gate::close_gate,
        operation::{Events, Operation, OperationOutcome},
        program::{Registered, Run},
        provider::{
            Reply, ResolutionRequest, Worker,
            requests::{
                Autonaming, CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest,
                InvokeRequest, MappingRequest, ReadRequest, SchemaRequest, UpdateRequest,
            },
        },
        stack::Stack,
    };
}
