//! Tests of configuration that comes from elsewhere, and of the salt of new stacks.

use std::sync::Arc;

use stackwright::{
    ErrorKind, Opening, StackSettings,
    config::{Config, ConfigKey, ConfigValue},
    operation::{OperationKind, OperationOptions},
    program,
    secrets::Base64Provider,
};

use super::tests::{PROJECT, Shop, passphrase};

#[tokio::test]
async fn a_new_stack_gets_the_salt_of_its_passphrase_once() {
    let shop = Shop::new(PROJECT, passphrase("correct horse")).await;
    shop.project.initialize_secrets("dev", None).await.unwrap();
    let text = shop.text("Pulumi.dev.yaml");
    assert!(text.starts_with("encryptionsalt: v1:"), "{text}");
    shop.project.initialize_secrets("dev", None).await.unwrap();
    assert_eq!(shop.text("Pulumi.dev.yaml"), text);
    let encoded = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    encoded.project.initialize_secrets("dev", None).await.unwrap();
    assert!(
        !encoded.path("Pulumi.dev.yaml").exists(),
        "there is nothing to enter"
    );
}

#[tokio::test]
async fn a_kept_configuration_is_read_with_the_stack_s_key_and_replaces_the_one_of_the_file() {
    let shop = Shop::new(PROJECT, passphrase("correct horse")).await;
    let secret = ConfigValue::secret("hush");
    shop.project
        .set_config("dev", "password", secret, None)
        .await
        .unwrap();
    let kept = shop.project.stack_file("dev").await.unwrap().config;
    shop.set("size", "3").await.unwrap();
    let entries = shop
        .project
        .list_kept_config("dev", &kept, true, None)
        .await
        .unwrap();
    let password = &entries[&ConfigKey::new("shop", "password")];
    assert_eq!(password.value.as_ref().unwrap().to_text().unwrap(), "hush");
    assert!(password.secret && entries.len() == 1);
    let masked = shop
        .project
        .list_kept_config("dev", &kept, false, None)
        .await
        .unwrap();
    assert!(masked[&ConfigKey::new("shop", "password")].value.is_none());

    shop.project.replace_config("dev", kept, None).await.unwrap();
    assert_eq!(shop.get("password").await.unwrap(), "hush");
    assert!(shop.get("size").await.is_err());
    let plaintext: Config = [(ConfigKey::new("shop", "other"), ConfigValue::secret("new"))]
        .into_iter()
        .collect();
    shop.project.replace_config("dev", plaintext, None).await.unwrap();
    assert!(
        !shop.text("Pulumi.dev.yaml").contains("new"),
        "secrets are encrypted"
    );
    assert_eq!(shop.get("other").await.unwrap(), "new");
}

#[tokio::test]
async fn another_file_takes_the_place_of_a_stack_s_own() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    shop.put("special.yaml", "config:\n  shop:size: \"7\"\n");
    let project = shop.project.with_config_file(shop.path("special.yaml"));
    let entry = project.get_config("dev", "size", None).await.unwrap();
    assert_eq!(entry.value.unwrap().to_text().unwrap(), "7");
    let value = ConfigValue::plain("8");
    project.set_config("dev", "size", value, None).await.unwrap();
    assert_eq!(shop.text("special.yaml"), "config:\n  shop:size: \"8\"\n");
    assert!(!shop.path("Pulumi.dev.yaml").exists());
}

#[tokio::test]
async fn a_passphrase_that_only_the_state_has_leads_to_one_that_both_have() {
    let shop = Shop::new(PROJECT, passphrase("old")).await;
    let (engine, project) = (shop.project.engine(), &shop.project);
    let secret = ConfigValue::secret("hush");
    project.set_config("dev", "password", secret, None).await.unwrap();
    let with = |text: &str| StackSettings {
        secrets: Some(engine.passphrase(text).unwrap()),
        ..StackSettings::default()
    };
    let stack = project.stack("dev", with("old")).await.unwrap();
    let update = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program::from_fn(|_| async { Ok(()) })),
    );
    assert!(update.wait().await.error.is_none());
    // The settings file is not known to this change.
    let bare = engine.stack("shop/dev", with("old")).await.unwrap();
    bare.change_passphrase("new", false).await.unwrap();
    for text in ["old", "new"] {
        let error = project.stack("dev", with(text)).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decrypt, "{text}: {error}");
        let hints = error.hints();
        let way = hints.last().unwrap();
        assert!(
            way.contains("open 'shop/dev' without the folder"),
            "{text}: {hints:?}"
        );
    }
    // As in the hint.
    let bare = engine.stack("shop/dev", with("new")).await.unwrap();
    bare.change_passphrase("old", false).await.unwrap();
    let stack = project.stack("dev", with("old")).await.unwrap();
    stack.change_passphrase("new", false).await.unwrap();
    project.stack("dev", with("new")).await.unwrap();
    let secrets = Some(engine.passphrase("new").unwrap());
    let entry = project.get_config("dev", "password", secrets).await.unwrap();
    assert_eq!(entry.value.unwrap().to_text().unwrap(), "hush");
}

#[tokio::test]
async fn a_deployment_that_is_imported_into_a_new_stack_has_the_salt_of_the_settings_file() {
    let shop = Shop::new(PROJECT, passphrase("old")).await;
    shop.project.initialize_secrets("dev", None).await.unwrap();
    let settings = StackSettings {
        opening: Opening::Create,
        ..StackSettings::default()
    };
    let stack = shop.project.stack("dev", settings).await.unwrap();
    let document = br#"{"version": 3, "deployment": {"resources": []}}"#;
    stack.import_deployment(document).await.unwrap();
    let exported = stack.export_deployment(false).await.unwrap();
    let exported: serde_json::Value = serde_json::from_slice(&exported).unwrap();
    let salt = exported["deployment"]["secrets_providers"]["state"]["salt"]
        .as_str()
        .unwrap();
    let text = shop.text("Pulumi.dev.yaml");
    assert!(text.contains(salt), "{salt} {text}");
}

#[tokio::test]
async fn a_settings_file_is_renamed_once_and_never_over_another_one() {
    let shop = Shop::new(PROJECT, Arc::new(Base64Provider)).await;
    shop.put("Pulumi.dev.yaml", "config:\n  shop:size: 3 # kept\n");
    shop.project.rename_settings("dev", "live").await.unwrap();
    let text = shop.text("Pulumi.live.yaml");
    assert!(text.contains("# kept") && !shop.path("Pulumi.dev.yaml").exists());
    shop.project.rename_settings("dev", "live").await.unwrap();
    for other in ["Pulumi.dev.yaml", "Pulumi.dev.yml"] {
        shop.put(other, "config:\n  shop:size: 4\n");
        let error = shop.project.rename_settings("dev", "live").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        for name in [other, "Pulumi.live.yaml"] {
            assert!(
                error.message().contains(&shop.path(name).display().to_string()),
                "{error}"
            );
        }
        std::fs::remove_file(shop.path(other)).unwrap();
    }
    assert_eq!(shop.text("Pulumi.live.yaml"), text);
}
