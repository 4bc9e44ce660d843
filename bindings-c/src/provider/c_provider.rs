//! A table of functions as a provider of the engine.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use stackwright::{
    property::json::to_vec,
    provider::{Capabilities, ProviderError, ProviderResult, ProviderStatus},
};
use tokio::sync::oneshot;

use super::{
    Answer, HostFunction, PendingCall, SW_PROVIDER_PROMPT, SW_PROVIDER_VERSION, failure::FailureDocument,
    pending_call::Function, sw_notice_t, sw_provider_t,
};
use crate::{
    failure::{Failure, Outcome},
    foreign::{Inside, Place, UserData},
    guard::sized,
    runtime::Shared,
};

/// A table of functions as a provider of the engine.
pub(crate) struct CProvider {
    pub(super) functions: sw_provider_t,
    data: Arc<UserData>,
    pub(super) shared: Arc<Shared>,
    /// The capabilities in the handshake's response.
    pub(super) capabilities: OnceLock<Capabilities>,
}

// SAFETY: the header states that functions are called from any thread; the pointer in the table is never dereferenced,
// `data` owns it.
unsafe impl Send for CProvider {}
// SAFETY: as above.
unsafe impl Sync for CProvider {}

impl CProvider {
    /// Reads a table of the host; `package` names it in failures.
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
            return bad("has an unknown version");
        }
        if functions.flags & !SW_PROVIDER_PROMPT != 0 {
            return bad("has unknown flags");
        }
        if functions.create.is_none() {
            return bad("has no create function");
        }
        Ok(Self {
            data: Arc::new(UserData::new(functions.user_data, functions.free)),
            functions,
            shared,
            capabilities: OnceLock::new(),
        })
    }

    /// Takes ownership of `user_data`, which the host has until then.
    pub(crate) fn adopt(&self) {
        self.data.adopt();
    }

    /// Calls a function of the table and parses its response.
    pub(super) async fn ask<T: DeserializeOwned + Default>(
        &self,
        name: &str,
        function: Function,
        request: impl Serialize,
    ) -> ProviderResult<T> {
        let answer = self.answer(HostFunction::Plain(function), request).await?;
        parse_answer(name, answer)
    }

    /// Calls a function and returns its answer; `None` when the host freed the completion.
    pub(super) async fn answer(
        &self,
        function: HostFunction,
        request: impl Serialize,
    ) -> ProviderResult<Option<Answer>> {
        let request = to_vec(&request)
            .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.to_string()))?;
        let call = PendingCall {
            function,
            give_up: self.functions.give_up,
            data: Arc::clone(&self.data),
            prompt: self.is_prompt(),
        };
        Ok(call.answer(&self.shared, request).await)
    }

    /// Calls a function without a response, and waits until it has returned. Null is ignored.
    pub(super) async fn notify(&self, notice: sw_notice_t) {
        let Some(notice) = notice else { return };
        let (data, shared) = (Arc::clone(&self.data), Arc::clone(&self.shared));
        let call = move |place| {
            let _pass = shared.gate.enter();
            let data = data;
            let _inside = Inside::enter(place);
            // SAFETY: the host supplied the function for this pointer.
            unsafe { notice(data.pointer()) };
        };
        if self.is_prompt() {
            return call(Place::Callback);
        }
        let (returned, has_returned) = oneshot::channel::<()>();
        let started = self.shared.threads.run(move || {
            call(Place::OwnThread);
            drop(returned);
        });
        // Without a thread the function is not called, and the notification has no error to report.
        if started.is_ok() {
            drop(has_returned.await);
        }
    }

    fn is_prompt(&self) -> bool {
        self.functions.flags & SW_PROVIDER_PROMPT != 0
    }
}

/// Parses the answer of a function.
pub(super) fn parse_answer<T: DeserializeOwned + Default>(
    name: &str,
    answer: Option<Answer>,
) -> ProviderResult<T> {
    match answer {
        Some(Answer::Done(response)) => parse_response(name, &response),
        Some(Answer::Failed(status, message)) => {
            Err(ProviderError::new(ProviderStatus::from_code(status), message))
        }
        Some(Answer::FailedWith(failure)) => {
            let failed: serde_json::Result<FailureDocument> = serde_json::from_slice(&failure);
            Err(match failed {
                Ok(failed) => failed.into(),
                Err(error) => {
                    let partial: Option<PartialFailure> = serde_json::from_slice(&failure).ok();
                    let id = partial
                        .and_then(|partial| Some(partial.init_failure?.id))
                        .unwrap_or_default();
                    ProviderError::unreadable(id, malformed(name, "failure", &error))
                }
            })
        }
        Some(Answer::Object(..)) => Err(ProviderError::unreadable(
            String::new(),
            format!("malformed {name} response: a content with a version"),
        )),
        None => Err(ProviderError::without_answer(
            ProviderStatus::Internal,
            format!("the provider freed the completion of {name} without a response"),
        )),
    }
}

/// The id in a malformed response of Create, or in its malformed initialization failure.
#[derive(Default, Deserialize)]
struct PartialResponse {
    #[serde(default)]
    id: String,
}

/// A malformed failure, of which only the id is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialFailure {
    init_failure: Option<PartialResponse>,
}

/// Parses a response. The error of a malformed Create response contains the id of the created resource.
fn parse_response<T: DeserializeOwned + Default>(name: &str, json: &[u8]) -> ProviderResult<T> {
    if json.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(json).map_err(|error| {
        let partial: PartialResponse = match name {
            "create" => serde_json::from_slice(json).unwrap_or_default(),
            _ => PartialResponse::default(),
        };
        ProviderError::unreadable(partial.id, malformed(name, "response", &error))
    })
}

fn malformed(name: &str, what: &str, error: &serde_json::Error) -> String {
    format!("malformed {name} {what} from the provider: {error}")
}
