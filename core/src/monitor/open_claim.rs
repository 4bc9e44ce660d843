//! A claim on its way to the generator, given back when it does not get there.

use std::sync::Arc;

use crate::{
    generator::{Claim, Generator},
    urn::Urn,
};

/// A claim that is given back when it is dropped: nobody may wait for a registration that is not worked on.
pub(super) struct OpenClaim {
    generator: Arc<Generator>,
    claim: Claim,
    open: bool,
}

impl OpenClaim {
    pub(super) fn new(generator: &Arc<Generator>, claim: Claim) -> Self {
        Self {
            generator: Arc::clone(generator),
            claim,
            open: true,
        }
    }

    pub(super) fn urn(&self) -> &Urn {
        &self.claim.urn
    }

    /// Hands the claim over to who brings it to its end.
    pub(super) fn hand_over(mut self) -> Claim {
        self.open = false;
        self.claim.clone()
    }
}

impl Drop for OpenClaim {
    fn drop(&mut self) {
        if self.open {
            self.generator.abandon(&self.claim);
        }
    }
}
