//! Tests of projects: configuration in files, secrets, stacks that are opened with the settings.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::json;
use stackwright::{
    Engine, Stack, StackSettings,
    config::{ConfigKey, ConfigValue},
    operation::OperationOptions,
    program,
    runtime::Runtime,
    secrets::{Base64Provider, CallbackProvider, PassphraseProvider, SecretsCallbacks, SecretsProvider},
    store::MemoryStore,
};

use super::*;

pub(super) const PROJECT: &str =
    "# the shop\nname: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv # kept\n";

/// A folder with a project, and an engine.
pub(super) struct Shop {
    folder: tempfile::TempDir,
    pub(super) project: Project,
}

impl Shop {
    pub(super) async fn new(project: &str, secrets: Arc<dyn SecretsProvider>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Pulumi.yaml"), project).unwrap();
        let project = Project::open(&engine(secrets), folder.path()).await.unwrap();
        Self { folder, project }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(super) fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(super) async fn set(&self, path: &str, value: &str) -> Result<()> {
        self.project
            .set_config("dev", path, ConfigValue::plain(value), None)
            .await
    }

    pub(super) async fn get(&self, path: &str) -> Result<String> {
        let entry = self.project.get_config("dev", path, None).await?;
        entry.value.unwrap().to_text()
    }

    /// Runs an update and returns the configuration that the program has seen.
    async fn seen(&self, stack: &Stack) -> Result<std::collections::BTreeMap<String, String>> {
        let seen = Arc::new(Mutex::new(std::collections::BTreeMap::new()));
        let noted = Arc::clone(&seen);
        let program = program::from_fn(move |context| {
            *noted.lock().unwrap() = context.info.config.clone();
            async { Ok(()) }
        });
        let operation = stack.start(
            stackwright::operation::OperationKind::Update,
            OperationOptions::default(),
            Some(program),
        );
        let result = operation.wait().await;
        match &result.error {
            Some(error) => Err(error.clone()),
            None => Ok(seen.lock().unwrap().clone()),
        }
    }
}

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

pub(super) fn passphrase(text: &str) -> Arc<dyn SecretsProvider> {
    Arc::new(PassphraseProvider::new(text, runtime()))
}

fn engine(secrets: Arc<dyn SecretsProvider>) -> Engine {
    Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(secrets)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_project_is_found_from_below_and_a_file_that_changes_later_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("src/deep");
    fs::create_dir_all(&below).unwrap();
    let file = folder.path().join("Pulumi.yml");
    fs::write(&file, PROJECT).unwrap();
    let found = FoundProject::above(&below).unwrap().unwrap();
    assert_eq!((found.folder(), &found.path), (folder.path(), &file));
    let project = found.open(&engine(Arc::new(Base64Provider)));
    assert_eq!(project.file().await.unwrap(), found.file);
    fs::write(&file, PROJECT.replace("shop", "store")).unwrap();
    assert_eq!(project.file().await.unwrap().name, "store");
    fs::write(&file, "name: [\n").unwrap();
    let error = FoundProject::above(&below).unwrap_err();
    assert!(
        error.message().starts_with(&format!("{}: ", file.display())),
        "{error}"
    );
    assert!(FoundProject::above(Path::new("/proc/1")).unwrap().is_none());
}

#[tokio::test]
async fn values_are_set_at_paths_and_read_back() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    shop.put(
        "Pulumi.dev.yaml",
        "# mine\nconfig:\n  # the region\n  aws:region: eu # here\n  aws:tags:\n    z: 'q' # quoted\n    a:\n      b:\n        - 1 # one\n",
    );
    shop.set("aws:tags[\"a\"].b[0]", "7").await.unwrap();
    shop.set("aws:tags.a.b[1]", "true").await.unwrap();
    shop.set("size", "3").await.unwrap();
    assert_eq!(
        shop.text("Pulumi.dev.yaml"),
        "# mine\nconfig:\n  # the region\n  aws:region: eu # here\n  aws:tags:\n    z: 'q' # quoted\n    a:\n      b:\n        - 7 # one\n        - true\n  shop:size: \"3\"\n"
    );
    assert_eq!(
        shop.get("aws:tags").await.unwrap(),
        r#"{"a":{"b":[7,true]},"z":"q"}"#
    );
    assert_eq!(shop.get("shop:size").await.unwrap(), "3");
    assert_eq!(shop.get("aws:config:region").await.unwrap(), "eu");
    let removed = shop
        .project
        .remove_config(
            "dev",
            &["aws:tags.a".to_owned(), "nothing".to_owned(), "size".to_owned()],
        )
        .await
        .unwrap();
    assert_eq!(removed, 2);
    assert_eq!(
        shop.text("Pulumi.dev.yaml"),
        "# mine\nconfig:\n  # the region\n  aws:region: eu # here\n  aws:tags:\n    z: 'q' # quoted\n"
    );
    let error = shop.get("size").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.message(),
        "configuration key 'size' not found for stack 'dev'"
    );
}

#[tokio::test]
async fn a_first_secret_creates_the_salt_and_later_ones_use_it() {
    let shop = Shop::new(PROJECT, passphrase("correct horse")).await;
    let secret = |text: &str| ConfigValue::secret(text);
    shop.project
        .set_config("dev", "token", secret("hunter2"), None)
        .await
        .unwrap();
    let first = shop.text("Pulumi.dev.yaml");
    assert!(first.starts_with("encryptionsalt: v1:"), "{first}");
    assert!(!first.contains("hunter2"));
    shop.project
        .set_config("dev", "aws:keys[0].id", secret("hunter3"), None)
        .await
        .unwrap();
    let second = shop.text("Pulumi.dev.yaml");
    assert!(
        second.starts_with(&first),
        "the first value keeps its ciphertext\n{second}"
    );
    assert_eq!(shop.get("token").await.unwrap(), "hunter2");
    assert_eq!(shop.get("aws:keys[0].id").await.unwrap(), "hunter3");
    let masked = shop.project.list_config("dev", false, None).await.unwrap();
    assert!(masked.values().all(|entry| entry.secret && entry.value.is_none()));
    let shown = shop.project.list_config("dev", true, None).await.unwrap();
    let keys = &shown[&"aws:keys".parse().unwrap()];
    assert_eq!(
        keys.value.as_ref().unwrap().to_text().unwrap(),
        r#"[{"id":"hunter3"}]"#
    );
    assert!(!format!("{shown:?} {masked:?}").contains("hunter"));
}

#[tokio::test]
async fn a_wrong_or_missing_passphrase_is_refused_and_changes_nothing() {
    let shop = Shop::new(PROJECT, passphrase("correct horse")).await;
    shop.project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    let before = shop.text("Pulumi.dev.yaml");
    let wrong = Project::open(&engine(passphrase("wrong")), shop.folder.path())
        .await
        .unwrap();
    let none = Project::open(&engine(Arc::new(Base64Provider)), shop.folder.path())
        .await
        .unwrap();
    for (project, kind, text) in [
        (&wrong, ErrorKind::Decrypt, "incorrect passphrase"),
        (&none, ErrorKind::Secrets, "passphrase"),
    ] {
        let value = ConfigValue::secret("hunter3");
        let error = project.set_config("dev", "other", value, None).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(text), "{error}");
        assert!(!error.to_string().contains("hunter"), "{error}");
        let error = project.get_config("dev", "token", None).await.unwrap_err();
        assert!(error.message().contains(text), "{error}");
        // What is not secret needs no key.
        project.list_config("dev", false, None).await.unwrap();
    }
    let error = wrong.stack("dev", StackSettings::default()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert_eq!(shop.text("Pulumi.dev.yaml"), before);
    // A passphrase of the call takes the place of the engine's.
    let own = wrong.engine().passphrase("correct horse").unwrap();
    let entry = wrong.get_config("dev", "token", Some(own)).await.unwrap();
    assert_eq!(entry.value, Some(ConfigValue::secret("hunter2")));
}

#[tokio::test]
async fn without_a_passphrase_no_secret_is_written() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    let error = shop
        .project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Secrets);
    assert!(
        error.message().contains("the engine has no passphrase"),
        "{error}"
    );
    assert!(!shop.path("Pulumi.dev.yaml").exists());
}

#[tokio::test]
async fn a_secret_gets_the_salt_of_the_state_when_the_file_has_none() {
    let shop = Shop::new(PROJECT, passphrase("correct horse")).await;
    let stack = shop.project.stack("dev", StackSettings::default()).await.unwrap();
    shop.seen(&stack).await.unwrap();
    let document: serde_json::Value =
        serde_json::from_slice(&stack.export_deployment(false).await.unwrap()).unwrap();
    let salt = &document["deployment"]["secrets_providers"]["state"]["salt"];
    shop.project
        .set_config("dev", "token", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    let file = shop.project.stack_file("dev").await.unwrap();
    assert_eq!(file.encryption_salt.as_deref(), salt.as_str());
    assert_eq!(shop.seen(&stack).await.unwrap()["shop:token"], "hunter2");
}

#[tokio::test]
async fn a_key_that_is_declared_as_secret_is_encrypted() {
    let project = format!("{PROJECT}config:\n  token: {{type: string, secret: true}}\n");
    let shop = Shop::new(&project, passphrase("correct horse")).await;
    shop.set("token", "hunter2").await.unwrap();
    assert!(!shop.text("Pulumi.dev.yaml").contains("hunter2"));
    assert!(
        shop.project
            .get_config("dev", "token", None)
            .await
            .unwrap()
            .secret
    );
}

#[tokio::test]
async fn null_and_numbers_without_a_json_form_are_no_values() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    let number = ConfigValue::Float;
    for (value, expected) in [
        (number(f64::NAN), "a number is finite"),
        (
            ConfigValue::List(vec![number(f64::INFINITY)]),
            "a number is finite",
        ),
        (ConfigValue::Null, "null is no value"),
    ] {
        let refused = shop
            .project
            .set_config("dev", "size", value, None)
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        let found = refused.message();
        assert!(
            found.starts_with(&format!("configuration size: {expected}")),
            "{found}"
        );
    }
    assert!(!shop.path("Pulumi.dev.yaml").exists());
}

#[tokio::test]
async fn a_missing_value_has_the_missing_file_or_similar_keys_as_hints() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    shop.put("Pulumi.dev.yaml", "config:\n  aws:region: eu\n  shop:size: 3\n");
    let hints = async |stack: &str, path: &str| {
        let missing = shop.project.get_config(stack, path, None).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        missing.hints().join(" ")
    };
    assert_eq!(hints("dev", "aws:regoin").await, "did you mean 'aws:region'?");
    assert_eq!(hints("dev", "sise").await, "did you mean 'size'?");
    assert_eq!(hints("dev", "something-else").await, "");
    let hint = hints("dve", "size").await;
    assert!(
        hint.contains("no settings file") && hint.ends_with("Pulumi.dve.yaml; there is one of 'dev'"),
        "{hint}"
    );
}

#[tokio::test]
async fn a_stack_takes_its_settings_from_the_files_at_each_operation() {
    let project =
        format!("{PROJECT}config:\n  size: {{type: integer, default: 3}}\n  zone: {{type: string}}\n");
    let shop = Shop::new(&project, passphrase("correct horse")).await;
    let given: stackwright::config::Config = [(ConfigKey::new("", "own"), ConfigValue::plain("host"))]
        .into_iter()
        .collect();
    let settings = StackSettings {
        config: given,
        ..StackSettings::default()
    };
    let stack = shop
        .project
        .stack("organization/shop/dev", settings)
        .await
        .unwrap();
    assert_eq!(stack.name().to_string(), "shop/dev");
    let error = shop.seen(&stack).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.message(),
        "Stack 'dev' is missing configuration value(s) 'zone'"
    );
    // Without the program, nothing is missing.
    let refresh = stack.destroy(OperationOptions::default()).wait().await;
    assert!(
        refresh
            .error
            .as_ref()
            .is_none_or(|error| !error.message().contains("zone")),
        "{:?}",
        refresh.error
    );
    shop.set("zone", "eu").await.unwrap();
    let seen = shop.seen(&stack).await.unwrap();
    let pairs: Vec<_> = seen
        .iter()
        .map(|(key, text)| (key.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [("shop:own", "host"), ("shop:size", "3"), ("shop:zone", "eu")]
    );
    shop.set("size", "x").await.unwrap();
    shop.project
        .remove_config("dev", &["zone".to_owned()])
        .await
        .unwrap();
    let error = shop.seen(&stack).await.unwrap_err();
    assert_eq!(
        error.message(),
        "2 errors occurred:\n    1) Stack 'dev' with configuration key 'size' must be of type 'integer'\n    2) Stack 'dev' is missing configuration value(s) 'zone'"
    );
}

#[tokio::test]
async fn what_a_stack_cannot_do_is_refused_by_name() {
    let shop = Shop::new(PROJECT, passphrase("correct horse")).await;
    shop.put("Pulumi.esc.yaml", "environment:\n  - base\n");
    shop.put(
        "Pulumi.cloud.yaml",
        "secretsprovider: awskms://alias/ours\nencryptedkey: AQ==\n",
    );
    shop.put("Pulumi.bad.yaml", "config:\n  a:b: [1\n");
    for (name, kind, text) in [
        ("esc", ErrorKind::InvalidInput, "imports environments (base)"),
        (
            "cloud",
            ErrorKind::Secrets,
            "the secrets provider \"awskms\" is not supported",
        ),
        ("bad", ErrorKind::InvalidInput, "Pulumi.bad.yaml: line "),
        (
            "other/dev",
            ErrorKind::InvalidInput,
            "\"other\" doesn't match Pulumi.yaml",
        ),
        ("../dev", ErrorKind::InvalidInput, "may only contain"),
        ("..", ErrorKind::InvalidInput, "may only contain"),
    ] {
        let error = shop
            .project
            .stack(name, StackSettings::default())
            .await
            .err()
            .unwrap();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.message().contains(text), "{name}: {error}");
    }
    let before = shop.text("Pulumi.bad.yaml");
    let bad = shop
        .project
        .set_config("bad", "a", ConfigValue::plain("1"), None)
        .await;
    assert!(bad.unwrap_err().message().contains("column"));
    assert_eq!(shop.text("Pulumi.bad.yaml"), before);
    // Values of such a file can be changed, and the rest is kept.
    shop.project
        .set_config("esc", "a", ConfigValue::plain("1"), None)
        .await
        .unwrap();
    assert_eq!(
        shop.text("Pulumi.esc.yaml"),
        "environment:\n  - base\nconfig:\n  shop:a: \"1\"\n"
    );
    let absent = Project::open(shop.project.engine(), shop.path("nowhere"))
        .await
        .unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::NotFound);
    assert!(
        absent
            .message()
            .starts_with("no Pulumi.yaml project file found in ")
    );
}

/// An encryption that turns texts around.
struct Reversing;

#[async_trait::async_trait]
impl SecretsCallbacks for Reversing {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        Ok(plaintexts
            .iter()
            .map(|text| text.chars().rev().collect())
            .collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.encrypt(ciphertexts).await
    }
}

#[tokio::test]
async fn the_hosts_own_encryption_takes_the_place_of_a_key_service() {
    let host: Arc<dyn SecretsProvider> = Arc::new(CallbackProvider::new("cloud", None, Arc::new(Reversing)));
    let shop = Shop::new(PROJECT, host).await;
    shop.put(
        "Pulumi.dev.yaml",
        "secretsprovider: awskms://alias/ours\nconfig:\n  shop:a:\n    secure: olleh\n",
    );
    assert_eq!(shop.get("a").await.unwrap(), "hello");
    shop.project
        .set_config("dev", "b", ConfigValue::secret("abc"), None)
        .await
        .unwrap();
    assert_eq!(
        shop.text("Pulumi.dev.yaml"),
        "secretsprovider: awskms://alias/ours\nconfig:\n  shop:a:\n    secure: olleh\n  shop:b:\n    secure: cba\n"
    );
    let stack = shop.project.stack("dev", StackSettings::default()).await.unwrap();
    assert_eq!(shop.seen(&stack).await.unwrap()["shop:b"], "abc");
}

#[tokio::test]
async fn the_project_file_is_changed_at_paths_and_stays_a_project_file() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    let project = &shop.project;
    project.set("description", &json!("a: shop")).await.unwrap();
    project
        .set("config.size", &json!({"type": "integer", "default": 3}))
        .await
        .unwrap();
    project
        .set("runtime.options.toolchain", &json!("uv"))
        .await
        .unwrap();
    assert!(!project.remove("nothing.here").await.unwrap());
    assert_eq!(
        shop.text("Pulumi.yaml"),
        "# the shop\nname: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv # kept\n    toolchain: uv\ndescription: 'a: shop'\nconfig:\n  size:\n    default: 3\n    type: integer\n"
    );
    let before = shop.text("Pulumi.yaml");
    for (path, value) in [
        ("name", json!("a/b")),
        ("runtime", json!(null)),
        ("runtime", json!(5)),
        ("config.x", json!({"type": "text"})),
        ("[", json!(1)),
    ] {
        let error = project.set(path, &value).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path}");
    }
    assert_eq!(shop.text("Pulumi.yaml"), before);
    assert!(project.remove("config.size").await.unwrap());
    let file = project.file().await.unwrap();
    assert_eq!(
        (file.description.as_deref(), file.config.len()),
        (Some("a: shop"), 0)
    );
}

#[tokio::test]
async fn files_keep_their_permissions_their_links_and_their_endings() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    fs::create_dir(shop.path("real")).unwrap();
    shop.put("real/settings", "config: {}\n");
    fs::set_permissions(shop.path("real/settings"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(shop.path("real/settings"), shop.path("Pulumi.dev.yml")).unwrap();
    shop.set("a", "1").await.unwrap();
    let metadata = |path: &Path| fs::symlink_metadata(path).unwrap();
    assert!(metadata(&shop.path("Pulumi.dev.yml")).is_symlink());
    assert_eq!(
        metadata(&shop.path("real/settings")).permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(shop.text("real/settings"), "config:\n  shop:a: \"1\"\n");
    assert!(!shop.path("Pulumi.dev.yaml").exists());
    let names: Vec<_> = fs::read_dir(shop.path("real"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["settings"], "no temporary file is left");
    // A project in JSON has settings in JSON.
    let json = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    fs::remove_file(json.path("Pulumi.yaml")).unwrap();
    json.put(
        "Pulumi.json",
        "{\"name\": \"shop\", \"runtime\": \"python\", \"stackConfigDir\": \"stacks\"}",
    );
    json.set("a.b", "1").await.unwrap();
    assert_eq!(
        json.text("stacks/Pulumi.dev.json"),
        "{\n    \"config\": {\n        \"shop:a\": {\n            \"b\": 1\n        }\n    }\n}\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_lose_no_change() {
    let shop = Arc::new(Shop::new(PROJECT, Arc::new(Base64Provider)).await);
    let writers = (0..150).map(|number| {
        let shop = Arc::clone(&shop);
        tokio::spawn(async move { shop.set(&format!("k{number}"), "x").await.unwrap() })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(
        shop.project.list_config("dev", false, None).await.unwrap().len(),
        150
    );
}

#[tokio::test]
async fn a_file_that_has_changed_since_it_was_read_is_not_replaced() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    let read = SettingsText::read(shop.folder.path(), "Pulumi.dev", None).unwrap();
    shop.put("Pulumi.dev.yaml", "config:\n  a:b: '1'\n");
    assert!(!read.replace("config: {}\n", Durability::Now).unwrap());
    assert_eq!(shop.text("Pulumi.dev.yaml"), "config:\n  a:b: '1'\n");
}

#[tokio::test]
async fn a_write_replaces_the_temporary_file_that_a_killed_writer_has_left() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    shop.put(".Pulumi.dev.yaml.tmp", "config: {shop:half: '");
    shop.set("a", "1").await.unwrap();
    assert_eq!(shop.text("Pulumi.dev.yaml"), "config:\n  shop:a: \"1\"\n");
    assert!(!shop.folder.path().join(".Pulumi.dev.yaml.tmp").exists());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_an_error_and_the_file_stays() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    shop.put("Pulumi.dev.yaml", "config: {}\n");
    shop.put("blocked", "a file");
    shop.put(
        "Pulumi.yaml",
        &format!("{PROJECT}stackConfigDir: blocked/inner\n"),
    );
    let error = shop.set("a", "1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("blocked/inner"), "{error}");
    assert_eq!(shop.text("Pulumi.dev.yaml"), "config: {}\n");
}

#[tokio::test]
async fn documents_have_the_facts_and_no_hidden_secret() {
    let project = format!(
        "{PROJECT}config:\n  size: {{type: array, items: {{type: string}}, default: [a], description: how many}}\ntemplate:\n  x: 1.50\n"
    );
    let shop = Shop::new(&project, passphrase("correct horse")).await;
    let document = crate::binding::project_document(&shop.project).await.unwrap();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["runtimeOptions"], json!({"virtualenv": "venv"}));
    assert_eq!(document["template"], json!({"x": 1.5}));
    assert_eq!(document["document"]["name"], json!("shop"));
    assert_eq!(
        document["config"],
        json!([{"key": "shop:size", "type": "array<string>", "default": ["a"], "value": null, "secret": false, "description": "how many"}])
    );
    shop.project
        .set_config("dev", "a.b", ConfigValue::secret("hunter2"), None)
        .await
        .unwrap();
    let shown = |show: bool| {
        let project = shop.project.clone();
        async move {
            let entries = project.list_config("dev", show, None).await.unwrap();
            serde_json::from_slice::<serde_json::Value>(&crate::binding::entries_document(&entries).unwrap())
                .unwrap()
        }
    };
    assert_eq!(
        shown(false).await,
        json!({"shop:a": {"secret": true}, "shop:size": {"value": "[\"a\"]", "objectValue": ["a"], "secret": false}})
    );
    assert_eq!(
        shown(true).await["shop:a"],
        json!({"value": "{\"b\":\"hunter2\"}", "objectValue": {"b": "hunter2"}, "secret": true})
    );
}

#[tokio::test]
async fn a_change_of_the_passphrase_reaches_the_settings_file_and_keeps_the_rest_of_it() {
    let secrets = passphrase("old");
    let shop = Shop::new(PROJECT, secrets).await;
    shop.put("Pulumi.dev.yaml", "# mine\nconfig:\n  shop:size: 3 # three\n");
    let value = ConfigValue::secret("hunter2");
    shop.project
        .set_config("dev", "token", value, None)
        .await
        .unwrap();
    let settings = StackSettings::default();
    let stack = shop.project.stack("dev", settings).await.unwrap();
    shop.seen(&stack).await.unwrap();
    let before = shop.text("Pulumi.dev.yaml");
    stack.change_passphrase("new", false).await.unwrap();
    let after = shop.text("Pulumi.dev.yaml");
    let kept = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("v1:"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(kept(&before), kept(&after));
    assert_ne!(before, after);
    let error = shop
        .project
        .stack("dev", StackSettings::default())
        .await
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    let secrets = Some(shop.project.engine().passphrase("new").unwrap());
    let settings = StackSettings {
        secrets: secrets.clone(),
        ..StackSettings::default()
    };
    let stack = shop.project.stack("dev", settings).await.unwrap();
    assert_eq!(shop.seen(&stack).await.unwrap()["shop:token"], "hunter2");
    let entry = shop.project.get_config("dev", "token", secrets).await.unwrap();
    assert_eq!(entry.value.unwrap().to_text().unwrap(), "hunter2");
}

#[tokio::test]
async fn a_project_file_that_another_program_has_changed_is_read_again() {
    let shop = Shop::new("name: shop\nruntime: python\n", Arc::new(Base64Provider)).await;
    assert_eq!(shop.project.file().await.unwrap().name, "shop");
    shop.put("Pulumi.yaml", "name: barn\nruntime: python\n");
    assert_eq!(shop.project.file().await.unwrap().name, "barn");
    shop.put("Pulumi.yaml", "name: [");
    let refused = shop.project.file().await.unwrap_err();
    assert!(refused.message().contains("Pulumi.yaml"), "{refused}");
    shop.put("Pulumi.yaml", "name: barn\nruntime: python\n");
    assert_eq!(shop.project.file().await.unwrap().name, "barn");
}
