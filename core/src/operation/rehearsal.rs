//! Rehearsal: a strict operation is previewed first, and then held to what the preview found.

use std::sync::Arc;

use super::{OperationKind, OperationOptions, OperationResult, OperationRun, Session};
use crate::{event::EventSink, plan::GivenPlan};

impl OperationRun {
    /// Previews a strict operation and takes what was found for its plan; returns the result of a preview that failed.
    ///
    /// Nobody hears the events of the preview; what it says is said again when it fails.
    pub(super) async fn rehearse(&mut self) -> Option<OperationResult> {
        let options = &self.options;
        let rehearses = options.strict
            && !options.dry_run
            && options.plan.is_none()
            && self.kind != OperationKind::Refresh;
        if !rehearses {
            return None;
        }
        let runtime = &self.stack.engine.runtime;
        let preview = Self {
            stack: Arc::clone(&self.stack),
            kind: self.kind,
            options: OperationOptions {
                dry_run: true,
                generate_plan: Some(true),
                hold_session: false,
                ..options.clone()
            },
            program: self.program.clone(),
            events: EventSink::new(Arc::clone(&runtime.clock)),
            control: self.control.clone(),
            session: Session::default(),
        };
        let result = Box::pin(preview.run()).await;
        if result.error.is_some() {
            for said in &result.diagnostics {
                self.events.diagnostic(said.clone());
            }
            self.session.finish(false, runtime).await;
            self.events.end();
            // It was to be more than a preview, and has left the state as it was.
            return Some(OperationResult {
                is_preview: false,
                ..result
            });
        }
        self.options.plan = result.plan.map(GivenPlan::Kept);
        None
    }
}
