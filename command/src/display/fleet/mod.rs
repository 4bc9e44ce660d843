//! What an operation on a set of stacks shows: lines with the names of their stacks, or a row for each stack that runs.

mod board;
mod following;
mod lines;
#[cfg(test)]
mod tests;

pub use board::FleetBoard;
pub use following::FleetFollowing;
pub use lines::FleetLines;
