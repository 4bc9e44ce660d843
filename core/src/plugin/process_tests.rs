//! Tests of processes that start, fail and end; each is a short shell script.

use std::sync::Mutex;

use super::*;
use crate::{diagnostic::Severity, plugin::disposition::ignores_interrupts};

fn script(text: &str) -> Start {
    Start {
        label: "files (resource)".into(),
        command: PluginCommand {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), text.into(), "plugin".into()],
            environment: vec![("GIVEN_BY_COMMAND".into(), "yes".into())],
            ..PluginCommand::default()
        },
        engine_address: "127.0.0.1:1".into(),
        operands: vec![],
        directory: None,
        host_environment: HostEnvironment::now(),
        environment: vec![("PULUMI_PROJECT".into(), "shop".into())],
        visible: false,
        sink: None,
        guard_shell: Some("/bin/sh".into()),
        timeouts: PluginTimeouts {
            port: Duration::from_secs(20),
            interrupt: Duration::from_secs(20),
            ..PluginTimeouts::default()
        },
    }
}

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

async fn failure(start: Start) -> String {
    let error = PluginProcess::start(start, &runtime()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    error.message().to_owned()
}

type Seen = tokio::sync::mpsc::UnboundedReceiver<Diagnostic>;

fn sink() -> (Option<DiagnosticSink>, Seen) {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let sender = Mutex::new(sender);
    let sink: DiagnosticSink = Arc::new(move |diagnostic| {
        // The receiver may be dropped already.
        drop(sender.lock().unwrap().send(diagnostic));
    });
    (Some(sink), receiver)
}

#[tokio::test]
async fn a_plugin_receives_arguments_and_environment_and_its_output_is_emitted() {
    let (sink, mut seen) = sink();
    let text = r#"echo 4711; echo "$1 $2 $GIVEN_BY_COMMAND $PULUMI_PROJECT"; pwd >&2; exec sleep 60"#;
    let folder = tempfile::tempdir().unwrap();
    let process = PluginProcess::start(
        Start {
            operands: vec!["pack".into()],
            directory: Some(folder.path().to_owned()),
            sink,
            ..script(text)
        },
        &runtime(),
    )
    .await
    .unwrap();
    assert_eq!(process.port(), 4711);
    assert_eq!(process.folder(), Some(folder.path()));
    let mut lines = [seen.recv().await.unwrap(), seen.recv().await.unwrap()];
    lines.sort_by(|left, right| right.message.reference().cmp(left.message.reference()));
    assert_eq!(
        lines[0],
        Diagnostic::new(Severity::Debug, "127.0.0.1:1 pack yes shop")
    );
    assert!(lines[1].message.reference().starts_with('/'));
    process.close().await;
    assert_eq!(process.exit().unwrap(), asked_to_end());
}

/// Returns how a plugin without signal handlers ends.
fn asked_to_end() -> &'static str {
    if ignores_interrupts() {
        "killed by signal 15"
    } else {
        "killed by signal 2"
    }
}

/// Runs this test's executable again in a process that ignores SIGINT.
#[test]
fn a_plugin_is_asked_to_end_also_by_a_host_that_ignores_interrupts() {
    let test =
        "plugin::process::tests::a_plugin_receives_arguments_and_environment_and_its_output_is_emitted";
    let done = std::process::Command::new("/bin/sh")
        .args(["-c", r#"trap "" INT; exec "$0" --exact "$1""#])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && output.contains("1 passed"), "{output}");
}

#[tokio::test]
async fn a_plugin_that_writes_garbage_is_named_with_what_it_wrote() {
    let message = failure(script("echo hello; exec sleep 60")).await;
    assert_eq!(
        message,
        "files (resource) plugin [/bin/sh] wrote an invalid port to stdout: \"hello\" is not a number"
    );
}

#[tokio::test]
async fn a_plugin_without_an_end_of_the_first_line_is_refused() {
    let message = failure(script(
        "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
    ))
    .await;
    assert!(message.contains("wrote an invalid port to stdout: \"xxxx"));
}

#[tokio::test]
async fn a_plugin_receives_the_host_s_variables_of_the_time_of_its_request() {
    let (sink, mut seen) = sink();
    let text = r#"echo 4711; echo "$TOKEN $GIVEN_BY_COMMAND $([ -n "$PATH" ] && echo found)"; exec sleep 60"#;
    let host_environment = HostEnvironment::now()
        .with("TOKEN", "of the host")
        .with("GIVEN_BY_COMMAND", "no");
    let process = PluginProcess::start(
        Start {
            host_environment,
            sink,
            visible: true,
            ..script(text)
        },
        &runtime(),
    )
    .await
    .unwrap();
    assert_eq!(
        seen.recv().await.unwrap().message.reference(),
        "of the host yes found"
    );
    process.close().await;
}

#[tokio::test]
async fn a_plugin_that_exits_at_once_is_reported_with_its_error_output() {
    let message = failure(script("echo no licence >&2; exit 3")).await;
    assert_eq!(
        message,
        "could not read plugin [/bin/sh]: exit status 3\nno licence"
    );
}

#[tokio::test]
async fn a_plugin_that_writes_no_port_times_out() {
    let mut start = script("echo starting >&2; exec sleep 60");
    start.timeouts.port = Duration::from_millis(300);
    let message = failure(start).await;
    assert_eq!(
        message,
        "files (resource) plugin [/bin/sh] did not write its port within 0.3 s\nstarting"
    );
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let mut start = script("");
    start.command.program = "/nonexistent/plugin".into();
    let message = failure(start).await;
    assert!(message.starts_with("could not start plugin [/nonexistent/plugin]: "));
}

#[tokio::test]
async fn a_plugin_that_ignores_signals_is_killed_with_all_that_it_started() {
    let text = "trap '' INT TERM; echo 1; sleep 60 & wait";
    let mut start = script(text);
    start.timeouts.interrupt = Duration::from_millis(200);
    let process = PluginProcess::start(start, &runtime()).await.unwrap();
    process.close().await;
    assert_eq!(process.exit().unwrap(), "killed by signal 9");
}

#[tokio::test]
async fn an_unexpected_end_is_reported_with_the_last_lines() {
    let (sink, mut seen) = sink();
    let text = "echo 1; echo out of luck >&2; exit 7";
    let process = PluginProcess::start(Start { sink, ..script(text) }, &runtime())
        .await
        .unwrap();
    assert_eq!(process.exited().await, "exit status 7");
    let report = loop {
        let diagnostic = seen.recv().await.unwrap();
        if diagnostic.severity == Severity::Error {
            break diagnostic.message;
        }
    };
    assert!(
        report
            .reference()
            .starts_with("plugin [/bin/sh] exited prematurely: exit status 7")
    );
}

#[tokio::test]
async fn dropping_a_plugin_ends_all_that_it_started() {
    for guard_shell in [Some("/bin/sh".into()), None] {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("alive");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        // The plugin and its child hold the fifo open until they end.
        let text = format!("exec 9>'{}'; sleep 60 & echo 1; wait", fifo.display());
        let reader = tokio::task::spawn_blocking(move || std::fs::read(fifo).unwrap());
        let process = PluginProcess::start(
            Start {
                guard_shell,
                ..script(&text)
            },
            &runtime(),
        )
        .await
        .unwrap();
        drop(process);
        assert_eq!(reader.await.unwrap(), b"");
    }
}
