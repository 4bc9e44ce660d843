//! Log records: what the engine traces, handed to the host's own log in batches, without secrets.

use std::{
    collections::VecDeque,
    fmt::{self, Write as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::sync::Notify;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
    subscriber::Interest,
};

use crate::{
    runtime::{Clock as _, SystemClock, Timestamp},
    secrets::{Redactor, WeakRedactor},
};

/// The level of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// What an operation failed by, or the host has to look at.
    Error = 1,
    /// What may need attention.
    Warn = 2,
    /// Operations, and rare events.
    Info = 3,
    /// Steps, processes, and failures without an effect.
    Debug = 4,
    /// All.
    Trace = 5,
}

impl LogLevel {
    /// Every level.
    pub const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// Returns the name: `warn` for instance.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }

    /// Returns the level of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::ERROR => Self::Error,
            Level::WARN => Self::Warn,
            Level::INFO => Self::Info,
            Level::DEBUG => Self::Debug,
            _ => Self::Trace,
        }
    }
}

/// A log record. Known secrets are replaced in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// The level.
    pub level: LogLevel,
    /// The part of the engine, separated by dots: `stackwright.store.file`.
    pub logger: String,
    /// The message.
    pub message: String,
    /// The values that belong to the message, as texts in their order.
    pub fields: Vec<(&'static str, String)>,
    /// When it was made.
    pub time: Timestamp,
}

/// Log records in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogBatch {
    /// The records.
    pub records: Vec<LogRecord>,
    /// How many records were dropped before these, because the receiver had too many.
    pub dropped: u64,
}

/// Hands what the engine traces to receivers of the host, for bindings. A program in Rust installs a subscriber of `tracing` of its own
/// instead.
///
/// Without a receiver, an event that is traced costs a comparison. Making a record never waits: a receiver has a limited queue, and counts
/// what it drops. Secrets that operations know which began after [`Self::install`] are replaced in all records, until their results are
/// dropped.
///
/// # Examples
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use stackwright::telemetry::{LogHub, LogLevel};
///
/// let hub = LogHub::default();
/// hub.install();
/// let receiver = hub.listen(LogLevel::Info, 1024);
/// tracing::info!(target: "stackwright::store", key = "shop/dev", "taking over a lease");
/// let batch = receiver.next().await.expect("the receiver is open");
/// assert_eq!(batch.records[0].logger, "stackwright.store");
/// assert_eq!(batch.records[0].fields, [("key", "shop/dev".to_owned())]);
/// # });
/// ```
#[derive(Clone, Default)]
pub struct LogHub(Arc<Hub>);

#[derive(Default)]
struct Hub {
    /// The highest level of all receivers; 0 without any.
    level: AtomicU8,
    receivers: RwLock<Vec<Weak<Queue>>>,
    redactors: Mutex<Vec<WeakRedactor>>,
}

struct Queue {
    hub: LogHub,
    level: LogLevel,
    capacity: usize,
    state: Mutex<Queued>,
    wake: Notify,
}

#[derive(Default)]
struct Queued {
    records: VecDeque<Unredacted>,
    dropped: u64,
    closed: bool,
}

/// A record with the secrets that were known when it was made.
struct Unredacted {
    record: LogRecord,
    redactors: Arc<[Redactor]>,
}

/// Receives log records. Dropping it ends the records.
pub struct LogReceiver(Arc<Queue>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LogHub {
    /// Subscribes to all that this process traces. Returns false when the process has another subscriber, which stays.
    pub fn install(&self) -> bool {
        tracing::subscriber::set_global_default(HubSubscriber(self.clone())).is_ok()
    }

    /// Returns a receiver of the records up to `level`, which keeps `capacity` of them until they are taken.
    #[must_use]
    pub fn listen(&self, level: LogLevel, capacity: usize) -> LogReceiver {
        let queue = Arc::new(Queue {
            hub: self.clone(),
            level,
            capacity,
            state: Mutex::default(),
            wake: Notify::new(),
        });
        self.change(|receivers| receivers.push(Arc::downgrade(&queue)));
        LogReceiver(queue)
    }

    /// Changes the receivers, and what is traced.
    fn change(&self, change: impl FnOnce(&mut Vec<Weak<Queue>>)) {
        let highest = {
            let mut receivers = self.0.receivers.write().unwrap_or_else(PoisonError::into_inner);
            receivers.retain(|queue| queue.strong_count() > 0);
            change(&mut receivers);
            let levels = receivers
                .iter()
                .filter_map(Weak::upgrade)
                .map(|queue| queue.level as u8);
            levels.max().unwrap_or(0)
        };
        self.0.level.store(highest, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Replaces the secrets of a redactor in all records of the hub that is installed, if one is.
    pub(crate) fn redact_installed(redactor: &Redactor) {
        tracing::dispatcher::get_default(|subscriber| {
            if let Some(HubSubscriber(hub)) = subscriber.downcast_ref() {
                hub.redact_with(redactor);
            }
        });
    }

    /// Replaces the secrets of a redactor in all records from now on, until the redactor is dropped.
    pub(crate) fn redact_with(&self, redactor: &Redactor) {
        let mut redactors = locked(&self.0.redactors);
        redactors.retain(WeakRedactor::is_alive);
        redactors.push(redactor.downgrade());
    }

    /// Returns a text with the secrets replaced that operations know which began after [`Self::install`], until their results are dropped.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        let redactors = self.redactors();
        redactors.iter().fold(text.to_owned(), |text, redactor| {
            redactor.scrub(&text).into_owned()
        })
    }

    fn redactors(&self) -> Arc<[Redactor]> {
        locked(&self.0.redactors)
            .iter()
            .filter_map(WeakRedactor::upgrade)
            .collect()
    }

    fn level(&self) -> u8 {
        self.0.level.load(Ordering::Relaxed)
    }

    fn send(&self, level: LogLevel, make: impl Fn() -> LogRecord) {
        let queues: Vec<_> = {
            let receivers = self.0.receivers.read().unwrap_or_else(PoisonError::into_inner);
            let queues = receivers.iter().filter_map(Weak::upgrade);
            queues.filter(|queue| level <= queue.level).collect()
        };
        if queues.is_empty() {
            return;
        }
        // The secrets are replaced when the record is taken: here, the engine may hold any of its locks.
        let redactors = self.redactors();
        for queue in queues {
            let mut state = locked(&queue.state);
            if state.closed {
                continue;
            }
            if state.records.len() >= queue.capacity {
                state.dropped += 1;
                continue;
            }
            state.records.push_back(Unredacted {
                record: make(),
                redactors: Arc::clone(&redactors),
            });
            drop(state);
            queue.wake.notify_one();
        }
    }
}

impl fmt::Debug for LogHub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LogHub").finish_non_exhaustive()
    }
}

impl LogReceiver {
    /// Waits for records; `None` once the receiver is closed and all were taken. One caller waits at a time.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future takes nothing.
    pub async fn next(&self) -> Option<LogBatch> {
        loop {
            let is_closed = locked(&self.0.state).closed;
            let batch = self.take();
            if !batch.records.is_empty() || batch.dropped > 0 {
                return Some(batch);
            }
            if is_closed {
                return None;
            }
            self.0.wake.notified().await;
        }
    }

    /// Waits until a record is made, and returns false once the receiver is closed: for a caller that takes the records elsewhere.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn made(&self) -> bool {
        self.0.wake.notified().await;
        !locked(&self.0.state).closed
    }

    /// Takes the records that wait, without their secrets.
    #[must_use]
    pub fn take(&self) -> LogBatch {
        let (taken, dropped) = {
            let mut state = locked(&self.0.state);
            (
                std::mem::take(&mut state.records),
                std::mem::take(&mut state.dropped),
            )
        };
        if taken.is_empty() {
            return LogBatch {
                dropped,
                ..LogBatch::default()
            };
        }
        let later = self.0.hub.redactors();
        LogBatch {
            records: taken.into_iter().map(|taken| taken.redacted(&later)).collect(),
            dropped,
        }
    }

    /// Ends the records. Those that were made before can still be taken.
    pub fn close(&self) {
        locked(&self.0.state).closed = true;
        self.0.wake.notify_one();
        let closed = Arc::as_ptr(&self.0);
        self.0
            .hub
            .change(|receivers| receivers.retain(|queue| queue.as_ptr() != closed));
    }
}

impl Drop for LogReceiver {
    fn drop(&mut self) {
        self.close();
    }
}

impl Unredacted {
    /// Returns the record without the secrets that were known when it was made, and those of `later`.
    fn redacted(self, later: &[Redactor]) -> LogRecord {
        let mut record = self.record;
        for redactor in self.redactors.iter().chain(later) {
            let texts = record.fields.iter_mut().map(|(_, text)| text);
            for text in texts.chain([&mut record.message]) {
                let scrubbed = redactor.scrub(text);
                if scrubbed != text.as_str() {
                    *text = scrubbed.into_owned();
                }
            }
        }
        record
    }
}

/// Returns whether a target is of this library: a module of one of its crates.
fn is_own(target: &str) -> bool {
    let rest = target.strip_prefix("stackwright");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || rest.starts_with('_'))
}

/// The subscriber of a hub. It takes events and no spans.
struct HubSubscriber(LogHub);

impl Subscriber for HubSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match metadata.is_event() && is_own(metadata.target()) {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level = LogLevel::from(*metadata.level()) as u8;
        metadata.is_event() && level <= self.0.level() && is_own(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.0.level() {
            0 => LevelFilter::OFF,
            1 => LevelFilter::ERROR,
            2 => LevelFilter::WARN,
            3 => LevelFilter::INFO,
            4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let level = LogLevel::from(*metadata.level());
        self.0.send(level, || {
            let mut texts = Texts::default();
            event.record(&mut texts);
            LogRecord {
                level,
                logger: metadata
                    .target()
                    .replacen("stackwright_", "stackwright.", 1)
                    .replace("::", "."),
                message: texts.message,
                fields: texts.fields,
                time: SystemClock.now(),
            }
        });
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// The message and the fields of an event as texts.
#[derive(Default)]
struct Texts {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Visit for Texts {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => self.fields.push((name, value.to_owned())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // A text accepts everything.
        write!(text, "{value:?}").unwrap_or_default();
        self.record_str(field, &text);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Traces into a hub within `work`, on this thread.
    fn traced(hub: &LogHub, work: impl FnOnce()) {
        tracing::subscriber::with_default(HubSubscriber(hub.clone()), work);
    }

    fn taken(receiver: &LogReceiver) -> LogBatch {
        receiver.next().now_or_never().flatten().unwrap_or_default()
    }

    #[test]
    fn a_receiver_gets_the_records_of_the_library_up_to_its_level() {
        let hub = LogHub::default();
        traced(&hub, || {
            let (few, all) = (hub.listen(LogLevel::Warn, 8), hub.listen(LogLevel::Trace, 8));
            tracing::warn!(target: "stackwright_project::file", number = 7, "a file stays");
            tracing::debug!(target: "stackwright::store", error = %"no space", "a write failed");
            tracing::error!(target: "hyper::client", "of another library");
            let records = taken(&all).records;
            assert_eq!(records.len(), 2, "{records:?}");
            assert_eq!(
                (records[0].logger.as_str(), records[0].level),
                ("stackwright.project.file", LogLevel::Warn)
            );
            assert_eq!(records[0].fields, [("number", "7".to_owned())]);
            assert_eq!(records[1].message, "a write failed");
            assert_eq!(records[1].fields, [("error", "no space".to_owned())]);
            assert_eq!(taken(&few).records.len(), 1);
        });
    }

    #[test]
    fn secrets_of_operations_are_replaced_also_when_they_are_learned_later() {
        let hub = LogHub::default();
        let (early, late) = (Redactor::new(), Redactor::new());
        hub.redact_with(&early);
        hub.redact_with(&late);
        early.learn(["correct horse"]);
        traced(&hub, || {
            let receiver = hub.listen(LogLevel::Info, 8);
            tracing::info!(target: "stackwright::store", error = %"it is correct horse", "hunter22 and correct horse");
            drop(early);
            late.learn(["hunter22"]);
            let batch = taken(&receiver);
            assert_eq!(batch.records[0].message, "[secret] and [secret]");
            assert_eq!(batch.records[0].fields[0].1, "it is [secret]");
        });
    }

    #[test]
    fn a_full_queue_counts_what_it_drops() {
        let hub = LogHub::default();
        traced(&hub, || {
            let receiver = hub.listen(LogLevel::Info, 2);
            for number in 0..5 {
                tracing::info!(target: "stackwright::store", number, "one more");
            }
            let batch = taken(&receiver);
            assert_eq!((batch.records.len(), batch.dropped), (2, 3));
            tracing::info!(target: "stackwright::store", "the next");
            assert_eq!((taken(&receiver).records.len(), taken(&receiver).dropped), (1, 0));
        });
    }

    #[test]
    fn a_closed_receiver_ends_after_the_records_that_were_made_before() {
        let hub = LogHub::default();
        traced(&hub, || {
            let receiver = hub.listen(LogLevel::Info, 8);
            tracing::info!(target: "stackwright::store", "before");
            receiver.close();
            tracing::info!(target: "stackwright::store", "after");
            assert_eq!(hub.level(), 0);
            assert_eq!(taken(&receiver).records.len(), 1);
            assert_eq!(receiver.next().now_or_never(), Some(None));
        });
    }

    #[test]
    fn nothing_is_formatted_without_a_receiver() {
        struct Unformatted;
        impl fmt::Display for Unformatted {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("formatted")
            }
        }
        let hub = LogHub::default();
        traced(&hub, || {
            drop(hub.listen(LogLevel::Trace, 8));
            tracing::info!(target: "stackwright::store", value = %Unformatted, "not wanted");
            let _receiver = hub.listen(LogLevel::Warn, 8);
            tracing::info!(target: "stackwright::store", value = %Unformatted, "not wanted");
        });
    }
}
