//! What the parts of the generator share during one run.

use std::sync::Arc;

use crate::{
    generator::{
        Claims, GeneratorOptions, plans::Plans, providers::ProviderLookup, replacements::Replacements,
        run::Run,
    },
    state::Base,
};

/// The options and the shared state of one run. Each part has its own type; this one decides nothing.
pub(super) struct Context {
    pub(super) options: GeneratorOptions,
    /// What was recorded before this run.
    pub(super) base: Arc<Base>,
    pub(super) run: Run,
    pub(super) claims: Arc<Claims>,
    pub(super) providers: ProviderLookup,
    pub(super) plans: Plans,
    pub(super) replacements: Replacements,
    /// Held while unclaimed records are adopted: registrations that claim one of them wait for its step.
    pub(super) adoption: tokio::sync::Mutex<()>,
}
