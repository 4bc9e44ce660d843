//! Stacks whose secrets provider is a key service: `stack init`, `stack change-secrets-provider`, and operations without a passphrase.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result, program,
    secrets::{DataKey, KeyServiceCallbacks},
};
use stackwright_command::{Command, Invocation};
use stackwright_testkit::wait::Within as _;
use tempfile::TempDir;

const URL: &str = "awskms://alias/shop?region=eu-west-1";
const UP: &str = "up --yes --skip-preview --client=host --stack dev";

/// A key service that knows keys of AWS only; it notes the URLs of its calls.
struct Service(Arc<Mutex<Vec<String>>>);

impl Service {
    fn answer(&self, what: &str, url: &str, bytes: &[u8]) -> Result<Vec<u8>> {
        self.0.lock().unwrap().push(format!("{what} {url}"));
        match url.starts_with("awskms://") {
            true => Ok(bytes.iter().map(|byte| byte ^ 90).collect()),
            false => Err(Error::new(
                ErrorKind::Secrets,
                "the package hvac is not installed",
            )),
        }
    }
}

#[async_trait]
impl KeyServiceCallbacks for Service {
    async fn wrap_key(&self, url: &str, key: DataKey) -> Result<Vec<u8>> {
        self.answer("wrap", url, key.as_bytes())
    }

    async fn unwrap_key(&self, url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
        self.answer("unwrap", url, &wrapped).map(DataKey::new)
    }
}

/// A folder with a project and a store.
struct Shop {
    folder: TempDir,
    command: Command,
    calls: Arc<Mutex<Vec<String>>>,
}

/// What a command has done.
#[derive(Debug)]
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("state")).unwrap();
        fs::write(folder.path().join("Pulumi.yaml"), "name: shop\nruntime: python\n").unwrap();
        Self {
            folder,
            command: Command::new(tokio::runtime::Handle::current()),
            calls: Arc::default(),
        }
    }

    async fn run(&self, line: &str, passphrase: Option<&str>, has_client: bool) -> Ended {
        let (out, err): (Arc<Mutex<String>>, Arc<Mutex<String>>) = Default::default();
        let (written, noted) = (Arc::clone(&out), Arc::clone(&err));
        let folder = self.folder.path();
        let mut environment = vec![
            (
                "PULUMI_BACKEND_URL",
                format!("file://{}", folder.join("state").display()),
            ),
            ("PULUMI_HOME", folder.join("home").display().to_string()),
        ];
        environment.extend(passphrase.map(|passphrase| ("PULUMI_CONFIG_PASSPHRASE", passphrase.to_owned())));
        let typed = b"battery staple\n".to_vec();
        let invocation = Invocation {
            environment: environment
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            stdin: Arc::new(move || Ok(typed.clone())),
            stdout: Arc::new(move |text| written.lock().unwrap().push_str(text)),
            stderr: Arc::new(move |text| noted.lock().unwrap().push_str(text)),
            program: Some(program::from_fn(|_| async { Ok(()) })),
            key_service: has_client.then(|| Arc::new(Service(Arc::clone(&self.calls))) as _),
            ..Invocation::new(line.split(' '), folder)
        };
        let code = self.command.run(invocation).within(line).await;
        let (stdout, stderr) = (out.lock().unwrap().clone(), err.lock().unwrap().clone());
        Ended { code, stdout, stderr }
    }

    /// Runs a command line without a passphrase, which must succeed.
    async fn runs(&self, line: &str) -> String {
        let ended = self.run(line, None, true).await;
        assert_eq!(ended.code, 0, "{line}: {ended:?}");
        ended.stdout
    }

    fn file(&self) -> String {
        fs::read_to_string(self.folder.path().join("Pulumi.dev.yaml")).unwrap()
    }

    fn checkpoint(&self, stack: &str) -> std::path::PathBuf {
        let path = Path::new("state/.pulumi/stacks/shop").join(format!("{stack}.json"));
        self.folder.path().join(path)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_with_a_key_service_needs_no_passphrase() {
    let shop = Shop::new();
    shop.runs(&format!("stack init dev --secrets-provider={URL}"))
        .await;
    assert_eq!(
        *shop.calls.lock().unwrap(),
        [format!("wrap {URL}"), format!("unwrap {URL}")]
    );
    let file = shop.file();
    assert!(
        file.starts_with(&format!("secretsprovider: {URL}\nencryptedkey: ")),
        "{file}"
    );
    shop.runs("config set --secret token hunter2 --stack dev").await;
    assert!(!shop.file().contains("hunter2"));
    assert_eq!(shop.runs("config get token --stack dev").await, "hunter2\n");
    shop.runs(UP).await;
    shop.runs("stack export --show-secrets --stack dev").await;
    let state = fs::read_to_string(shop.checkpoint("dev")).unwrap();
    assert!(state.contains(r#""type":"cloud""#), "{state}");
    let key = file
        .lines()
        .find_map(|line| line.strip_prefix("encryptedkey: "))
        .unwrap();
    assert!(state.contains(key), "state and file have the same data key");

    let without = shop.run(UP, Some("p"), false).await;
    assert!(
        without.code != 0 && without.stderr.contains("\"awskms\" is not supported"),
        "{without:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_client_of_key_services_the_error_names_what_has_one() {
    let shop = Shop::new();
    let refuses = async |line: &str| {
        let ended = shop.run(line, Some("p"), false).await;
        assert_ne!(ended.code, 0, "{line}: {ended:?}");
        for part in [
            "awskms",
            "client",
            "the Automation API of the packages for Python and Node",
        ] {
            assert!(ended.stderr.contains(part), "{line}: {}", ended.stderr);
        }
    };
    refuses(&format!("stack init dev --secrets-provider={URL}")).await;
    assert!(!shop.checkpoint("dev").exists());
    shop.runs(&format!("stack init dev --secrets-provider={URL}"))
        .await;
    shop.runs("config set --secret token hunter2 --stack dev").await;
    shop.runs(UP).await;
    refuses(UP).await;
    refuses("config get token --stack dev").await;
    shop.run("stack init other", Some("p"), false).await;
    refuses(&format!("stack change-secrets-provider {URL} --stack other")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_changes_from_a_key_service_to_a_passphrase_and_back() {
    let shop = Shop::new();
    shop.runs(&format!("stack init dev --secrets-provider {URL}"))
        .await;
    shop.runs("config set --secret token hunter2 --stack dev").await;
    shop.runs(UP).await;
    shop.runs("stack change-secrets-provider passphrase --stack dev")
        .await;
    assert!(
        shop.file().contains("encryptionsalt: ") && !shop.file().contains("encryptedkey"),
        "{}",
        shop.file()
    );
    let missing = shop.run(UP, None, true).await;
    assert!(
        missing.code != 0 && missing.stderr.contains("passphrase must be set"),
        "{missing:?}"
    );
    let got = shop
        .run("config get token --stack dev", Some("battery staple"), true)
        .await;
    assert_eq!(got.stdout, "hunter2\n", "{got:?}");

    let change = format!("stack change-secrets-provider {URL} --stack dev");
    let changed = shop.run(&change, Some("battery staple"), true).await;
    assert_eq!(changed.code, 0, "{changed:?}");
    assert!(
        shop.file().contains("encryptedkey: ") && !shop.file().contains("encryptionsalt"),
        "{}",
        shop.file()
    );
    assert_eq!(shop.runs("config get token --stack dev").await, "hunter2\n");
    shop.runs(UP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_service_that_fails_makes_no_stack_and_changes_none() {
    let shop = Shop::new();
    let failed = shop
        .run(
            "stack init other --secrets-provider hashivault://shop",
            Some("p"),
            true,
        )
        .await;
    assert!(
        failed.code != 0
            && failed
                .stderr
                .contains("hashivault://shop: the data key was not wrapped"),
        "{failed:?}"
    );
    assert!(
        failed.stderr.contains("the package hvac is not installed"),
        "{failed:?}"
    );
    assert!(!shop.checkpoint("other").exists());
    assert!(!shop.folder.path().join("Pulumi.other.yaml").exists());

    shop.runs(&format!("stack init dev --secrets-provider {URL}"))
        .await;
    shop.runs("config set --secret token hunter2 --stack dev").await;
    shop.runs(UP).await;
    let before = (shop.file(), fs::read_to_string(shop.checkpoint("dev")).unwrap());
    let failed = shop
        .run(
            "stack change-secrets-provider hashivault://shop --stack dev",
            None,
            true,
        )
        .await;
    assert!(failed.code != 0 && failed.stderr.contains("hvac"), "{failed:?}");
    assert_eq!(
        (shop.file(), fs::read_to_string(shop.checkpoint("dev")).unwrap()),
        before
    );
}
