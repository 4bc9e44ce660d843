//! The meter: counters that the parts of an engine share.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    CallMetrics, JournalMetrics, LockMetrics, Metrics, OperationMetrics, PluginProcessMetrics, StoreMetrics,
};

/// Counts the work of an engine. Clones share the counts; a part of an engine adds to them, and reads none.
#[derive(Clone, Default)]
pub struct Meter(Arc<Counters>);

#[derive(Default)]
struct Counters {
    operations: Mutex<BTreeMap<(bool, &'static str), OperationMetrics>>,
    packages: Mutex<BTreeMap<String, PackageMeter>>,
    plugins: Mutex<BTreeMap<u32, (String, String)>>,
    plugins_started: AtomicU64,
    journal_entries: AtomicU64,
    journal_bytes: AtomicU64,
    store_calls: [AtomicU64; StoreCall::ALL.len()],
    store_failures: AtomicU64,
    locks: AtomicU64,
    lock_waits: AtomicU64,
    lock_waits_ended: AtomicU64,
    lock_wait_nanoseconds: AtomicU64,
}

/// A method of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreCall {
    Get,
    Put,
    Append,
    List,
    Delete,
    Copy,
    Lock,
}

impl StoreCall {
    const ALL: [Self; 7] = [
        Self::Get,
        Self::Put,
        Self::Append,
        Self::List,
        Self::Delete,
        Self::Copy,
        Self::Lock,
    ];

    /// Returns the name of the method.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Append => "append",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Copy => "copy",
            Self::Lock => "lock",
        }
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meter {
    /// Counts an operation that begins. It counts as failed when the returned guard is dropped without [`RunningOperation::ends_as`].
    pub(crate) fn operation(&self, verb: &'static str, is_preview: bool) -> RunningOperation {
        let key = (is_preview, verb);
        let mut operations = locked(&self.0.operations);
        let counts = operations.entry(key).or_insert_with(|| OperationMetrics {
            verb,
            is_preview,
            ..OperationMetrics::default()
        });
        counts.running += 1;
        drop(operations);
        RunningOperation {
            meter: self.clone(),
            key,
            ending: |counts| &mut counts.failed,
        }
    }

    /// Returns what counts the calls of a package's providers.
    pub(crate) fn package(&self, package: &str) -> PackageMeter {
        let mut packages = locked(&self.0.packages);
        if let Some(known) = packages.get(package) {
            return known.clone();
        }
        packages.entry(package.to_owned()).or_default().clone()
    }

    /// Counts a plugin process until the returned guard is dropped. `label` is its name in messages: `files (resource)`.
    pub(crate) fn plugin(&self, pid: u32, label: &str) -> RunningPlugin {
        let parts = label.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
        let (name, kind) = parts.unwrap_or((label, ""));
        add(&self.0.plugins_started, 1);
        locked(&self.0.plugins).insert(pid, (name.to_owned(), kind.to_owned()));
        RunningPlugin {
            meter: self.clone(),
            pid,
        }
    }

    /// Counts entries that were written to a journal.
    pub(crate) fn journal_entries(&self, number: usize) {
        add(&self.0.journal_entries, number as u64);
    }

    /// Counts bytes that were written to a journal.
    pub(crate) fn journal_bytes(&self, number: usize) {
        add(&self.0.journal_bytes, number as u64);
    }

    /// Counts a call of the store.
    pub(crate) fn store_call(&self, call: StoreCall) {
        add(&self.0.store_calls[call as usize], 1);
    }

    /// Counts a call of the store that has returned an error.
    pub(crate) fn store_failure(&self) {
        add(&self.0.store_failures, 1);
    }

    /// Counts a stack's lock that was taken.
    pub(crate) fn lock_taken(&self) {
        add(&self.0.locks, 1);
    }

    /// Counts a wait for a stack's lock, which ends when the returned guard is dropped. `elapsed` returns the current time.
    pub(crate) fn lock_wait<F: Fn() -> Duration>(&self, elapsed: F) -> LockWait<F> {
        add(&self.0.lock_waits, 1);
        LockWait {
            meter: self.clone(),
            began: elapsed(),
            elapsed,
        }
    }

    /// Returns the counts. The counts of parts that work at the same time may be those of different moments.
    #[must_use]
    pub fn snapshot(&self) -> Metrics {
        let counters = &*self.0;
        let calls = StoreCall::ALL
            .iter()
            .zip(&counters.store_calls)
            .map(|(call, count)| (call.name(), read(count)));
        // The ended ones first: the number of those that wait is never negative.
        let waits_ended = read(&counters.lock_waits_ended);
        let waits = read(&counters.lock_waits);
        Metrics {
            operations: locked(&counters.operations).values().cloned().collect(),
            provider_calls: locked(&counters.packages)
                .iter()
                .map(|(package, meter)| (package.clone(), meter.snapshot()))
                .filter(|(_, calls)| calls.total > 0)
                .collect(),
            plugins: self.plugins(),
            plugins_started: read(&counters.plugins_started),
            journal: JournalMetrics {
                entries: read(&counters.journal_entries),
                bytes: read(&counters.journal_bytes),
            },
            store: StoreMetrics {
                calls: calls.collect(),
                failed: read(&counters.store_failures),
            },
            locks: LockMetrics {
                taken: read(&counters.locks),
                waiting: waits.saturating_sub(waits_ended),
                waits,
                waited: Duration::from_nanos(read(&counters.lock_wait_nanoseconds)),
            },
        }
    }

    fn plugins(&self) -> Vec<PluginProcessMetrics> {
        let running = locked(&self.0.plugins).clone();
        let running = running
            .into_iter()
            .map(|(pid, (name, kind))| PluginProcessMetrics {
                pid,
                name,
                kind,
                resident_memory: resident_memory(pid),
            });
        running.collect()
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Meter").field(&self.snapshot()).finish()
    }
}

/// Returns the resident memory of a process of this host in bytes.
fn resident_memory(pid: u32) -> Option<u64> {
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let resident: u64 = pages.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(resident * rustix::param::page_size() as u64)
}

/// An operation that counts as running until this guard is dropped.
pub(crate) struct RunningOperation {
    meter: Meter,
    key: (bool, &'static str),
    ending: fn(&mut OperationMetrics) -> &mut u64,
}

impl RunningOperation {
    /// Sets what the operation counts as at its end.
    pub(crate) fn ends_as(mut self, ending: fn(&mut OperationMetrics) -> &mut u64) {
        self.ending = ending;
    }
}

impl Drop for RunningOperation {
    fn drop(&mut self) {
        if let Some(counts) = locked(&self.meter.0.operations).get_mut(&self.key) {
            counts.running = counts.running.saturating_sub(1);
            *(self.ending)(counts) += 1;
        }
    }
}

/// A plugin process that counts as running until this guard is dropped.
pub(crate) struct RunningPlugin {
    meter: Meter,
    pid: u32,
}

impl Drop for RunningPlugin {
    fn drop(&mut self) {
        drop(locked(&self.meter.0.plugins).remove(&self.pid));
    }
}

/// A wait for a lock, which ends when this guard is dropped.
pub(crate) struct LockWait<F: Fn() -> Duration> {
    meter: Meter,
    began: Duration,
    elapsed: F,
}

impl<F: Fn() -> Duration> Drop for LockWait<F> {
    fn drop(&mut self) {
        let waited = (self.elapsed)().saturating_sub(self.began);
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        add(&self.meter.0.lock_wait_nanoseconds, waited);
        add(&self.meter.0.lock_waits_ended, 1);
    }
}

/// Counts the calls of one package's providers. Clones share the counts.
#[derive(Clone, Default)]
pub(crate) struct PackageMeter(Arc<PackageCounters>);

#[derive(Default)]
struct PackageCounters {
    begun: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
}

impl PackageMeter {
    /// Counts a call, which ends when the returned guard is dropped.
    pub(crate) fn call(&self) -> CallInFlight<'_> {
        add(&self.0.begun, 1);
        CallInFlight(&self.0)
    }

    fn snapshot(&self) -> CallMetrics {
        // The ended ones first: the number of those in flight is never negative.
        let ended = read(&self.0.ended);
        let failed = read(&self.0.failed);
        let total = read(&self.0.begun);
        CallMetrics {
            total,
            in_flight: total.saturating_sub(ended),
            failed,
        }
    }
}

/// A call that counts as in flight until this guard is dropped.
pub(crate) struct CallInFlight<'meter>(&'meter PackageCounters);

impl CallInFlight<'_> {
    /// Counts the call as failed.
    pub(crate) fn failed(&self) {
        add(&self.0.failed, 1);
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        add(&self.0.ended, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_counts_as_running_until_its_end() {
        let meter = Meter::default();
        let running = meter.operation("update", false);
        let lost = meter.operation("update", true);
        let counts = meter.snapshot().operations;
        assert_eq!(counts.iter().map(|counts| counts.running).sum::<u64>(), 2);
        running.ends_as(|counts| &mut counts.succeeded);
        drop(lost);
        let counts = meter.snapshot().operations;
        assert!(counts.iter().all(|counts| counts.running == 0));
        assert_eq!((counts[0].is_preview, counts[0].succeeded), (false, 1));
        assert_eq!((counts[1].is_preview, counts[1].failed), (true, 1));
    }

    #[test]
    fn a_call_is_in_flight_until_it_ends_or_is_dropped() {
        let meter = Meter::default();
        let package = meter.package("files");
        assert!(meter.snapshot().provider_calls.is_empty());
        let call = package.call();
        call.failed();
        let other = meter.package("files").clone();
        let second = other.call();
        let counts = meter.snapshot().provider_calls["files"];
        assert_eq!((counts.total, counts.in_flight, counts.failed), (2, 2, 1));
        drop((call, second));
        assert_eq!(meter.snapshot().provider_calls["files"].in_flight, 0);
    }

    #[test]
    fn a_plugin_is_listed_with_its_memory_while_it_runs() {
        let meter = Meter::default();
        let own = std::process::id();
        let running = meter.plugin(own, "my files (resource)");
        let plugins = meter.snapshot().plugins;
        assert_eq!(
            (plugins[0].name.as_str(), plugins[0].kind.as_str()),
            ("my files", "resource")
        );
        assert!(plugins[0].resident_memory.is_some_and(|bytes| bytes > 100_000));
        drop(running);
        assert!(meter.snapshot().plugins.is_empty());
        assert_eq!(meter.snapshot().plugins_started, 1);
    }

    #[test]
    fn the_time_of_a_wait_counts_at_its_end() {
        let meter = Meter::default();
        let time = AtomicU64::new(3);
        let wait = meter.lock_wait(|| Duration::from_secs(read(&time)));
        let locks = meter.snapshot().locks;
        assert_eq!((locks.waiting, locks.waits, locks.waited), (1, 1, Duration::ZERO));
        add(&time, 4);
        drop(wait);
        let locks = meter.snapshot().locks;
        assert_eq!(
            (locks.waiting, locks.waits, locks.waited),
            (0, 1, Duration::from_secs(4))
        );
    }
}
