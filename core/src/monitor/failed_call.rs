//! Failures of components and methods, which end the run.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

use crate::{
    callback::PANICKED,
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    executor::{Executor, Failure},
    monitor::WireStatus,
    property::{PropertyMap, PropertyPath, plain_text},
    provider::{ProviderError, ProviderResult, ProviderStatus},
    urn::Urn,
};

/// A component or a method that has failed.
pub(super) struct FailedCall<'a> {
    /// The beginning of the text.
    pub(super) head: String,
    /// The package of the provider.
    pub(super) package: &'a str,
    /// `construct` or `call`.
    pub(super) method: &'static str,
    /// The component, or the resource whose method it is.
    pub(super) urn: Option<&'a Urn>,
    /// Where the program uses it, as a sentence.
    pub(super) used: Option<String>,
}

impl FailedCall<'_> {
    /// Reports the failure, and ends the run; the status of the request is that of a run that has ended. The report is about
    /// no resource.
    pub(super) fn report(
        self,
        executor: &Executor,
        error: &ProviderError,
        inputs: &PropertyMap,
    ) -> WireStatus {
        if executor.control().is_stopped() {
            // The run has ended already: the failure follows from that.
            return WireStatus::run_failed();
        }
        let text = format!("{}{}", self.head, with_input_errors(error, inputs));
        executor.diagnose(Diagnostic::error(text.clone()));
        let mut failure = Error::new(ErrorKind::Provider, text);
        if let Some(cause) = &error.cause {
            failure = failure.with_facts_of(cause);
        }
        failure = failure.with_provider(self.package).with_phase(self.method);
        if let Some(urn) = self.urn {
            failure = failure.with_urn(urn.clone());
        }
        if let Some(used) = self.used {
            failure = failure.with_hint(used);
        }
        executor.control().fail(Failure::Callback(failure), true);
        WireStatus::run_failed()
    }
}

/// Awaits code of a provider that calls the engine again.
///
/// # Errors
/// Those of the call, and one when code of the host panics.
pub(super) async fn unless_panicked<T>(call: impl Future<Output = ProviderResult<T>>) -> ProviderResult<T> {
    let ended = AssertUnwindSafe(call).catch_unwind().await;
    ended.unwrap_or_else(|_| Err(ProviderError::new(ProviderStatus::Unknown, PANICKED)))
}

/// Returns the message of an error, followed by a line for each refused input, with its value unless that is secret.
fn with_input_errors(error: &ProviderError, inputs: &PropertyMap) -> String {
    let mut text = error.message.clone();
    for refused in &error.input_errors {
        let path = PropertyPath::parse(&refused.property).ok();
        let value = path.and_then(|path| path.get_marked(inputs));
        let value = value.map_or_else(|| "<nil>".to_owned(), |value| plain_text(&value));
        let (property, reason) = (&refused.property, &refused.reason);
        text.push_str(&format!(
            "\n- property {property} with value '{value}' has a problem: {reason}"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        property::{Output, PropertyValue},
        provider::{CheckFailure, ProviderStatus},
    };

    #[test]
    fn every_refused_input_is_listed_with_its_path_and_its_value_unless_that_is_secret() {
        let refused = |property: &str, reason: &str| CheckFailure {
            property: property.to_owned(),
            reason: reason.to_owned(),
        };
        let error = ProviderError {
            input_errors: vec![
                refused("size", "too large"),
                refused("login.password", "too short"),
                refused("keys[1]", "is no key"),
                refused("name", "is required"),
            ],
            ..ProviderError::new(ProviderStatus::InvalidArgument, "bad inputs")
        };
        let size = PropertyValue::Output(Arc::new(Output {
            element: Some(7.0.into()),
            secret: false,
            dependencies: Vec::new(),
        }));
        let login = PropertyMap::from_iter([("password", PropertyValue::from("pw"))]);
        let keys = vec!["a".into(), PropertyValue::secret("b".into())];
        let inputs = PropertyMap::from_iter([
            ("size", size),
            ("login", PropertyValue::secret(login.into())),
            ("keys", keys.into()),
        ]);
        assert_eq!(
            with_input_errors(&error, &inputs),
            "bad inputs\n\
             - property size with value '7' has a problem: too large\n\
             - property login.password with value '[secret]' has a problem: too short\n\
             - property keys[1] with value '[secret]' has a problem: is no key\n\
             - property name with value '<nil>' has a problem: is required"
        );
    }
}
