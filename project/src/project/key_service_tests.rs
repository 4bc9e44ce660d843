//! Tests of projects whose secrets a key service encrypts: what settings files and states name, and how they change.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use stackwright::{
    Opening, Stack, StackSettings,
    config::ConfigValue,
    operation::{OperationKind, OperationOptions},
    program,
    runtime::Runtime,
    secrets::{DataKey, KeyServiceCallbacks, KeyServiceProvider, PassphraseProvider},
    store::{MemoryStore, Store},
};

use super::*;

const URL: &str = "awskms://alias/shop";

/// A key service that can be out of order; it counts what it has wrapped and unwrapped.
#[derive(Default)]
struct Service {
    fails: AtomicBool,
    wraps: AtomicUsize,
    unwraps: AtomicUsize,
}

impl Service {
    fn answer(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        match self.fails.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unavailable, "AccessDenied")),
            false => Ok(bytes.iter().map(|byte| byte ^ 90).collect()),
        }
    }

    fn calls(&self) -> (usize, usize) {
        (
            self.wraps.load(Ordering::SeqCst),
            self.unwraps.load(Ordering::SeqCst),
        )
    }
}

#[async_trait::async_trait]
impl KeyServiceCallbacks for Service {
    async fn wrap_key(&self, _url: &str, key: DataKey) -> Result<Vec<u8>> {
        self.wraps.fetch_add(1, Ordering::SeqCst);
        self.answer(key.as_bytes())
    }

    async fn unwrap_key(&self, _url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
        self.unwraps.fetch_add(1, Ordering::SeqCst);
        self.answer(&wrapped).map(DataKey::new)
    }
}

/// A folder with a project, a store, and a key service.
struct Shop {
    folder: tempfile::TempDir,
    store: Arc<dyn Store>,
    service: Arc<Service>,
}

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Pulumi.yaml"), "name: shop\nruntime: python\n").unwrap();
        Self {
            folder,
            store: Arc::new(MemoryStore::new(runtime())),
            service: Arc::default(),
        }
    }

    fn keys(&self, url: &str) -> Arc<dyn SecretsProvider> {
        let keys = KeyServiceProvider::new(url, Arc::clone(&self.service) as _, runtime()).unwrap();
        Arc::new(keys.or(passphrase("correct horse")))
    }

    async fn project(&self, secrets: Arc<dyn SecretsProvider>) -> Project {
        let engine = Engine::builder(tokio::runtime::Handle::current())
            .store(Arc::clone(&self.store))
            .secrets(secrets)
            .build()
            .unwrap();
        Project::open(&engine, self.folder.path()).await.unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder.path().join("Pulumi.dev.yaml")).unwrap_or_default()
    }

    /// Returns the manager of the state.
    async fn manager(&self) -> serde_json::Value {
        let stored = self
            .store
            .get(".pulumi/stacks/shop/dev.json")
            .await
            .unwrap()
            .unwrap();
        let document: serde_json::Value = serde_json::from_slice(&stored.bytes).unwrap();
        document["checkpoint"]["latest"]["secrets_providers"].clone()
    }
}

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

fn passphrase(text: &str) -> Arc<dyn SecretsProvider> {
    Arc::new(PassphraseProvider::new(text, runtime()))
}

fn created() -> StackSettings {
    StackSettings {
        opening: Opening::CreateOrSelect,
        ..StackSettings::default()
    }
}

/// Runs an update, and returns the value of `token` that its program has seen.
async fn seen(stack: &Stack) -> Result<String> {
    let seen = Arc::new(Mutex::new(String::new()));
    let noted = Arc::clone(&seen);
    let program = program::from_fn(move |context| {
        let token = context.info.config.get("shop:token").cloned();
        *noted.lock().unwrap() = token.unwrap_or_default();
        async { Ok(()) }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    let result = operation.wait().await;
    let token = seen.lock().unwrap().clone();
    result.error.clone().map_or(Ok(token), Err)
}

#[tokio::test]
async fn a_new_stack_has_its_data_key_in_settings_and_state() {
    let shop = Shop::new();
    let project = shop.project(shop.keys(URL)).await;
    let stack = project.stack("dev", created()).await.unwrap();
    let file = project.stack_file("dev").await.unwrap();
    let service = file.key_service().unwrap();
    assert_eq!(service.url, URL);
    assert_eq!(shop.service.calls(), (1, 1), "the new key is wrapped and checked");
    let key = service.encrypted_key.unwrap();
    assert_eq!(
        shop.text(),
        format!("secretsprovider: {URL}\nencryptedkey: {key}\n")
    );
    project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    assert!(!shop.text().contains("hunter2"));
    assert_eq!(seen(&stack).await.unwrap(), "hunter2");
    let expected = serde_json::json!({ "type": "cloud", "state": { "url": URL, "encryptedkey": key } });
    assert_eq!(shop.manager().await, expected);
    assert_eq!(shop.service.calls(), (1, 1), "the key is known");

    // Another engine, whose key for new stacks is another one: the file has precedence.
    let again = shop.project(shop.keys("gcpkms://projects/p")).await;
    let stack = again.stack("dev", created()).await.unwrap();
    assert_eq!(seen(&stack).await.unwrap(), "hunter2");
    assert_eq!(shop.service.calls(), (1, 2), "each engine unwraps it once");
}

#[tokio::test]
async fn a_stack_changes_between_a_key_service_and_a_passphrase() {
    let shop = Shop::new();
    let project = shop.project(shop.keys(URL)).await;
    let stack = project.stack("dev", created()).await.unwrap();
    project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    seen(&stack).await.unwrap();
    let first = shop.text();

    stack
        .change_secrets(passphrase("correct horse"), false)
        .await
        .unwrap();
    let file = project.stack_file("dev").await.unwrap();
    assert_eq!(
        (file.secrets_provider.as_deref(), &file.encrypted_key),
        (Some("passphrase"), &None)
    );
    assert!(file.encryption_salt.is_some());
    assert_eq!(shop.manager().await["type"], "passphrase");
    let stack = project.stack("dev", created()).await.unwrap();
    assert_eq!(seen(&stack).await.unwrap(), "hunter2");

    let dry = stack
        .change_secrets(shop.keys("hashivault://shop"), true)
        .await
        .unwrap();
    assert!(dry.settings.is_some());
    let report = stack
        .change_secrets(shop.keys("hashivault://shop"), false)
        .await
        .unwrap();
    assert_eq!(report.settings, dry.settings);
    let file = project.stack_file("dev").await.unwrap();
    assert_eq!(
        (file.key_service().unwrap().url.as_str(), &file.encryption_salt),
        ("hashivault://shop", &None)
    );
    assert_eq!(shop.manager().await["state"]["url"], "hashivault://shop");
    let stack = project.stack("dev", created()).await.unwrap();
    assert_eq!(seen(&stack).await.unwrap(), "hunter2");

    // The same key again: a new data key.
    let before = shop.text();
    stack
        .change_secrets(shop.keys("hashivault://shop"), false)
        .await
        .unwrap();
    assert_ne!(shop.text(), before);
    assert_ne!(shop.text(), first);
    let stack = project.stack("dev", created()).await.unwrap();
    assert_eq!(seen(&stack).await.unwrap(), "hunter2");
}

#[tokio::test]
async fn a_stack_without_encrypted_configuration_names_its_key_service_in_the_file_after_a_change() {
    let shop = Shop::new();
    let project = shop.project(passphrase("correct horse")).await;
    let stack = project.stack("dev", created()).await.unwrap();
    seen(&stack).await.unwrap();
    assert_eq!(shop.text(), "");
    let dry = stack.change_secrets(shop.keys(URL), true).await.unwrap();
    assert!(dry.settings.is_some());
    stack.change_secrets(shop.keys(URL), false).await.unwrap();
    assert!(
        shop.text()
            .starts_with(&format!("secretsprovider: {URL}\nencryptedkey: ")),
        "{}",
        shop.text()
    );
}

#[tokio::test]
async fn a_key_service_that_fails_changes_nothing() {
    let shop = Shop::new();
    let project = shop.project(shop.keys(URL)).await;
    let stack = project.stack("dev", created()).await.unwrap();
    project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    seen(&stack).await.unwrap();
    let (file, manager) = (shop.text(), shop.manager().await);

    shop.service.fails.store(true, Ordering::SeqCst);
    let error = stack
        .change_secrets(shop.keys("gcpkms://p"), false)
        .await
        .unwrap_err();
    assert_eq!(
        error.message(),
        "gcpkms://p: the data key was not wrapped: AccessDenied"
    );
    assert_eq!(error.kind(), ErrorKind::Secrets);
    let closed = shop.project(shop.keys(URL)).await;
    let error = closed.stack("dev", created()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert!(
        error
            .message()
            .contains("awskms://alias/shop: the data key was not unwrapped: AccessDenied"),
        "{error}"
    );
    let hints = error.hints().join("\n");
    assert!(
        hints.contains("permission to decrypt") && !hints.contains("passphrase"),
        "{hints}"
    );
    assert_eq!((shop.text(), shop.manager().await), (file, manager));

    let new = closed.stack("other", created()).await.err().unwrap();
    assert!(new.message().contains("was not wrapped"), "{new}");
    assert!(!shop.folder.path().join("Pulumi.other.yaml").exists());
}

#[tokio::test]
async fn the_key_service_of_a_file_without_a_key_gets_one() {
    let shop = Shop::new();
    let file = shop.folder.path().join("Pulumi.dev.yaml");
    fs::write(&file, "# the key\nsecretsprovider: gcpkms://projects/p\n").unwrap();
    let project = shop.project(shop.keys(URL)).await;
    project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    let text = shop.text();
    assert!(
        text.starts_with("# the key\nsecretsprovider: gcpkms://projects/p\n")
            && text.contains("encryptedkey: "),
        "{text}"
    );
    let stack = project.stack("dev", created()).await.unwrap();
    assert_eq!(seen(&stack).await.unwrap(), "hunter2");
    assert_eq!(shop.manager().await["state"]["url"], "gcpkms://projects/p");
}
