//! The address of a monitor for code in other processes that the engine calls: one server for a run, at the first use.

use std::sync::{Mutex, PoisonError};

use crate::{
    error::Result,
    monitor::{Monitor, MonitorServer},
    provider::MonitorAccess,
};

/// A monitor behind a handle.
pub(super) struct Access(pub(super) Monitor);

impl MonitorAccess for Access {
    fn address(&self) -> Result<String> {
        self.0.shared.server.address(&self.0)
    }
}

/// The server of a monitor for code in other processes that the engine calls, once such code is called.
#[derive(Default)]
pub(super) struct LazyServer(Mutex<Option<MonitorServer>>);

impl LazyServer {
    /// Returns the address at which a monitor listens; it starts listening at the first call.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] when no port can be had, or the monitor has ended.
    fn address(&self, monitor: &Monitor) -> Result<String> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = &*server {
            return Ok(server.address());
        }
        let started = MonitorServer::start(&monitor.outermost(), monitor.runtime())?;
        Ok(server.insert(started).address())
    }

    /// Stops listening. The server holds the monitor.
    pub(super) fn stop(&self) {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(server);
    }
}
