//! The plans of an operation: the one that constrains it, and the one that it makes.

use std::sync::{Arc, OnceLock};

use super::{OperationKind, OperationRun};
use crate::{
    COMPATIBLE_VERSION,
    error::{Error, Result},
    plan::{Plan, PlanConfig, PlanKeys, Planning},
    state::{Manifest, Snapshot},
};

/// Opens the plan of the options; `None` when there is none to follow or to make.
///
/// # Errors
/// When the plan cannot be read, is another stack's, or cannot constrain the operation.
pub(super) async fn open_planning(run: &OperationRun, snapshot: &Snapshot) -> Result<Option<Arc<Planning>>> {
    let held_to = match &run.options.plan {
        None => None,
        Some(_) if run.kind == OperationKind::Refresh => {
            return Err(Error::invalid("a refresh cannot be held to a plan"));
        }
        Some(_) if run.kind == OperationKind::Adopt => {
            return Err(Error::invalid("an adoption cannot be held to a plan"));
        }
        Some(given) => {
            let secrets: Arc<_> = Arc::clone(&run.stack.secrets);
            let plan = given.open(snapshot.secrets.as_ref(), &secrets).await?;
            if plan.is_of_another(&run.stack.stack, &run.stack.project) {
                return Err(Error::invalid(format!(
                    "the plan is of another stack than {}/{}",
                    run.stack.project, run.stack.stack
                )));
            }
            // The program may contain the plan's secrets in plaintext.
            let redactor = run.events.redactor();
            plan.each_secret_text(&mut |text, is_scalar| redactor.learn_text(text, is_scalar));
            Some(plan)
        }
    };
    let kept = run.options.dry_run && run.kind == OperationKind::Update;
    let records = run.options.generate_plan.unwrap_or(kept);
    Ok(Planning::new(records, held_to).map(Arc::new))
}

/// Builds a plan of the run's steps; its document is written when the options request it.
///
/// # Errors
/// When a secret in it cannot be encrypted.
pub(super) async fn make_plan(
    run: &OperationRun,
    planning: &Planning,
    snapshot: &Snapshot,
) -> Result<Option<Arc<Plan>>> {
    let Some(resources) = planning.take() else {
        return Ok(None);
    };
    let engine = &run.stack.engine;
    let plan = Plan {
        manifest: Manifest {
            time: Some(engine.runtime.clock.now()),
            version: COMPATIBLE_VERSION.to_owned(),
            plugins: Vec::new(),
        },
        config: PlanConfig::Known(run.stack.config.clone()),
        resources,
        keys: PlanKeys {
            manager: snapshot.secrets.clone(),
            provider: Arc::clone(&run.stack.secrets),
            is_own: false,
        },
        document: OnceLock::new(),
    };
    if run.options.generate_plan == Some(true) {
        plan.write().await?;
    }
    Ok(Some(Arc::new(plan)))
}
