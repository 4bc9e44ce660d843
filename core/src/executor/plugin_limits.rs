//! How many calls of one plugin run at a time, in the operations of a set of stacks or of engines.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::{
    executor::slots::{Call, Slot, Slots, StallReport},
    provider::builtin::PACKAGE,
    runtime::Runtime,
    token::TypeToken,
};

/// The limit of calls of each plugin: how many steps, checks and diffs of the providers of one package run at a time. Cloning is cheap; all
/// clones share the counts, also in several engines ([`crate::EngineBuilder::plugin_limits`]).
#[derive(Clone)]
pub struct PluginLimits(Arc<Shared>);

impl fmt::Debug for PluginLimits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("PluginLimits")
            .field(&self.0.limit)
            .finish()
    }
}

/// A [`StallReport`] that ends with its operation.
type WeakReport = Weak<dyn Fn(String) + Send + Sync>;

struct Shared {
    limit: usize,
    runtime: Runtime,
    plugins: Mutex<BTreeMap<String, Slots>>,
    /// Those of the operations that run.
    reports: Arc<Mutex<Vec<WeakReport>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PluginLimits {
    /// Creates a limit of `limit` calls for each plugin; `None` for 0.
    pub(crate) fn unless_zero(limit: u32, runtime: &Runtime) -> Option<Self> {
        (limit > 0).then(|| Self::new(limit, runtime.clone()))
    }

    /// Creates a limit of `limit` calls for each plugin; 0 is none. `runtime` is to outlive the operations.
    #[must_use]
    pub fn new(limit: u32, runtime: Runtime) -> Self {
        Self(Arc::new(Shared {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            runtime,
            plugins: Mutex::default(),
            reports: Arc::default(),
        }))
    }

    /// Adds a receiver of warnings about calls that hold all turns of a plugin, until it is dropped.
    pub(super) fn report_to(&self, report: &StallReport) {
        let mut reports = locked(&self.0.reports);
        reports.retain(|report| report.strong_count() > 0);
        reports.push(Arc::downgrade(report));
    }

    /// Waits for the turn of a call. The built-in provider has no limit: its calls wait for other stacks of the set.
    pub(super) async fn acquire(&self, call: Call) -> Option<Slot> {
        let token = TypeToken::from(call.urn.resource_type());
        let plugin = token.asked_package();
        if plugin == PACKAGE {
            return None;
        }
        let slots = self.slots(plugin);
        Some(slots.acquire(call).await)
    }

    fn slots(&self, plugin: &str) -> Slots {
        let mut plugins = locked(&self.0.plugins);
        if let Some(slots) = plugins.get(plugin) {
            return slots.clone();
        }
        let reports = Arc::clone(&self.0.reports);
        let report: StallReport = Arc::new(move |text| {
            let reports: Vec<StallReport> = locked(&reports).iter().filter_map(Weak::upgrade).collect();
            reports.iter().for_each(|report| report(text.clone()));
        });
        let slots = Slots::new(self.0.limit, self.0.runtime.clone(), report);
        plugins.insert(plugin.to_owned(), slots.clone());
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_operation_that_has_ended_receives_no_warnings_and_leaves_nothing() {
        let limits = PluginLimits::new(1, Runtime::system(tokio::runtime::Handle::current()));
        let received = Arc::new(Mutex::new(0));
        for _ in 0..3 {
            let count = Arc::clone(&received);
            let report: StallReport = Arc::new(move |_| *locked(&count) += 1);
            limits.report_to(&report);
            assert_eq!(locked(&limits.0.reports).len(), 1);
            assert_eq!(Arc::strong_count(&received), 2);
        }
        assert_eq!(Arc::strong_count(&received), 1);
    }
}
