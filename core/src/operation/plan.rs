//! Plans of operations: what an operation is held to, and what is written down of it.

use std::sync::{Arc, OnceLock};

use super::{OperationKind, OperationRun};
use crate::{
    COMPATIBLE_VERSION,
    error::{Error, Result},
    plan::{Plan, PlanConfig, PlanKeys, Planning},
    state::{Manifest, Snapshot},
};

impl OperationRun {
    /// Reads the plan that the options give, and says what the operation does about plans.
    ///
    /// # Errors
    /// When the plan cannot be read, is another stack's, or cannot hold the operation.
    pub(super) async fn planning(&self, snapshot: &Snapshot) -> Result<Option<Arc<Planning>>> {
        let held_to = match &self.options.plan {
            None => None,
            Some(_) if self.kind == OperationKind::Refresh => {
                return Err(Error::invalid("a refresh cannot be held to a plan"));
            }
            Some(given) => {
                let secrets: Arc<_> = Arc::clone(&self.stack.secrets);
                let plan = given.open(snapshot.secrets.as_ref(), &secrets).await?;
                if plan.is_of_another(&self.stack.stack, &self.stack.project) {
                    return Err(Error::invalid(format!(
                        "the plan is of another stack than {}/{}",
                        self.stack.project, self.stack.stack
                    )));
                }
                // The program may have in the clear what the plan has as a secret.
                let redactor = self.events.redactor();
                plan.each_secret_text(&mut |text, is_scalar| redactor.learn_text(text, is_scalar));
                Some(plan)
            }
        };
        let kept = self.options.dry_run && self.kind == OperationKind::Update;
        let records = self.options.generate_plan.unwrap_or(kept);
        Ok(Planning::new(records, held_to).map(Arc::new))
    }

    /// Makes a plan of what was found; its document is written where the options ask for one.
    ///
    /// # Errors
    /// When a secret in it cannot be encrypted.
    pub(super) async fn plan(&self, planning: &Planning, snapshot: &Snapshot) -> Result<Option<Arc<Plan>>> {
        let Some(resources) = planning.take() else {
            return Ok(None);
        };
        let engine = &self.stack.engine;
        let plan = Plan {
            manifest: Manifest {
                time: Some(engine.runtime.clock.now()),
                version: COMPATIBLE_VERSION.to_owned(),
                plugins: Vec::new(),
            },
            config: PlanConfig::Known(self.stack.config.clone()),
            resources,
            keys: PlanKeys {
                manager: snapshot.secrets.clone(),
                provider: Arc::clone(&self.stack.secrets),
                is_own: false,
            },
            document: OnceLock::new(),
        };
        if self.options.generate_plan == Some(true) {
            plan.write().await?;
        }
        Ok(Some(Arc::new(plan)))
    }
}
