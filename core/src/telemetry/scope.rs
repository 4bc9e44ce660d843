//! A scope: the span of a piece of work, and what happens within it.

use std::{fmt, sync::Arc};

use futures::future::Either;
use tracing::{
    Instrument as _, Span,
    field::{Empty, display},
};

use crate::{step::StepOp, urn::Urn};

tokio::task_local! {
    /// The innermost scope of the work of this task.
    static CURRENT: Scope;
}

/// A piece of work as subscribers of `tracing` see it. Without a subscriber that has an interest it is empty, and costs a comparison.
///
/// Spans have names and kinds as attributes: no value of a resource, and no message of an error, which could contain a secret.
#[derive(Clone, Default)]
pub(crate) struct Scope(Option<Arc<Active>>);

struct Active {
    span: Span,
}

impl Scope {
    /// Returns the innermost scope of the current task; an empty one outside of all.
    pub(crate) fn current() -> Self {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    fn of(span: Span) -> Self {
        match span.is_disabled() {
            true => Self::default(),
            false => Self(Some(Arc::new(Active { span }))),
        }
    }

    fn id(&self) -> Option<tracing::Id> {
        self.0.as_ref().and_then(|active| active.span.id())
    }

    /// Begins an operation, within the span that the caller is in.
    pub(crate) fn operation(stack: &str, verb: &'static str, is_preview: bool) -> Self {
        Self::of(tracing::info_span!(
            target: "stackwright::operation",
            "operation",
            stack,
            verb,
            preview = is_preview,
            outcome = Empty,
            otel.status_code = Empty,
        ))
    }

    /// Begins a step of the operation of this scope.
    pub(crate) fn step(&self, op: StepOp, urn: &Urn) -> Self {
        Self::of(tracing::info_span!(
            target: "stackwright::step",
            parent: self.id(),
            "step",
            op = op.name(),
            urn = urn.as_str(),
            error.type = Empty,
            otel.status_code = Empty,
        ))
    }

    /// Begins a call of a provider: within the current scope, or this one outside of all.
    pub(crate) fn provider_call(&self, provider: &str, method: &'static str, urn: Option<&Urn>) -> Self {
        let parent = CURRENT.try_with(Self::id).unwrap_or_else(|_| self.id());
        Self::of(tracing::debug_span!(
            target: "stackwright::provider",
            parent: parent,
            "provider_call",
            provider,
            method,
            urn = urn.map(Urn::as_str),
            otel.kind = "client",
            error.type = Empty,
            otel.status_code = Empty,
        ))
    }

    /// Begins a call of the store, within the current scope, or the span that the caller is in.
    pub(crate) fn store_call(method: &'static str, key: &str) -> Self {
        let span = match CURRENT.try_with(Self::id) {
            Ok(parent) => tracing::debug_span!(
                target: "stackwright::store",
                parent: parent,
                "store_call",
                method,
                key,
                otel.kind = "client",
                error.type = Empty,
                otel.status_code = Empty,
            ),
            Err(_) => tracing::debug_span!(
                target: "stackwright::store",
                "store_call",
                method,
                key,
                otel.kind = "client",
                error.type = Empty,
                otel.status_code = Empty,
            ),
        };
        Self::of(span)
    }

    /// Runs a future within this scope.
    pub(crate) fn within<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        match &self.0 {
            None => Either::Left(future),
            // Boxed: futures of steps and calls are many, and this one only exists while somebody looks.
            Some(active) => Either::Right(Box::pin(
                CURRENT.scope(self.clone(), future.instrument(active.span.clone())),
            )),
        }
    }

    /// Records that the work has failed, with the kind of the failure.
    pub(crate) fn failed(&self, kind: impl fmt::Display) {
        if let Some(active) = &self.0 {
            active.span.record("error.type", display(kind));
            active.span.record("otel.status_code", "ERROR");
        }
    }

    /// Records how an operation has ended.
    pub(crate) fn ended(&self, outcome: &'static str, is_success: bool) {
        if let Some(active) = &self.0 {
            active.span.record("outcome", outcome);
            if !is_success {
                active.span.record("otel.status_code", "ERROR");
            }
        }
    }
}
