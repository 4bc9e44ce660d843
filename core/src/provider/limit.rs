//! The limit of the duration of a provider's calls.

use std::{sync::Arc, time::Duration};

use crate::{
    provider::{Call, ProviderBackend, ProviderError, ProviderResult, ProviderStatus, Reply},
    runtime::Clock,
};

/// The time beyond a resource's own timeout in which its provider can report that this has passed.
const CUSTOM_TIMEOUT_MARGIN: Duration = Duration::from_secs(30);

/// How long calls of one provider may take.
#[derive(Clone)]
pub(crate) struct CallLimit {
    /// The provider's name in errors: its package.
    pub(crate) provider: String,
    pub(crate) timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
}

impl CallLimit {
    /// Makes a call. One that takes too long is dropped, which cancels it.
    ///
    /// # Errors
    /// The provider's error; `DeadlineExceeded` with an unknown outcome when the call took too long, with the provider,
    /// the call and its resource.
    pub(super) async fn call(&self, backend: &dyn ProviderBackend, call: Call) -> ProviderResult<Reply> {
        if is_limited_elsewhere(&call) {
            return backend.call(call).await;
        }
        let timeout = self.timeout.max(custom_timeout(&call));
        // A plugin is configured in the background: the next calls wait for it.
        let name = match &call {
            Call::Understands => "configure",
            _ => call.name(),
        };
        let what = format!("{name}{}", subject(&call));
        self.await_reply(&what, timeout, backend.call(call)).await
    }

    /// Awaits the reply to a call that is about no resource; `name` is that of the call.
    ///
    /// # Errors
    /// Those of [`Self::call`].
    pub(super) async fn within<T>(
        &self,
        name: &str,
        reply: impl Future<Output = ProviderResult<T>>,
    ) -> ProviderResult<T> {
        self.await_reply(name, self.timeout, reply).await
    }

    async fn await_reply<T>(
        &self,
        what: &str,
        timeout: Duration,
        reply: impl Future<Output = ProviderResult<T>>,
    ) -> ProviderResult<T> {
        tokio::select! {
            biased;
            reply = reply => reply,
            () = self.clock.wait(timeout) => Err(self.exceeded(what, timeout)),
        }
    }

    /// Returns the error of a call that took too long; its outcome is unknown. `what` is the call with its subject.
    pub(crate) fn exceeded(&self, what: &str, timeout: Duration) -> ProviderError {
        let (provider, seconds) = (&self.provider, timeout.as_secs_f64());
        ProviderError::without_answer(
            ProviderStatus::DeadlineExceeded,
            format!("provider `{provider}` did not return from {what} within {seconds} s"),
        )
    }
}

/// Returns whether the limit of a call is not that of this file: components and methods wait for the resources that they
/// register, for which the monitor allows, and the end of a provider has limits of its own.
const fn is_limited_elsewhere(call: &Call) -> bool {
    matches!(
        call,
        Call::Construct(_) | Call::Method(_) | Call::Cancel | Call::Close
    )
}

/// Returns the timeout of the call's resource with the margin; zero when it has none.
fn custom_timeout(call: &Call) -> Duration {
    let seconds = match call {
        Call::Create(request) => request.timeout,
        Call::Read(request) => request.timeout,
        Call::Update(request) => request.timeout,
        Call::Delete(request) => request.timeout,
        _ => 0.0,
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() => timeout.saturating_add(CUSTOM_TIMEOUT_MARGIN),
        _ => Duration::ZERO,
    }
}

/// Returns what a call is about, for errors; empty for a call about the provider.
fn subject(call: &Call) -> String {
    match call {
        Call::CheckConfig(request) | Call::Check(request) => format!(" of {}", request.urn),
        Call::DiffConfig(request) | Call::Diff(request) => format!(" of {}", request.urn),
        Call::Configure(request) => format!(" of {}", request.urn),
        Call::Create(request) => format!(" of {}", request.urn),
        Call::Read(request) => format!(" of {}", request.urn),
        Call::Update(request) => format!(" of {}", request.urn),
        Call::Delete(request) => format!(" of {}", request.urn),
        Call::Invoke(request) => format!(" of {}", request.token),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        provider::{CreateRequest, Views},
        runtime::{SystemClock, Timestamp},
        urn::Urn,
    };

    /// A clock on which only waits of one duration end.
    struct Passing(Duration);

    #[async_trait::async_trait]
    impl Clock for Passing {
        fn now(&self) -> Timestamp {
            SystemClock.now()
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        async fn wait(&self, duration: Duration) {
            if duration != self.0 {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Never answers; its token is cancelled when a call is dropped.
    #[derive(Default)]
    struct Hanging(CancellationToken);

    #[async_trait::async_trait]
    impl ProviderBackend for Hanging {
        async fn call(&self, _call: Call) -> ProviderResult<Reply> {
            let _dropped = self.0.clone().drop_guard();
            std::future::pending().await
        }
    }

    fn create(timeout: f64) -> Call {
        Call::Create(CreateRequest {
            urn: Urn::new("dev", "shop", "", "test:index:Thing", "a"),
            resource_type: "test:index:Thing".into(),
            name: "a".to_owned(),
            inputs: crate::property::PropertyMap::new(),
            timeout,
            preview: false,
            views: Views::default(),
        })
    }

    fn limit(ends: u64) -> CallLimit {
        CallLimit {
            provider: "test".to_owned(),
            timeout: Duration::from_secs(60),
            clock: Arc::new(Passing(Duration::from_secs(ends))),
        }
    }

    #[tokio::test]
    async fn a_call_that_takes_too_long_is_cancelled_and_its_outcome_is_unknown() {
        let backend = Hanging::default();
        let error = limit(60).call(&backend, create(0.0)).await.unwrap_err();
        assert!(error.is_timeout() && error.outcome_unknown);
        assert_eq!(
            error.message,
            "provider `test` did not return from create of urn:pulumi:dev::shop::test:index:Thing::a within 60 s"
        );
        assert!(backend.0.is_cancelled(), "the call is dropped");
    }

    #[tokio::test]
    async fn a_longer_timeout_of_the_resource_with_a_margin_takes_precedence() {
        let error = limit(130)
            .call(&Hanging::default(), create(100.0))
            .await
            .unwrap_err();
        assert!(error.message.ends_with("within 130 s"), "{error}");
        let error = limit(60)
            .call(&Hanging::default(), create(20.0))
            .await
            .unwrap_err();
        assert!(error.message.ends_with("within 60 s"), "{error}");
    }

    #[tokio::test]
    async fn a_configuration_in_the_background_is_named_by_its_call() {
        let error = limit(60)
            .call(&Hanging::default(), Call::Understands)
            .await
            .unwrap_err();
        assert_eq!(
            error.message,
            "provider `test` did not return from configure within 60 s"
        );
    }
}
