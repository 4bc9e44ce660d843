//! Monitors over gRPC: clients on loopback, and programs behind a language runtime.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod exists;
mod extensions;
mod faulty_callbacks;
mod faulty_components;
mod fixture;
mod foreign_user;
mod hooks;
mod imported_packages;
mod installer;
mod killed_component_host;
mod language_program;
mod monitor_answers;
mod monitor_server;
mod one_monitor;
mod packages;
mod parameterized;
mod python_sdk;
mod reads;
mod tenants;
mod transforms;
mod waiting;
