//! What observes the calls of a provider: the counts of its package, and spans.

use smol_str::SmolStr;

use crate::{
    metrics::{CallInFlight, PackageMeter},
    provider::{Call, ProviderError},
    telemetry::Scope,
};

/// Observes the calls of a provider in one operation.
#[derive(Clone)]
pub(crate) struct CallObserver {
    /// The package.
    pub(crate) package: SmolStr,
    /// Counts the calls.
    pub(crate) meter: PackageMeter,
    /// The operation, for calls outside of its steps.
    pub(crate) scope: Scope,
}

/// A call that is observed until its end, or until this is dropped.
pub(crate) struct ObservedCall<'meter> {
    in_flight: CallInFlight<'meter>,
    scope: Scope,
}

impl CallObserver {
    /// Begins to observe a call.
    pub(crate) fn observe(&self, call: &Call) -> ObservedCall<'_> {
        ObservedCall {
            in_flight: self.meter.call(),
            scope: self.scope.provider_call(&self.package, call.name(), call.urn()),
        }
    }
}

impl ObservedCall<'_> {
    /// Returns what the call runs within.
    pub(crate) fn scope(&self) -> Scope {
        self.scope.clone()
    }

    /// Notes that the call has returned an error.
    pub(crate) fn failed(&self, error: &ProviderError) {
        self.in_flight.failed();
        self.scope.failed(error.status);
    }
}
