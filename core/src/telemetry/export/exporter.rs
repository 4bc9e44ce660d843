//! The exporter: a bounded queue of ended spans, and the task that sends them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use prost::Message as _;
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    otlp::{ExportRequest, KeyValue, Library, Resource, ResourceSpans, ScopeSpans},
    span::EndedSpan,
};
use crate::{error::Result, runtime::Runtime};

/// How many ended spans wait at most; further ones are dropped.
const CAPACITY: usize = 8192;
/// How many spans one request has at most.
const BATCH: usize = 512;
/// How long an ended span waits for others.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long one request may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a close waits for the last spans.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Where spans are exported to, and what they say about the program.
///
/// # Examples
/// ```
/// use stackwright::telemetry::Telemetry;
///
/// let telemetry = Telemetry {
///     service_name: "deployer".to_owned(),
///     ..Telemetry::to("http://localhost:4318")
/// };
/// assert_eq!(telemetry.url(), "http://localhost:4318/v1/traces");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// The URL of the collector, which takes OTLP over HTTP: `http://localhost:4318`. `/v1/traces` is appended unless it ends so.
    pub endpoint: String,
    /// Headers of each request, for instance of an authorization.
    pub headers: BTreeMap<String, String>,
    /// The name of the program, in the attribute `service.name`.
    pub service_name: String,
    /// Further attributes of the program.
    pub attributes: BTreeMap<String, String>,
}

impl Telemetry {
    /// Returns the settings of an export to a collector.
    #[must_use]
    pub fn to(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            headers: BTreeMap::new(),
            service_name: "stackwright".to_owned(),
            attributes: BTreeMap::new(),
        }
    }

    /// Returns the URL that requests are sent to.
    #[must_use]
    pub fn url(&self) -> String {
        const PATH: &str = "/v1/traces";
        let endpoint = self.endpoint.trim_end_matches('/');
        match endpoint.ends_with(PATH) {
            true => endpoint.to_owned(),
            false => format!("{endpoint}{PATH}"),
        }
    }
}

impl std::fmt::Debug for Telemetry {
    /// Writes the settings without the headers, which can hold a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Telemetry")
            .field("service_name", &self.service_name)
            .finish_non_exhaustive()
    }
}

/// Sends requests to a collector.
#[async_trait]
pub(crate) trait SpanSender: Send + Sync + 'static {
    /// Sends the body of one request.
    async fn send(&self, body: Bytes) -> Result<()>;
}

/// Exports ended spans. Clones share it; the last one ends the task.
#[derive(Clone)]
pub(crate) struct Exporter(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    runtime: Runtime,
    _running: DropGuard,
}

struct Shared {
    queue: Mutex<VecDeque<EndedSpan>>,
    /// Notified when the queue is no longer empty.
    filled: Notify,
    /// Notified when the queue is to be sent at once.
    hurry: Notify,
    /// How many spans have ended.
    ended: AtomicU64,
    /// How many of them were sent or dropped.
    done: watch::Sender<u64>,
    dropped: AtomicU64,
    resource: Resource,
}

impl Exporter {
    /// Starts an exporter.
    pub(crate) fn start(settings: &Telemetry, sender: Arc<dyn SpanSender>, runtime: &Runtime) -> Self {
        let named = [KeyValue::text("service.name", settings.service_name.clone())];
        let others = settings
            .attributes
            .iter()
            .map(|(name, value)| KeyValue::text(name, value.clone()));
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            filled: Notify::new(),
            hurry: Notify::new(),
            ended: AtomicU64::new(0),
            done: watch::Sender::new(0),
            dropped: AtomicU64::new(0),
            resource: Resource {
                attributes: named.into_iter().chain(others).collect(),
            },
        });
        let stopped = CancellationToken::new();
        let exporting = export(Arc::clone(&shared), sender, runtime.clone(), stopped.clone());
        drop(runtime.spawner.spawn(exporting));
        Self(Arc::new(Handle {
            shared,
            runtime: runtime.clone(),
            _running: stopped.drop_guard(),
        }))
    }

    /// Returns the runtime, which has the time and the ids of spans.
    pub(super) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    /// Adds an ended span.
    pub(super) fn push(&self, span: EndedSpan) {
        let shared = &self.0.shared;
        let mut queue = shared.lock();
        shared.ended.fetch_add(1, Ordering::Relaxed);
        if queue.len() >= CAPACITY {
            drop(queue);
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            shared.done.send_modify(|done| *done += 1);
            return;
        }
        queue.push_back(span);
        let is_batch = queue.len() >= BATCH;
        drop(queue);
        shared.filled.notify_one();
        if is_batch {
            shared.hurry.notify_one();
        }
    }

    /// Requests that all ended spans are sent, without waiting.
    pub(crate) fn hurry(&self) {
        self.0.shared.hurry.notify_one();
    }

    /// Waits until all spans that have ended are sent or given up, for a limited time.
    pub(crate) async fn flush(&self, limit: Duration) {
        let shared = &self.0.shared;
        let ended = shared.ended.load(Ordering::Relaxed);
        let mut done = shared.done.subscribe();
        self.hurry();
        tokio::select! {
            biased;
            _ = done.wait_for(|done| *done >= ended) => {}
            () = self.0.runtime.clock.wait(limit) => {}
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, VecDeque<EndedSpan>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<EndedSpan> {
        let mut queue = self.lock();
        let count = queue.len().min(BATCH);
        queue.drain(..count).collect()
    }

    /// Returns the body of a request, without the secrets of the operations.
    fn encode(&self, spans: &[EndedSpan]) -> Bytes {
        let request = ExportRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(self.resource.clone()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(Library {
                        name: "stackwright".to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                    }),
                    spans: spans.iter().map(EndedSpan::message).collect(),
                }],
            }],
        };
        request.encode_to_vec().into()
    }
}

/// Sends batches of spans until the exporter is dropped. A batch that the collector does not take is dropped.
async fn export(
    shared: Arc<Shared>,
    sender: Arc<dyn SpanSender>,
    runtime: Runtime,
    stopped: CancellationToken,
) {
    loop {
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = shared.filled.notified() => {}
        }
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = shared.hurry.notified() => {}
            () = runtime.clock.wait(INTERVAL) => {}
        }
        loop {
            let spans = shared.take();
            if spans.is_empty() {
                break;
            }
            let sending = sender.send(shared.encode(&spans));
            let sent = tokio::select! {
                biased;
                () = stopped.cancelled() => return,
                sent = sending => sent.is_ok(),
                () = runtime.clock.wait(SEND_TIMEOUT) => false,
            };
            if !sent {
                let number = spans.len() as u64;
                let before = shared.dropped.fetch_add(number, Ordering::Relaxed);
                if before == 0 {
                    tracing::warn!(target: "stackwright::telemetry", "the collector takes no spans: they are dropped");
                }
            }
            shared.done.send_modify(|done| *done += spans.len() as u64);
        }
    }
}
