//! Test tools of Stackwright: scenarios as data, a provider and a program that follow a script, a faulty store, fakes
//! for the tests of all crates, and waits with a deadline.
//!
//! A *scenario* (`scenarios/README.md`) states what a program registers, how its providers answer, which operations run
//! and the expected results. The [`director`] plays it against an *actor*: a process, or a task, that holds an engine
//! behind one of its bindings and only forwards calls (`scenarios/PROTOCOL.md`). [`actor`] is the one of the Rust binding.

pub mod actor;
pub mod check;
pub mod clock;
pub mod control_group;
pub mod director;
#[cfg(doctest)]
pub mod documents;
pub mod fake;
pub mod files;
pub mod plugin;
pub mod policy;
pub mod provider;
pub mod script;
pub mod server;
pub mod simulation;
pub mod store;
pub mod scenario;
pub mod trace;
pub mod value;
pub mod wait;
