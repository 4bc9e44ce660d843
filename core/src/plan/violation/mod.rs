//! Differences between a goal or its properties and the plan, in the messages of the reference engine.

mod goal;
mod properties;

pub(super) use goal::of_goal;
pub(super) use properties::{Differences, of_properties, of_some_properties};
