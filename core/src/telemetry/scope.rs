//! A scope: the span of a piece of work, and what happens within it.

use std::{borrow::Cow, fmt, sync::Arc};

use futures::future::Either;
use tracing::{
    Instrument as _, Span,
    field::{Empty, display},
};

use super::export::{Attribute, Exporter, RunningSpan, TraceParent};
use crate::{secrets::Redactor, step::StepOp, urn::Urn};

tokio::task_local! {
    /// The innermost scope of the work of this task.
    static CURRENT: Scope;
}

/// A piece of work as subscribers of `tracing` see it, and as it is exported. Without a subscriber that has an interest and without an
/// export it is inactive, and costs a comparison.
///
/// Spans have names and kinds as attributes: no value of a resource, and no message of an error, which could contain a secret. Secrets within
/// names are replaced.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    active: Option<Arc<Active>>,
    /// What replaces the secrets of the operation; `None` outside of operations. The scope of an operation has it also while it is inactive,
    /// because its steps may be observed without it.
    redactor: Option<Redactor>,
}

struct Active {
    span: Span,
    exported: Option<RunningSpan>,
}

impl Scope {
    /// Returns the innermost scope of the current task; an empty one outside of all.
    pub(crate) fn current() -> Self {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    fn of(span: Span, exported: Option<RunningSpan>, redactor: Option<&Redactor>) -> Self {
        match span.is_disabled() && exported.is_none() {
            true => Self::default(),
            false => Self {
                active: Some(Arc::new(Active { span, exported })),
                redactor: redactor.cloned(),
            },
        }
    }

    /// Replaces the secrets of the operation in a name.
    pub(crate) fn redacted<'name>(&self, name: &'name str) -> Cow<'name, str> {
        match &self.redactor {
            Some(redactor) => redactor.scrub(name),
            None => Cow::Borrowed(name),
        }
    }

    fn id(&self) -> Option<tracing::Id> {
        self.active.as_ref().and_then(|active| active.span.id())
    }

    fn exported(&self) -> Option<&RunningSpan> {
        self.active.as_ref()?.exported.as_ref()
    }

    /// Begins an operation, within the span that the caller is in: of a subscriber, and of the export.
    pub(crate) fn operation(
        stack: &str,
        verb: &'static str,
        is_preview: bool,
        exporter: Option<&Exporter>,
        caller: Option<TraceParent>,
        redactor: &Redactor,
    ) -> Self {
        let span = tracing::info_span!(
            target: "stackwright::operation",
            "operation",
            stack,
            verb,
            preview = is_preview,
            outcome = Empty,
            otel.status_code = Empty,
        );
        let exported = exporter.and_then(|exporter| {
            let attributes = vec![
                ("stack", stack.into()),
                ("verb", verb.into()),
                ("preview", Attribute::Flag(is_preview)),
            ];
            let root = RunningSpan::root(exporter, caller, "operation", verb, attributes)?;
            root.redact_with(redactor);
            Some(root)
        });
        Self {
            redactor: Some(redactor.clone()),
            ..Self::of(span, exported, None)
        }
    }

    /// Begins a step of the operation of this scope.
    pub(crate) fn step(&self, op: StepOp, urn: &Urn) -> Self {
        let span = tracing::info_span!(
            target: "stackwright::step",
            parent: self.id(),
            "step",
            op = op.name(),
            urn = &*self.redacted(urn.as_str()),
            error.type = Empty,
            otel.status_code = Empty,
        );
        let exported = self.exported().map(|operation| {
            let attributes = vec![("op", op.name().into()), ("urn", urn.as_str().into())];
            operation.child("step", op.name(), false, attributes)
        });
        Self::of(span, exported, self.redactor.as_ref())
    }

    /// Begins a call of a provider: within the current scope, or this one outside of all.
    pub(crate) fn provider_call(&self, provider: &str, method: &'static str, urn: Option<&Urn>) -> Self {
        let current = Self::current();
        let outer = if current.active.is_some() { &current } else { self };
        let span = tracing::debug_span!(
            target: "stackwright::provider",
            parent: outer.id(),
            "provider_call",
            provider,
            method,
            urn = urn.map(|urn| outer.redacted(urn.as_str())).as_deref(),
            otel.kind = "client",
            error.type = Empty,
            otel.status_code = Empty,
        );
        let exported = outer.exported().map(|outer| {
            let mut attributes = vec![("provider", provider.into()), ("method", method.into())];
            attributes.extend(urn.map(|urn| ("urn", urn.as_str().into())));
            outer.child("provider_call", method, true, attributes)
        });
        Self::of(span, exported, outer.redactor.as_ref())
    }

    /// Begins a call of the store, within the current scope, or the span that the caller is in.
    pub(crate) fn store_call(method: &'static str, key: &str) -> Self {
        let outer = Self::current();
        let span = match &outer.active {
            Some(_) => tracing::debug_span!(
                target: "stackwright::store",
                parent: outer.id(),
                "store_call",
                method,
                key,
                otel.kind = "client",
                error.type = Empty,
                otel.status_code = Empty,
            ),
            None => tracing::debug_span!(
                target: "stackwright::store",
                "store_call",
                method,
                key,
                otel.kind = "client",
                error.type = Empty,
                otel.status_code = Empty,
            ),
        };
        let exported = outer.exported().map(|outer| {
            let attributes = vec![("method", method.into()), ("key", key.into())];
            outer.child("store_call", method, true, attributes)
        });
        Self::of(span, exported, outer.redactor.as_ref())
    }

    /// Runs a future within this scope.
    pub(crate) fn within<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        match &self.active {
            None => Either::Left(future),
            // Boxed: futures of steps and calls are many, and only those that are observed are larger.
            Some(active) => Either::Right(Box::pin(
                CURRENT.scope(self.clone(), future.instrument(active.span.clone())),
            )),
        }
    }

    /// Records that the work has failed, with the kind of the failure.
    pub(crate) fn failed(&self, kind: impl fmt::Display) {
        let Some(active) = &self.active else { return };
        active.span.record("error.type", display(&kind));
        active.span.record("otel.status_code", "ERROR");
        if let Some(exported) = &active.exported {
            exported.note("error.type", Attribute::Text(kind.to_string()), true);
        }
    }

    /// Records how an operation has ended. Its spans are sent.
    pub(crate) fn ended(&self, outcome: &'static str, is_success: bool) {
        let Some(active) = &self.active else { return };
        active.span.record("outcome", outcome);
        if !is_success {
            active.span.record("otel.status_code", "ERROR");
        }
        if let Some(exported) = &active.exported {
            exported.note("outcome", outcome, !is_success);
            exported.end_and_send();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No subscriber of `tracing` is installed in unit tests.
    #[tokio::test]
    async fn without_a_subscriber_and_an_export_no_scope_is_active() {
        let operation = Scope::operation("shop/dev", "update", false, None, None, &Redactor::new());
        let step = operation.step(StepOp::Create, &"urn:pulumi:dev::shop::a:b:C::d".parse().unwrap());
        let call = step.provider_call("a", "create", None);
        let store = Scope::store_call("put", "key");
        assert!(
            [&operation, &step, &call, &store]
                .iter()
                .all(|scope| scope.active.is_none())
        );
        assert!(
            operation
                .within(async { Scope::current().active.is_none() })
                .await
        );
    }
}
