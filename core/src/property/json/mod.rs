//! The JSON codec of state, of events and of hosts: how property values stand in a deployment file.
//!
//! Secrets are encrypted elsewhere, in batches and asynchronously, so both directions have two phases:
//! * writing: `SecretCollector` gathers the secrets that still need a ciphertext and their plaintexts; what the
//!   secrets manager made of them becomes [`Ciphertexts`], which `MapJson` looks them up in;
//! * reading: `StateMap` leaves each encrypted secret sealed (its element is null, its ciphertext is kept);
//!   `SealedSecrets` gathers the ciphertexts of any number of maps and puts the plaintexts in.

mod ciphertext;
mod format;
#[cfg(test)]
mod golden;
mod plain;
mod read;
mod sealed;
mod special;
#[cfg(test)]
mod tests;
mod write;

pub use ciphertext::Ciphertexts;
pub(crate) use ciphertext::SecretCollector;
pub use format::{from_slice, to_vec};
pub(crate) use format::{to_vec_pretty, to_writer};
pub use plain::{PlainMap, PlainValue, from_plain_json, to_plain_json};
pub(crate) use read::read_plaintext;
pub(crate) use read::{StateMap, StateValue};
pub(crate) use sealed::{OpenedSecrets, SealedSecrets};
pub use write::{Blinding, Scrub, SecretForm};
pub(crate) use write::{MapJson, ValueJson};
