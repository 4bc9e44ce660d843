//! The protocol's messages of the resource monitor, in and out: a thin translation around the typed API.

mod info;
mod invoke;
mod options;
mod position;
mod read;
mod register;

pub(super) use position::Positions;
