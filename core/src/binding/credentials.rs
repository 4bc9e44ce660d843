//! The credentials of remote stores as data, and from a callback of the host.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{read, store::HostCalls};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Language,
    plugin::HostEnvironment,
    runtime::Timestamp,
    store::{Credential, CredentialSource, Credentials},
};

/// What errors about the answer of a callback name.
const OF_CALLBACK: &str = "the answer of the credential callback";

/// The credentials of a remote store: those of one kind, or the environment.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "StoreCredentials")]
pub struct CredentialDocument {
    /// The id of an access key of AWS, for `s3://`.
    pub access_key_id: Option<String>,
    /// The secret access key of the same.
    pub secret_access_key: Option<String>,
    /// The session token of temporary keys.
    pub session_token: Option<String>,
    /// An OAuth token, for `gs://` and `azblob://`.
    pub token: Option<String>,
    /// The key file of a Google service account, for `gs://`: its content as a string or an object. Not from a callback.
    #[schemars(extend("x-takes" = "a string or an object: the content of a key file", "x-python" = "str | Mapping[str, Any]", "x-typescript" = "string | object"))]
    pub service_account: Option<Value>,
    /// The key of a storage account, base64, for `azblob://`.
    pub account_key: Option<String>,
    /// A shared access signature as a query string, for `azblob://`.
    pub sas_token: Option<String>,
    /// A password, for `postgres://`.
    pub password: Option<String>,
    /// The time at which the credentials of a callback end, RFC 3339. They are requested again one minute before; without it, one
    /// minute after they were returned.
    #[schemars(extend("x-takes" = "a time as a string, RFC 3339", "x-python" = "str | datetime", "x-typescript" = "string | Date"))]
    pub expires: Option<String>,
    /// Uses the variables of this process's environment, and what they refer to, as the command does. They are read once, when the
    /// engine is made. Not from a callback.
    pub from_environment: bool,
}

/// Shows no value.
impl fmt::Debug for CredentialDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CredentialDocument")
            .finish_non_exhaustive()
    }
}

/// Transports the request for credentials to the host's callback.
#[async_trait]
pub trait CredentialHost: Send + Sync + 'static {
    /// Returns a [`CredentialDocument`] as JSON. Calls do not overlap.
    ///
    /// # Errors
    /// Any; the request of the store that needed the credentials fails with it.
    async fn credentials(&self) -> Result<Vec<u8>>;
}

impl CredentialDocument {
    /// Returns the credentials for a store; none where nothing is given.
    pub(super) fn given(&self, language: Language) -> Result<Credentials> {
        if *self == Self::default() {
            return Ok(Credentials::None);
        }
        if self.expires.is_some() {
            let text = format!(
                "{} of credentials is for those of a callback",
                language.member("expires")
            );
            return Err(Error::invalid(text).with_hint("pass a credential callback that returns them"));
        }
        match (self.from_environment, self.kinds(language)?.as_slice()) {
            (true, []) => Ok(Credentials::Environment(Arc::new(environment()))),
            (true, [..]) => Err(Error::invalid(format!(
                "credentials have {} and others: one of both is used",
                language.member("fromEnvironment")
            ))),
            (false, _) => self.credential(language).map(Credentials::Given),
        }
    }

    /// Returns what a callback returned, with its end.
    fn of_callback(&self, language: Language) -> Result<(Credential, Option<Timestamp>)> {
        if self.from_environment {
            return Err(Error::invalid(format!(
                "{OF_CALLBACK} has {}, which is a setting",
                language.member("fromEnvironment")
            )));
        }
        let end = self.expires.as_deref().map(str::parse).transpose();
        let end = end.map_err(|_| {
            Error::invalid(format!(
                "{} in {OF_CALLBACK} is no time as RFC 3339 has it",
                language.member("expires")
            ))
        })?;
        Ok((self.credential(language)?, end))
    }

    fn credential(&self, language: Language) -> Result<Credential> {
        let mut kinds = self.kinds(language)?;
        match (kinds.pop(), kinds.is_empty()) {
            (Some((_, credential)), true) => Ok(credential),
            (None, _) => {
                Err(Error::invalid("the credentials of the store are empty").with_hint(listed(language)))
            }
            (Some((last, _)), false) => {
                let names = kinds.iter().map(|(name, _)| name.as_str()).chain([last.as_str()]);
                let names = names.collect::<Vec<_>>().join(" and ");
                Err(Error::invalid(format!(
                    "the credentials of the store have {names}: those of one kind are used"
                )))
            }
        }
    }

    /// Returns the given credentials, each with the member that has it.
    fn kinds(&self, language: Language) -> Result<Vec<(String, Credential)>> {
        let name = |name: &str| language.member(name).into_owned();
        let mut kinds = Vec::new();
        match (&self.access_key_id, &self.secret_access_key) {
            (Some(id), Some(secret)) => kinds.push((
                name("accessKeyId"),
                Credential::AwsKeys {
                    access_key_id: id.clone(),
                    secret_access_key: secret.clone(),
                    session_token: self.session_token.clone(),
                },
            )),
            (None, None) if self.session_token.is_none() => {}
            _ => {
                return Err(Error::invalid(format!(
                    "keys of AWS are {} and {}, and {} for temporary ones",
                    name("accessKeyId"),
                    name("secretAccessKey"),
                    name("sessionToken")
                )));
            }
        }
        let account = self.service_account.as_ref().map(|key| match key {
            Value::String(text) => text.clone(),
            key => key.to_string(),
        });
        let mut add = |member: &str, value: Option<String>, make: fn(String) -> Credential| {
            kinds.extend(value.map(|value| (name(member), make(value))));
        };
        add("token", self.token.clone(), Credential::BearerToken);
        add("serviceAccount", account, Credential::GoogleServiceAccount);
        add(
            "accountKey",
            self.account_key.clone(),
            Credential::AzureAccountKey,
        );
        add("sasToken", self.sas_token.clone(), Credential::AzureSignature);
        add("password", self.password.clone(), Credential::Password);
        Ok(kinds)
    }
}

fn listed(language: Language) -> String {
    let names = [
        "accessKeyId",
        "secretAccessKey",
        "token",
        "serviceAccount",
        "accountKey",
        "sasToken",
        "password",
    ];
    let names: Vec<_> = names.iter().map(|name| language.member(name)).collect();
    format!("there are: {}", names.join(", "))
}

/// Returns the variables whose names and values are texts.
fn environment() -> BTreeMap<String, String> {
    let environment = HostEnvironment::now();
    let variables = environment.variables().iter();
    let texts =
        variables.filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    texts.collect()
}

/// The callback of a host as a source of credentials.
pub(super) struct HostCredentials {
    pub(super) host: Arc<dyn CredentialHost>,
    pub(super) language: Language,
    pub(super) calls: HostCalls,
}

#[async_trait]
impl CredentialSource for HostCredentials {
    async fn credential(&self) -> Result<(Credential, Option<Timestamp>)> {
        let answered = self.calls.run(self.host.credentials()).await.map_err(|error| {
            let kind = match error.kind() {
                kind @ (ErrorKind::InvalidInput | ErrorKind::Cancelled) => kind,
                _ => ErrorKind::Unavailable,
            };
            let text = format!("the credential callback failed: {}", error.message());
            let hints = error.hints().to_vec();
            let named = hints.into_iter().fold(Error::new(kind, text), Error::with_hint);
            named.with_source(error)
        })?;
        let document: CredentialDocument = read(&answered, self.language, OF_CALLBACK)?;
        document.of_callback(self.language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Runtime;

    fn document(json: &str) -> CredentialDocument {
        read(json.as_bytes(), Language::Node, "credentials").unwrap()
    }

    #[test]
    fn each_kind_of_credentials_is_read_and_two_are_refused() {
        let kinds = [
            (
                r#"{"accessKeyId": "A", "secretAccessKey": "B", "sessionToken": "C"}"#,
                "keys of AWS",
            ),
            (r#"{"token": "A"}"#, "a bearer token"),
            (
                r#"{"serviceAccount": {"type": "service_account"}}"#,
                "a Google service account",
            ),
            (r#"{"accountKey": "A"}"#, "an Azure account key"),
            (r#"{"sasToken": "A"}"#, "an Azure shared access signature"),
            (r#"{"password": "A"}"#, "a password"),
        ];
        for (json, kind) in kinds {
            let read = document(json).credential(Language::Node).unwrap();
            assert_eq!(format!("{read:?}"), kind);
        }
        let service = document(r#"{"serviceAccount": {"type": "service_account"}}"#);
        assert!(
            service.credential(Language::Node).unwrap()
                == Credential::GoogleServiceAccount(r#"{"type":"service_account"}"#.to_owned())
        );
        let both = document(r#"{"token": "T0K3N", "password": "PA55"}"#).credential(Language::Python);
        let text = both.unwrap_err().to_string();
        assert!(text.contains("token and password"), "{text}");
        let half = document(r#"{"accessKeyId": "AKIA", "sessionToken": "T0K3N"}"#).given(Language::Python);
        let text = half.unwrap_err().to_string();
        assert!(
            text.contains("access_key_id and secret_access_key") && !text.contains("T0K3N"),
            "{text}"
        );
        assert!(matches!(
            document("{}").given(Language::Node),
            Ok(Credentials::None)
        ));
        let environment = document(r#"{"fromEnvironment": true}"#).given(Language::Node);
        assert!(matches!(environment, Ok(Credentials::Environment(_))));
        assert!(
            document(r#"{"fromEnvironment": true, "token": "A"}"#)
                .given(Language::Node)
                .is_err()
        );
    }

    #[test]
    fn neither_debugging_nor_an_error_shows_a_credential() {
        let secret = document(r#"{"token": "T0K3N", "expires": "2026-01-01T00:00:00Z"}"#);
        let error = secret.given(Language::Node).unwrap_err();
        assert!(error.hints()[0].contains("callback"), "{error:?}");
        let unknown =
            read::<CredentialDocument>(br#"{"tokn": "T0K3N"}"#, Language::C, "credentials").unwrap_err();
        let wrong = read::<CredentialDocument>(br#"{"password": ["T0K3N"]}"#, Language::C, "credentials")
            .unwrap_err();
        for text in [
            format!("{secret:?}"),
            format!("{error:?}"),
            format!("{unknown:?}"),
            format!("{wrong:?}"),
        ] {
            assert!(!text.contains("T0K3N"), "{text}");
        }
    }

    struct Answers(Result<&'static str>);

    #[async_trait]
    impl CredentialHost for Answers {
        async fn credentials(&self) -> Result<Vec<u8>> {
            self.0.clone().map(|text| text.as_bytes().to_vec())
        }
    }

    async fn ask(answer: Result<&'static str>) -> Result<(Credential, Option<Timestamp>)> {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let source = HostCredentials {
            host: Arc::new(Answers(answer)),
            language: Language::Python,
            calls: HostCalls::new(&runtime),
        };
        source.credential().await
    }

    #[tokio::test]
    async fn a_callback_returns_credentials_with_their_end_and_its_errors_name_it() {
        let (credential, end) = ask(Ok(r#"{"token": "A", "expires": "2026-01-02T03:04:05+00:00"}"#))
            .await
            .unwrap();
        assert!(credential == Credential::BearerToken("A".to_owned()));
        assert_eq!(end.unwrap().to_string(), "2026-01-02T03:04:05Z");
        let failures = [
            (
                Err(Error::new(ErrorKind::NotFound, "expired")),
                "the credential callback failed: expired",
            ),
            (Ok("[]"), "the answer of the credential callback"),
            (
                Ok(r#"{"token": "T0K3N", "expires": "soon"}"#),
                "expires in the answer of the credential callback",
            ),
            (
                Ok(r#"{"from_environment": true}"#),
                "from_environment, which is a setting",
            ),
            (Ok("{}"), "are empty"),
        ];
        for (answer, part) in failures {
            let error = ask(answer).await.unwrap_err();
            assert!(
                error.message().contains(part) && !error.to_string().contains("T0K3N"),
                "{error}"
            );
        }
    }
}
