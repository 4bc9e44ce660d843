//! The installed plugins of an engine.

use std::{
    ffi::c_void,
    sync::{Arc, Mutex, PoisonError},
};

use stackwright::{
    Language,
    binding::{self, ProgressTextSink},
};

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    engine::sw_engine_t,
    error::sw_error_t,
    foreign::{Inside, Place, Pointer},
    guard::{Slot, guard, live},
    status::sw_status_t,
};

/// Receives the progress of an installation (JSON), which is borrowed for the duration of the call.
pub type sw_plugin_progress_t =
    Option<unsafe extern "C" fn(user_data: *mut c_void, progress: sw_bytes_view_t)>;

/// The host's pointer while its function may be called: dropping this waits for a running call, and ends them.
struct Reports(Arc<Mutex<Option<Pointer>>>);

impl Drop for Reports {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Lists, installs or removes plugins in the engine's folder of installed plugins (`cache` of its plugins), and gives an answer (JSON).
///
/// `request` is a JSON object with one of these members: `{"install": {"name": "files", "version": "1.0.0", "file": "files.tar.gz"}}`.
///
/// @members PluginRequest
///
/// Those of `list` and `remove`, each of which is answered by an array of plugins:
///
/// @members PluginSelection
///
/// Those of `install`, which is answered by the plugin:
///
/// @members PluginInstallation
///
/// Those of a plugin:
///
/// @members InstalledPlugin
///
/// `progress` may be null. It is called with `user_data` during this call, on any thread, one call at a time; it returns soon and calls
/// no function of the library that blocks. The members of its argument:
///
/// @members PluginProgress
///
/// Several processes can install the same plugin at a time: one does, and the others wait for it. A plugin that is installed stays,
/// unless `reinstall` is true. A download is tried five times. Errors: `INVALID_INPUT` for a request that is none; `NOT_FOUND` for a
/// file that does not exist; `UNAVAILABLE` when a download fails; `PLUGIN` for an archive that is damaged, too large, of another checksum or
/// without the plugin. After an error, nothing is installed, and what was installed stays.
///
/// # Safety
/// `engine` must be null or alive, `request` readable, `answer` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_plugins(
    engine: *const sw_engine_t,
    request: sw_bytes_view_t,
    progress: sw_plugin_progress_t,
    user_data: *mut c_void,
    answer: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(answer, "answer") }?;
        // SAFETY: null or alive by this function's contract.
        let parts = Arc::clone(&unsafe { live(engine, "the engine") }?.parts);
        // SAFETY: readable by this function's contract.
        let request = unsafe { request.bytes("the request") }?;
        let reports = Reports(Arc::new(Mutex::new(Some(Pointer(user_data)))));
        let sink = progress.map(|function| -> ProgressTextSink {
            let user_data = Arc::clone(&reports.0);
            Arc::new(move |text| {
                let user_data = user_data.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(user_data) = &*user_data else { return };
                let _inside = Inside::enter(Place::Callback);
                // SAFETY: the host supplied the function for this pointer, and the text lives during the call.
                unsafe { function(user_data.0, sw_bytes_view_t::new(text.as_bytes())) };
            })
        });
        let answering = async {
            let answered = binding::plugins(
                &parts.engine,
                request,
                Language::C,
                "a request about plugins",
                sink,
            );
            Ok(answered.await?)
        };
        let answered = parts.shared.block_on(answering);
        // An installation that the end of the runtime has cut off may still run.
        drop(reports);
        let content = answered?;
        place.fill(sw_bytes_t::boxed(content));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
