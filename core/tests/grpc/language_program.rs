//! Programs behind a language runtime.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
    mpsc::{self, RecvTimeoutError},
};

use stackwright::{
    ErrorKind, StackSettings,
    diagnostic::Severity,
    operation::{Operation, OperationOptions},
    program::{LanguageRuntimeProgram, Program},
    property::PropertyMap,
    urn::Urn,
};
use stackwright_proto::{
    pulumirpc::{
        LogRequest, PackageDependency, PackageParameterization, PluginDependency, RunResponse,
        engine_client::EngineClient,
    },
    values::value::Kind,
};
use stackwright_testkit::{
    fake::FakeRuntime,
    wait::{Ended as _, TEST_TIMEOUT, Within as _},
};
use tokio::sync::{Barrier, Notify};
use tonic::Status;

use crate::fixture::{client, echo, engine, register, root, stack, update};

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_requires_a_handshake_gets_one_before_each_run() {
    let greetings = Arc::default();
    let fake = FakeRuntime::new(|request| async move {
        let mut client = client(&request.monitor_address).await;
        root(&mut client, &request.project, &request.stack).await;
        client.signal_and_wait_for_shutdown(()).await.unwrap();
        Ok(RunResponse::default())
    });
    let fake = fake.demanding_a_greeting(&greetings);
    let settings = StackSettings {
        program: Some(Arc::new(LanguageRuntimeProgram::new(fake.serve().await))),
        root_directory: Some("/project".into()),
        ..StackSettings::default()
    };
    let stack = engine(&Arc::default()).stack("shop/dev", settings).await.unwrap();
    for runs in 1..=2 {
        let result = update(&stack).await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let greetings = greetings.lock().unwrap();
        assert_eq!(greetings.len(), runs);
        let greeting = &greetings[runs - 1];
        assert!(greeting.engine_address.starts_with("127.0.0.1:"), "{greeting:?}");
        assert_eq!(greeting.program_directory.as_deref(), Some("/project"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_a_language_runtime_gets_all_settings_and_registers_through_the_monitor() {
    let fake = FakeRuntime::new(|request| async move {
        assert_eq!(
            (request.project.as_str(), request.stack.as_str()),
            ("shop", "dev")
        );
        assert_eq!(request.organization, "acme");
        assert_eq!(request.args.len(), 1);
        assert!(!request.dry_run);
        let info = request.info.unwrap();
        assert_eq!(
            (info.root_directory.as_str(), info.entry_point.as_str()),
            ("/project", ".")
        );
        let options = info.options.unwrap().fields;
        let names: Vec<&str> = options.keys().map(AsRef::as_ref).collect();
        assert_eq!(names, ["address", "build", "virtualenv"]);
        let Some(Kind::StructValue(build)) = options["build"].kind.clone() else {
            panic!("{options:?}");
        };
        assert_eq!(build.fields["quiet"].kind, Some(Kind::BoolValue(true)));
        let mut client = client(&request.monitor_address).await;
        let info = client.get_deployment_info(()).await.unwrap().into_inner();
        assert_eq!(info.organization, "acme");
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
        runtime_options: [
            ("virtualenv".to_owned(), "venv".into()),
            ("build".to_owned(), serde_json::json!({ "quiet": true })),
        ]
        .into(),
        organization: "acme".to_owned(),
        ..StackSettings::default()
    };
    let stack = engine(&Arc::default()).stack("shop/dev", settings).await.unwrap();
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&2));
    let diagnostic = &result.diagnostics[0];
    assert_eq!(
        (diagnostic.severity, diagnostic.message.library()),
        (Severity::Warning, "look out")
    );
    assert_eq!(diagnostic.urn.as_ref(), Some(&Urn::root_stack("dev", "shop")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_program_is_reported_once_and_a_bail_only_by_the_program() {
    let failing = FakeRuntime::new(|_| async move {
        Ok(RunResponse {
            error: "no such region".to_owned(),
            bail: false,
        })
    });
    let program = Arc::new(LanguageRuntimeProgram::new(failing.serve().await));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    assert_eq!(result.error.unwrap().kind(), ErrorKind::Program);
    let messages: Vec<&str> = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.library())
        .collect();
    assert_eq!(messages, ["an unhandled error occurred: no such region"]);

    let bailing = FakeRuntime::new(|request| async move {
        let mut engine = EngineClient::connect(format!("http://{}", request.args[0]))
            .await
            .unwrap();
        let message = LogRequest {
            severity: 3,
            message: "a message of the program".to_owned(),
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
    assert_eq!(error.message(), "the program failed: a message of the program");
    let messages: Vec<&str> = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.library())
        .collect();
    assert_eq!(messages, ["a message of the program"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_disconnects_fails_the_run_as_a_plugin_does() {
    let broken = FakeRuntime::new(|_| async move { Err(Status::unknown("interpreter lost")) });
    let program = Arc::new(LanguageRuntimeProgram::new(broken.serve().await));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert!(error.message().ends_with("failed: interpreter lost"), "{error}");
}

/// Runs a program that registers one resource and names no version; returns its default provider's name and inputs.
async fn default_provider(fake: FakeRuntime) -> (String, PropertyMap) {
    let program = Arc::new(LanguageRuntimeProgram::new(fake.serve().await));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut providers = result.snapshot.resources.iter();
    let provider = providers.find(|state| state.is_provider()).unwrap();
    (provider.urn.name().to_owned(), provider.inputs.clone())
}

fn of_one_resource() -> FakeRuntime {
    FakeRuntime::new(|request| async move {
        let mut client = client(&request.monitor_address).await;
        let root = root(&mut client, &request.project, &request.stack).await;
        register(&mut client, echo("a", &root, "1")).await.unwrap();
        Ok(RunResponse::default())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_packages_of_a_runtime_determine_the_default_providers() {
    let package = |version: &str| PackageDependency {
        name: "echo".to_owned(),
        kind: "resource".to_owned(),
        version: version.to_owned(),
        ..PackageDependency::default()
    };
    let packages = vec![
        package("1.2.0"),
        PackageDependency {
            server: "https://example.com/echo/".to_owned(),
            checksums: [("linux-amd64".to_owned(), vec![0, 255])].into(),
            ..package("v1.10.0")
        },
        PackageDependency {
            kind: "language".to_owned(),
            ..package("2.0.0")
        },
        PackageDependency {
            parameterization: Some(PackageParameterization::default()),
            ..package("3.0.0")
        },
    ];
    let (name, inputs) = default_provider(of_one_resource().requiring_packages(packages)).await;
    assert_eq!(name, "default_1_10_0_https_/example.com/echo");
    assert_eq!(inputs.get("version"), Some(&"1.10.0".into()));
    let internal: PropertyMap = [
        ("pluginDownloadURL", "https://example.com/echo".into()),
        (
            "pluginChecksums",
            PropertyMap::from_iter([("linux-amd64", "00ff".into())]).into(),
        ),
    ]
    .into_iter()
    .collect();
    assert_eq!(inputs.get("__internal"), Some(&internal.into()));

    let plugins = vec![PluginDependency {
        name: "echo".to_owned(),
        kind: "resource".to_owned(),
        version: "1.3.0".to_owned(),
        ..PluginDependency::default()
    }];
    let (name, _) = default_provider(of_one_resource().requiring_plugins(plugins)).await;
    assert_eq!(name, "default_1_3_0");
    let (name, _) = default_provider(of_one_resource()).await;
    assert_eq!(name, "default");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_version_of_a_required_package_is_refused_before_the_program_runs() {
    let packages = vec![PackageDependency {
        name: "echo".to_owned(),
        kind: "resource".to_owned(),
        version: "latest".to_owned(),
        ..PackageDependency::default()
    }];
    let never = FakeRuntime::new(|_| async { panic!("the program ran") });
    let program = Arc::new(LanguageRuntimeProgram::new(
        never.requiring_packages(packages).serve().await,
    ));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert!(
        error.message().contains("\"latest\" of package 'echo'"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sources_of_one_version_of_a_required_package_are_refused_before_the_program_runs() {
    let package = |server: &str| PackageDependency {
        name: "echo".to_owned(),
        kind: "resource".to_owned(),
        version: "1.2.0".to_owned(),
        server: server.to_owned(),
        ..PackageDependency::default()
    };
    let packages = vec![
        package("https://example.com/one"),
        package("https://example.com/two"),
    ];
    let never = FakeRuntime::new(|_| async { panic!("the program ran") });
    let program = Arc::new(LanguageRuntimeProgram::new(
        never.requiring_packages(packages).serve().await,
    ));
    let result = update(&stack(&engine(&Arc::default()), "shop/dev", program).await).await;
    let error = result.error.unwrap();
    let conflict = "the program requires the package 'echo' 1.2.0 from 'https://example.com/one' and from 'https://example.com/two'";
    assert!(error.message().contains(conflict), "{error}");
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_at_once_each_register_with_their_own_monitor() {
    let meeting = Arc::new(Barrier::new(2));
    let fake = FakeRuntime::new(move |request| {
        let meeting = Arc::clone(&meeting);
        async move {
            let mut client = client(&request.monitor_address).await;
            let root = root(&mut client, &request.project, &request.stack).await;
            meeting.wait().within("the other run").await;
            let name = format!("only-in-{}", request.stack);
            register(&mut client, echo(&name, &root, "1")).await.unwrap();
            meeting.wait().within("the other run").await;
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
    let (entered, ended) = (Arc::clone(&running), Arc::clone(&cancelled));
    let fake = FakeRuntime::new(move |_| {
        let (entered, ended) = (Arc::clone(&entered), Arc::clone(&ended));
        async move {
            entered.notify_one();
            ended.notified().within("the cancellation of the runtime").await;
            Err(Status::aborted("cancelled"))
        }
    })
    .on_cancel(move || cancelled.notify_one());
    let program = Arc::new(LanguageRuntimeProgram::new(fake.serve().await));
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let operation = stack.update(OperationOptions::default());
    running.notified().within("the start of the program").await;
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Cancelled);
}

/// Starts an update with a held session and a program that ends with `over`, and returns it once the program runs.
async fn held(over: &Arc<Notify>, fake: impl FnOnce(FakeRuntime) -> FakeRuntime) -> Operation {
    let running = Arc::new(Notify::new());
    let (entered, over) = (Arc::clone(&running), Arc::clone(over));
    let runtime = FakeRuntime::new(move |_| {
        entered.notify_one();
        let over = Arc::clone(&over);
        async move {
            over.notified().within("the end that the test allows").await;
            Err(Status::aborted("over"))
        }
    });
    let program = Arc::new(LanguageRuntimeProgram::new(fake(runtime).serve().await));
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let options = OperationOptions {
        hold_session: true,
        ..OperationOptions::default()
    };
    let operation = stack.update(options);
    running.notified().within("the start of the program").await;
    operation
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_is_cancelled_before_a_held_operation_returns() {
    let (is_cancelled, over) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let flag = Arc::clone(&is_cancelled);
    let on_cancel = move || flag.store(true, Ordering::SeqCst);
    let operation = held(&over, |fake| fake.on_cancel(on_cancel)).await;
    operation.cancel();
    operation.ended().await;
    assert!(is_cancelled.load(Ordering::SeqCst));
    over.notify_one();
    operation.release().within("the release of the session").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_cancellation_does_not_wait_for_a_runtime_that_does_not_answer() {
    let (cancelling, over) = (Arc::new(Notify::new()), Arc::default());
    let entered = Arc::clone(&cancelling);
    let (answer, answered) = mpsc::channel::<()>();
    let answered = Mutex::new(answered);
    let operation = held(&over, |fake| {
        fake.on_cancel(move || {
            entered.notify_one();
            // Ends with the test.
            let end = tokio::task::block_in_place(|| answered.lock().unwrap().recv_timeout(TEST_TIMEOUT));
            assert_eq!(end, Err(RecvTimeoutError::Disconnected));
        })
    })
    .await;
    operation.cancel();
    cancelling.notified().within("the call of Cancel").await;
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Cancelled);
    drop(answer);
    over.notify_one();
    operation.release().within("the release of the session").await;
}
