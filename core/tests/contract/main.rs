//! The contract with hosts: sessions, journals, results, events, resolvers, cancellation and provider errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "a test fails by panicking"
)]

mod altered;
mod autonaming;
mod cancellation;
mod configuration;
mod declined_secrets;
mod deployment;
mod ends_of_steps;
mod errors;
mod fixture;
mod hangs;
mod hooks;
mod host_policies;
mod imported;
mod inheritance;
mod journal;
mod method_refusals;
mod metrics;
mod modules;
mod nested_secrets;
mod opening;
mod options;
mod panics;
mod passphrases;
mod pending;
mod plans;
mod policies;
mod policy_folders;
mod reading;
mod refreshing;
mod registration;
mod registration_errors;
mod remote;
mod runs;
mod session;
mod slow_plugins;
mod snippets;
mod spans;
mod stacks;
mod supplied;
mod supplied_secrets;
mod telemetry;
mod timeouts;
mod traces;
mod transforms;
mod unreadable;
mod values;
mod views;
mod with_program;
mod without_read;
