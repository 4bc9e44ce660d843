//! Who uses the code of the host: one object may serve many operations, and none of them may end it for the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::provider::Provider;

/// Counts the runs that use each of the host's providers. Clones share the counts.
#[derive(Clone, Default)]
pub(super) struct SharedProviders(Arc<Mutex<Vec<Used>>>);

struct Used {
    provider: Arc<dyn Provider>,
    runs: usize,
}

impl SharedProviders {
    fn lock(&self) -> MutexGuard<'_, Vec<Used>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes one more run that uses `provider`.
    fn enter(&self, provider: &Arc<dyn Provider>) {
        let mut all = self.lock();
        match all.iter_mut().find(|used| Arc::ptr_eq(&used.provider, provider)) {
            Some(used) => used.runs += 1,
            None => all.push(Used {
                provider: Arc::clone(provider),
                runs: 1,
            }),
        }
    }

    fn leave(&self, provider: &Arc<dyn Provider>) {
        let mut all = self.lock();
        if let Some(place) = all.iter().position(|used| Arc::ptr_eq(&used.provider, provider)) {
            all[place].runs -= 1;
            if all[place].runs == 0 {
                all.swap_remove(place);
            }
        }
    }

    fn runs(&self, provider: &Arc<dyn Provider>) -> usize {
        let all = self.lock();
        let used = all.iter().find(|used| Arc::ptr_eq(&used.provider, provider));
        used.map_or(0, |used| used.runs)
    }
}

/// The providers of the host that one run uses.
pub(super) struct SharedInRun {
    all: SharedProviders,
    here: Mutex<Vec<Arc<dyn Provider>>>,
}

impl SharedInRun {
    pub(super) fn new(all: SharedProviders) -> Self {
        Self {
            all,
            here: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<dyn Provider>>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the run uses `provider`.
    pub(super) fn add(&self, provider: &Arc<dyn Provider>) {
        let mut here = self.lock();
        if !here.iter().any(|known| Arc::ptr_eq(known, provider)) {
            self.all.enter(provider);
            here.push(Arc::clone(provider));
        }
    }

    /// Tells whether `provider` is code of the host, which is let go but not closed.
    pub(super) fn contains(&self, provider: &Arc<dyn Provider>) -> bool {
        self.lock().iter().any(|known| Arc::ptr_eq(known, provider))
    }

    /// Tells whether other runs use `provider` as well.
    pub(super) fn is_used_elsewhere(&self, provider: &Arc<dyn Provider>) -> bool {
        self.contains(provider) && self.all.runs(provider) > 1
    }
}

impl Drop for SharedInRun {
    fn drop(&mut self) {
        for provider in std::mem::take(&mut *self.lock()) {
            self.all.leave(&provider);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::{Error, ErrorKind},
        provider::failed::FailedProvider,
    };

    #[test]
    fn a_provider_is_used_elsewhere_while_another_run_has_it() {
        let all = SharedProviders::default();
        let failure = Error::new(ErrorKind::Provider, "it is nowhere");
        let provider: Arc<dyn Provider> = Arc::new(FailedProvider::new(&failure));
        let (left, right) = (SharedInRun::new(all.clone()), SharedInRun::new(all.clone()));
        left.add(&provider);
        left.add(&provider);
        assert!(left.contains(&provider) && !left.is_used_elsewhere(&provider));
        assert!(!right.contains(&provider));
        right.add(&provider);
        assert!(left.is_used_elsewhere(&provider) && right.is_used_elsewhere(&provider));
        drop(right);
        assert!(!left.is_used_elsewhere(&provider));
        drop(left);
        assert_eq!(all.runs(&provider), 0);
    }
}
