//! The native module of the Python package `stackwright`: thin objects over the engine, without engine logic.
//!
//! The public interface is the typed Python package around it; this module is private.

mod gate;
mod errors;
mod logs;
mod convert;
mod config;
mod completions;
mod runtime;
mod function;
mod program;
mod provider;
mod host;
mod picture;
mod plugin_limits;
mod operation;
mod fleet;
mod project;
mod records;
mod simulation;
mod stack;
mod engine;
mod fleet_start;
mod fleet_order;
mod command;

/// Registrations are many short-lived allocations that cross threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module `stackwright._stackwright`.
#[pyo3::pymodule(gil_used = false)]
mod _stackwright {
    #[pymodule_export]
    use crate::{
        command::{Command, run_command},
        completions::Completions,
        convert::{find_outputs, from_json, round_trip, to_json},
        engine::Engine,
        errors::{error_kinds, refuse_name},
        fleet::{FleetOperation, FleetOutcome, StackEvents, StackRun},
        fleet_order::FleetOrder,
        fleet_start::start_all,
        function::{Reply, Worker},
        gate::close_gate,
        logs::LogRecords,
        operation::{Display, Events, Operation, OperationOutcome},
        picture::{Graph, Picture},
        plugin_limits::PluginLimits,
        program::{Registered, Run, check_options},
        project::{Project, replace_project, replace_settings, settings_document},
        provider::{
            ConstructRequest, MethodRequest, ResolutionRequest,
            requests::{
                Autonaming, CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest,
                InvokeRequest, MappingRequest, ReadRequest, SchemaRequest, UpdateRequest,
            },
        },
        simulation::{
            Simulation, find_resources, matches_type, missing_aliases, plan_text, resources_after,
            text_difference, unmet,
        },
        stack::Stack,
    };
}
