//! A table of functions as a provider of the engine.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use stackwright::{
    property::json::to_vec,
    provider::{Capabilities, ProviderError, ProviderResult, ProviderStatus},
};
use tokio::sync::oneshot;

use super::{
    Answer, Question, SW_PROVIDER_PROMPT, SW_PROVIDER_VERSION, failure::Failed, question::Function,
    sw_notice_t, sw_provider_t,
};
use crate::{
    failure::{Failure, Outcome},
    foreign::{Inside, Place, UserData},
    guard::sized,
    runtime::Shared,
};

/// A table of functions as a provider of the engine.
pub(crate) struct Table {
    pub(super) functions: sw_provider_t,
    data: Arc<UserData>,
    shared: Arc<Shared>,
    /// What the handshake said.
    pub(super) understands: OnceLock<Capabilities>,
}

// SAFETY: the functions may be called from any thread, as the header says; the pointer in the table is never read,
// `data` holds it.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

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
        if functions.create.is_none() {
            return bad("lacks create");
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

    /// Calls one of the table's functions.
    pub(super) async fn ask<T: DeserializeOwned + Default>(
        &self,
        name: &str,
        function: Function,
        request: impl Serialize,
    ) -> ProviderResult<T> {
        let request = to_vec(&request)
            .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.to_string()))?;
        let question = Question {
            function,
            give_up: self.functions.give_up,
            data: Arc::clone(&self.data),
            prompt: self.is_prompt(),
        };
        match question.ask(&self.shared, request).await {
            Some(Answer::Done(response)) => read_answer(name, &response),
            Some(Answer::Failed(status, message)) => {
                Err(ProviderError::new(ProviderStatus::from_code(status), message))
            }
            Some(Answer::FailedWith(failure)) => {
                let failed: serde_json::Result<Failed> = serde_json::from_slice(&failure);
                Err(match failed {
                    Ok(failed) => failed.into(),
                    Err(error) => {
                        let made: Option<UnreadFailure> = serde_json::from_slice(&failure).ok();
                        let id = made
                            .and_then(|made| Some(made.init_failure?.id))
                            .unwrap_or_default();
                        ProviderError::unreadable(id, unreadable(name, "a failure", &error))
                    }
                })
            }
            None => Err(ProviderError::without_answer(
                ProviderStatus::Internal,
                format!("the provider gave {name} no answer"),
            )),
        }
    }

    /// Tells the host something, and waits until its function has returned.
    pub(super) async fn tell(&self, notice: sw_notice_t) {
        let Some(notice) = notice else { return };
        let (data, shared) = (Arc::clone(&self.data), Arc::clone(&self.shared));
        let call = move |place| {
            let _pass = shared.gate.enter();
            let data = data;
            let _inside = Inside::enter(place);
            // SAFETY: the host gave the function for this pointer.
            unsafe { notice(data.pointer()) };
        };
        if self.is_prompt() {
            return call(Place::Callback);
        }
        let (returned, has_returned) = oneshot::channel::<()>();
        let told = self.shared.threads.run(move || {
            call(Place::OwnThread);
            drop(returned);
        });
        // Without a thread there is nothing to wait for, and nobody who could be told.
        if told.is_ok() {
            drop(has_returned.await);
        }
    }

    fn is_prompt(&self) -> bool {
        self.functions.flags & SW_PROVIDER_PROMPT != 0
    }
}

/// What is looked for in the answer to Create, and in what it says of a failed initialization, when the rest cannot be read.
#[derive(Default, Deserialize)]
struct Made {
    #[serde(default)]
    id: String,
}

/// A failure that cannot be read as a whole.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UnreadFailure {
    init_failure: Option<Made>,
}

/// Reads an answer; what was made keeps its id, although the rest cannot be read.
fn read_answer<T: DeserializeOwned + Default>(name: &str, json: &[u8]) -> ProviderResult<T> {
    if json.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(json).map_err(|error| {
        let made: Made = match name {
            "create" => serde_json::from_slice(json).unwrap_or_default(),
            _ => Made::default(),
        };
        ProviderError::unreadable(made.id, unreadable(name, "an answer", &error))
    })
}

fn unreadable(name: &str, what: &str, error: &serde_json::Error) -> String {
    format!("the provider gave {name} {what} that cannot be read: {error}")
}
