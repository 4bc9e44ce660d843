//! The code of components and methods: its context, and the completion and the cancellation of its call.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use stackwright::{
    monitor::{Component, Monitor},
    program::ProgramContext,
    urn::Urn,
};
use tokio_util::sync::CancellationToken;

use super::sw_context_t;
use crate::runtime::Shared;

/// The call of a component or method.
pub(super) struct Body {
    /// The component; `None` for a method.
    component: Option<Component>,
    /// Cancelled when the engine has cancelled the call.
    cancelled: CancellationToken,
    /// Set when the host has completed or freed the completion.
    completed: AtomicBool,
}

impl Body {
    fn new(component: Option<Component>) -> Self {
        Self {
            component,
            cancelled: CancellationToken::new(),
            completed: AtomicBool::new(false),
        }
    }

    pub(super) fn cancellation(&self) -> CancellationToken {
        self.cancelled.clone()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Returns the refusal of calls after the completion.
    pub(super) fn completion_text(&self) -> String {
        let text = "the call that the context belongs to was completed";
        match &self.component {
            Some(component) => format!("{text}: construct of the component '{}'", component.urn().name()),
            None => text.to_owned(),
        }
    }

    pub(super) fn is_completed(&self) -> bool {
        self.completed.load(Ordering::Acquire)
    }
}

impl sw_context_t {
    /// Creates the context of a component's code.
    pub(crate) fn of_component(component: Component, shared: Arc<Shared>) -> stackwright::Result<Arc<Self>> {
        let monitor = component.monitor().clone();
        Self::of_body(monitor, Body::new(Some(component)), shared)
    }

    /// Creates the context of a method's code.
    pub(crate) fn of_method(monitor: Monitor, shared: Arc<Shared>) -> stackwright::Result<Arc<Self>> {
        Self::of_body(monitor, Body::new(None), shared)
    }

    fn of_body(monitor: Monitor, body: Body, shared: Arc<Shared>) -> stackwright::Result<Arc<Self>> {
        let info = Arc::clone(monitor.run_info());
        let root = monitor.root_stack();
        let root = root.unwrap_or_else(|| Urn::root_stack(&info.stack, &info.project));
        Self::new(ProgramContext { info, monitor }, &root, Some(body), shared)
    }

    /// Returns the component whose code has the context.
    pub(super) fn component(&self) -> Option<&Component> {
        self.body.as_ref()?.component.as_ref()
    }

    /// Returns the token of the call's cancellation; `None` for a program, which ends with its run.
    pub(crate) fn cancellation(&self) -> Option<CancellationToken> {
        self.body.as_ref().map(Body::cancellation)
    }
}

/// The context of a call that is not completed. Dropping it marks the call as completed, so that the functions of the
/// context refuse later calls.
pub(crate) struct OpenContext(Arc<sw_context_t>);

impl OpenContext {
    pub(crate) fn new(context: Arc<sw_context_t>) -> Self {
        Self(context)
    }
}

impl Drop for OpenContext {
    fn drop(&mut self) {
        if let Some(body) = &self.0.body {
            body.completed.store(true, Ordering::Release);
        }
    }
}
