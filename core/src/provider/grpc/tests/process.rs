//! A provider in a process: its death, malformed responses, timeouts and its end.

use super::*;

/// Creates a plugin's process that reports `port`, and then runs `script`.
async fn process(port: u16, script: &str) -> PluginProcess {
    let start = Start {
        label: "files (resource)".into(),
        command: PluginCommand {
            program: "/bin/sh".into(),
            arguments: vec![
                "-c".into(),
                format!("echo {port}; {script}").into(),
                "plugin".into(),
            ],
            ..PluginCommand::default()
        },
        engine_address: String::new(),
        operands: vec![],
        directory: None,
        host_environment: HostEnvironment::now(),
        environment: vec![],
        visible: false,
        sink: None,
        guard_shell: Some("/bin/sh".into()),
        timeouts: PluginTimeouts::default(),
    };
    PluginProcess::start(start, &runtime()).await.unwrap()
}

/// A server that responds to each connection with `text` and then closes it, or keeps it open.
async fn raw_server(text: &'static str, close: bool) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 64];
            let _read = stream.read(&mut buffer).await;
            let _written = stream.write_all(text.as_bytes()).await;
            if !close {
                open.push(stream);
            }
        }
    });
    port
}

async fn over(process: PluginProcess, timeouts: PluginTimeouts) -> GrpcProvider {
    GrpcProvider::over_process("files", process, timeouts, &runtime())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_plugin_that_dies_in_a_call_is_named_with_the_call_and_its_end() {
    let port = raw_server("", true).await;
    let provider = over(process(port, "exit 9").await, PluginTimeouts::default()).await;
    let error = provider.greet(HandshakeRequest::default()).await.unwrap_err();
    assert_eq!(
        error.message,
        "plugin files [/bin/sh] died during Handshake: exit status 9"
    );
    assert_eq!(error.status, ProviderStatus::Unavailable);
}

#[tokio::test]
async fn a_plugin_with_another_protocol_is_reported_with_the_call() {
    let port = raw_server("HTTP/1.1 400 Bad Request\r\n\r\n", true).await;
    let provider = over(process(port, "exec sleep 60").await, PluginTimeouts::default()).await;
    let error = provider
        .call(Call::CheckConfig(check(PropertyMap::new())))
        .await
        .unwrap_err();
    let start = "plugin files [/bin/sh] did not complete CheckConfig: ";
    assert!(error.message.starts_with(start), "{error}");
}

#[tokio::test]
async fn a_plugin_that_hangs_in_its_handshake_times_out() {
    let port = raw_server("", false).await;
    let timeouts = PluginTimeouts {
        ready: Duration::from_millis(200),
        ..PluginTimeouts::default()
    };
    let provider = over(process(port, "exec sleep 60").await, timeouts).await;
    let error = provider.greet(HandshakeRequest::default()).await.unwrap_err();
    assert_eq!(
        error.message,
        "plugin files did not answer Handshake within 0.2 s"
    );
}

#[tokio::test]
async fn closing_asks_for_cancellation_and_then_ends_the_process() {
    let fake = FakeProvider::greeting(true);
    let calls = Arc::clone(&fake.calls);
    let port = fake.serve().await;
    let provider = over(process(port, "exec sleep 60").await, PluginTimeouts::default()).await;
    provider.end().await;
    assert_eq!(*calls.lock().unwrap(), ["cancel"]);
    assert!(!provider.is_alive());
}
