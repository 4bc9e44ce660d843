//! The session of an operation: the parts that outlive its result until the host releases them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    error::Result,
    monitor::Monitor,
    policy::Policies,
    provider::{PluginOperation, ProviderRegistry},
    runtime::{Clock, Runtime, Task},
    state::Journal,
    store::Refreshing,
};

/// Limit for a program that continues after the end of its run, before it is aborted.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The session, shared by the operation and its handles. Cloning is cheap.
#[derive(Clone, Default)]
pub(crate) struct Session(Arc<Shared>);

#[derive(Default)]
struct Shared {
    parts: Mutex<SessionParts>,
    /// The host has released the session.
    released: CancellationToken,
    /// The session has ended.
    ended: CancellationToken,
}

/// The parts of a session.
#[derive(Default)]
pub(super) struct SessionParts {
    /// The monitor, where a program registers resources.
    pub(super) monitor: Option<Monitor>,
    /// A program that has not ended.
    pub(super) program: Option<Task<Result<()>>>,
    /// The loaded providers.
    pub(super) registry: Option<Arc<ProviderRegistry>>,
    /// The policy packs.
    pub(super) policies: Option<Arc<Policies>>,
    /// The journal of an operation that may still panic; after it is closed, nothing more is written.
    pub(super) journal: Option<Journal>,
    /// The task that writes the checkpoint while the operation runs.
    pub(super) refreshing: Option<Refreshing>,
    /// The operation for plugins; their calls are refused once it is dropped.
    pub(super) plugins: Option<Arc<PluginOperation>>,
}

impl Session {
    /// Changes the parts of the session.
    pub(super) fn own(&self, change: impl FnOnce(&mut SessionParts)) {
        change(&mut self.0.parts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the monitor, if there is one.
    pub(super) fn monitor(&self) -> Option<Monitor> {
        let parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.monitor.clone()
    }

    /// Ends the session: at once, or, when it is held, as soon as the host releases it.
    pub(crate) async fn finish(&self, held: bool, runtime: &Runtime) {
        let session = self.clone();
        let clock = Arc::clone(&runtime.clock);
        if held && !self.0.released.is_cancelled() {
            drop(runtime.spawner.spawn(async move {
                session.0.released.cancelled().await;
                session.end(&*clock).await;
            }));
        } else {
            session.end(&*clock).await;
        }
    }

    /// Requests the end without waiting for it.
    pub(super) fn let_go(&self) {
        self.0.released.cancel();
    }

    /// Requests the end and waits for it.
    pub(super) async fn release(&self) {
        self.let_go();
        self.0.ended.cancelled().await;
    }

    async fn end(&self, clock: &dyn Clock) {
        let parts = std::mem::take(&mut *self.0.parts.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(monitor) = parts.monitor {
            monitor.close();
            monitor.drop_functions();
        }
        if let Some(refreshing) = parts.refreshing {
            refreshing.stop().await;
        }
        if let Some(mut program) = parts.program {
            tokio::select! {
                biased;
                // Its run has already been reported.
                _ = &mut program => {}
                () = clock.wait(SHUTDOWN_GRACE) => program.abort(),
            }
        }
        let packs = async {
            if let Some(policies) = parts.policies {
                policies.close().await;
            }
        };
        let providers = async {
            if let Some(registry) = parts.registry {
                registry.close().await;
            }
        };
        tokio::join!(packs, providers);
        drop(parts.plugins);
        self.0.ended.cancel();
    }
}

/// Releases the session with the last handle of the operation.
pub(crate) struct SessionLease(pub(super) Session);

impl SessionLease {
    /// Creates the lease of a session.
    pub(crate) fn new(session: Session) -> Arc<Self> {
        Arc::new(Self(session))
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        self.0.let_go();
    }
}
