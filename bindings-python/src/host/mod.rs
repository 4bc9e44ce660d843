//! What a host supplies as Python functions beside providers: journals, readers of stacks, secrets, fetchers, names.

mod autonamer;
mod fetch;
mod journal;
mod secrets;
mod stacks;

pub(crate) use self::{
    autonamer::PythonAutonamer, fetch::PythonFetch, journal::PythonJournal, secrets::python_secrets,
    stacks::PythonStacks,
};
