//! Components that a host implements as Python functions: journal, stack reader, secrets, fetcher, autonamer, policies,
//! stores and credentials.

mod autonamer;
mod fetch;
mod journal;
mod policies;
mod secrets;
mod stacks;
mod store;

pub(crate) use self::{
    autonamer::PythonAutonamer,
    fetch::PythonFetch,
    journal::PythonJournal,
    policies::add_packs,
    secrets::{python_encryption, python_key_service, python_secrets},
    stacks::PythonStacks,
    store::{PythonCredentials, PythonStore},
};
