//! `gs://`: the parameters of its URL, and the credentials.

use std::{fs, sync::Arc};

use async_trait::async_trait;
use object_store::{
    CredentialProvider, StaticCredentialProvider,
    gcp::{GcpCredential, GoogleCloudStorage, GoogleCloudStorageBuilder},
};
use serde::Deserialize;

use super::client::{Connector, retries};
use crate::{
    error::{Error, Result},
    runtime::Runtime,
    store::{
        credentials::{self, Credential, Credentials, Kept},
        location::Location,
    },
};

/// The parameters of the URL.
const KNOWN: [&str; 1] = ["anonymous"];

/// The file of default credentials, below the home folder.
const DEFAULT_FILE: &str = ".config/gcloud/application_default_credentials.json";

/// A file of credentials, as far as it shows what kind it is.
#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: String,
}

/// Makes the client of a bucket.
pub(super) fn client(
    mut location: Location,
    credentials: &Credentials,
    runtime: &Runtime,
) -> Result<GoogleCloudStorage> {
    let is_anonymous = location.take_flag("anonymous")?.unwrap_or(false);
    location.finish(&KNOWN)?;
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(&location.name)
        .with_retry(retries())
        .with_http_connector(Connector::new(credentials)?);
    let emulator = credentials.variable("STORAGE_EMULATOR_HOST");
    if let Some(host) = emulator {
        let scheme = if host.contains("://") { "" } else { "http://" };
        builder = builder.with_base_url(&format!("{scheme}{}", host.trim_end_matches('/')));
    }
    builder = match credentials {
        // Explicit credentials keep the builder from looking for others.
        _ if is_anonymous || emulator.is_some() => bearer(builder, String::new()).with_skip_signature(true),
        Credentials::None => return Err(credentials::missing(location.url())),
        Credentials::Given(Credential::GoogleServiceAccount(key)) => service_account(builder, key)?,
        Credentials::Given(credential) => bearer(builder, token(credential.clone())?.bearer),
        Credentials::Callback(source) => {
            let kept = Kept::new(Arc::clone(source), Arc::clone(&runtime.clock), token);
            builder.with_credentials(Arc::new(Callback(kept)))
        }
        Credentials::Environment(_) => from_environment(builder, credentials)?,
    };
    builder
        .build()
        .map_err(|error| super::failure::convert(&error, location.url(), "use the bucket"))
}

fn bearer(builder: GoogleCloudStorageBuilder, bearer: String) -> GoogleCloudStorageBuilder {
    builder.with_credentials(Arc::new(StaticCredentialProvider::new(GcpCredential { bearer })))
}

/// Checks the kind of a key first: the error of the builder would quote its content.
fn service_account(builder: GoogleCloudStorageBuilder, key: &str) -> Result<GoogleCloudStorageBuilder> {
    match kind_of(key, "the given credentials")?.as_str() {
        "service_account" => Ok(builder.with_service_account_key(key)),
        kind => Err(credentials::only_by_callback(&format!(
            "a Google credential of the type {kind:?}"
        ))),
    }
}

fn kind_of(content: &str, place: &str) -> Result<String> {
    serde_json::from_str::<KeyFile>(content)
        .map(|file| file.kind)
        .map_err(|_| {
            Error::invalid(format!(
                "{place} are no Google credentials: a JSON document with a type"
            ))
        })
}

fn from_environment(
    builder: GoogleCloudStorageBuilder,
    credentials: &Credentials,
) -> Result<GoogleCloudStorageBuilder> {
    if let Some(token) = credentials.variable("GOOGLE_OAUTH_ACCESS_TOKEN") {
        return Ok(bearer(builder, token.to_owned()));
    }
    let content = credentials.variable("GOOGLE_CREDENTIALS");
    if let Some(key) = content.filter(|content| content.trim_start().starts_with('{')) {
        return service_account(builder, key);
    }
    let named = content.or_else(|| credentials.variable("GOOGLE_APPLICATION_CREDENTIALS"));
    let default = || {
        let path = format!("{}/{DEFAULT_FILE}", credentials.variable("HOME")?);
        fs::exists(&path).ok()?.then_some(path)
    };
    let Some(path) = named.map(str::to_owned).or_else(default) else {
        // The metadata service of the virtual machine.
        return Ok(builder);
    };
    let content = fs::read_to_string(&path).map_err(|error| {
        Error::invalid(format!(
            "the Google credentials in {path} cannot be read: {error}"
        ))
    })?;
    match kind_of(&content, &format!("the contents of {path}"))?.as_str() {
        "service_account" => Ok(builder.with_service_account_key(content)),
        "authorized_user" => Ok(builder.with_application_credentials(path)),
        kind => Err(credentials::only_by_callback(&format!(
            "a Google credential of the type {kind:?}, as in {path},"
        ))),
    }
}

fn token(credential: Credential) -> Result<GcpCredential> {
    match credential {
        Credential::BearerToken(bearer) => Ok(GcpCredential { bearer }),
        other => Err(other.unsuitable("gs", "a bearer token or a service account")),
    }
}

/// Tokens from a callback.
#[derive(Debug)]
struct Callback(Kept<GcpCredential>);

#[async_trait]
impl CredentialProvider for Callback {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        self.0.get().await.map_err(|error| object_store::Error::Generic {
            store: "GCS",
            source: Box::new(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn credentials_that_only_the_host_can_use_are_an_error_that_names_the_callback() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.json");
        fs::write(&path, r#"{"type": "external_account", "audience": "x"}"#).unwrap();
        let variables = BTreeMap::from([(
            "GOOGLE_APPLICATION_CREDENTIALS".to_owned(),
            path.display().to_string(),
        )]);
        let environment = Credentials::Environment(Arc::new(variables));
        let error = from_environment(GoogleCloudStorageBuilder::new(), &environment).unwrap_err();
        assert!(error.message().contains("external_account"), "{error}");
        assert!(error.hints()[0].contains("callback"), "{error:?}");
    }
}
