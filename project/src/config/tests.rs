//! Tests of configuration: keys, secrets, values of programs, and paths.

use std::sync::Arc;

use stackwright::{
    runtime::Runtime,
    secrets::{Base64Secrets, LockedSecrets, PassphraseProvider, SecretsManager},
};

use super::*;
use crate::StackFile;

fn config(text: &str) -> Config {
    Config::parse(text).unwrap()
}

fn key(text: &str) -> ConfigKey {
    ConfigKey::parse(text).unwrap()
}

#[test]
fn a_key_has_a_namespace_and_a_name() {
    assert_eq!(key("aws:region"), ConfigKey::new("aws", "region"));
    assert_eq!(key("aws:config:region").to_string(), "aws:region");
    assert_eq!(
        ConfigKey::parse_in_project("a", "shop").unwrap().to_string(),
        "shop:a"
    );
    for text in ["region", "", ":", "a:", ":b", "a:b:c", "a:config:b:c"] {
        let error = ConfigKey::parse(text).unwrap_err();
        assert_eq!(
            error.message(),
            format!(
                "could not parse {text} as a configuration key (configuration keys should be of the form `<namespace>:<name>`)"
            )
        );
    }
}

#[tokio::test]
async fn a_stack_file_of_the_reference_engine_is_decrypted() {
    let file = StackFile::parse(include_str!(
        "../../../core/tests/fixtures/states/Pulumi.dev.yaml"
    ))
    .unwrap();
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let provider = PassphraseProvider::new("correct horse", runtime);
    let manager = provider
        .open_salt(file.encryption_salt.as_ref().unwrap())
        .await
        .unwrap();
    let decrypted = file.config.decrypt(&*manager).await.unwrap();
    let texts = decrypted.texts();
    assert_eq!(texts["fixtures:phase"], "1");
    assert_eq!(texts["fixtures:token"], "tok-secret");
    assert_eq!(texts["fixtures:obj"], r#"{"hidden":"deep-secret","list":["v"]}"#);
    let blinded = decrypted.blinded();
    assert_eq!(blinded["fixtures:token"], "[secret]");
    assert_eq!(blinded["fixtures:obj"], r#"{"hidden":"[secret]","list":["v"]}"#);
    assert_eq!(decrypted.secret_keys(), ["fixtures:obj", "fixtures:token"]);
    let mut secrets = Vec::new();
    decrypted.each_secret(|secret| secrets.push(secret.to_owned()));
    assert_eq!(secrets, ["deep-secret", "tok-secret"]);
    assert!(!format!("{decrypted:?} {:?}", file.config).contains("-secret\""));
}

#[test]
fn every_value_is_a_text_to_the_program() {
    let decrypted = config(
        "a:bool: true\na:int: 0x10\na:float: 1.50\na:big: 1e6\na:yes: yes\na:null:\na:date: 2020-01-02\n\
         a:deep: {z: [1, 2.0, null, 2020-01-02], a: '<&>', b: 1e21, c: 1e-7}\n",
    )
    .in_the_clear()
    .unwrap();
    let texts = decrypted.texts();
    for (name, expected) in [
        ("bool", "true"),
        ("int", "16"),
        ("float", "1.5"),
        ("big", "1e+06"),
        ("yes", "yes"),
        ("null", ""),
        ("date", "2020-01-02 00:00:00 +0000 UTC"),
        (
            "deep",
            r#"{"a":"\u003c\u0026\u003e","b":1e+21,"c":1e-7,"z":[1,2,null,"2020-01-02T00:00:00Z"]}"#,
        ),
    ] {
        assert_eq!(texts[&format!("a:{name}")], expected, "{name}");
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_decrypted_names_its_key() {
    let config = config("a:good: {secure: eA==}\na:bad: {deep: [{secure: '?'}], x: 1}\n");
    let error = config.decrypt(&Base64Secrets).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (ErrorKind::Decrypt, Some("decrypt"))
    );
    assert_eq!(
        error.message(),
        "failed to decrypt configuration key 'a:bad': a secret is not the base64 of a text"
    );
    let error = config.in_the_clear().unwrap_err();
    assert!(error.message().contains("'a:good'"), "{error}");
}

#[tokio::test]
async fn a_plaintext_secret_is_encrypted_before_it_is_written() {
    let mut config = Config::new();
    config.insert(key("a:token"), ConfigValue::secret("x"));
    config
        .set_path("a:deep.list[0]", "p", ConfigValue::secret("y"))
        .unwrap();
    assert_eq!(config.to_yaml().unwrap_err().kind(), ErrorKind::Secrets);
    let before = config.decrypt(&Base64Secrets).await.unwrap().texts();
    config.seal(&Base64Secrets).await.unwrap();
    assert_eq!(
        config.to_yaml().unwrap().to_yaml(),
        "a:token:\n  secure: eA==\na:deep:\n  list:\n    - secure: eQ==\n"
    );
    assert_eq!(config.decrypt(&Base64Secrets).await.unwrap().texts(), before);
}

#[test]
fn the_json_of_history_records_is_sorted_sealed_and_read_again() {
    let text = include_str!("../../../core/tests/fixtures/states/Pulumi.dev.yaml");
    let config = StackFile::parse(text).unwrap().config;
    let json = config.to_json().unwrap();
    let again = Config::parse(&json).unwrap();
    assert_eq!(again.to_json().unwrap(), json);
    assert_eq!(
        json,
        concat!(
            r#"{"fixtures:obj":{"hidden":{"secure":"v1:NCmYpDDO9Qk8zE1e:PIRn0LKZI2BwXWkX3YJWjyNYRTCmHB4QYO+9"},"#,
            r#""list":["v"]},"fixtures:phase":"1","#,
            r#""fixtures:token":{"secure":"v1:kJRS4pwT81fxH2Qd:P+0Qu+OtRhM0ap/gfhSeE5kf4mEzW9eyqGE="}}"#
        )
    );
}

#[test]
fn the_single_key_secure_is_reserved() {
    let error = Config::parse("a:b: {c: {secure: 1}}").unwrap_err();
    assert!(
        error
            .message()
            .ends_with("maps with the single key \"secure\" are reserved")
    );
    let error = Config::new()
        .set_path("a:b.secure", "p", ConfigValue::plain("x"))
        .unwrap_err();
    assert!(error.message().contains("are reserved"));
}

#[test]
fn a_path_reaches_into_a_structure() {
    let mut config = Config::new();
    for (path, text) in [
        ("servers[0].name", "one"),
        ("servers[1].name", "two"),
        ("servers[0].port", "80"),
        ("servers[0].padded", "007"),
        ("aws:tags[\"a.b\"]", "true"),
        ("plain", "5"),
        ("aws:config:tags.c:d", "e"),
    ] {
        config.set_path(path, "shop", ConfigValue::plain(text)).unwrap();
    }
    assert_eq!(
        config.to_yaml().unwrap().to_yaml(),
        "shop:servers:\n  - name: one\n    port: 80\n    padded: \"007\"\n  - name: two\naws:tags:\n  a.b: true\n  c:d: e\nshop:plain: \"5\"\n"
    );
    let got = config.get_path("servers[1].name", "shop").unwrap();
    assert_eq!(got, Some(&ConfigValue::plain("two")));
    assert_eq!(config.get_path("servers[7].name", "shop").unwrap(), None);
    assert!(config.remove_path("servers[0]", "shop").unwrap().is_some());
    assert!(config.remove_path("nothing.here", "shop").unwrap().is_none());
    let got = config.get_path("shop:servers[0].name", "shop").unwrap();
    assert_eq!(got, Some(&ConfigValue::plain("two")));
    for path in [
        "servers[9]",
        "servers.name",
        "plain.x",
        "servers[x]",
        "",
        "a[",
        "[0]",
    ] {
        let error = config.set_path(path, "shop", ConfigValue::Null).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path}");
    }
}

#[test]
fn a_default_provider_gets_the_values_of_its_package() {
    let mut config = config("aws:region: eu\nshop:x: '1'\naws:tags: {b: 1, a: 2}\n");
    config.insert(key("aws:key"), ConfigValue::secret("k"));
    let decrypted = config.in_the_clear().unwrap();
    let inputs = decrypted.provider_inputs("aws");
    assert_eq!(
        inputs.keys().map(|name| name.as_str()).collect::<Vec<_>>(),
        ["key", "region", "tags"]
    );
    assert!(inputs.get("key").unwrap().is_secret());
    assert_eq!(inputs.get("tags").unwrap().as_str(), Some(r#"{"a":2,"b":1}"#));
    let whole = decrypted.provider_inputs("pulumi-python");
    assert_eq!(
        whole.keys().map(|name| name.as_str()).collect::<Vec<_>>(),
        ["aws:key", "aws:region", "aws:tags", "shop:x"]
    );
}

#[test]
fn values_of_a_base_are_merged_under_those_of_the_stack() {
    let mut stack = config("a:x: {k: 1}\n");
    stack.merge_under(&config("a:x: {k: 2, l: 3}\na:y: z\n"));
    let texts = stack.in_the_clear().unwrap().texts();
    assert_eq!(
        (texts["a:x"].as_str(), texts["a:y"].as_str()),
        (r#"{"k":1,"l":3}"#, "z")
    );
}

#[tokio::test]
async fn a_locked_manager_fails_only_when_there_is_a_secret() {
    let error = Error::new(ErrorKind::Secrets, "incorrect passphrase");
    let locked: Arc<dyn SecretsManager> = Arc::new(LockedSecrets::new("passphrase", None, error));
    assert!(config("a:b: c\n").decrypt(&*locked).await.is_ok());
    let error = config("a:b: {secure: x}\n").decrypt(&*locked).await.unwrap_err();
    assert!(
        error.message().ends_with("'a:b': incorrect passphrase"),
        "{error}"
    );
}
