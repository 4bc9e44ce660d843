//! Providers written in C: a table of functions that becomes a provider of the engine.

mod calls;
pub mod completion;
mod document;
#[cfg(test)]
mod tests;

use std::{
    ffi::c_void,
    sync::{Arc, OnceLock},
};

use serde::{Serialize, de::DeserializeOwned};
use stackwright::provider::{Capabilities, ProviderError, ProviderResult, ProviderStatus};

use crate::{
    bytes::sw_bytes_view_t,
    callback::{lent, terminated},
    foreign::{Inside, Place, UserData, sw_free_t},
    guard::{Failure, Outcome, sized},
    runtime::Shared,
};

pub(crate) use completion::{Answer, sw_completion_t};

/// The version of `sw_provider_t` that this header describes.
pub const SW_PROVIDER_VERSION: u32 = 1;

/// The functions of the table return soon, so they are called right on the runtime's threads: the fastest way. A
/// function that waits for anything must not be declared so.
pub const SW_PROVIDER_PROMPT: u32 = 1;

/// One call of a provider, or another question to the host. `request` is JSON, followed by a NUL, and lent for the
/// length of the call; the completion is the function's to answer, now or later.
pub type sw_call_t = Option<
    unsafe extern "C" fn(user_data: *mut c_void, request: sw_bytes_view_t, completion: *mut sw_completion_t),
>;

/// Tells the host something that needs no answer.
pub type sw_notice_t = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Tells the host that nobody waits any more for the answer to the call with this number (`sw_completion_id`).
pub type sw_give_up_t = Option<unsafe extern "C" fn(user_data: *mut c_void, call: u64)>;

/// A provider of one package, as a table of functions. The table is copied; `user_data` is passed to each function.
///
/// ITS FUNCTIONS ARE CALLED CONCURRENTLY, many at a time and from any thread. Each that is null does what the
/// comment beside it says. All values have the plain JSON form: secrets are
/// `{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": …}`, and during previews an
/// unknown value is the text `04da6b54-80e4-46f7-96ec-b56ff0331ba9`.
///
/// Without `SW_PROVIDER_PROMPT` in `flags`, each call has a thread of its own and may take its time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_provider_t {
    /// `sizeof(sw_provider_t)`.
    pub struct_size: usize,
    /// `SW_PROVIDER_VERSION`.
    pub version: u32,
    /// 0 or `SW_PROVIDER_PROMPT`.
    pub flags: u32,
    /// Passed to each function.
    pub user_data: *mut c_void,
    /// Frees `user_data` when no function will be called any more; may be null.
    pub free: sw_free_t,
    /// Says what the provider understands: `{}` → `{"acceptSecrets": true, "acceptResources": true, "acceptOutputs":
    /// true, "supportsPreview": true, "supportsAutonaming": false, "acceptByteStrings": true}`, which is also what
    /// null and left-out fields mean.
    pub handshake: sw_call_t,
    /// Facts of the provider: `{}` → `{"version": "1.2.3"}`. Null: it has no version.
    pub plugin_info: sw_call_t,
    /// Checks the provider's own configuration, as `check` does. Null: takes it as it is.
    pub check_config: sw_call_t,
    /// Compares two configurations, as `diff` does. Null: nothing to say.
    pub diff_config: sw_call_t,
    /// Takes the configuration: `{"urn", "name", "id", "inputs"}` → what `handshake` answers. Null: needs none.
    pub configure: sw_call_t,
    /// Checks and completes inputs: `{"urn", "type", "name", "olds", "news", "randomSeed", "preview"}` →
    /// `{"inputs": {…}, "failures": [{"property", "reason"}]}`. Null: takes them as they are.
    pub check: sw_call_t,
    /// Compares: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges", "preview"}` →
    /// `{"changes": "none"|"some"|"unknown", "replaces": ["path"], "stables": [], "diffs": [], "detailedDiff":
    /// {"path": {"kind": "update-replace", "inputDiff": false}}, "deleteBeforeReplace": false}`. Null: the engine
    /// compares the inputs itself.
    pub diff: sw_call_t,
    /// Makes a resource: `{"urn", "type", "name", "inputs", "timeout", "preview"}` → `{"id", "outputs"}`. Required.
    pub create: sw_call_t,
    /// Reads a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "preview"}` → `{"id",
    /// "inputs", "outputs"}`; an empty answer says that it does not exist. Null: it is as it was recorded.
    pub read: sw_call_t,
    /// Changes a resource: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges",
    /// "timeout", "preview"}` → `{"outputs"}`. Null: it can not be changed in place.
    pub update: sw_call_t,
    /// Removes a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout"}` → `{}`. Required.
    pub delete_: sw_call_t,
    /// Calls a function of the package: `{"token", "arguments", "preview"}` → `{"result": {…}, "failures": []}`.
    /// Null: there is none.
    pub invoke: sw_call_t,
    /// Nobody waits any more for one call; its completion must still be handed back. May be null.
    pub give_up: sw_give_up_t,
    /// Running calls should fail soon. May be null.
    pub cancel: sw_notice_t,
    /// No call follows. May be null.
    pub close: sw_notice_t,
}

/// A table of functions as a provider of the engine.
pub(crate) struct Table {
    functions: sw_provider_t,
    data: Arc<UserData>,
    shared: Arc<Shared>,
    /// What the handshake said.
    understands: OnceLock<Capabilities>,
}

// SAFETY: the functions may be called from any thread, as the header says; the pointer in the table is never read,
// `data` holds it.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

type Function = unsafe extern "C" fn(*mut c_void, sw_bytes_view_t, *mut sw_completion_t);

/// A function of the host that is to be asked something.
pub(crate) struct Question {
    pub(crate) function: Function,
    pub(crate) give_up: sw_give_up_t,
    pub(crate) data: Arc<UserData>,
    /// Whether the function may be called on a thread that others wait for.
    pub(crate) prompt: bool,
}

impl Question {
    /// Asks, and waits for the answer; `None` when the host freed the completion.
    pub(crate) async fn ask(self, shared: &Arc<Shared>, request: Vec<u8>) -> Option<Answer> {
        let (completion, receiver) = sw_completion_t::new();
        let mut waiting = Waiting {
            give_up: self.give_up,
            data: Arc::clone(&self.data),
            call: completion.id(),
            shared: Arc::clone(shared),
            answered: false,
        };
        if self.prompt {
            self.call(shared, request, completion, Place::Callback);
        } else {
            let on_thread = Arc::clone(shared);
            // Not awaited: the answer is what counts, and it may come before or after the function returns.
            drop(shared.handle.spawn_blocking(move || {
                if !completion.is_given_up() {
                    self.call(&on_thread, request, completion, Place::OwnThread);
                }
            }));
        }
        let answer = receiver.await;
        waiting.answered = true;
        answer.ok()
    }

    fn call(self, shared: &Shared, request: Vec<u8>, completion: Box<sw_completion_t>, place: Place) {
        let _pass = shared.gate.enter();
        let _inside = Inside::enter(place);
        let request = terminated(request);
        // SAFETY: the host gave the function for this pointer; the request lives until it returns.
        unsafe { (self.function)(self.data.pointer(), lent(&request), Box::into_raw(completion)) };
    }
}

/// Tells the host that a call was given up, when it is dropped before the answer came.
struct Waiting {
    give_up: sw_give_up_t,
    data: Arc<UserData>,
    call: u64,
    shared: Arc<Shared>,
    answered: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let (false, Some(give_up)) = (self.answered, self.give_up) {
            let _pass = self.shared.gate.enter();
            let _inside = Inside::enter(Place::Callback);
            // SAFETY: the host gave the function for this pointer.
            unsafe { give_up(self.data.pointer(), self.call) };
        }
    }
}

impl Table {
    /// Takes a table of the host's; `package` names it in failures.
    ///
    /// # Safety
    /// `table` must be null or readable for its `struct_size`.
    pub(crate) unsafe fn new(
        table: *const sw_provider_t,
        package: &str,
        shared: Arc<Shared>,
    ) -> Outcome<Self> {
        // SAFETY: null or readable by this function's contract.
        let functions = unsafe { sized(table, &format!("the table of provider {package:?}")) }?;
        let Some(functions) = functions else {
            return Err(Failure::misuse(format!(
                "the table of provider {package:?} is null"
            )));
        };
        let bad = |what: &str| {
            Err(Failure::misuse(format!(
                "the table of provider {package:?} {what}"
            )))
        };
        if functions.version != SW_PROVIDER_VERSION {
            return bad("has a version that this library does not know");
        }
        if functions.flags & !SW_PROVIDER_PROMPT != 0 {
            return bad("has flags that this library does not know");
        }
        if functions.create.is_none() || functions.delete_.is_none() {
            return bad("lacks create or delete_");
        }
        Ok(Self {
            data: Arc::new(UserData::new(functions.user_data, functions.free)),
            functions,
            shared,
            understands: OnceLock::new(),
        })
    }

    /// Takes `user_data` over; before, it stays the host's.
    pub(crate) fn adopt(&self) {
        self.data.adopt();
    }

    /// Calls one of the table's functions; `None` when the table lacks it.
    async fn call<T: DeserializeOwned + Default>(
        &self,
        name: &str,
        function: sw_call_t,
        request: impl Serialize,
    ) -> ProviderResult<T> {
        let Some(function) = function else {
            return Err(ProviderError::unimplemented(format!(
                "the provider has no {name}"
            )));
        };
        let request = stackwright::property::json::to_vec(&request)
            .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.to_string()))?;
        let question = Question {
            function,
            give_up: self.functions.give_up,
            data: Arc::clone(&self.data),
            prompt: self.functions.flags & SW_PROVIDER_PROMPT != 0,
        };
        match question.ask(&self.shared, request).await {
            Some(Answer::Done(response)) => read_answer(name, "an answer", &response),
            Some(Answer::Failed(status, message)) => {
                Err(ProviderError::new(ProviderStatus::from_code(status), message))
            }
            Some(Answer::FailedWith(failure)) => {
                let failed: document::Failed = from_json(name, "a failure", &failure)?;
                Err(failed.into())
            }
            None => Err(ProviderError::new(
                ProviderStatus::Internal,
                format!("the provider gave {name} no answer"),
            )),
        }
    }

    fn tell(&self, notice: sw_notice_t) {
        if let Some(notice) = notice {
            let _pass = self.shared.gate.enter();
            let _inside = Inside::enter(Place::Callback);
            // SAFETY: the host gave the function for this pointer.
            unsafe { notice(self.data.pointer()) };
        }
    }
}

fn read_answer<T: DeserializeOwned + Default>(name: &str, what: &str, json: &[u8]) -> ProviderResult<T> {
    if json.is_empty() {
        return Ok(T::default());
    }
    from_json(name, what, json)
}

/// Reads what the host sent. A thing that was made but can not be told of leaves its state unknown, hence the status.
fn from_json<T: DeserializeOwned>(name: &str, what: &str, json: &[u8]) -> ProviderResult<T> {
    serde_json::from_slice(json).map_err(|error| {
        ProviderError::new(
            ProviderStatus::Internal,
            format!("the provider gave {name} {what} that cannot be read: {error}"),
        )
    })
}
