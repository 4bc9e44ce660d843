//! Rehearsal: a strict operation is previewed first, and then constrained by the preview's plan.

use std::sync::Arc;

use super::{OperationKind, OperationOptions, OperationResult, OperationRun, PendingWork, Session};
use crate::{event::EventSink, plan::GivenPlan};

/// Previews a strict operation and constrains it by the preview's plan; returns the result of a failed preview.
///
/// The events of the preview have no listener; its diagnostics are emitted again when it fails.
pub(super) async fn rehearse(run: &mut OperationRun) -> Option<OperationResult> {
    let options = &run.options;
    let has_plans = matches!(run.kind, OperationKind::Update | OperationKind::Destroy);
    let rehearses = options.strict && !options.dry_run && options.plan.is_none() && has_plans;
    if !rehearses {
        return None;
    }
    let runtime = &run.stack.engine.runtime;
    let preview = OperationRun {
        stack: Arc::clone(&run.stack),
        kind: run.kind,
        options: OperationOptions {
            dry_run: true,
            generate_plan: Some(true),
            hold_session: false,
            // The timeout of the whole operation covers the preview.
            timeout: None,
            ..options.clone()
        },
        program: run.program.clone(),
        set: run.set.clone(),
        import: None,
        events: EventSink::new(Arc::clone(&runtime.clock)),
        control: run.control.clone(),
        session: Session::default(),
        pending: PendingWork::default(),
        moves: run.moves.clone(),
        scope: run.scope.clone(),
    };
    let result = Box::pin(preview.run()).await;
    if result.error.is_some() {
        for diagnostic in &result.diagnostics {
            run.events.diagnostic(diagnostic.clone());
        }
        run.session.finish(false, runtime).await;
        run.events.end();
        // The operation was no preview, although the state is unchanged.
        return Some(OperationResult {
            is_preview: false,
            ..result
        });
    }
    run.options.plan = result.plan.map(GivenPlan::Kept);
    None
}
