//! Providers that are JavaScript objects: calls and answers go over the bridge in batches.

mod answer;
mod bodies;
mod functions;
mod package;
mod request;
mod views;

use std::sync::Arc;

use async_trait::async_trait;
use napi_derive::napi;
use stackwright::{
    Error, ErrorKind,
    property::PropertyMap,
    provider::{
        Call, Capabilities, ProviderBackend, ProviderError, ProviderResult, ProviderStatus, Reply,
        Resolution, ResolutionRequest, Resolver, Views,
    },
};
use tokio::sync::oneshot;

pub(crate) use answer::Answered;
pub(crate) use functions::{FunctionCall, FunctionResult};
use request::method_of;
pub(crate) use request::{PolicyCall, Request};

use crate::{
    bridge::{Message, PendingCall, Shared},
    convert::{Js, Reader},
};

/// The methods that an object may have: their names and bit numbers, which the package shares.
pub(crate) mod method {
    pub(crate) const NAMES: [&str; 31] = [
        "checkConfig",
        "diffConfig",
        "configure",
        "check",
        "diff",
        "create",
        "read",
        "update",
        "delete",
        "invoke",
        "construct",
        "call",
        "cancel",
        "close",
        "getSchema",
        "getMapping",
        "getMappings",
        "resolve",
        "receive",
        "stackOutputs",
        "stackResourceOutputs",
        "encrypt",
        "decrypt",
        "fetch",
        "proposeName",
        "isInstalled",
        "latestVersion",
        "install",
        "checkPolicy",
        "callFunction",
        "supply",
    ];
    pub(crate) const CHECK_CONFIG: u32 = 0;
    pub(crate) const DIFF_CONFIG: u32 = 1;
    pub(crate) const CONFIGURE: u32 = 2;
    pub(crate) const CHECK: u32 = 3;
    pub(crate) const DIFF: u32 = 4;
    pub(crate) const CREATE: u32 = 5;
    pub(crate) const READ: u32 = 6;
    pub(crate) const UPDATE: u32 = 7;
    pub(crate) const DELETE: u32 = 8;
    pub(crate) const INVOKE: u32 = 9;
    pub(crate) const CONSTRUCT: u32 = 10;
    pub(crate) const CALL: u32 = 11;
    pub(crate) const CANCEL: u32 = 12;
    pub(crate) const CLOSE: u32 = 13;
    pub(crate) const GET_SCHEMA: u32 = 14;
    pub(crate) const GET_MAPPING: u32 = 15;
    pub(crate) const GET_MAPPINGS: u32 = 16;
    /// A method of resolvers; those below are methods of other components of the host.
    pub(crate) const RESOLVE: u32 = 17;
    pub(crate) const RECEIVE: u32 = 18;
    pub(crate) const STACK_OUTPUTS: u32 = 19;
    pub(crate) const STACK_RESOURCE_OUTPUTS: u32 = 20;
    pub(crate) const ENCRYPT: u32 = 21;
    pub(crate) const DECRYPT: u32 = 22;
    pub(crate) const FETCH: u32 = 23;
    pub(crate) const PROPOSE_NAME: u32 = 24;
    pub(crate) const IS_INSTALLED: u32 = 25;
    pub(crate) const LATEST_VERSION: u32 = 26;
    pub(crate) const INSTALL: u32 = 27;
    pub(crate) const CHECK_POLICY: u32 = 28;
    pub(crate) const CALL_FUNCTION: u32 = 29;
    /// A call of a store, or a request for credentials.
    pub(crate) const SUPPLY: u32 = 30;
    /// A number that no object has a method for.
    pub(crate) const NONE: u32 = 31;
}

/// The names of provider methods: a provider's `methods` has bit N set when it has the Nth.
#[napi(catch_unwind)]
#[must_use]
pub fn provider_methods() -> Vec<String> {
    method::NAMES.iter().map(|name| (*name).to_owned()).collect()
}

/// A provider object, by the package's number.
#[napi(object)]
pub struct ProviderEntry {
    /// The package.
    pub package: String,
    /// The package's number of the object.
    pub number: u32,
    /// The methods that the object has, as bits.
    pub methods: u32,
    /// Whether secrets stay wrapped.
    pub secrets: bool,
    /// Whether outputs keep their dependencies.
    pub outputs: bool,
    /// Whether it supports previews.
    pub preview: bool,
    /// Whether its calls may depend on later registrations.
    pub waits: bool,
}

/// Makes a provider from the package's description.
pub(crate) fn provider_of(shared: &Arc<Shared>, entry: ProviderEntry) -> JsProvider {
    let capabilities = Capabilities {
        accept_secrets: entry.secrets,
        accept_outputs: entry.outputs,
        supports_preview: entry.preview,
        waits_for_registrations: entry.waits,
        ..Capabilities::all()
    };
    JsProvider::new(Arc::clone(shared), entry.number, entry.methods, capabilities)
}

/// A provider whose methods run on the JavaScript thread.
pub(crate) struct JsProvider {
    shared: Arc<Shared>,
    /// The package's number of the object.
    number: u32,
    methods: u32,
    capabilities: Capabilities,
}

/// A call that JavaScript has not answered.
struct ObjectCall {
    method: u32,
    shared: Arc<Shared>,
    /// The fallback of absent answers: the inputs of the call.
    inputs: PropertyMap,
    /// Publishes the steps on views in the answer.
    views: Views,
    reply: oneshot::Sender<ProviderResult<Answered>>,
}

impl PendingCall for ObjectCall {
    fn answer(self: Box<Self>, reader: &Reader, succeeded: bool, value: Js) {
        let Self {
            method,
            shared,
            inputs,
            views,
            reply,
        } = *self;
        let result = if succeeded {
            let read = views::steps(reader, value).and_then(|steps| {
                views.publish_with_answer(steps);
                Answered::read(reader, &shared, method, value, inputs)
            });
            read.map_err(|error| {
                let message = format!("{} cannot be read: {}", answer_of(method), error.reason);
                let id = match method {
                    method::CREATE => answer::id(reader, value),
                    _ => String::new(),
                };
                ProviderError::unreadable(id, message)
            })
        } else {
            Err(answer::error(reader, value))
        };
        // The caller may have abandoned the call meanwhile.
        drop(reply.send(result));
    }
}

/// Names the answer to a method in errors.
fn answer_of(method: u32) -> String {
    let name = method::NAMES[method as usize];
    match method {
        // The error names the function or the policy.
        method::CALL_FUNCTION | method::CHECK_POLICY => "its result".to_owned(),
        _ if method < method::RESOLVE => format!("the provider's answer to {name}"),
        _ => format!("the host's answer to {name}"),
    }
}

/// Reports an abandoned call to JavaScript when it is dropped before the answer.
struct CancelOnDrop<'call> {
    shared: &'call Shared,
    number: u32,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.shared.provider_calls.remove(self.number).is_some() {
            self.shared.send(Message::ProviderGivenUp(self.number));
        }
    }
}

impl JsProvider {
    /// Wraps the package's object `number`, which has the methods with set bits in `methods`.
    pub(crate) fn new(shared: Arc<Shared>, number: u32, methods: u32, capabilities: Capabilities) -> Self {
        Self {
            shared,
            number,
            methods,
            capabilities,
        }
    }

    /// Wraps another component of the host, for calls with [`Self::ask`].
    pub(crate) fn of_host(shared: Arc<Shared>, number: u32) -> Self {
        Self::new(shared, number, 0, Capabilities::all())
    }

    const fn has(&self, method: u32) -> bool {
        self.methods & (1 << method) != 0
    }

    /// Calls the object.
    pub(crate) async fn ask(&self, request: Request) -> ProviderResult<Answered> {
        let (reply, answer) = oneshot::channel();
        let method = request.method();
        let inputs = request.fallback();
        let views = request.views();
        let call = self.shared.provider_calls.put(Box::new(ObjectCall {
            method,
            shared: Arc::clone(&self.shared),
            inputs,
            views,
            reply,
        }));
        let guard = CancelOnDrop {
            shared: &self.shared,
            number: call,
        };
        self.shared.send(Message::ProviderCall {
            call,
            provider: self.number,
            method,
            request: Box::new(request),
        });
        let result = answer.await;
        drop(guard);
        result.unwrap_or_else(|_| {
            Err(ProviderError::without_answer(
                ProviderStatus::Unavailable,
                "the JavaScript environment of the provider has ended",
            ))
        })
    }
}

#[async_trait]
impl ProviderBackend for JsProvider {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        let nothing = match &call {
            Call::Handshake(_) => return Ok(Reply::Capabilities(self.capabilities)),
            Call::Configure(_) => Reply::Understands(None),
            _ => Reply::Done,
        };
        if !self.has(method_of(&call)) {
            return call.without_method();
        }
        match call {
            Call::Construct(request) => self.construct(*request).await,
            Call::Method(request) => self.call_method(*request).await,
            call => match self.ask(Request::Call(call)).await? {
                Answered::Reply(reply) => Ok(reply),
                _ => Ok(nothing),
            },
        }
    }
}

#[async_trait]
impl Resolver for JsProvider {
    async fn resolve(&self, request: ResolutionRequest) -> stackwright::Result<Resolution> {
        match self.ask(Request::Resolve(request)).await {
            Ok(Answered::Resolution(resolution)) => Ok(resolution),
            Ok(_) => Err(Error::internal(
                "the resolver's response belongs to another method",
            )),
            Err(error) => Err(Error::new(ErrorKind::Plugin, error.message)),
        }
    }
}
