//! The address of a monitor for code in other processes that the engine calls: one server for a run, at the first use.

use crate::{
    error::Result,
    monitor::{Monitor, MonitorServer},
    provider::MonitorAccess,
};

/// A monitor behind a handle.
pub(super) struct Server(pub(super) Monitor);

impl MonitorAccess for Server {
    fn address(&self) -> Result<String> {
        self.0.address()
    }
}

impl Monitor {
    /// Returns the address at which this monitor listens; it starts listening at the first call.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] when no port can be had, or the monitor has ended.
    pub(super) fn address(&self) -> Result<String> {
        let mut server = self
            .0
            .server
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(server) = &*server {
            return Ok(server.address());
        }
        let started = MonitorServer::start(self, self.runtime())?;
        Ok(server.insert(started).address())
    }
}
