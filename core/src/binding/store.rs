//! Stores that a host supplies through a binding: the calls of its methods, and what their answers mean.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use tokio_util::task::TaskTracker;

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Clock, Runtime, Timestamp},
    store::{
        Condition, HostFacts, Object, ObjectInfo, Objects, REQUEST_TIMEOUT, Store, StoreSettings, Version,
        check_key, shared,
    },
};

/// URLs of stores that others than the engine itself must not have.
const OWN_URLS: [&str; 2] = ["file://", "memory://"];

/// A call of a method of the host's store.
#[derive(Clone, Debug)]
pub enum ObjectCall {
    /// Reads an object.
    Get {
        /// Its key.
        key: String,
    },
    /// Replaces an object as a whole, if the condition holds.
    Put {
        /// Its key.
        key: String,
        /// The new content.
        content: Bytes,
        /// The condition.
        condition: Condition,
    },
    /// Lists objects.
    List {
        /// The beginning of their keys.
        prefix: String,
    },
    /// Removes an object, if there is one.
    Delete {
        /// Its key.
        key: String,
    },
    /// Copies an object.
    Copy {
        /// Its key.
        from: String,
        /// The key of the copy.
        to: String,
    },
}

/// What a method returned: the parts that belong to its call.
#[derive(Clone, Debug, Default)]
pub struct ObjectAnswer {
    /// The content that `get` read; `None` when there is no object.
    pub content: Option<Bytes>,
    /// The version of what `get` read, or of what `put` wrote.
    pub version: Option<String>,
    /// The objects of `list` as JSON: `[{"key": "…", "size": 1, "modified": "2026-01-02T03:04:05Z"}]`, in any order.
    pub listing: Option<Vec<u8>>,
}

/// Transports the calls of a store to the host's methods.
#[async_trait]
pub trait ObjectHost: Send + Sync + 'static {
    /// Calls a method, from several tasks at once.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the condition of a `put` does not hold, [`ErrorKind::NotFound`] when there is nothing to copy,
    /// [`ErrorKind::InvalidInput`] for an answer of a wrong type; any other error fails the call.
    async fn call(&self, call: ObjectCall) -> Result<ObjectAnswer>;

    /// Returns whether there is a method that copies. Otherwise objects are read and written.
    fn has_copy(&self) -> bool;
}

impl ObjectCall {
    /// Returns the name of the method.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Get { .. } => "get",
            Self::Put { .. } => "put",
            Self::List { .. } => "list",
            Self::Delete { .. } => "delete",
            Self::Copy { .. } => "copy",
        }
    }

    /// Returns the key of the object, or the prefix of the listed ones.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Get { key } | Self::Put { key, .. } | Self::Delete { key } => key,
            Self::List { prefix } => prefix,
            Self::Copy { from, .. } => from,
        }
    }
}

/// Returns a condition as bindings hand it over: `any`, `absent` or `match`, and the version of the last.
#[must_use]
pub fn condition_parts(condition: &Condition) -> (&'static str, Option<&str>) {
    match condition {
        Condition::Any => ("any", None),
        Condition::Absent => ("absent", None),
        Condition::Match(version) => ("match", Some(version)),
    }
}

/// Admits calls of what a host supplied to the store of an engine, until the engine is closed. A call without an answer fails after
/// the limit of a request to a server.
#[derive(Clone)]
pub struct HostCalls {
    calls: TaskTracker,
    clock: Arc<dyn Clock>,
}

impl HostCalls {
    pub(super) fn new(runtime: &Runtime) -> Self {
        Self {
            calls: TaskTracker::new(),
            clock: Arc::clone(&runtime.clock),
        }
    }

    /// Waits for calls that run, and refuses later ones. The ends of operations need the store: the engine is closed before.
    pub async fn close(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Makes a call.
    ///
    /// # Errors
    /// Those of the call, [`ErrorKind::Cancelled`] after the end, and [`ErrorKind::Unavailable`] after the limit.
    pub(super) async fn run<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        // Counted before the end is looked at, so that either this sees the end or the end waits for this.
        let _counted = self.calls.token();
        if self.calls.is_closed() {
            return Err(Error::new(ErrorKind::Cancelled, "the engine was closed"));
        }
        tokio::select! {
            biased;
            answered = call => answered.map_err(|error| match error.kind() {
                // Of the operation only the engine decides.
                ErrorKind::Cancelled => error.with_kind(ErrorKind::Unavailable),
                _ => error,
            }),
            () = self.clock.wait(REQUEST_TIMEOUT) => Err(no_answer(REQUEST_TIMEOUT)),
        }
    }
}

impl std::fmt::Debug for HostCalls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HostCalls")
            .field("is_closed", &self.calls.is_closed())
            .finish_non_exhaustive()
    }
}

fn no_answer(limit: Duration) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("it returned nothing within {} s", limit.as_secs()),
    )
}

/// Makes a store of the objects of a host. `name` is a URL for messages, or the name of the host's class.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for the URL of a folder or of a store in memory, with which the engine identifies those.
pub(super) fn supplied(
    host: Arc<dyn ObjectHost>,
    name: &str,
    settings: &StoreSettings,
    runtime: &Runtime,
    calls: HostCalls,
) -> Result<Arc<dyn Store>> {
    let url = match name {
        "" => "host://store".to_owned(),
        url if url.contains("://") => url.to_owned(),
        name => format!("host://{name}"),
    };
    if OWN_URLS.iter().any(|own| url.starts_with(own)) {
        return Err(Error::invalid(format!(
            "the URL of a store of the host is {url:?}, which names a store of the engine"
        ))
        .with_hint("choose another scheme, host://name for instance"));
    }
    let objects = Supplied { host, url, calls };
    shared(Arc::new(objects), settings, runtime, &HostFacts::system())
}

/// Objects of a host.
struct Supplied {
    host: Arc<dyn ObjectHost>,
    url: String,
    calls: HostCalls,
}

impl Supplied {
    async fn call(&self, call: ObjectCall) -> Result<ObjectAnswer> {
        let (method, key) = (call.method(), call.key().to_owned());
        match method {
            "list" => {}
            _ => check_key(&key)?,
        }
        let answered = self.calls.run(self.host.call(call)).await;
        answered.map_err(|error| self.failed(method, &key, error))
    }

    /// Names the method and the key in an error. Its kind is kept where it has a meaning for the method: an unexpected one must not
    /// be taken for a lock that another owner holds, or for a stack that does not exist.
    fn failed(&self, method: &str, key: &str, error: Error) -> Error {
        let kind = match (method, error.kind()) {
            ("put", ErrorKind::Conflict) => ErrorKind::Conflict,
            ("copy", ErrorKind::NotFound) => ErrorKind::NotFound,
            (_, kind @ (ErrorKind::InvalidInput | ErrorKind::Cancelled)) => kind,
            _ => ErrorKind::Unavailable,
        };
        let text = format!(
            "{method} of {key:?} failed in the store {}: {}",
            self.url,
            error.message()
        );
        let hints = error.hints().to_vec();
        let named = hints.into_iter().fold(Error::new(kind, text), Error::with_hint);
        named.with_source(error)
    }

    fn wrong(&self, method: &str, key: &str, returned: impl Into<String>) -> Error {
        self.failed(method, key, Error::invalid(returned.into()))
    }

    fn version_in(&self, method: &str, key: &str, answer: Option<String>) -> Result<Version> {
        match answer.filter(|version| !version.is_empty()) {
            Some(version) => Ok(version.into()),
            None => Err(self.wrong(method, key, "it returned no version, a string that is not empty")),
        }
    }
}

/// An object in the answer of `list`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    key: String,
    size: u64,
    modified: Timestamp,
}

#[async_trait]
impl Objects for Supplied {
    fn url(&self) -> String {
        self.url.clone()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        let answer = self.call(ObjectCall::Get { key: key.to_owned() }).await?;
        let Some(bytes) = answer.content else {
            return Ok(None);
        };
        let version = self.version_in("get", key, answer.version)?;
        Ok(Some(Object { bytes, version }))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let call = ObjectCall::Put {
            key: key.to_owned(),
            content: bytes,
            condition,
        };
        let answer = self.call(call).await?;
        self.version_in("put", key, answer.version)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let call = ObjectCall::List {
            prefix: prefix.to_owned(),
        };
        let listing = self.call(call).await?.listing.unwrap_or_default();
        let listed: Vec<Listed> = serde_json::from_slice(&listing).map_err(|error| {
            let returned = format!("it returned no list of objects with key, size and modified: {error}");
            self.wrong("list", prefix, returned)
        })?;
        if let Some(other) = listed.iter().find(|object| !object.key.starts_with(prefix)) {
            let returned = format!(
                "it returned the key {:?}, which does not start with the prefix",
                other.key
            );
            return Err(self.wrong("list", prefix, returned));
        }
        let objects = listed.into_iter().map(|object| ObjectInfo {
            key: object.key,
            size: object.size,
            modified: object.modified,
        });
        let mut objects: Vec<_> = objects.collect();
        objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Ok(objects)
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.call(ObjectCall::Delete { key: key.to_owned() })
            .await
            .map(drop)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        check_key(to)?;
        if self.host.has_copy() {
            let call = ObjectCall::Copy {
                from: from.to_owned(),
                to: to.to_owned(),
            };
            return self.call(call).await.map(drop);
        }
        match self.get(from).await? {
            Some(object) => self.put(to, object.bytes, Condition::Any).await.map(drop),
            None => Err(self.failed(
                "copy",
                from,
                Error::new(ErrorKind::NotFound, "there is no such object"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::runtime::VirtualClock;

    /// Answers each call with the same.
    struct Fixed {
        answer: Result<ObjectAnswer>,
        calls: AtomicUsize,
        is_hanging: bool,
    }

    #[async_trait]
    impl ObjectHost for Fixed {
        async fn call(&self, _call: ObjectCall) -> Result<ObjectAnswer> {
            self.calls.fetch_add(1, Ordering::SeqCst);
            if self.is_hanging {
                std::future::pending::<()>().await;
            }
            self.answer.clone()
        }

        fn has_copy(&self) -> bool {
            true
        }
    }

    fn answering(answer: Result<ObjectAnswer>, is_hanging: bool) -> (Supplied, Arc<Fixed>) {
        let runtime = Runtime {
            clock: VirtualClock::start(),
            ..Runtime::system(tokio::runtime::Handle::current())
        };
        let host = Arc::new(Fixed {
            answer,
            calls: AtomicUsize::new(0),
            is_hanging,
        });
        let supplied = Supplied {
            host: Arc::clone(&host) as _,
            url: "host://Dict".to_owned(),
            calls: HostCalls::new(&runtime),
        };
        (supplied, host)
    }

    fn listing(text: &str) -> ObjectAnswer {
        ObjectAnswer {
            listing: Some(text.as_bytes().to_vec()),
            ..ObjectAnswer::default()
        }
    }

    #[tokio::test]
    async fn an_error_of_the_host_names_the_method_and_the_key_and_keeps_only_kinds_with_a_meaning() {
        let cases = [
            (
                ErrorKind::Conflict,
                [
                    ErrorKind::Unavailable,
                    ErrorKind::Conflict,
                    ErrorKind::Unavailable,
                ],
            ),
            (
                ErrorKind::NotFound,
                [
                    ErrorKind::Unavailable,
                    ErrorKind::Unavailable,
                    ErrorKind::NotFound,
                ],
            ),
            (ErrorKind::InvalidInput, [ErrorKind::InvalidInput; 3]),
            (ErrorKind::State, [ErrorKind::Unavailable; 3]),
            (ErrorKind::Cancelled, [ErrorKind::Unavailable; 3]),
        ];
        for (raised, expected) in cases {
            let (objects, _) = answering(Err(Error::new(raised, "no luck").with_hint("wait")), false);
            let errors = [
                objects.get("a/b").await.map(drop),
                objects
                    .put("a/b", Bytes::new(), Condition::Absent)
                    .await
                    .map(drop),
                objects.copy("a/b", "c").await,
            ];
            let errors = errors.map(Result::unwrap_err);
            assert_eq!(errors.each_ref().map(Error::kind), expected, "{raised:?}");
            for (error, method) in errors.iter().zip(["get", "put", "copy"]) {
                let text = format!("{method} of \"a/b\" failed in the store host://Dict: no luck");
                assert_eq!(error.message(), text);
                assert_eq!(error.hints(), ["wait"]);
            }
        }
    }

    #[tokio::test]
    async fn an_answer_without_its_parts_is_an_error_with_what_was_expected() {
        let (objects, _) = answering(Ok(ObjectAnswer::default()), false);
        assert!(objects.get("a").await.unwrap().is_none());
        let error = objects.put("a", Bytes::new(), Condition::Any).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error.message().contains("put of \"a\"") && error.message().contains("no version"),
            "{error}"
        );
        let error = objects.list("a").await.unwrap_err();
        assert!(
            error.message().contains("list of \"a\"") && error.message().contains("key, size and modified")
        );
        let content = ObjectAnswer {
            content: Some(Bytes::new()),
            ..ObjectAnswer::default()
        };
        let (objects, _) = answering(Ok(content), false);
        assert!(
            objects
                .get("a")
                .await
                .unwrap_err()
                .message()
                .contains("no version")
        );
    }

    #[tokio::test]
    async fn listed_objects_are_sorted_and_start_with_the_prefix() {
        let modified = r#""size": 3, "modified": "2026-01-02T03:04:05Z""#;
        let text = format!(r#"[{{"key": "a/2", {modified}}}, {{"key": "a/1", {modified}}}]"#);
        let (objects, _) = answering(Ok(listing(&text)), false);
        let listed = objects.list("a/").await.unwrap();
        assert_eq!(
            listed.iter().map(|it| &*it.key).collect::<Vec<_>>(),
            ["a/1", "a/2"]
        );
        let error = objects.list("a/1").await.unwrap_err();
        assert!(
            error.message().contains("the key \"a/2\", which does not start"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_call_without_an_answer_fails_after_the_limit_of_a_request() {
        let (objects, _) = answering(Ok(ObjectAnswer::default()), true);
        let before = objects.calls.clock.elapsed();
        let error = objects.get("a").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(
            error.message().contains("get of \"a\"") && error.message().contains("120 s"),
            "{error}"
        );
        assert_eq!(objects.calls.clock.elapsed() - before, REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn no_method_is_called_after_the_end() {
        let (objects, host) = answering(Ok(ObjectAnswer::default()), false);
        objects.get("a").await.unwrap();
        objects.calls.close().await;
        let error = objects.get("a").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.message().contains("the engine was closed"), "{error}");
        assert_eq!(host.calls.load(Ordering::SeqCst), 1);
    }

    /// Answers a call when it is allowed to.
    struct Slow(tokio::sync::Notify, Mutex<Vec<&'static str>>);

    #[async_trait]
    impl ObjectHost for Slow {
        async fn call(&self, _call: ObjectCall) -> Result<ObjectAnswer> {
            self.1.lock().unwrap().push("began");
            self.0.notified().await;
            self.1.lock().unwrap().push("ended");
            Ok(ObjectAnswer::default())
        }

        fn has_copy(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn the_end_waits_for_calls_that_run() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let (slow, calls) = (
            Arc::new(Slow(tokio::sync::Notify::new(), Mutex::default())),
            HostCalls::new(&runtime),
        );
        let running = calls.run(slow.call(ObjectCall::Get { key: "a".to_owned() }));
        let ended = async {
            let close = calls.close();
            tokio::pin!(close);
            assert!(futures::poll!(&mut close).is_pending());
            slow.0.notify_one();
            close.await;
            slow.1.lock().unwrap().push("closed");
        };
        let (answer, ()) = tokio::join!(running, ended);
        answer.unwrap();
        assert_eq!(*slow.1.lock().unwrap(), ["began", "ended", "closed"]);
    }

    #[tokio::test]
    async fn a_store_of_the_host_takes_no_url_of_the_engines_own_stores() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let open = |name: &str| {
            let (supplied_objects, host) = answering(Ok(ObjectAnswer::default()), false);
            let calls = supplied_objects.calls;
            supplied(host, name, &StoreSettings::default(), &runtime, calls).map(|store| store.url())
        };
        assert_eq!(open("Dict").unwrap(), "host://Dict");
        assert_eq!(open("sqlite:///srv/state").unwrap(), "sqlite:///srv/state");
        for own in ["file:///srv", "memory://"] {
            assert!(open(own).unwrap_err().message().contains(own));
        }
    }
}
