//! The records of leases, and where they are kept.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    store::{Condition, Object, ProcessIdentity, Version},
};

/// Where leases are recorded.
#[async_trait]
pub(in crate::store) trait LeaseRecords: Send + Sync + 'static {
    /// Reads the record of a lease.
    async fn read(&self, name: &str) -> Result<Option<Object>>;

    /// Writes the record of a lease. `mark` is that of its holder.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the condition does not hold.
    async fn write(&self, name: &str, mark: &str, record: Bytes, condition: Condition) -> Result<Version>;

    /// Ends a lease whose record has this version: removes the record, or, where the store cannot remove under a condition, replaces
    /// it by `released`. `mark` is that of its holder.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the record has another version, which stays.
    async fn release(&self, name: &str, mark: &str, released: Bytes, version: &Version) -> Result<()>;

    /// Returns whether each write of a stack checks the record, both as one: no write of a former holder arrives then.
    fn checks_writes(&self) -> bool {
        false
    }
}

/// The record of a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Distinguishes each taking of a lease from all others.
    pub mark: String,
    /// Makes each record different from the one before.
    pub renewals: u64,
    /// In milliseconds.
    pub length: u64,
    pub holder: ProcessIdentity,
    /// When it was renewed, in milliseconds since the start of the holder's system. Only processes of the same system compare it, which
    /// share that clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewed: Option<u64>,
    /// The user and the host of the holder, for messages.
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub host: String,
    /// The operation that holds the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The id of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether the holder has released the lease: the next one takes it at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_released: bool,
    /// Whether writes of a former holder may still arrive: of one that did not release the lease itself, or that has released it before it
    /// knew the results of its writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unfenced: bool,
}

impl Record {
    pub(super) fn of(object: &Object) -> Option<Self> {
        serde_json::from_slice(&object.bytes).ok()
    }

    /// Returns the record of the holder that has released the lease.
    pub(super) fn released(&self) -> Self {
        Self {
            renewals: self.renewals + 1,
            is_released: true,
            ..self.clone()
        }
    }

    /// The error of another one that wants the lease.
    pub(super) fn conflict(&self, name: &str) -> Error {
        let operation = self.operation.as_deref().unwrap_or("operation");
        let text = format!(
            "the lease of {name} is held by the {operation} of process {} of {}@{}",
            self.holder.pid, self.user, self.host
        );
        Error::new(ErrorKind::Conflict, text).with_hint(format!(
            "a lease that is not renewed for {} s is free, also one whose release has failed; the stack's `unlock` frees that of an \
             operation that has ended, and `break_lock` with \"{}@{}:{}\" takes it from one that still runs",
            Duration::from_millis(self.length).as_secs_f64(),
            self.user,
            self.host,
            self.holder.pid
        ))
    }
}

pub(super) fn encoded(record: &Record) -> Result<Bytes> {
    serde_json::to_vec(record)
        .map(Bytes::from)
        .map_err(|error| Error::internal(format!("writing a lease: {error}")))
}
