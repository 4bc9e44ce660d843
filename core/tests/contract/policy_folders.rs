//! Policy packs in folders: started by the engine with the interpreter of the folder, and ended with the operation.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use stackwright::{
    ErrorKind, Stack, StackSettings,
    operation::{AnalysisOptions, OperationKind, OperationOptions, OperationResult},
    policy::PolicyPackOption,
};
use stackwright_testkit::wait::Ended as _;

use crate::{
    fixture::{Scripted, program, stack},
    policies::serve,
};

/// Writes a pack whose interpreter is a shell script.
fn pack(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "runtime: {name: python, options: {virtualenv: venv}}\nmain: src\n";
    fs::write(folder.path().join("PulumiPolicy.yaml"), manifest).unwrap();
    let bin = folder.path().join("venv/bin");
    fs::create_dir_all(&bin).unwrap();
    let interpreter = bin.join("python");
    fs::write(&interpreter, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&interpreter, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn option(folder: &Path) -> PolicyPackOption {
    PolicyPackOption {
        name: "guard".to_owned(),
        path: folder.display().to_string(),
        ..PolicyPackOption::default()
    }
}

async fn opened() -> Stack {
    stack(&Arc::new(Scripted::default()), StackSettings::default()).await
}

async fn update(stack: &Stack, folder: &Path) -> Arc<OperationResult> {
    let options = OperationOptions {
        local_policy_packs: vec![option(folder)],
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program(&[("a", "1")])));
    operation.ended().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_in_a_folder_is_started_with_the_stack_in_its_environment_and_ends_with_the_operation() {
    let address = serve().await;
    let (_, port) = address.rsplit_once(':').unwrap();
    // The process waits for its end, and leaves a note of it.
    let script = format!(
        "echo \"$PULUMI_PROJECT $PULUMI_STACK $PULUMI_DRY_RUN $4 $5 $(pwd)\" >started
         trap 'echo ended >ended; exit 0' INT TERM
         echo {port}
         while :; do read -r _ <wait; done"
    );
    let folder = pack(&script);
    let status = std::process::Command::new("mkfifo")
        .arg(folder.path().join("wait"))
        .status();
    assert!(status.unwrap().success());
    let stack = opened().await;
    let result = update(&stack, folder.path()).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let started = fs::read_to_string(folder.path().join("started")).unwrap();
    let facts: Vec<&str> = started.split_whitespace().collect();
    let own = folder.path().canonicalize().unwrap();
    assert_eq!(facts[..3], ["shop", "dev", "false"]);
    assert!(facts[3].starts_with("127.0.0.1:"), "{started}");
    assert_eq!(facts[4], folder.path().join("src").display().to_string());
    assert_eq!(Path::new(facts[5]).canonicalize().unwrap(), own);
    assert_eq!(
        fs::read_to_string(folder.path().join("ended")).unwrap(),
        "ended\n"
    );

    let analysis = stack
        .analyze(&AnalysisOptions::new([option(folder.path())]))
        .await
        .unwrap();
    assert!(!analysis.violations.is_empty());
    assert_eq!(analysis.violations[0].name.pack, "grumpy");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_whose_interpreter_lacks_the_sdk_is_named_with_the_output_of_the_interpreter() {
    let folder = pack("echo 'No module named pulumi' >&2; exit 1");
    let result = update(&opened().await, folder.path()).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    let message = error.message();
    assert!(
        message.starts_with("could not start policy pack guard: "),
        "{message}"
    );
    assert!(
        message.contains("venv/bin/python") && message.contains("No module named pulumi"),
        "{message}"
    );
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_pack_is_refused_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let result = update(&opened().await, folder.path()).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert!(
        error.message().contains(&folder.path().display().to_string()),
        "{error}"
    );
}
