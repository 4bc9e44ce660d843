//! How many calls of one plugin run at a time in the operations of a set of stacks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    executor::slots::{Call, Slot, Slots, StallReport},
    provider::builtin::PACKAGE,
    runtime::Runtime,
    token::TypeToken,
};

/// The limit of calls of each plugin. Cloning is cheap; all clones share the counts.
#[derive(Clone)]
pub(crate) struct PluginLimits(Arc<Shared>);

struct Shared {
    limit: usize,
    runtime: Runtime,
    plugins: Mutex<BTreeMap<String, Slots>>,
    reports: Arc<Mutex<Vec<StallReport>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PluginLimits {
    /// Creates a limit of `limit` calls for each plugin; `None` for 0.
    pub(crate) fn unless_zero(limit: u32, runtime: &Runtime) -> Option<Self> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        (limit > 0).then(|| Self::new(limit, runtime.clone()))
    }

    /// Creates a limit of `limit` calls for each plugin.
    pub(crate) fn new(limit: usize, runtime: Runtime) -> Self {
        Self(Arc::new(Shared {
            limit,
            runtime,
            plugins: Mutex::default(),
            reports: Arc::default(),
        }))
    }

    /// Adds a receiver of warnings about calls that hold all turns of a plugin.
    pub(super) fn report_to(&self, report: StallReport) {
        locked(&self.0.reports).push(report);
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
            // Those of operations that have ended ignore it.
            let reports = locked(&reports).clone();
            reports.iter().for_each(|report| report(text.clone()));
        });
        let slots = Slots::new(self.0.limit, self.0.runtime.clone(), report);
        plugins.insert(plugin.to_owned(), slots.clone());
        slots
    }
}
