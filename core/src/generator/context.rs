//! The shared context of the generator's parts during one run.

use std::sync::Arc;

use crate::{
    generator::{
        Claims, GeneratorOptions, plans::Plans, providers::ProviderLookup, replacements::Replacements,
        run::Run,
    },
    state::PriorState,
};

/// The options and the shared state of one run, without decisions.
pub(super) struct Context {
    pub(super) options: GeneratorOptions,
    /// The recorded state before this run.
    pub(super) base: Arc<PriorState>,
    pub(super) run: Run,
    pub(super) claims: Arc<Claims>,
    pub(super) providers: ProviderLookup,
    pub(super) plans: Plans,
    pub(super) replacements: Replacements,
    /// Held while unclaimed records are adopted: registrations that claim one of them wait for its step.
    pub(super) adoption: tokio::sync::Mutex<()>,
}
