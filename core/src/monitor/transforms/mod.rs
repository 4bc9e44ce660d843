//! Transforms: functions of the program that change registrations and calls of functions before the engine acts on them.
//!
//! A registration with transforms claims its URN after them, in its own task; until then its URN is announced, and
//! registrations that refer to it wait. Registrations without transforms take no part in this.

mod announced;
mod args;
mod call;
mod change;
mod deferred;
mod dependencies;
mod invoke;
mod json;
mod lineage;
mod remote;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use rustc_hash::FxHashMap;
use tokio_util::sync::CancellationToken;

use crate::{
    error::Error,
    monitor::{Registration, placement::Placement},
    token::TypeToken,
    urn::Urn,
};

use announced::{Announced, Announcement};
pub use args::{ResourceTransform, TransformArgs, TransformOptions};
pub(super) use deferred::Deferred;
use invoke::InvokeTransforms;
pub(super) use invoke::transform_invoke;
pub use invoke::{InvokeTransform, InvokeTransformArgs};
pub(super) use lineage::Lineage;
pub(super) use remote::{RemoteInvokeTransform, RemoteTransform};

type TransformList = Vec<Arc<dyn ResourceTransform>>;

/// The transforms of one run.
#[derive(Default)]
pub(super) struct Transforms {
    /// Set with the first transform; until then nothing else is looked at.
    in_use: AtomicBool,
    state: Mutex<State>,
    announced: Announced,
    invokes: InvokeTransforms,
    /// The failures of transforms, as the program sees them.
    refusals: Mutex<Vec<Error>>,
}

#[derive(Default)]
struct State {
    /// The transforms of the stack, in the order of their registration.
    stack: Arc<TransformList>,
    /// The lineages of the claimed resources that have one.
    lineages: FxHashMap<Urn, Arc<Lineage>>,
    /// The transforms of remote components, for the registrations by which their providers create these.
    pending: FxHashMap<Place, TransformList>,
}

/// A component: its parent, type and name.
#[derive(PartialEq, Eq, Hash)]
struct Place(Option<Urn>, TypeToken, String);

impl Place {
    fn of(registration: &Registration) -> Self {
        Self(
            registration.parent.clone(),
            registration.resource_type.clone(),
            registration.name.clone(),
        )
    }
}

impl Transforms {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the failure of a transform, for the error of a program that ends with it.
    fn keep_refusal(&self, refusal: Error) {
        self.refusals().push(refusal);
    }

    fn refusals(&self) -> MutexGuard<'_, Vec<Error>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops all transforms: none runs any more.
    pub(super) fn clear(&self) {
        let state = std::mem::take(&mut *self.state());
        drop(state);
        self.invokes.clear();
    }

    /// Adds to the error of a program the resource and the cause of the transform's failure that its text contains.
    pub(super) fn explain(&self, error: Error) -> Error {
        let refusals = self.refusals();
        let Some(refusal) = refusals
            .iter()
            .find(|refusal| error.message().contains(refusal.message()))
        else {
            return error;
        };
        let urn = error.urn().or(refusal.urn()).cloned();
        let error = error.with_facts_of(refusal);
        match urn {
            Some(urn) => error.with_urn(urn),
            None => error,
        }
    }

    /// Adds a transform of the stack.
    pub(super) fn add(&self, transform: Arc<dyn ResourceTransform>) {
        self.in_use.store(true, Ordering::Release);
        Arc::make_mut(&mut self.state().stack).push(transform);
    }

    /// Adds a transform of the stack's calls of functions.
    pub(super) fn add_invoke(&self, transform: Arc<dyn InvokeTransform>) {
        self.invokes.add(transform);
    }

    /// Returns whether the caller is the future of a transform of functions.
    pub(super) fn is_polling_invoke(&self) -> bool {
        self.invokes.is_polling()
    }

    /// Returns whether a registration is claimed later: because of transforms, or because it refers to another one that
    /// is. Its parent is completed for that.
    pub(super) fn defer(&self, placement: &Placement, registration: &mut Registration) -> bool {
        if registration.transforms.is_empty() && !self.in_use() {
            return false;
        }
        placement.place(registration);
        self.concern(registration)
    }

    /// Returns whether there has been any transform of resources in this run.
    pub(super) fn in_use(&self) -> bool {
        self.in_use.load(Ordering::Acquire)
    }

    /// Returns whether a registration has transforms, or refers to an announced URN. Its parent is complete.
    fn concern(&self, registration: &Registration) -> bool {
        if !registration.transforms.is_empty() {
            return true;
        }
        // In this order: a claimed parent's lineage is recorded before its announcement ends.
        if !self.announced.ends(references(registration)).is_empty() {
            return true;
        }
        let state = self.state();
        let parent = registration.parent.as_ref();
        !state.stack.is_empty()
            || parent.is_some_and(|parent| state.lineages.contains_key(parent))
            || is_local_component(registration) && state.pending.contains_key(&Place::of(registration))
    }

    /// Returns the lineage of the children of a claimed resource.
    fn lineage(&self, parent: Option<&Urn>) -> Option<Arc<Lineage>> {
        self.state().lineages.get(parent?).cloned()
    }

    /// Records the lineage of a claimed resource, which its children inherit.
    pub(super) fn record(&self, urn: &Urn, lineage: Option<Arc<Lineage>>) {
        let mut state = self.state();
        match lineage {
            Some(lineage) => state.lineages.insert(urn.clone(), lineage),
            // A released registration of the same URN may have left an entry.
            None => state.lineages.remove(urn),
        };
    }

    /// Saves the transforms of a remote component for the registration that its provider will make.
    fn hand_over(&self, component: &Registration, transforms: TransformList) {
        self.state().pending.insert(Place::of(component), transforms);
    }

    /// Announces a URN that is claimed later.
    pub(super) fn announce(&self, urn: Urn) -> Announcement {
        self.announced.announce(Some(urn))
    }

    /// Returns the ends of the announcements of these URNs.
    pub(super) fn announced<'a>(&self, urns: impl Iterator<Item = &'a Urn>) -> Vec<CancellationToken> {
        if self.in_use() {
            self.announced.ends(urns)
        } else {
            Vec::new()
        }
    }
}

/// Returns the resources that a registration refers to, without its provider.
fn references(registration: &Registration) -> impl Iterator<Item = &Urn> {
    let lists = registration.property_dependencies.iter();
    registration
        .parent
        .iter()
        .chain(&registration.dependencies)
        .chain(lists.flat_map(|known| known.lists().flatten()))
        .chain(&registration.options.deleted_with)
        .chain(&registration.options.replace_with)
}

fn is_local_component(registration: &Registration) -> bool {
    !registration.custom && !registration.remote
}
