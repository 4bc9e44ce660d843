//! The engine's log records, which JavaScript takes when it is woken.

use std::sync::{Arc, LazyLock};

use napi::{
    Env, Result, Status,
    bindgen_prelude::{Function, Unknown, within_runtime_if_available},
    threadsafe_function::ThreadsafeFunctionCallMode,
};
use napi_derive::napi;
use stackwright::{
    binding,
    telemetry::{LogHub, LogReceiver},
};
use tokio::runtime::Handle;

use crate::errors;

/// What the engines of this process trace. It costs nothing without a receiver.
static HUB: LazyLock<LogHub> = LazyLock::new(|| {
    let hub = LogHub::default();
    hub.install();
    hub
});

/// Makes the log know the secrets of the operations that begin from now on.
pub(crate) fn install() {
    LazyLock::force(&HUB);
}

/// Receives log records.
#[napi]
pub struct LogRecords {
    receiver: Arc<LogReceiver>,
}

#[napi]
impl LogRecords {
    /// Begins to receive records up to a level, and keeps `capacity` of them until they are taken. `wake` is called when records wait;
    /// it does not keep Node alive.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        level: String,
        capacity: u32,
        wake: Function<'_, (), Unknown<'static>>,
    ) -> Result<Self> {
        let level = binding::log_level(&level).map_err(|error| errors::to_napi(&error))?;
        let wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        let receiver = Arc::new(HUB.listen(level, capacity as usize));
        env.add_env_cleanup_hook(Arc::downgrade(&receiver), |receiver| {
            if let Some(receiver) = receiver.upgrade() {
                receiver.close();
            }
        })?;
        let made = Arc::clone(&receiver);
        drop(within_runtime_if_available(Handle::current).spawn(async move {
            while made.made().await {
                if wake.call((), ThreadsafeFunctionCallMode::NonBlocking) != Status::Ok {
                    made.close();
                }
            }
        }));
        Ok(Self { receiver })
    }

    /// Takes the records that wait, as JSON.
    #[napi(catch_unwind)]
    pub fn take(&self) -> String {
        binding::log_document(&self.receiver.take())
    }

    /// Ends the records; those that were made before can still be taken.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.receiver.close();
    }
}
