//! Extensions of providers: which providers can be given one, and the extensions that an instance has been given.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt as _, Shared};
use smol_str::SmolStr;

use crate::{
    provider::{CallLimit, ProviderError, ProviderResult, ProviderStatus},
    resource::Extension,
    runtime::Runtime,
};

/// A plugin that can be given extensions after its configuration. Code of the host is none.
#[async_trait]
pub(crate) trait Extensible: Send + Sync + 'static {
    /// Gives the plugin an extension, which it then serves beside its own package.
    ///
    /// # Errors
    /// The plugin's error, or that it has made another package of the extension.
    async fn extend(&self, extension: &Extension) -> ProviderResult<()>;
}

/// The result of an extension, for all that need it.
type Extending = Shared<BoxFuture<'static, ProviderResult<()>>>;

/// The extensions of one configured instance, each given once. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Extended(Arc<Mutex<BTreeMap<SmolStr, Extending>>>);

impl Extended {
    /// Gives a plugin an extension, unless it has it. Further requests wait for the first, and share its result.
    ///
    /// The work is a task of its own: it continues when the request that began it is dropped.
    ///
    /// # Errors
    /// The plugin's error; an extension that was refused is not tried again.
    pub(super) async fn extend(
        &self,
        plugin: &Arc<dyn Extensible>,
        extension: &Arc<Extension>,
        limit: Option<&CallLimit>,
        runtime: &Runtime,
    ) -> ProviderResult<()> {
        let begin = || {
            let (plugin, extension) = (Arc::clone(plugin), Arc::clone(extension));
            let limit = limit.cloned();
            let task = runtime.spawner.spawn(async move {
                let extending = plugin.extend(&extension);
                match limit {
                    Some(limit) => limit.within("parameterize", extending).await,
                    None => extending.await,
                }
            });
            let done = task.map(|ended| match ended {
                Ok(result) => result,
                Err(error) => Err(ProviderError::new(ProviderStatus::Internal, error.message())),
            });
            done.boxed().shared()
        };
        let extending = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(extension.reference().clone())
                .or_insert_with(begin)
                .clone()
        };
        extending.await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// Refuses the extension `bad`, and answers when it may.
    struct Counting {
        calls: AtomicUsize,
        may_answer: Semaphore,
    }

    #[async_trait]
    impl Extensible for Counting {
        async fn extend(&self, extension: &Extension) -> ProviderResult<()> {
            self.calls.fetch_add(1, Ordering::SeqCst);
            drop(self.may_answer.acquire().await);
            match extension.name.as_str() {
                "bad" => Err(ProviderError::new(
                    ProviderStatus::InvalidArgument,
                    "no such schema",
                )),
                _ => Ok(()),
            }
        }
    }

    #[tokio::test]
    async fn concurrent_requests_share_one_call_and_its_result_also_when_the_first_is_dropped() {
        let counting = Arc::new(Counting {
            calls: AtomicUsize::new(0),
            may_answer: Semaphore::new(0),
        });
        let plugin: Arc<dyn Extensible> = Arc::clone(&counting) as _;
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let extended = Extended::default();
        for (name, expected) in [("more", Ok(())), ("bad", Err("no such schema".to_owned()))] {
            let extension = Arc::new(Extension::new(name, "1.0.0", Vec::new()));
            let before = counting.calls.load(Ordering::SeqCst);
            let request = || extended.extend(&plugin, &extension, None, &runtime);
            let mut first = Box::pin(request());
            assert!(futures::poll!(&mut first).is_pending());
            drop(first);
            let others = futures::future::join(request(), request());
            let answering = async {
                counting.may_answer.add_permits(1);
            };
            let ((left, right), ()) = futures::future::join(others, answering).await;
            let text = |result: ProviderResult<()>| result.map_err(|error| error.message);
            assert_eq!((text(left), text(right)), (expected.clone(), expected.clone()));
            assert_eq!(text(request().await), expected, "a later request");
            assert_eq!(counting.calls.load(Ordering::SeqCst) - before, 1);
        }
    }
}
