//! Stores of the host: a table of functions as the objects in which an engine keeps states.

use std::{ffi::c_void, sync::Arc};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind,
    binding::{ObjectAnswer, ObjectCall, ObjectHost},
    store::Condition,
};

use crate::{
    bytes::sw_bytes_view_t,
    callback::{lent, terminated},
    failure::{Failure, Outcome},
    foreign::{UserData, sw_free_t},
    function::is_prompt,
    guard::{VersionedStruct, sized},
    provider::{
        Answer, HostFunction, PendingCall, completion::sw_provider_status_t, sw_call_t, sw_completion_t,
        sw_give_up_t, text_answer,
    },
    runtime::Shared,
};

/// The version of `sw_store_t` that this header describes.
pub const SW_STORE_VERSION: u32 = 1;

/// The condition of a write to a store of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_condition_t {
    /// None.
    SW_CONDITION_ANY = 0,
    /// There is no object.
    SW_CONDITION_ABSENT = 1,
    /// The object has the version that is passed.
    SW_CONDITION_MATCH = 2,
}

/// Replaces an object as a whole if the condition holds, both as one step, whichever other host writes at the same time; completes
/// with the new version (a text, no JSON). When the condition does not hold, it changes nothing and fails with
/// `SW_PROVIDER_STATUS_FAILED_PRECONDITION`. `version` is empty unless the condition is `SW_CONDITION_MATCH`. A NUL follows `key`,
/// `content` and `version`, which are borrowed for the duration of the call.
pub type sw_store_put_t = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        key: sw_bytes_view_t,
        content: sw_bytes_view_t,
        condition: sw_condition_t,
        version: sw_bytes_view_t,
        completion: *mut sw_completion_t,
    ),
>;

/// Copies the content of `source` to `target`, which is replaced, and completes with an empty response; fails with
/// `SW_PROVIDER_STATUS_NOT_FOUND` when there is no `source`. A NUL follows both keys, which are borrowed for the duration of the call.
pub type sw_store_copy_t = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        source: sw_bytes_view_t,
        target: sw_bytes_view_t,
        completion: *mut sw_completion_t,
    ),
>;

/// A store of the host: named objects with conditional writes, in which an engine keeps the states of its stacks, their journals and
/// their leases. Several hosts can use the objects at once. The table is copied.
///
/// ITS FUNCTIONS ARE CALLED CONCURRENTLY, from any thread. Each call is completed exactly once, before or after the function returns
/// and from any thread. Without `SW_FUNCTION_PROMPT` in `flags`, each call has a thread of its own and may block. A write is durable
/// when it is completed, and what was written is read from then on. Keys are texts of segments with `/` between them.
///
/// A call that fails with another status than its function names is an error `SW_STATUS_UNAVAILABLE` that names the function and the
/// key, as is one that is not completed within two minutes, which is cancelled. A write that failed may have been done. The completion
/// of a cancelled call must still be completed or freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_store_t {
    /// `sizeof(sw_store_t)`.
    pub struct_size: usize,
    /// `SW_STORE_VERSION`.
    pub version: u32,
    /// 0 or `SW_FUNCTION_PROMPT`.
    pub flags: u32,
    /// Passed to each function.
    pub user_data: *mut c_void,
    /// Frees `user_data` after the last call of a function; may be null. It must return soon.
    pub free: sw_free_t,
    /// Called once when a call is cancelled; may be null. It must return soon.
    pub give_up: sw_give_up_t,
    /// Reads the object whose key is the request, which is no JSON: completes with `sw_completion_succeed_with_version`, or with
    /// `sw_completion_succeed` and an empty response when there is no object. Required.
    pub get: sw_call_t,
    /// Replaces an object. Required.
    pub put: sw_store_put_t,
    /// Lists the objects whose keys start with the request, which is no JSON, in any order: `[{"key": "…", "size": 1, "modified":
    /// "2026-01-02T03:04:05Z"}]`, the time being that of the last write. Required.
    pub list: sw_call_t,
    /// Removes the object whose key is the request, which is no JSON; does nothing when there is none. Completes with an empty
    /// response. Required.
    pub delete_: sw_call_t,
    /// Copies an object. Null: objects are read and written.
    pub copy: sw_store_copy_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_store_t {
    const MIN_STRUCT_SIZE: usize = std::mem::offset_of!(Self, copy);
}

/// The host's store.
pub(crate) struct CStore {
    functions: sw_store_t,
    prompt: bool,
    data: Arc<UserData>,
    shared: Arc<Shared>,
}

// SAFETY: the header states that functions are called from any thread; the pointer in the table is never dereferenced,
// `data` owns it.
unsafe impl Send for CStore {}
// SAFETY: as above.
unsafe impl Sync for CStore {}

impl CStore {
    /// Reads a table of the host; `None` for null.
    ///
    /// # Safety
    /// `table` must be null or readable for its `struct_size`.
    pub(crate) unsafe fn new(table: *const sw_store_t, shared: &Arc<Shared>) -> Outcome<Option<Arc<Self>>> {
        // SAFETY: null or readable by this function's contract.
        let Some(functions) = unsafe { sized(table, "the table of the store") }? else {
            return Ok(None);
        };
        if functions.version != SW_STORE_VERSION {
            return Err(Failure::misuse("the table of the store has an unknown version"));
        }
        let required = [
            ("get", functions.get.is_some()),
            ("put", functions.put.is_some()),
            ("list", functions.list.is_some()),
            ("delete_", functions.delete_.is_some()),
        ];
        if let Some((name, _)) = required.iter().find(|(_, is_there)| !is_there) {
            return Err(Failure::misuse(format!(
                "the table of the store has no function {name}"
            )));
        }
        Ok(Some(Arc::new(Self {
            prompt: is_prompt(functions.flags, "store")?,
            data: Arc::new(UserData::new(functions.user_data, functions.free)),
            functions,
            shared: Arc::clone(shared),
        })))
    }

    /// Takes ownership of `user_data`, which the host has until then.
    pub(crate) fn adopt(&self) {
        self.data.adopt();
    }

    /// Calls a function of the table.
    async fn answer(&self, function: Option<HostFunction>, request: Vec<u8>) -> Option<Answer> {
        let call = PendingCall {
            function: function?,
            give_up: self.functions.give_up,
            data: Arc::clone(&self.data),
            prompt: self.prompt,
        };
        call.answer(&self.shared, request).await
    }
}

/// Returns the condition as the table gets it, and its version.
fn parts(condition: &Condition) -> (sw_condition_t, &str) {
    match condition {
        Condition::Any => (sw_condition_t::SW_CONDITION_ANY, ""),
        Condition::Absent => (sw_condition_t::SW_CONDITION_ABSENT, ""),
        Condition::Match(version) => (sw_condition_t::SW_CONDITION_MATCH, version),
    }
}

/// Returns the kind of a failure.
fn kind_of(status: i32) -> ErrorKind {
    use sw_provider_status_t as Status;
    match status {
        code if code == Status::SW_PROVIDER_STATUS_FAILED_PRECONDITION as i32 => ErrorKind::Conflict,
        code if code == Status::SW_PROVIDER_STATUS_NOT_FOUND as i32 => ErrorKind::NotFound,
        code if code == Status::SW_PROVIDER_STATUS_INVALID_ARGUMENT as i32 => ErrorKind::InvalidInput,
        _ => ErrorKind::Unavailable,
    }
}

fn text(bytes: Vec<u8>, what: &str) -> stackwright::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("it returned {what} that is not valid UTF-8")))
}

#[async_trait]
impl ObjectHost for CStore {
    async fn call(&self, call: ObjectCall) -> stackwright::Result<ObjectAnswer> {
        let (method, table) = (call.method(), &self.functions);
        let plain = |function: sw_call_t| function.map(HostFunction::Plain);
        let with_nul = |text: &str| terminated(text.as_bytes().to_vec());
        let (function, request) = match call {
            ObjectCall::Get { key } => (plain(table.get), key.into_bytes()),
            ObjectCall::List { prefix } => (plain(table.list), prefix.into_bytes()),
            ObjectCall::Delete { key } => (plain(table.delete_), key.into_bytes()),
            ObjectCall::Put {
                key,
                content,
                condition,
            } => {
                let (condition, version) = parts(&condition);
                let (key, version) = (with_nul(&key), with_nul(version));
                let put = table.put.map(|put| -> HostFunction {
                    HostFunction::Closure(Arc::new(move |user_data, content, completion| {
                        let (key, version) = (lent(&key), lent(&version));
                        // SAFETY: the host supplied the function for this pointer; all texts are alive until it returns.
                        unsafe { put(user_data, key, content, condition, version, completion) };
                    }))
                });
                (put, content.to_vec())
            }
            ObjectCall::Copy { from, to } => {
                let target = with_nul(&to);
                let copy = table.copy.map(|copy| -> HostFunction {
                    HostFunction::Closure(Arc::new(move |user_data, source, completion| {
                        // SAFETY: the host supplied the function for this pointer; both keys are alive until it returns.
                        unsafe { copy(user_data, source, lent(&target), completion) };
                    }))
                });
                (copy, from.into_bytes())
            }
        };
        let response = match self.answer(function, request).await {
            Some(Answer::Object(content, version)) if method == "get" => {
                return Ok(ObjectAnswer {
                    content: Some(content.into()),
                    version: Some(text(version, "a version")?),
                    ..ObjectAnswer::default()
                });
            }
            Some(Answer::Failed(status, message)) => return Err(Error::new(kind_of(status), message)),
            answer => text_answer(answer, ErrorKind::Unavailable, method)?,
        };
        match method {
            "get" if !response.is_empty() => {
                let wanted = "a content without a version; sw_completion_succeed_with_version has both";
                Err(Error::invalid(format!("it returned {wanted}")))
            }
            "put" => Ok(ObjectAnswer {
                version: Some(text(response, "a version")?),
                ..ObjectAnswer::default()
            }),
            "list" => Ok(ObjectAnswer {
                listing: Some(response),
                ..ObjectAnswer::default()
            }),
            _ => Ok(ObjectAnswer::default()),
        }
    }

    fn has_copy(&self) -> bool {
        self.functions.copy.is_some()
    }
}
