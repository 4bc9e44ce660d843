//! Transforms of calls of functions.

use std::{
    fmt,
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::Duration,
};

use async_trait::async_trait;

use super::call::{call_transform, check_provider};
use crate::{
    error::Result as LibraryResult,
    monitor::{Invoke, PackageChoice, request_error::RequestError, shared::Shared},
    property::PropertyMap,
};

/// A call of a function as a transform sees it. Only arguments and options can be changed.
#[derive(Clone, Debug)]
pub struct InvokeTransformArgs {
    /// The function: `package:module:member`.
    pub token: String,
    /// The arguments, possibly with unknowns and secrets.
    pub arguments: PropertyMap,
    /// Options that choose the provider that has it. The reference of RegisterPackage cannot be changed.
    pub package: PackageChoice,
}

/// A function that changes the arguments and options of calls of functions before their providers are chosen.
///
/// The calls of all transforms are serial. One that takes longer than five minutes fails; a call is dropped when the run
/// is cancelled.
///
/// A transform may call functions, which are not transformed then: [`Invoke::in_transform`].
#[async_trait]
pub trait InvokeTransform: Send + Sync + 'static {
    /// Returns the changed call; `None` leaves it as it is.
    ///
    /// # Errors
    /// The failure of the transform, which refuses the call.
    async fn transform(&self, args: InvokeTransformArgs) -> LibraryResult<Option<InvokeTransformArgs>>;
}

#[async_trait]
impl<F, R> InvokeTransform for F
where
    F: Fn(InvokeTransformArgs) -> R + Send + Sync + 'static,
    R: Future<Output = LibraryResult<Option<InvokeTransformArgs>>> + Send,
{
    async fn transform(&self, args: InvokeTransformArgs) -> LibraryResult<Option<InvokeTransformArgs>> {
        self(args).await
    }
}

impl fmt::Debug for dyn InvokeTransform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InvokeTransform")
    }
}

/// The transforms of a run's calls of functions.
#[derive(Default)]
pub(super) struct InvokeTransforms {
    /// In the order of their registration.
    all: Mutex<Arc<Vec<Arc<dyn InvokeTransform>>>>,
    /// Held while the transforms of one call run.
    turn: tokio::sync::Mutex<()>,
    /// The threads that are polling the future of a transform.
    polling: Mutex<Vec<ThreadId>>,
}

/// How long a call waits for the transforms of other calls while the run works on nothing. It may come from one of these
/// transforms in a program behind the protocol, which does not say so.
const TURN_QUIET_LIMIT: Duration = Duration::from_secs(5);

/// Removes a thread from those that poll when it is dropped.
struct Polling<'a>(&'a InvokeTransforms, ThreadId);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        let mut polling = self.0.polling();
        if let Some(place) = polling.iter().position(|thread| *thread == self.1) {
            polling.swap_remove(place);
        }
    }
}

impl InvokeTransforms {
    pub(super) fn add(&self, transform: Arc<dyn InvokeTransform>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut all).push(transform);
    }

    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.all.lock().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }

    fn polling(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the caller is the future of a transform.
    pub(super) fn is_polling(&self) -> bool {
        let polling = self.polling();
        !polling.is_empty() && polling.contains(&thread::current().id())
    }

    /// Awaits a transform; calls of functions that its future makes are recognized meanwhile.
    async fn polled<T>(&self, transform: impl Future<Output = T>) -> T {
        let mut transform = pin!(transform);
        poll_fn(|context| {
            let polling = Polling(self, thread::current().id());
            self.polling().push(polling.1);
            transform.as_mut().poll(context)
        })
        .await
    }

    fn all(&self) -> Arc<Vec<Arc<dyn InvokeTransform>>> {
        Arc::clone(&self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs the transforms of a call of a function.
pub(in crate::monitor) async fn transform_invoke(
    shared: &Shared,
    invoke: &mut Invoke,
) -> Result<(), RequestError> {
    let transforms = &shared.transforms.invokes;
    let all = transforms.all();
    if all.is_empty() || invoke.in_transform {
        return Ok(());
    }
    let executor = shared.generator.executor();
    // Transforms get the values alone.
    invoke.arguments = invoke.arguments.without_outputs();
    let _turn = tokio::select! {
        biased;
        turn = transforms.turn.lock() => Some(turn),
        () = executor.control().stopped() => return Err(RequestError::RunEnded),
        () = executor.activity().quiet(TURN_QUIET_LIMIT) => None,
    };
    for (index, transform) in all.iter().enumerate() {
        let args = InvokeTransformArgs {
            token: invoke.token.clone(),
            arguments: invoke.arguments.clone(),
            package: invoke.package.clone(),
        };
        let what = || format!("transform {} of function '{}'", index + 1, invoke.token);
        let transforming = async {
            let changed = transforms.polled(transform.transform(args)).await?;
            if let Some(changed) = &changed {
                check_provider(&invoke.token, &invoke.package, &changed.package)?;
            }
            Ok(changed)
        };
        let changed = call_transform(shared, transforming, None, what).await?;
        if let Some(changed) = changed {
            let package_ref = std::mem::take(&mut invoke.package.package_ref);
            // Before the next transform, whose failure may quote them.
            shared.values.learn(&changed.arguments);
            invoke.arguments = changed.arguments;
            invoke.package = PackageChoice {
                package_ref,
                ..changed.package
            };
        }
    }
    Ok(())
}
