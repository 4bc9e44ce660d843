//! All stores: the same contract, and what is special of each. Those of servers run against real ones, or a fake where
//! none can be had; a server that this machine lacks is reported, with what was not tested.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod buckets;
mod contract;
mod database;
mod edits;
mod hosts;
mod keys;
#[path = "../crash/mortal.rs"]
mod mortal;
mod operations;
mod places;
