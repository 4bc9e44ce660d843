//! `azblob://`: the parameters of its URL, and the credentials.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use object_store::{
    CredentialProvider, StaticCredentialProvider,
    azure::{AzureAccessKey, AzureConfigKey, AzureCredential, MicrosoftAzure, MicrosoftAzureBuilder},
};
use url::form_urlencoded;

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
const KNOWN: [&str; 4] = ["storage_account", "domain", "protocol", "localemu"];

const DEFAULT_DOMAIN: &str = "blob.core.windows.net";

/// The variables of the environment that the client itself interprets: those of applications, web identities and virtual
/// machines.
const IDENTITY_VARIABLES: [&str; 6] = [
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_AUTHORITY_HOST",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_MSI_ENDPOINT",
];

/// Makes the client of a container.
pub(super) fn client(
    mut location: Location,
    credentials: &Credentials,
    runtime: &Runtime,
) -> Result<MicrosoftAzure> {
    let connection = credentials.variable("AZURE_STORAGE_CONNECTION_STRING");
    let connection = connection.map(connection_settings).unwrap_or_default();
    let setting = |name: &str| connection.get(name).copied();
    let variable = |name: &str| credentials.variable(name).map(str::to_owned);
    let by_url = location.take("storage_account");
    let account = by_url
        .or_else(|| variable("AZURE_STORAGE_ACCOUNT"))
        .or_else(|| setting("AccountName").map(str::to_owned))
        .ok_or_else(|| {
            Error::invalid(format!(
                "the store URL {:?} names no storage account",
                location.url()
            ))
            .with_hint("add the parameter: azblob://container?storage_account=name")
        })?;
    let protocol = location
        .take("protocol")
        .or_else(|| variable("AZURE_STORAGE_PROTOCOL"))
        .or_else(|| setting("DefaultEndpointsProtocol").map(str::to_owned))
        .unwrap_or_else(|| "https".to_owned());
    let domain = location
        .take("domain")
        .or_else(|| variable("AZURE_STORAGE_DOMAIN"));
    let is_local = location.take_flag("localemu")?.unwrap_or(false);
    location.finish(&KNOWN)?;
    let endpoint = match (domain, setting("BlobEndpoint")) {
        (None, Some(endpoint)) => endpoint.trim_end_matches('/').to_owned(),
        (domain, _) if is_local => {
            let host = domain.as_deref().unwrap_or("127.0.0.1:10000");
            format!("{protocol}://{host}/{account}")
        }
        (Some(domain), _) => format!("{protocol}://{account}.{domain}"),
        (None, None) => match setting("EndpointSuffix") {
            Some(suffix) => format!("{protocol}://{account}.blob.{suffix}"),
            None => format!("{protocol}://{account}.{DEFAULT_DOMAIN}"),
        },
    };
    let mut builder = MicrosoftAzureBuilder::new()
        .with_container_name(&location.name)
        .with_account(account)
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_disable_tagging(true)
        .with_retry(retries())
        .with_http_connector(Connector::new(credentials)?);
    builder = match credentials {
        Credentials::None => return Err(credentials::missing(location.url())),
        Credentials::Given(credential) => given(builder, credential.clone())?,
        Credentials::Callback(source) => {
            let kept = Kept::new(Arc::clone(source), Arc::clone(&runtime.clock), converted);
            builder.with_credentials(Arc::new(Callback(kept)))
        }
        Credentials::Environment(_) => {
            let key = variable("AZURE_STORAGE_KEY").or_else(|| setting("AccountKey").map(str::to_owned));
            let signature = variable("AZURE_STORAGE_SAS_TOKEN")
                .or_else(|| setting("SharedAccessSignature").map(str::to_owned));
            match (key, signature) {
                (Some(key), _) => given(builder, Credential::AzureAccountKey(key))?,
                (None, Some(signature)) => given(builder, Credential::AzureSignature(signature))?,
                (None, None) => identities(builder, credentials),
            }
        }
    };
    builder
        .build()
        .map_err(|error| super::failure::convert(&error, location.url(), "use the container"))
}

/// Parses `Name=value;Name=value`. Values may contain `=`.
fn connection_settings(text: &str) -> BTreeMap<&str, &str> {
    text.split(';')
        .filter_map(|setting| setting.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect()
}

fn identities(mut builder: MicrosoftAzureBuilder, credentials: &Credentials) -> MicrosoftAzureBuilder {
    for name in IDENTITY_VARIABLES {
        if let (Some(value), Ok(key)) = (
            credentials.variable(name),
            name.to_lowercase().parse::<AzureConfigKey>(),
        ) {
            builder = builder.with_config(key, value);
        }
    }
    builder
}

fn given(builder: MicrosoftAzureBuilder, credential: Credential) -> Result<MicrosoftAzureBuilder> {
    let credential = StaticCredentialProvider::new(converted(credential)?);
    Ok(builder.with_credentials(Arc::new(credential)))
}

fn converted(credential: Credential) -> Result<AzureCredential> {
    match credential {
        Credential::BearerToken(token) => Ok(AzureCredential::BearerToken(token)),
        Credential::AzureAccountKey(key) => AzureAccessKey::try_new(&key)
            .map(AzureCredential::AccessKey)
            .map_err(|_| Error::invalid("the key of the storage account is not base64")),
        Credential::AzureSignature(query) => {
            let query = query.trim_start_matches('?').as_bytes();
            Ok(AzureCredential::SASToken(
                form_urlencoded::parse(query).into_owned().collect(),
            ))
        }
        other => Err(other.unsuitable(
            "azblob",
            "a bearer token, an account key or a shared access signature",
        )),
    }
}

/// Credentials from a callback.
#[derive(Debug)]
struct Callback(Kept<AzureCredential>);

#[async_trait]
impl CredentialProvider for Callback {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        self.0.get().await.map_err(|error| object_store::Error::Generic {
            store: "Azure",
            source: Box::new(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_read_with_the_equals_signs_of_its_key() {
        let settings =
            connection_settings("AccountName=dev;AccountKey=a+b==;BlobEndpoint=http://127.0.0.1:1/dev;");
        assert_eq!(settings["AccountKey"], "a+b==");
        assert_eq!(settings["BlobEndpoint"], "http://127.0.0.1:1/dev");
        assert_eq!(settings.len(), 3);
    }
}
