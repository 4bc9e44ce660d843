//! Programs behind a language runtime.

use std::sync::Arc;

use stackwright::{
    ErrorKind, StackSettings,
    diagnostic::Severity,
    operation::OperationOptions,
    program::{LanguageRuntimeProgram, Program},
    urn::Urn,
};
use stackwright_proto::pulumirpc::{LogRequest, RunResponse, engine_client::EngineClient};
use tokio::sync::{Barrier, Notify};
use tonic::Status;

use crate::{
    fake_runtime::FakeRuntime,
    fixture::{client, echo, engine, register, root, stack, update},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_program_behind_a_language_runtime_is_told_all_and_registers_through_the_monitor() {
    let fake = FakeRuntime::new(|request| async move {
        assert_eq!(
            (request.project.as_str(), request.stack.as_str()),
            ("shop", "dev")
        );
        assert_eq!(request.organization, "organization");
        assert_eq!(request.args.len(), 1);
        assert!(!request.dry_run);
        let info = request.info.unwrap();
        assert_eq!(
            (info.root_directory.as_str(), info.entry_point.as_str()),
            ("/project", ".")
        );
        let mut client = client(&request.monitor_address).await;
        let root = root(&mut client, &request.project, &request.stack).await;
        register(&mut client, echo("a", &root, "1")).await.unwrap();
        let mut engine = EngineClient::connect(format!("http://{}", request.args[0]))
            .await
            .unwrap();
        let message = LogRequest {
            severity: 2,
            message: "look out".to_owned(),
            urn: root,
            ..LogRequest::default()
        };
        engine.log(message).await.unwrap();
        client.signal_and_wait_for_shutdown(()).await.unwrap();
        Ok(RunResponse::default())
    });
    let program = Arc::new(LanguageRuntimeProgram::new(fake.serve().await));
    let settings = StackSettings {
        program: Some(program),
        root_directory: Some("/project".into()),
        ..StackSettings::default()
    };
    let stack = engine(&Arc::default()).stack("shop/dev", settings).await.unwrap();
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&2));
    let said = &result.diagnostics[0];
    assert_eq!(
        (said.severity, said.message.as_str()),
        (Severity::Warning, "look out")
    );
    assert_eq!(said.urn.as_ref(), Some(&Urn::root_stack("dev", "shop")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_program_is_told_once_and_a_bail_is_told_by_the_program_alone() {
    let failing = FakeRuntime::new(|_| async move {
        Ok(RunResponse {
            error: "no such region".to_owned(),
            bail: false,
        })
    });
    let program = Arc::new(LanguageRuntimeProgram::new(failing.serve().await));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    assert_eq!(result.error.unwrap().kind(), ErrorKind::Program);
    let said: Vec<&str> = result
        .diagnostics
        .iter()
        .map(|said| said.message.as_str())
        .collect();
    assert_eq!(said, ["an unhandled error occurred: no such region"]);

    let bailing = FakeRuntime::new(|request| async move {
        let mut engine = EngineClient::connect(format!("http://{}", request.args[0]))
            .await
            .unwrap();
        let message = LogRequest {
            severity: 3,
            message: "my own words".to_owned(),
            ..LogRequest::default()
        };
        engine.log(message).await.unwrap();
        Ok(RunResponse {
            error: String::new(),
            bail: true,
        })
    });
    let program = Arc::new(LanguageRuntimeProgram::new(bailing.serve().await));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    let error = result.error.unwrap();
    assert_eq!((error.kind(), error.is_reported()), (ErrorKind::Program, true));
    assert_eq!(error.message(), "the program failed: my own words");
    let said: Vec<&str> = result
        .diagnostics
        .iter()
        .map(|said| said.message.as_str())
        .collect();
    assert_eq!(said, ["my own words"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_breaks_off_fails_the_run_as_a_plugin_does() {
    let broken = FakeRuntime::new(|_| async move { Err(Status::unknown("interpreter lost")) });
    let program = Arc::new(LanguageRuntimeProgram::new(broken.serve().await));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert!(error.message().ends_with("failed: interpreter lost"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_at_once_each_register_with_their_own_monitor() {
    let meeting = Arc::new(Barrier::new(2));
    let fake = FakeRuntime::new(move |request| {
        let meeting = Arc::clone(&meeting);
        async move {
            let mut client = client(&request.monitor_address).await;
            let root = root(&mut client, &request.project, &request.stack).await;
            meeting.wait().await;
            let name = format!("only-in-{}", request.stack);
            register(&mut client, echo(&name, &root, "1")).await.unwrap();
            meeting.wait().await;
            Ok(RunResponse::default())
        }
    });
    let program: Arc<dyn Program> = Arc::new(LanguageRuntimeProgram::new(fake.serve().await));
    let engine = engine(&Arc::default());
    let one = stack(&engine, "shop/one", Arc::clone(&program)).await;
    let two = stack(&engine, "shop/two", program).await;
    let (first, second) = tokio::join!(update(&one), update(&two));
    assert!(first.error.is_none(), "{:?}", first.error);
    assert!(second.error.is_none(), "{:?}", second.error);
    for (stack, name) in [(one, "one"), (two, "two")] {
        let snapshot = stack.snapshot().await.unwrap();
        let names: Vec<&str> = snapshot
            .resources
            .iter()
            .filter(|state| state.resource_type.package() == "echo")
            .map(|state| state.urn.name())
            .collect();
        assert_eq!(names, [format!("only-in-{name}")]);
        assert!(snapshot.resources.iter().all(|state| state.urn.stack() == name));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_cancels_its_runtime() {
    let (running, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (says, hears) = (Arc::clone(&running), Arc::clone(&cancelled));
    let fake = FakeRuntime::new(move |_| {
        let (says, hears) = (Arc::clone(&says), Arc::clone(&hears));
        async move {
            says.notify_one();
            hears.notified().await;
            Err(Status::aborted("cancelled"))
        }
    })
    .on_cancel(move || cancelled.notify_one());
    let program = Arc::new(LanguageRuntimeProgram::new(fake.serve().await));
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let operation = stack.update(OperationOptions::default());
    running.notified().await;
    operation.cancel();
    let result = operation.wait().await;
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Cancelled);
}
