//! Use counts of the host's code: one object may serve many operations, so it is not closed with one of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::provider::ProviderBackend;

/// Counts the runs that use each of the host's providers. Clones share the counts.
#[derive(Clone, Default)]
pub(super) struct SharedProviders {
    used: Arc<Mutex<Vec<UseCount>>>,
}

struct UseCount {
    provider: Arc<dyn ProviderBackend>,
    runs: usize,
}

impl SharedProviders {
    fn lock(&self) -> MutexGuard<'_, Vec<UseCount>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more run that uses `provider`.
    fn enter(&self, provider: &Arc<dyn ProviderBackend>) {
        let mut all = self.lock();
        match all.iter_mut().find(|used| Arc::ptr_eq(&used.provider, provider)) {
            Some(used) => used.runs += 1,
            None => all.push(UseCount {
                provider: Arc::clone(provider),
                runs: 1,
            }),
        }
    }

    fn leave(&self, provider: &Arc<dyn ProviderBackend>) {
        let mut all = self.lock();
        if let Some(place) = all.iter().position(|used| Arc::ptr_eq(&used.provider, provider)) {
            all[place].runs -= 1;
            if all[place].runs == 0 {
                all.swap_remove(place);
            }
        }
    }

    fn runs(&self, provider: &Arc<dyn ProviderBackend>) -> usize {
        let all = self.lock();
        let used = all.iter().find(|used| Arc::ptr_eq(&used.provider, provider));
        used.map_or(0, |used| used.runs)
    }
}

/// The providers of the host that one run uses.
pub(super) struct SharedInRun {
    all: SharedProviders,
    providers: Mutex<Vec<ProviderInRun>>,
}

/// A provider of the host; remembered after its release by the run.
struct ProviderInRun {
    provider: Arc<dyn ProviderBackend>,
    /// The number of provider resources of the run that it serves.
    instances: usize,
}

impl SharedInRun {
    pub(super) fn new(all: SharedProviders) -> Self {
        Self {
            all,
            providers: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ProviderInRun>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more provider resource of the run for `provider`.
    pub(super) fn add(&self, provider: &Arc<dyn ProviderBackend>) {
        let mut providers = self.lock();
        let place = providers
            .iter()
            .position(|known| Arc::ptr_eq(&known.provider, provider));
        let place = place.unwrap_or_else(|| {
            providers.push(ProviderInRun {
                provider: Arc::clone(provider),
                instances: 0,
            });
            providers.len() - 1
        });
        providers[place].instances += 1;
        if providers[place].instances == 1 {
            self.all.enter(provider);
        }
    }

    /// Counts one provider resource less for `provider`. Returns whether it is code of the host, which is released but
    /// not closed.
    pub(super) fn release(&self, provider: &Arc<dyn ProviderBackend>) -> bool {
        let mut providers = self.lock();
        let Some(known) = providers
            .iter_mut()
            .find(|known| Arc::ptr_eq(&known.provider, provider))
        else {
            return false;
        };
        if known.instances > 0 {
            known.instances -= 1;
            if known.instances == 0 {
                self.all.leave(provider);
            }
        }
        true
    }

    /// Returns whether runs other than this one use `provider`.
    pub(super) fn is_used_elsewhere(&self, provider: &Arc<dyn ProviderBackend>) -> bool {
        let serves = |known: &ProviderInRun| known.instances > 0 && Arc::ptr_eq(&known.provider, provider);
        self.lock().iter().any(serves) && self.all.runs(provider) > 1
    }
}

impl Drop for SharedInRun {
    fn drop(&mut self) {
        for known in std::mem::take(&mut *self.lock()) {
            if known.instances > 0 {
                self.all.leave(&known.provider);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Call, ProviderResult, Reply};

    struct Idle;

    #[async_trait::async_trait]
    impl ProviderBackend for Idle {
        async fn call(&self, call: Call) -> ProviderResult<Reply> {
            call.without_method()
        }
    }

    #[test]
    fn a_provider_is_used_elsewhere_while_another_run_uses_it() {
        let all = SharedProviders::default();
        let provider: Arc<dyn ProviderBackend> = Arc::new(Idle);
        let (left, right) = (SharedInRun::new(all.clone()), SharedInRun::new(all.clone()));
        left.add(&provider);
        left.add(&provider);
        assert!(!left.is_used_elsewhere(&provider) && !right.release(&provider));
        right.add(&provider);
        assert!(left.is_used_elsewhere(&provider) && right.is_used_elsewhere(&provider));
        drop(right);
        assert!(!left.is_used_elsewhere(&provider));
        drop(left);
        assert_eq!(all.runs(&provider), 0);
    }

    #[test]
    fn a_run_without_instances_uses_no_provider() {
        let all = SharedProviders::default();
        let provider: Arc<dyn ProviderBackend> = Arc::new(Idle);
        let (over, running) = (SharedInRun::new(all.clone()), SharedInRun::new(all.clone()));
        over.add(&provider);
        over.add(&provider);
        running.add(&provider);
        assert!(over.release(&provider) && running.is_used_elsewhere(&provider));
        assert!(over.release(&provider) && !running.is_used_elsewhere(&provider));
        assert!(over.release(&provider), "released code of the host is remembered");
        drop(over);
        assert_eq!(all.runs(&provider), 1);
    }
}
