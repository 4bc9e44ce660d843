//! The guard of one claim: however its registration ends, nothing waits for it any longer.

use std::sync::Arc;

use crate::{
    generator::{Claim, Generator, RegisterOutcome, Unanswered},
    urn::Urn,
};

/// A claim with one owner. Dropped before the work on it has begun, it is given back; dropped later, it has failed.
pub(crate) struct ClaimGuard {
    generator: Arc<Generator>,
    claim: Claim,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Open,
    Begun,
    Ended,
}

impl ClaimGuard {
    pub(super) fn new(generator: &Arc<Generator>, claim: Claim) -> Self {
        Self {
            generator: Arc::clone(generator),
            claim,
            stage: Stage::Open,
        }
    }

    /// Returns the resource.
    pub(crate) fn urn(&self) -> &Urn {
        &self.claim.urn
    }

    /// Begins the work on the claim.
    pub(super) fn begin(&mut self) -> Claim {
        self.stage = Stage::Begun;
        self.claim.clone()
    }

    /// Ends the registration, and wakes what waits for it.
    pub(super) fn end(
        mut self,
        outcome: Result<RegisterOutcome, Unanswered>,
    ) -> Result<RegisterOutcome, Unanswered> {
        let succeeded = matches!(&outcome, Ok(outcome) if outcome.succeeded);
        self.stage = Stage::Ended;
        self.generator.claims.finish(&self.claim.urn, succeeded);
        outcome
    }

    /// Gives the claim back: it was never made.
    fn abandon(&self) {
        let claims = &self.generator.claims;
        if self.generator.executor.control().is_stopped() {
            // Registrations that depend on it end as it does.
            claims.finish(&self.claim.urn, false);
        } else {
            claims.withdraw(&self.claim);
        }
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        match self.stage {
            Stage::Open => self.abandon(),
            Stage::Begun => self.generator.claims.finish(&self.claim.urn, false),
            Stage::Ended => {}
        }
    }
}
