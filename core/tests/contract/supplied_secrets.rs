//! Secrets, pending operations and references of supplied deployments.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use stackwright::{
    ErrorKind, Result, StackSettings,
    config::{Config, ConfigKey, ConfigValue},
    monitor::Read,
    operation::OperationOptions,
    program::{Program, ProgramContext, from_fn},
    property::PropertyValue,
    secrets::{Base64Provider, CallbackProvider, SecretsCallbacks},
};
use stackwright_testkit::wait::Ended as _;

use crate::{
    fixture::program,
    supplied::{Host, left, passphrase, secretive, supplied, update},
};

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_encrypted_with_the_passphrase_of_the_document() {
    let host = Host::with(passphrase("of the engine"));
    let with = |document: Vec<u8>, text: &str| StackSettings {
        secrets: Some(passphrase(text)),
        ..supplied(document)
    };
    let stack = host.open(with(b"{}".to_vec(), "right")).await.unwrap();
    let document = left(&update(&stack, secretive()).await);
    let text = String::from_utf8(document.clone()).unwrap();
    assert!(text.contains("ciphertext") && !text.contains("hunter2"), "{text}");

    for settings in [with(document.clone(), "wrong"), supplied(document.clone())] {
        let error = host.open(settings).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Decrypt);
        assert_eq!(
            error.message(),
            "the deployment of stack 'shop/dev': incorrect passphrase"
        );
        assert!(error.hints().iter().any(|hint| hint.contains("passphrase")));
    }
    let stack = host.open(with(document.clone(), "right")).await.unwrap();
    let again = update(&stack, secretive()).await;
    assert_eq!(again.changes["same"], 2);
    let provider = |text: &[u8]| {
        serde_json::from_slice::<Value>(text).unwrap()["deployment"]["secrets_providers"].clone()
    };
    assert_eq!(provider(&left(&again)), provider(&document));
    assert!(
        String::from_utf8(stack.export_deployment(true).await.unwrap())
            .unwrap()
            .contains("hunter2")
    );

    // A manager without a secret is known, too: a wrong passphrase is found before the first secret.
    let stack = host.open(with(b"{}".to_vec(), "right")).await.unwrap();
    let document = left(&update(&stack, program(&[("a", "1")])).await);
    let error = host.open(with(document, "wrong")).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_the_clear_are_encrypted_and_kept_in_the_document() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    update(&stack, secretive()).await;
    let shown = stack.export_deployment(true).await.unwrap();
    let mut document: Value = serde_json::from_slice(&shown).unwrap();
    let removed = document["deployment"]
        .as_object_mut()
        .unwrap()
        .remove("secrets_providers");
    assert!(removed.is_some());
    let stack = host.open_with(document.to_string()).await.unwrap();
    let again = update(&stack, secretive()).await;
    assert_eq!(again.changes["same"], 2, "{:?}", again.error);
    let text = String::from_utf8(left(&again)).unwrap();
    assert!(text.contains("ciphertext") && !text.contains("hunter2"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_operations_of_the_document_are_kept_until_a_run_settles_them() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    let mut document: Value =
        serde_json::from_slice(&left(&update(&stack, program(&[("a", "1")])).await)).unwrap();
    let resources = document["deployment"]["resources"].as_array().unwrap();
    let of_a = resources
        .iter()
        .find(|each| each["urn"].as_str().unwrap().ends_with("::a"));
    let pending = json!({ "resource": of_a.unwrap(), "type": "updating" });
    document["deployment"]["pending_operations"] = json!([pending]);
    document["deployment"]["metadata"] = json!({ "integrity_error": null, "note": "kept" });
    let stack = host.open_with(document.to_string()).await.unwrap();
    let exported: Value = serde_json::from_slice(&stack.export_deployment(false).await.unwrap()).unwrap();
    assert_eq!(
        exported["deployment"]["pending_operations"][0]["type"],
        "updating"
    );
    let failed = update(&stack, program(&[("a", "1"), ("refused", "1")])).await;
    assert!(failed.error.is_some());
    let warned = failed.diagnostics.iter();
    let warned = warned.filter(|diagnostic| {
        diagnostic
            .message
            .library()
            .contains("interrupted while updating")
    });
    assert_eq!(warned.count(), 1);
    let stack = host.open_with(left(&failed)).await.unwrap();
    let refreshed = stack.refresh(OperationOptions::default()).ended().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    let after: Value = serde_json::from_slice(&left(&refreshed)).unwrap();
    assert_eq!(after["deployment"]["pending_operations"], Value::Null);
}

/// Reads what `name` exports.
fn referring(name: &'static str) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        let inputs = [("name", name.into())];
        let read = Read {
            resource_type: "pulumi:pulumi:StackReference".into(),
            name: "other".into(),
            id: name.into(),
            inputs: inputs.into_iter().collect(),
            ..Read::default()
        };
        let found = context.monitor.read(read).await?;
        let outputs = found.outputs.get("outputs").cloned();
        context
            .monitor
            .export("found", outputs.unwrap_or(PropertyValue::Null));
        Ok(())
    })
}

fn exporting(value: &'static str) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        context.monitor.export("value", value.into());
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn references_read_other_stacks_from_the_store_and_the_own_one_from_the_document() {
    let host = Host::new();
    for (name, value) in [("shop/base", "of the base"), ("shop/dev", "of the store")] {
        let stored = host.engine.stack(name, StackSettings::default()).await.unwrap();
        update(&stored, exporting(value)).await;
    }
    let stack = host.open_with("{}").await.unwrap();
    update(&stack, exporting("of the document")).await;
    for (name, expected) in [("shop/dev", "of the document"), ("shop/base", "of the base")] {
        let result = update(&stack, referring(name)).await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let found = format!("{:?}", result.outputs.get("found"));
        assert!(found.contains(expected), "{found}");
    }
}

/// An encryption of the host that reverses texts.
struct Reversing;

#[async_trait]
impl SecretsCallbacks for Reversing {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.decrypt(plaintexts).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let reversed = |text: &String| text.chars().rev().collect();
        Ok(ciphertexts.iter().map(reversed).collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_beside_a_plain_deployment_is_for_the_host_to_decrypt() {
    let stack = Host::new().open_with("{}").await.unwrap();
    let document = left(&update(&stack, secretive()).await);
    let secrets = CallbackProvider::new("reversed", None, Arc::new(Reversing)).or(Arc::new(Base64Provider));
    let mut config = Config::new();
    let secure = ConfigValue::Secure("nekot".to_owned());
    drop(config.insert(ConfigKey::new("shop", "token"), secure));
    let settings = StackSettings {
        config,
        ..supplied(document)
    };
    let stack = Host::with(Arc::new(secrets)).open(settings).await.unwrap();
    let program = from_fn(|context: ProgramContext| async move {
        let token = context.info.config.get("shop:token").cloned();
        context
            .monitor
            .export("token", PropertyValue::from(token.unwrap_or_default().as_str()));
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.outputs.get("token"), Some(&PropertyValue::from("token")));
}
