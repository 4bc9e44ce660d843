//! Operations with programs of the host: event logs, cancellation, expectations.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod shop;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use shop::Shop;
use stackwright::{
    Engine,
    monitor::Registration,
    program::{self, Program, ProgramContext},
    property::PropertyValue,
    runtime::Runtime,
    secrets::PassphraseProvider,
    store::MemoryStore,
};
use stackwright_command::{Ask, Cancellation, Command, Terminal, display::ScreenSize};
use stackwright_proto::pulumirpc::{
    EventRequest,
    events_server::{Events, EventsServer},
};
use stackwright_testkit::{clock::SkippingClock, wait::Within as _};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};

/// The time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

fn command() -> Command {
    Command::new(tokio::runtime::Handle::current())
}

/// A program with one component and an output.
fn site() -> Arc<dyn Program> {
    program::from_fn(|context: ProgramContext| async move {
        let site =
            Registration::from_json(br#"{"type": "shop:index:Site", "name": "site", "custom": false}"#)?;
        context.monitor.register(site).await?;
        context
            .monitor
            .export("url", PropertyValue::from("https://example.com"));
        Ok(())
    })
}

fn sequences(lines: &[String]) -> Vec<u64> {
    let events = lines
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    events.map(|event| event["sequence"].as_u64().unwrap()).collect()
}

fn assert_is_whole(lines: &[String]) {
    let expected: Vec<u64> = (0..lines.len() as u64).collect();
    assert_eq!(sequences(lines), expected, "the log has no gaps");
    assert!(lines.last().unwrap().contains("cancelEvent"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_receives_all_events_of_an_operation() {
    let shop = Shop::new(command()).await;
    fs::write(shop.path("log.json"), "what was there before\n").unwrap();
    let line = "up --yes --skip-preview --client=host --event-log log.json --stack dev";
    let up = shop.run(line, Some(site())).await;
    assert_eq!(up.code, 0, "{up:?}");
    assert!(
        up.stdout.contains("    url: \"https://example.com\""),
        "{}",
        up.stdout
    );
    let log = fs::read_to_string(shop.path("log.json")).unwrap();
    assert_is_whole(&log.lines().map(str::to_owned).collect::<Vec<_>>());
    let outputs = shop.run("stack output --json --stack dev", None).await;
    assert_eq!(outputs.stdout, "{\n  \"url\": \"https://example.com\"\n}\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_digest_of_a_preview_lists_the_steps_of_the_program() {
    let shop = Shop::new(command()).await;
    let preview = shop
        .run("preview --client=host --stack dev --json", Some(site()))
        .await;
    assert_eq!(preview.code, 0, "{preview:?}");
    let digest: serde_json::Value = serde_json::from_str(&preview.stdout).unwrap();
    let steps = digest["steps"].as_array().unwrap().iter();
    let steps: Vec<String> = steps
        .map(|step| format!("{} {}", step["op"], step["urn"]))
        .collect();
    assert_eq!(
        steps,
        [
            r#""create" "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev""#,
            r#""create" "urn:pulumi:dev::shop::shop:index:Site::site""#
        ]
    );
    assert_eq!(digest["changeSummary"]["create"], 2);
    assert_eq!(digest["steps"][1]["newState"]["type"], "shop:index:Site");
    assert!(digest["steps"][1]["detailedDiff"].is_null());
}

/// Writes a file of the folder, and the folders above it.
fn write(shop: &Shop, name: &str, text: &str) {
    fs::create_dir_all(shop.path(name).parent().unwrap()).unwrap();
    fs::write(shop.path(name), text).unwrap();
}

/// Runs a command line for a project in JavaScript; what takes the place of Node prints a line, and registers nothing.
async fn with_printing_program(shop: &Shop, project: &str, line: &str) -> (i32, String, String) {
    write(shop, "Pulumi.yaml", project);
    write(shop, "index.js", "");
    write(
        shop,
        "bin/node",
        "#!/bin/sh\ncat > facts; echo it runs; printf complete >&0\n",
    );
    fs::set_permissions(shop.path("bin/node"), fs::Permissions::from_mode(0o755)).unwrap();
    let (mut invocation, [stdout, stderr]) = shop.invocation(line, None);
    let path = format!("{}:/usr/bin:/bin", shop.path("bin").display());
    invocation.environment.insert("PATH".to_owned(), path);
    let code = shop.command.run(invocation).within("the program").await;
    (
        code,
        stdout.lock().unwrap().clone(),
        stderr.lock().unwrap().clone(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_of_a_program_are_messages_of_the_digest() {
    let shop = Shop::new(command()).await;
    let project = "name: shop\nruntime: nodejs\n";
    let (code, stdout, stderr) = with_printing_program(&shop, project, "preview --stack dev --json").await;
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let digest: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let messages = digest["diagnostics"].as_array().unwrap();
    let printed = messages
        .iter()
        .find(|message| message["message"] == "it runs\n\n");
    assert_eq!(printed.unwrap()["severity"], "info", "{digest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plugins_that_the_program_of_the_folder_lacks_are_listed_at_once_before_it_runs() {
    let shop = Shop::new(command()).await;
    write(
        &shop,
        "node_modules/@pulumi/files/package.json",
        r#"{"name": "@pulumi/files", "version": "1.2.0", "pulumi": {"resource": true}}"#,
    );
    let project = "name: shop\nruntime: nodejs\npackages:\n  notes: notes@3.0.0\n";
    let line = "up --yes --skip-preview --stack dev";
    let (code, stdout, stderr) = with_printing_program(&shop, project, line).await;
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let warning =
        "warning: 2 plugins of packages of the program are not installed: files 1.2.0, notes 3.0.0; ";
    let place = |text: &str| {
        stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text:?} is not in {stdout}"))
    };
    assert!(place(warning) < place("it runs"), "{stdout}");
    let history = shop.run("stack history --json --stack dev", None).await;
    let history: serde_json::Value = serde_json::from_str(&history.stdout).unwrap();
    assert_eq!(history[0]["environment"]["runtime.name"], "nodejs");
}

/// Collects the events of one stream.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

#[tonic::async_trait]
impl Events for Listener {
    async fn stream_events(&self, request: Request<Streaming<EventRequest>>) -> Result<Response<()>, Status> {
        let mut stream = request.into_inner();
        while let Some(event) = stream.message().await? {
            assert!(event.event.ends_with('\n'));
            self.0.lock().unwrap().push(event.event);
        }
        Ok(Response::new(()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_has_received_all_events_when_the_command_returns() {
    let shop = Shop::new(command()).await;
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let listener = Listener::default();
    let service = EventsServer::new(listener.clone());
    let serving = tokio::spawn(
        Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(socket)),
    );
    let line = format!("preview --client=host --stack dev --event-log tcp://{address}");
    let preview = shop.run(&line, Some(site())).await;
    serving.abort();
    assert_eq!(preview.code, 0, "{preview:?}");
    assert_is_whole(&listener.0.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_accepts_only_while_the_program_runs_receives_the_events_from_before() {
    let shop = Shop::new(command()).await;
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let listener = Listener::default();
    let server = Mutex::new(Some((EventsServer::new(listener.clone()), socket)));
    let serving = Arc::new(Mutex::new(None));
    let started = Arc::clone(&serving);
    let program = program::from_fn(move |context: ProgramContext| {
        if let Some((service, socket)) = server.lock().unwrap().take() {
            let server = Server::builder().add_service(service);
            let task = tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(socket)));
            *started.lock().unwrap() = Some(task);
        }
        async move { site().run(context).await }
    });
    let line = format!("preview --client=host --stack dev --event-log tcp://{address}");
    let preview = shop.run(&line, Some(program)).within("the preview").await;
    serving.lock().unwrap().take().unwrap().abort();
    assert_eq!(preview.code, 0, "{preview:?}");
    assert_is_whole(&listener.0.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_written_does_not_fail_the_operation() {
    let shop = Shop::new(command()).await;
    for place in ["tcp://127.0.0.1:1", "missing/folder/log.json"] {
        let line = format!("preview --client=host --stack dev --event-log {place}");
        assert_eq!(shop.run(&line, Some(site())).await.code, 0, "{place}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_that_was_to_change_nothing_ends_with_a_code_of_its_own() {
    let shop = Shop::new(command()).await;
    let preview = shop
        .run(
            "preview --client=host --stack dev --expect-no-changes",
            Some(site()),
        )
        .await;
    assert_eq!(preview.code, 7);
    assert_eq!(
        preview.stderr,
        "error: no changes were expected for preview but changes were proposed\n"
    );
    let up = shop.run("up --yes --client=host --stack dev", Some(site())).await;
    assert_eq!(up.code, 0);
    let headlines = ["Previewing update (dev):", "Updating (dev):"].map(|line| up.stdout.find(line).unwrap());
    assert!(headlines.is_sorted(), "{}", up.stdout);
    let again = "up --yes --skip-preview --client=host --stack dev --expect-no-changes";
    assert_eq!(shop.run(again, Some(site())).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_update_ends_with_a_code_of_its_own_and_releases_the_stack() {
    let shop = Shop::new(command()).await;
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let waiting = program::from_fn(move |context: ProgramContext| {
        let begun = begun.clone();
        async move {
            begun.send(()).unwrap();
            context.monitor.cancelled().await;
            Ok(())
        }
    });
    let line = "up --yes --skip-preview --client=host --stack dev";
    let (invocation, _) = shop.invocation(line, Some(waiting));
    let cancellation: Cancellation = invocation.cancellation.clone();
    let command = shop.command.clone();
    let running = tokio::spawn(async move { command.run(invocation).await });
    has_begun.recv().within("the begin of the program").await;
    let locked = shop.run(line, Some(site())).await;
    assert_eq!((locked.code, locked.stdout.as_str()), (1, ""), "{locked:?}");
    assert!(
        locked.stderr.starts_with(
            "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock \
             file with `pulumi cancel`.\n  file://"
        ),
        "{}",
        locked.stderr
    );
    cancellation.cancel();
    assert_eq!(running.within("the end of the update").await.unwrap(), 8);
    assert_eq!(shop.run(line, Some(site())).await.code, 0, "the lock is released");
    assert!(!locks(&shop.path("state")), "no lock file is left");
}

/// Returns whether a folder of lock files has any.
fn locks(state: &Path) -> bool {
    let folder = state.join(".pulumi/locks/organization/shop/dev");
    fs::read_dir(folder).is_ok_and(|entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .into_iter()
            .any(|name| name.to_string_lossy().ends_with(".json"))
    })
}

/// Answers questions with these lines, and keeps the questions.
fn answers(lines: &[&str]) -> (Ask, Arc<Mutex<Vec<String>>>) {
    let questions: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::clone(&questions);
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let ask = move |question: &str| {
        let mut asked = asked.lock().unwrap();
        asked.push(question.to_owned());
        Ok(lines.get(asked.len() - 1).cloned())
    };
    (Arc::new(ask), questions)
}

/// Runs a command line at something that asks, but is no screen.
async fn asked(shop: &Shop, line: &str, lines: &[&str]) -> (i32, String, Vec<String>) {
    let (ask, questions) = answers(lines);
    let (mut invocation, [stdout, _]) = shop.invocation(line, Some(site()));
    invocation.terminal.ask = Some(ask);
    let code = shop.command.run(invocation).within(line).await;
    let written = stdout.lock().unwrap().clone();
    let questions = questions.lock().unwrap().clone();
    (code, written, questions)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_without_yes_asks_after_its_preview() {
    let shop = Shop::new(command()).await;
    let up = "up --client=host --stack dev";
    let (code, stdout, questions) = asked(&shop, up, &["perhaps", "details\n", "no\n"]).await;
    assert_eq!((code, questions.len()), (1, 3), "{stdout}");
    assert_eq!(
        questions[0],
        "Do you want to perform this update? [yes/no/details] "
    );
    let details = "The answers are: yes, no, details.\n+ pulumi:pulumi:Stack: (create)\n    \
                   [urn=urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev]\n+ shop:index:Site: (create)\n    [urn=urn:pulumi:dev::shop::shop:index:Site::site]\n\n";
    assert!(stdout.contains(details), "{stdout}");
    assert!(
        stdout.ends_with("confirmation declined, not proceeding with the update\n"),
        "{stdout}"
    );
    assert!(!stdout.contains("Updating (dev)"), "{stdout}");
    let (code, stdout, _) = asked(&shop, up, &["yes\n"]).await;
    assert_eq!(code, 0, "{stdout}");
    assert!(
        stdout.contains("Previewing update (dev)") && stdout.contains("Updating (dev)"),
        "{stdout}"
    );
    let (code, _, questions) = asked(&shop, "refresh --stack dev", &[]).await;
    assert_eq!(code, 1, "the end of the input is a refusal");
    assert!(questions[0].contains("perform this refresh?"), "{questions:?}");
    let (code, _, questions) = asked(&shop, "destroy --stack dev --skip-preview", &["no"]).await;
    assert_eq!(
        (code, questions.len()),
        (0, 0),
        "without a preview nothing is asked"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_interaction_a_missing_confirmation_is_an_error() {
    let shop = Shop::new(command()).await;
    for line in [
        "up --client=host --stack dev --non-interactive",
        "destroy --non-interactive --stack dev",
    ] {
        let (code, _, questions) = asked(&shop, line, &["yes"]).await;
        assert_eq!((code, questions.len()), (2, 0), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_question_ends_the_command() {
    let shop = Shop::new(command()).await;
    let (mut invocation, _) = shop.invocation("up --client=host --stack dev", Some(site()));
    let cancellation = invocation.cancellation.clone();
    invocation.terminal.ask = Some(Arc::new(move |_| {
        cancellation.cancel();
        // It stays, as the read of a terminal does.
        std::thread::park_timeout(Duration::from_secs(2));
        Ok(Some("yes".to_owned()))
    }));
    let code = shop
        .command
        .run(invocation)
        .within("the end of the command")
        .await;
    assert_eq!(code, 8);
    let history = shop.run("stack history --stack dev", None).await;
    assert_eq!(history.stdout, "", "nothing has run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_shows_a_tree_and_colours() {
    let shop = Shop::new(command()).await;
    let run = async |line: &str, no_color: Option<&str>| {
        let (mut invocation, [stdout, _]) = shop.invocation(line, Some(site()));
        invocation.terminal = Terminal {
            size: Some(Arc::new(|| ScreenSize {
                columns: 80,
                rows: 24,
            })),
            ..Terminal::default()
        };
        let variable = no_color.map(|value| ("NO_COLOR".to_owned(), value.to_owned()));
        invocation.environment.extend(variable);
        assert_eq!(shop.command.run(invocation).within(line).await, 0);
        stdout.lock().unwrap().clone()
    };
    let line = "preview --client=host --stack dev";
    let tree = run(line, None).await;
    assert!(
        tree.contains(" \u{1b}[32m+ \u{1b}[0m  └─ shop:index:Site   site"),
        "{tree:?}"
    );
    let plain = run(line, Some("1")).await;
    assert!(
        plain.contains(" +   └─ shop:index:Site   site      create\n"),
        "{plain:?}"
    );
    assert!(
        run(line, Some("")).await.contains("\u{1b}[32m"),
        "an empty variable has no effect"
    );
    let lines = run(
        "preview --client=host --stack dev --non-interactive --color never",
        None,
    )
    .await;
    assert!(
        lines.contains(" +  shop:index:Site site create \n") && !lines.contains('\u{1b}'),
        "{lines:?}"
    );
    let always = shop
        .run("preview --client=host --stack dev --color always", Some(site()))
        .await;
    assert!(
        always
            .stdout
            .contains("\u{1b}[32m +  shop:index:Site site create \u{1b}[0m\n"),
        "{always:?}"
    );
}

/// A program that ends once it is released, with a component that begins before.
fn waiting(released: Arc<tokio::sync::Notify>) -> Arc<dyn Program> {
    program::from_fn(move |context: ProgramContext| {
        let released = Arc::clone(&released);
        async move {
            let site =
                Registration::from_json(br#"{"type": "shop:index:Site", "name": "site", "custom": false}"#)?;
            context.monitor.register(site).await?;
            released.notified().within("the release of the program").await;
            Ok(())
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_that_takes_its_time_shows_that_it_is_running() {
    let handle = tokio::runtime::Handle::current();
    let mut runtime = Runtime::system(handle.clone());
    runtime.clock = Arc::new(SkippingClock(|duration| duration == HEARTBEAT_INTERVAL));
    let store = Arc::new(MemoryStore::new(runtime.clone()));
    let engine = Engine::builder(handle.clone())
        .runtime(runtime.clone())
        .store(store)
        .secrets(Arc::new(PassphraseProvider::new("correct horse", runtime)))
        .build()
        .unwrap();
    let shop = Shop::new(Command::with_engine(handle, engine)).await;
    for (line, heartbeats) in [
        ("preview --client=host", "\n@ previewing update......"),
        ("up --yes --skip-preview --client=host", "\n@ updating......"),
    ] {
        let released = Arc::new(tokio::sync::Notify::new());
        let (mut invocation, [stdout, _]) = shop.invocation(line, Some(waiting(Arc::clone(&released))));
        let (write, written) = (Arc::clone(&invocation.stdout), Arc::clone(&stdout));
        invocation.stdout = Arc::new(move |text| {
            write(text);
            if written.lock().unwrap().contains(heartbeats) {
                released.notify_one();
            }
        });
        assert_eq!(shop.command.run(invocation).within(line).await, 0);
        let text = stdout.lock().unwrap().clone();
        let (_, rest) = text.split_once(heartbeats).unwrap();
        let rest = rest.trim_start_matches('.');
        assert!(
            rest.starts_with('\n') && text.contains("\nResources:\n"),
            "{text}"
        );
    }
    let quiet = shop.run("refresh --yes --suppress-progress", None).await;
    assert!(!quiet.stdout.contains('@'), "{}", quiet.stdout);
}
