//! Programs that are closures of the host.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;

use crate::{
    error::Result,
    program::{Program, ProgramContext},
};

struct Closure<F>(F);

#[async_trait]
impl<F, R> Program for Closure<F>
where
    F: Fn(ProgramContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<()>> + Send,
{
    async fn run(&self, context: ProgramContext) -> Result<()> {
        // The root stack is registered as in the programs of the SDKs.
        context.monitor.register_root_stack().await?;
        (self.0)(context).await
    }
}

/// Creates a program from an async closure; the root stack is registered for it.
/// # Examples
/// ```
/// use stackwright::program;
///
/// let program = program::from_fn(|context| async move {
///     context.monitor.export("project", context.info.project.as_str().into());
///     Ok(())
/// });
/// # drop(program);
/// ```
pub fn from_fn<F, R>(run: F) -> Arc<dyn Program>
where
    F: Fn(ProgramContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<()>> + Send + 'static,
{
    Arc::new(Closure(run))
}
