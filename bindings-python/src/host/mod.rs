//! Components that a host implements as Python functions: journal, stack reader, secrets, fetcher, autonamer.

mod autonamer;
mod fetch;
mod journal;
mod secrets;
mod stacks;

pub(crate) use self::{
    autonamer::PythonAutonamer, fetch::PythonFetch, journal::PythonJournal, secrets::python_secrets,
    stacks::PythonStacks,
};
