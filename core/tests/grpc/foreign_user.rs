//! Another user of the machine: requests of that user's processes to a running operation are refused.

#![allow(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a skipped test and a measurement are reported; the other user's process is passed an address"
)]

use std::{
    os::unix::{fs::PermissionsExt, process::CommandExt as _},
    process::Command,
    time::{Duration, Instant},
};

use stackwright_proto::pulumirpc::{LogRequest, engine_client::EngineClient};
use stackwright_testkit::wait::{Within as _, blocking};

use crate::fixture::{client, echo, engine, over_loopback, register, root, runtime, stack, update};

/// The id of an unprivileged user.
const FOREIGN_UID: u32 = 65534;
/// The environment variable with the address for the other user's process.
const ADDRESS: &str = "FOREIGN_USER_ADDRESS";

/// Runs in a process of the other user; does nothing otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_of_another_user() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return;
    };
    let refused = match EngineClient::connect(format!("http://{address}")).await {
        Err(_) => true,
        Ok(mut engine) => {
            let line = LogRequest {
                severity: 3,
                message: "injected".to_owned(),
                ..LogRequest::default()
            };
            engine.log(line).await.is_err()
        }
    };
    assert!(refused, "a message was accepted");
    let Ok(channel) = tonic::transport::Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
    else {
        return;
    };
    let mut monitor =
        stackwright_proto::pulumirpc::resource_monitor_client::ResourceMonitorClient::new(channel);
    let urn = "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev";
    register(&mut monitor, echo("injected", urn, "1"))
        .await
        .expect_err("a resource was registered");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_another_user_s_process_to_a_running_update_are_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start a process of another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path().to_owned();
    std::fs::set_permissions(&folder_path, PermissionsExt::from_mode(0o755)).unwrap();
    let copy = folder_path.join("other");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    let program = over_loopback(move |address| {
        let copy = copy.clone();
        async move {
            let mut client = client(&address).await;
            let root = root(&mut client, "shop", "dev").await;
            register(&mut client, echo("own", &root, "1")).await.unwrap();
            let foreign = tokio::task::spawn_blocking(move || {
                Command::new(copy)
                    .args([
                        "--exact",
                        "foreign_user::a_process_of_another_user",
                        "--nocapture",
                    ])
                    .env(ADDRESS, address)
                    .current_dir("/")
                    .uid(FOREIGN_UID)
                    .gid(FOREIGN_UID)
                    .output()
            });
            let output = foreign
                .within("the process of another user")
                .await
                .unwrap()
                .unwrap();
            let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success() && output_text.contains("1 passed"),
                "{output_text}"
            );
        }
    });
    let result = update(&stack(&engine(&std::sync::Arc::default()), "shop/dev", program).await).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&2));
    assert!(result.diagnostics.is_empty(), "{:?}", result.diagnostics);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_of_another_user_at_an_address_is_called_only_when_that_user_is_trusted() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start a process of another user");
        return;
    }
    // Listens, accepts connections, and never answers.
    let script = "import socket,sys\ns=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\n\
                  print(s.getsockname()[1],flush=True)\nkept=[]\nwhile 1: kept.append(s.accept())";
    let Ok(mut foreign) = Command::new("python3")
        .args(["-c", script])
        .current_dir("/")
        .uid(FOREIGN_UID)
        .gid(FOREIGN_UID)
        .stdout(std::process::Stdio::piped())
        .spawn()
    else {
        eprintln!("skipped: there is no python3 that another user may start");
        return;
    };
    let output = foreign.stdout.take().unwrap();
    let line = blocking("the port of the provider", move || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        line
    });
    if line.is_empty() {
        eprintln!("skipped: there is no python3 that another user may start");
        return;
    }
    let address = format!("127.0.0.1:{}", line.trim());
    let timeouts = stackwright::plugin::PluginTimeouts {
        ready: Duration::from_millis(500),
        ..Default::default()
    };
    let connect = |runtime| {
        let address = address.clone();
        async move {
            stackwright::provider::grpc::GrpcProvider::at_address("echo", &address, timeouts, &runtime)
                .await
                .map(drop)
        }
    };
    let error = connect(runtime()).await.unwrap_err();
    assert!(error.message().contains("belongs to user 65534"), "{error}");
    let mut trusting = runtime();
    trusting.peers = stackwright::runtime::TrustedPeers::with([FOREIGN_UID]);
    let connected = connect(trusting).await;
    foreign.kill().unwrap();
    blocking("the end of the provider", move || foreign.wait().unwrap());
    connected.unwrap();
}

/// Measures the time of the check.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn the_time_of_a_connection() {
    let program = over_loopback(move |address| async move {
        let began = Instant::now();
        for _ in 0..200 {
            let mut client = client(&address).await;
            client
                .supports_feature(stackwright_proto::pulumirpc::SupportsFeatureRequest::default())
                .await
                .unwrap();
        }
        eprintln!("{:?} per connection with one call", began.elapsed() / 200);
    });
    update(&stack(&engine(&std::sync::Arc::default()), "shop/dev", program).await).await;
}
