//! Where the stores of these tests are: servers that all tests share, each test under a prefix or in a table of its own.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use object_store::{
    aws::{AwsAuthorizer, AwsCredential},
    azure::{AzureAccessKey, AzureAuthorizer, AzureCredential},
    client::{HttpClient, HttpRequest},
};
use stackwright::{
    runtime::Runtime,
    store::{Credential, Credentials, Store, open_with},
};
use stackwright_testkit::server::{Azurite, FakeBucket, Minio, Missing, Moto, Postgres};
use tokio::sync::OnceCell;

/// A server that is started once; the reason why not is reported once.
struct Shared<T>(OnceCell<Result<T, Missing>>, &'static str);

impl<T> Shared<T> {
    async fn get(&'static self, start: impl Future<Output = Result<T, Missing>>) -> Option<&'static T> {
        let started = self.0.get_or_init(async || {
            let started = start.await;
            if let Err(missing) = &started {
                missing.report(self.1);
            }
            started
        });
        started.await.as_ref().ok()
    }
}

static POSTGRES: Shared<Postgres> = Shared(OnceCell::const_new(), "PostgreSQL");
static MOTO: Shared<Moto> = Shared(OnceCell::const_new(), "S3");
static MINIO: Shared<Minio> = Shared(OnceCell::const_new(), "MinIO");
static AZURITE: Shared<Azurite> = Shared(OnceCell::const_new(), "Azure");

pub(crate) async fn postgres() -> Option<&'static Postgres> {
    POSTGRES.get(Postgres::start()).await
}

pub(crate) async fn moto() -> Option<&'static Moto> {
    MOTO.get(Moto::start()).await
}

pub(crate) async fn minio() -> Option<&'static Minio> {
    MINIO
        .get(async {
            let minio = Minio::start(ACCESS_KEY, SECRET_KEY).await?;
            create_bucket(&minio).await;
            Ok(minio)
        })
        .await
}

async fn create_bucket(minio: &Minio) {
    let credential = AwsCredential {
        key_id: ACCESS_KEY.to_owned(),
        secret_key: SECRET_KEY.to_owned(),
        token: None,
    };
    let mut request = creation(format!("http://{}/state", minio.address()));
    let authorizer = AwsAuthorizer::new(&credential, "s3", Minio::REGION);
    authorizer
        .try_authorize(&mut request, None)
        .expect("the request is signed");
    create(request).await;
}

pub(crate) async fn azurite() -> Option<&'static Azurite> {
    AZURITE
        .get(async {
            let azurite = Azurite::start().await?;
            create_container(&azurite).await;
            Ok(azurite)
        })
        .await
}

async fn create_container(azurite: &Azurite) {
    let (account, key) = Azurite::account();
    let credential = AzureCredential::AccessKey(AzureAccessKey::try_new(key).unwrap());
    let mut request = creation(format!("{}/state?restype=container", azurite.endpoint()));
    AzureAuthorizer::new(&credential, account)
        .try_authorize(&mut request)
        .unwrap();
    create(request).await;
}

/// Returns the request that creates what the URL names, which must be signed.
fn creation(url: String) -> HttpRequest {
    let (mut parts, body) = HttpRequest::new(bytes::Bytes::new().into()).into_parts();
    parts.method = reqwest::Method::PUT;
    parts.uri = url.parse().unwrap();
    parts.headers.insert("content-length", 0.into());
    HttpRequest::from_parts(parts, body)
}

async fn create(request: HttpRequest) {
    let client = HttpClient::new(plain_client());
    let created = client.execute(request).await.unwrap();
    assert!(created.status().is_success(), "{}", created.status());
}

/// Returns a client for connections without TLS.
pub(crate) fn plain_client() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(tls)
        .build()
        .unwrap()
}

pub(crate) fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

pub(crate) fn open(url: &str, credentials: &Credentials) -> Arc<dyn Store> {
    open_with(url, Path::new("/"), &runtime(), &credentials.clone().into()).unwrap()
}

/// Returns credentials that the environment would give.
pub(crate) fn environment(variables: &[(&str, &str)]) -> Credentials {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Credentials::Environment(Arc::new(variables.collect::<BTreeMap<_, _>>()))
}

/// The keys of the servers of S3. Moto checks none.
const ACCESS_KEY: &str = "AKIATEST";
const SECRET_KEY: &str = "secret/key+of=moto";

pub(crate) fn aws_keys() -> Credential {
    Credential::AwsKeys {
        access_key_id: ACCESS_KEY.to_owned(),
        secret_access_key: SECRET_KEY.to_owned(),
        session_token: None,
    }
}

pub(crate) async fn s3(prefix: &str) -> Option<Arc<dyn Store>> {
    let moto = moto().await?;
    Some(open(&moto.url(prefix), &Credentials::Given(aws_keys())))
}

pub(crate) async fn azure(prefix: &str) -> Option<Arc<dyn Store>> {
    let azurite = azurite().await?;
    Some(open(&azurite.url(prefix), &Credentials::Given(azure_key())))
}

pub(crate) fn azure_key() -> Credential {
    Credential::AzureAccountKey(Azurite::account().1.to_owned())
}

pub(crate) async fn database(table: &str) -> Option<Arc<dyn Store>> {
    let postgres = postgres().await?;
    Some(open(&postgres.url(table), &Credentials::None))
}

pub(crate) fn gcs(bucket: &FakeBucket, prefix: &str) -> Arc<dyn Store> {
    open(
        &format!("gs://state/{prefix}"),
        &environment(&[("STORAGE_EMULATOR_HOST", &bucket.address)]),
    )
}
