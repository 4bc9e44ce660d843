//! The JSON codec of property values in state, events and host data.
//!
//! Secrets are encrypted elsewhere, in batches and asynchronously, so both directions have two phases:
//! * writing: `SecretCollector` collects the secrets without a ciphertext and their plaintexts; the ciphertexts of the
//!   secrets manager become [`Ciphertexts`], which `MapJson` uses;
//! * reading: `StateMap` leaves each encrypted secret sealed (its element is null, its ciphertext is kept);
//!   `SealedSecrets` collects the ciphertexts of any number of maps and fills in the plaintexts.

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
pub(crate) use format::to_writer;
pub use format::{from_slice, to_vec, to_vec_pretty};
pub use plain::{GivenMap, PlainMap, PlainValue, from_plain_json, to_plain_json, value_to_plain_json};
pub(crate) use read::read_plaintext;
pub(crate) use read::{StateMap, StateValue};
pub(crate) use sealed::{OpenedSecrets, SealedSecrets};
pub use write::{Blinding, MapJson, Scrub, SecretForm, ValueJson};
