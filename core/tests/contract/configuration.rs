//! Encrypted configuration: the key with which it is decrypted, without and with a state.

use std::sync::{Arc, Mutex};

use stackwright::{
    Engine, ErrorKind, Stack, StackSettings, operation::OperationOptions, program::from_fn, runtime::Runtime,
    secrets::PassphraseProvider,
};
use stackwright_project::StackFile;
use stackwright_testkit::wait::Ended as _;

use crate::fixture::engine;

/// A configuration file that the reference engine wrote; the passphrase is `correct horse`.
const FILE: &str = include_str!("../fixtures/states/Pulumi.dev.yaml");

/// The token that the program received, in each of its runs.
type Tokens = Arc<Mutex<Vec<String>>>;

fn engine_of(passphrase: &str) -> Engine {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    engine()
        .secrets(Arc::new(PassphraseProvider::new(passphrase, runtime)))
        .build()
        .unwrap()
}

/// Opens the stack of the file, with its configuration; the program records its token.
async fn open(engine: &Engine, file: &StackFile) -> (Stack, Tokens) {
    let tokens = Tokens::default();
    let recorded = Arc::clone(&tokens);
    let program = from_fn(move |context| {
        let token = context.info.config.get("fixtures:token").cloned();
        recorded.lock().unwrap().extend(token);
        async { Ok(()) }
    });
    let settings = StackSettings {
        program: Some(program),
        config: file.config.clone(),
        encryption_salt: file.encryption_salt.clone(),
        ..StackSettings::default()
    };
    (engine.stack("fixtures/dev", settings).await.unwrap(), tokens)
}

/// Returns the salt of the key that encrypts the stack's state.
async fn salt_of(stack: &Stack) -> Option<String> {
    let document: serde_json::Value =
        serde_json::from_slice(&stack.export_deployment(false).await.unwrap()).unwrap();
    let salt = &document["deployment"]["secrets_providers"]["state"]["salt"];
    salt.as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_configuration_is_read_with_the_salt_of_its_file_before_there_is_a_state() {
    let file = StackFile::parse(FILE).unwrap();
    let (stack, tokens) = open(&engine_of("correct horse"), &file).await;
    for options in [
        OperationOptions::default().preview(),
        OperationOptions::default(),
        OperationOptions::default(),
    ] {
        let result = stack.update(options).ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
    }
    assert_eq!(*tokens.lock().unwrap(), ["tok-secret"; 3]);
    assert_eq!(salt_of(&stack).await, file.encryption_salt);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_keeps_its_own_key_beside_the_one_of_the_configuration() {
    let engine = engine_of("correct horse");
    let (stack, _) = open(&engine, &StackFile::default()).await;
    assert!(
        stack
            .update(OperationOptions::default())
            .ended()
            .await
            .error
            .is_none()
    );
    let own = salt_of(&stack).await;
    let file = StackFile::parse(FILE).unwrap();
    let (stack, tokens) = open(&engine, &file).await;
    let result = stack.update(OperationOptions::default()).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(*tokens.lock().unwrap(), ["tok-secret"]);
    assert!(own.is_some() && own != file.encryption_salt);
    assert_eq!(salt_of(&stack).await, own);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passphrase_that_does_not_match_the_salt_is_refused_before_the_program_runs() {
    let file = StackFile::parse(FILE).unwrap();
    let (stack, tokens) = open(&engine_of("wrong"), &file).await;
    let failures = [
        (
            OperationOptions::default().preview(),
            "failed to decrypt configuration key 'fixtures:token': incorrect passphrase",
        ),
        (
            OperationOptions::default(),
            "getting stack configuration: get stack secrets manager: incorrect passphrase",
        ),
    ];
    for (options, text) in failures {
        let error = stack.update(options).ended().await.error.clone().unwrap();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Decrypt, text));
        let of_a_value = text.contains("fixtures:token");
        assert_eq!(error.config_key(), of_a_value.then_some("fixtures:token"));
        let cause = std::error::Error::source(&error).unwrap();
        assert_eq!(cause.to_string(), "incorrect passphrase");
    }
    assert!(tokens.lock().unwrap().is_empty());
}
