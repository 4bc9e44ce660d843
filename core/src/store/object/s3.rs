//! `s3://`: the parameters of its URL, and the credentials.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;
use object_store::{
    CredentialProvider, StaticCredentialProvider,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, Checksum},
};
use url::{Host, Url};

use super::{
    client::{Connector, retries},
    profile::Profile,
};
use crate::{
    error::{Error, Result},
    runtime::Runtime,
    store::{
        credentials::{self, Credential, Credentials, Kept},
        location::Location,
    },
};

/// The parameters of the URL.
const KNOWN: [&str; 10] = [
    "region",
    "profile",
    "endpoint",
    "s3ForcePathStyle",
    "use_path_style",
    "disableSSL",
    "disable_https",
    "awssdk",
    "request_checksum_calculation",
    "anonymous",
];

/// The region of a server that has none.
const DEFAULT_REGION: &str = "us-east-1";

/// The variables of the environment that the client itself interprets: those of web identities, containers and virtual machines.
const IDENTITY_VARIABLES: [&str; 7] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_ENDPOINT_URL_STS",
];

/// The settings of a URL.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parameters {
    region: Option<String>,
    profile: Option<String>,
    endpoint: Option<String>,
    path_style: bool,
    plain_http: bool,
    /// Whether uploads carry a checksum of their own. The signature covers the content in any case.
    checksums: bool,
    anonymous: bool,
}

impl Parameters {
    fn take(location: &mut Location) -> Result<Self> {
        let parameters = Self {
            region: location.take("region"),
            profile: location.take("profile"),
            endpoint: location.take("endpoint"),
            path_style: location.take_either_flag("s3ForcePathStyle", "use_path_style")?,
            plain_http: location.take_either_flag("disableSSL", "disable_https")?,
            checksums: match location.take("request_checksum_calculation").as_deref() {
                None | Some("when_required") => false,
                Some("when_supported") => true,
                Some(other) => {
                    return Err(Error::invalid(format!(
                        "the parameter \"request_checksum_calculation\" of the store URL {:?} is {other:?}, neither \
                         when_supported nor when_required",
                        location.url()
                    )));
                }
            },
            anonymous: location.take_flag("anonymous")?.unwrap_or(false),
        };
        drop(location.take("awssdk"));
        location.finish(&KNOWN)?;
        Ok(parameters)
    }
}

/// Makes the client of a bucket.
pub(super) fn client(
    mut location: Location,
    credentials: &Credentials,
    runtime: &Runtime,
) -> Result<AmazonS3> {
    let parameters = Parameters::take(&mut location)?;
    let profile =
        match credentials {
            Credentials::Environment(_) => Profile::find(credentials, parameters.profile.as_deref())?,
            _ if parameters.profile.is_some() => return Err(Error::invalid(format!(
                "the store URL {:?} names a profile, which is found only where the environment may be used",
                location.url()
            ))
            .with_hint("pass credentials, a credential callback, or allow the use of the environment")),
            _ => Profile::default(),
        };
    let region = [
        parameters.region.as_deref(),
        credentials.variable("AWS_REGION"),
        credentials.variable("AWS_DEFAULT_REGION"),
        profile.region.as_deref(),
    ];
    let region = region.into_iter().flatten().next().unwrap_or(DEFAULT_REGION);
    let endpoint = [
        parameters.endpoint.as_deref(),
        credentials.variable("AWS_ENDPOINT_URL_S3"),
        credentials.variable("AWS_ENDPOINT_URL"),
        profile.endpoint.as_deref(),
    ];
    let endpoint = endpoint.into_iter().flatten().next();
    let (address, is_virtual) = address(&location, endpoint, region, &parameters)?;
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&location.name)
        .with_region(region)
        .with_endpoint(address)
        .with_virtual_hosted_style_request(is_virtual)
        .with_allow_http(true)
        .with_disable_bulk_delete(true)
        .with_disable_tagging(true)
        .with_retry(retries())
        .with_http_connector(Connector::new(credentials)?);
    if parameters.checksums {
        builder = builder.with_checksum_algorithm(Checksum::SHA256);
    }
    builder = match parameters.anonymous {
        true => builder.with_skip_signature(true),
        false => authenticated(builder, &location, credentials, &profile, runtime)?,
    };
    builder
        .build()
        .map_err(|error| super::failure::convert(&error, location.url(), "use the bucket"))
}

fn authenticated(
    builder: AmazonS3Builder,
    location: &Location,
    credentials: &Credentials,
    profile: &Profile,
    runtime: &Runtime,
) -> Result<AmazonS3Builder> {
    match credentials {
        Credentials::None => Err(credentials::missing(location.url())),
        Credentials::Given(credential) => {
            let keys = StaticCredentialProvider::new(keys(credential.clone())?);
            Ok(builder.with_credentials(Arc::new(keys)))
        }
        Credentials::Callback(source) => {
            let kept = Kept::new(Arc::clone(source), Arc::clone(&runtime.clock), keys);
            Ok(builder.with_credentials(Arc::new(Callback(kept))))
        }
        Credentials::Environment(_) => from_environment(builder, credentials, profile),
    }
}

/// Variables first, unless the URL names a profile; then the profile; then what only the client finds.
fn from_environment(
    mut builder: AmazonS3Builder,
    credentials: &Credentials,
    profile: &Profile,
) -> Result<AmazonS3Builder> {
    let from_variables = || {
        Some(Credential::AwsKeys {
            access_key_id: credentials.variable("AWS_ACCESS_KEY_ID")?.to_owned(),
            secret_access_key: credentials.variable("AWS_SECRET_ACCESS_KEY")?.to_owned(),
            session_token: credentials.variable("AWS_SESSION_TOKEN").map(str::to_owned),
        })
    };
    let variables = if profile.is_named_by_url {
        None
    } else {
        from_variables()
    };
    if let Some(credential) = variables.or_else(|| profile.keys.clone()) {
        let keys = StaticCredentialProvider::new(keys(credential)?);
        return Ok(builder.with_credentials(Arc::new(keys)));
    }
    if let Some(unsupported) = &profile.unsupported {
        return Err(credentials::only_by_callback(unsupported));
    }
    for name in IDENTITY_VARIABLES {
        if let (Some(value), Ok(key)) = (
            credentials.variable(name),
            name.to_lowercase().parse::<AmazonS3ConfigKey>(),
        ) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(endpoint) = credentials.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") {
        builder = builder.with_metadata_endpoint(endpoint);
    }
    Ok(builder)
}

fn keys(credential: Credential) -> Result<AwsCredential> {
    match credential {
        Credential::AwsKeys {
            access_key_id,
            secret_access_key,
            session_token,
        } => Ok(AwsCredential {
            key_id: access_key_id,
            secret_key: secret_access_key,
            token: session_token,
        }),
        other => Err(other.unsuitable("s3", "keys of AWS")),
    }
}

/// Returns the address of a bucket, and whether its name is part of the host.
fn address(
    location: &Location,
    endpoint: Option<&str>,
    region: &str,
    parameters: &Parameters,
) -> Result<(String, bool)> {
    let scheme = if parameters.plain_http { "http" } else { "https" };
    let endpoint = match endpoint {
        None => {
            let domain = match region.starts_with("cn-") {
                true => "amazonaws.com.cn",
                false => "amazonaws.com",
            };
            format!("{scheme}://s3.{region}.{domain}")
        }
        Some(endpoint) if endpoint.contains("://") => endpoint.to_owned(),
        Some(endpoint) => format!("{scheme}://{endpoint}"),
    };
    let malformed = || {
        Error::invalid(format!(
            "the endpoint {endpoint:?} of the store URL {:?} is malformed",
            location.url()
        ))
    };
    let url = Url::parse(&endpoint).map_err(|_| malformed())?;
    let is_address = match url.host() {
        None => return Err(malformed()),
        Some(Host::Domain(name)) => name.parse::<IpAddr>().is_ok(),
        Some(_) => true,
    };
    let endpoint = endpoint.trim_end_matches('/');
    // A dot in a name would need a certificate of its own.
    if parameters.path_style || is_address || !is_host_label(&location.name) {
        return Ok((endpoint.to_owned(), false));
    }
    let (scheme, rest) = endpoint.split_once("://").ok_or_else(malformed)?;
    Ok((format!("{scheme}://{}.{rest}", location.name), true))
}

fn is_host_label(name: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.bytes().all(is_valid) && !name.starts_with('-') && !name.ends_with('-')
}

/// Keys from a callback.
#[derive(Debug)]
struct Callback(Kept<AwsCredential>);

#[async_trait]
impl CredentialProvider for Callback {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        self.0.get().await.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address_of(url: &str) -> (String, bool) {
        let mut location = Location::parse(url).unwrap();
        let parameters = Parameters::take(&mut location).unwrap();
        let region = parameters
            .region
            .clone()
            .unwrap_or_else(|| DEFAULT_REGION.to_owned());
        address(&location, parameters.endpoint.as_deref(), &region, &parameters).unwrap()
    }

    #[test]
    fn the_address_follows_from_the_parameters() {
        for (url, expected, is_virtual) in [
            (
                "s3://state?region=eu-west-1",
                "https://state.s3.eu-west-1.amazonaws.com",
                true,
            ),
            (
                "s3://state?region=cn-north-1",
                "https://state.s3.cn-north-1.amazonaws.com.cn",
                true,
            ),
            ("s3://my.state", "https://s3.us-east-1.amazonaws.com", false),
            (
                "s3://state?use_path_style=true",
                "https://s3.us-east-1.amazonaws.com",
                false,
            ),
            (
                "s3://state?endpoint=minio.example:9000",
                "https://state.minio.example:9000",
                true,
            ),
            (
                "s3://state?endpoint=minio.example:9000&s3ForcePathStyle=true&disableSSL=true&awssdk=v2",
                "http://minio.example:9000",
                false,
            ),
            (
                "s3://state?endpoint=127.0.0.1:9000&disable_https=true",
                "http://127.0.0.1:9000",
                false,
            ),
            (
                "s3://state?endpoint=http%3A%2F%2Fminio.example&s3ForcePathStyle=1",
                "http://minio.example",
                false,
            ),
        ] {
            assert_eq!(address_of(url), (expected.to_owned(), is_virtual), "{url}");
        }
    }

    #[test]
    fn a_parameter_with_an_unknown_value_is_refused() {
        for (url, named) in [
            (
                "s3://state?request_checksum_calculation=never",
                "request_checksum_calculation",
            ),
            (
                "s3://state?s3ForcePathStyle=true&use_path_style=false",
                "use_path_style",
            ),
            ("s3://state?acl=private", "\"acl\""),
        ] {
            let mut location = Location::parse(url).unwrap();
            let error = Parameters::take(&mut location).unwrap_err();
            assert!(error.message().contains(named), "{url}: {error}");
        }
    }
}
