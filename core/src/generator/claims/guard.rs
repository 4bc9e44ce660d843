//! The guard of a claim: it ends the registration in any case, so that no other registration waits forever.

use std::sync::Arc;

use super::{Claim, Claims};
use crate::{
    generator::{RegisterOutcome, RunEnded},
    urn::Urn,
};

/// A claim with one owner. Dropping it before the work begins withdraws the claim; dropping it later fails it.
pub(crate) struct ClaimGuard {
    claims: Arc<Claims>,
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
    pub(super) fn new(claims: &Arc<Claims>, claim: Claim) -> Self {
        Self {
            claims: Arc::clone(claims),
            claim,
            stage: Stage::Open,
        }
    }

    /// Returns the URN of the resource.
    pub(crate) fn urn(&self) -> &Urn {
        &self.claim.urn
    }

    /// Begins the work on the claim.
    pub(in crate::generator) fn begin(&mut self) -> Claim {
        self.stage = Stage::Begun;
        self.claim.clone()
    }

    /// Ends the registration and wakes those that wait for it.
    pub(in crate::generator) fn end(
        mut self,
        outcome: Result<RegisterOutcome, RunEnded>,
    ) -> Result<RegisterOutcome, RunEnded> {
        let succeeded = matches!(&outcome, Ok(outcome) if outcome.succeeded);
        self.stage = Stage::Ended;
        self.claims.finish(&self.claim.urn, succeeded);
        outcome
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        match self.stage {
            Stage::Ended => {}
            Stage::Open if !self.claims.control.is_stopped() => self.claims.withdraw(&self.claim),
            // Once the run is stopped, dependent registrations end in the same way.
            Stage::Open | Stage::Begun => self.claims.finish(&self.claim.urn, false),
        }
    }
}
