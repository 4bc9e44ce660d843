//! Who uses the code of the host: one object may serve many operations, and none of them may end it for the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::provider::ProviderBackend;

/// Counts the runs that use each of the host's providers. Clones share the counts.
#[derive(Clone, Default)]
pub(super) struct SharedProviders {
    used: Arc<Mutex<Vec<Used>>>,
}

struct Used {
    provider: Arc<dyn ProviderBackend>,
    runs: usize,
}

impl SharedProviders {
    fn lock(&self) -> MutexGuard<'_, Vec<Used>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes one more run that uses `provider`.
    fn enter(&self, provider: &Arc<dyn ProviderBackend>) {
        let mut all = self.lock();
        match all.iter_mut().find(|used| Arc::ptr_eq(&used.provider, provider)) {
            Some(used) => used.runs += 1,
            None => all.push(Used {
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
    here: Mutex<Vec<Here>>,
}

/// A provider of the host, which stays known as such when the run has let it go.
struct Here {
    provider: Arc<dyn ProviderBackend>,
    /// How many provider resources of the run it serves.
    instances: usize,
}

impl SharedInRun {
    pub(super) fn new(all: SharedProviders) -> Self {
        Self {
            all,
            here: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Here>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `provider` serves one more provider resource of the run.
    pub(super) fn add(&self, provider: &Arc<dyn ProviderBackend>) {
        let mut here = self.lock();
        let place = here
            .iter()
            .position(|known| Arc::ptr_eq(&known.provider, provider));
        let place = place.unwrap_or_else(|| {
            here.push(Here {
                provider: Arc::clone(provider),
                instances: 0,
            });
            here.len() - 1
        });
        here[place].instances += 1;
        if here[place].instances == 1 {
            self.all.enter(provider);
        }
    }

    /// Notes that `provider` serves one less; a run may be kept long after its end. Tells whether it is code of the host,
    /// which is let go but not closed.
    pub(super) fn let_go(&self, provider: &Arc<dyn ProviderBackend>) -> bool {
        let mut here = self.lock();
        let Some(known) = here
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

    /// Tells whether other runs use `provider`, which serves this one, as well.
    pub(super) fn is_used_elsewhere(&self, provider: &Arc<dyn ProviderBackend>) -> bool {
        let serves = |known: &Here| known.instances > 0 && Arc::ptr_eq(&known.provider, provider);
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
    fn a_provider_is_used_elsewhere_while_another_run_has_it() {
        let all = SharedProviders::default();
        let provider: Arc<dyn ProviderBackend> = Arc::new(Idle);
        let (left, right) = (SharedInRun::new(all.clone()), SharedInRun::new(all.clone()));
        left.add(&provider);
        left.add(&provider);
        assert!(!left.is_used_elsewhere(&provider) && !right.let_go(&provider));
        right.add(&provider);
        assert!(left.is_used_elsewhere(&provider) && right.is_used_elsewhere(&provider));
        drop(right);
        assert!(!left.is_used_elsewhere(&provider));
        drop(left);
        assert_eq!(all.runs(&provider), 0);
    }

    #[test]
    fn a_run_that_is_over_uses_nothing_even_if_it_is_kept() {
        let all = SharedProviders::default();
        let provider: Arc<dyn ProviderBackend> = Arc::new(Idle);
        let (over, running) = (SharedInRun::new(all.clone()), SharedInRun::new(all.clone()));
        over.add(&provider);
        over.add(&provider);
        running.add(&provider);
        assert!(over.let_go(&provider) && running.is_used_elsewhere(&provider));
        assert!(over.let_go(&provider) && !running.is_used_elsewhere(&provider));
        assert!(over.let_go(&provider), "it is the host's for ever");
        drop(over);
        assert_eq!(all.runs(&provider), 1);
    }
}
