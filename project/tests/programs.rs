//! Programs of folders, run by an interpreter of the test: their output, their ends, and their processes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use stackwright::{
    Engine, ErrorKind, Stack, StackSettings,
    diagnostic::Severity,
    event::EventPayload,
    operation::{OperationOptions, OperationResult},
    plugin::{HostEnvironment, PluginSettings},
    runtime::Runtime,
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_project::Project;
use stackwright_testkit::{
    control_group::writable_control_group,
    wait::{Within as _, blocking, until},
};
use tokio::runtime::Handle;

/// A folder with a program, and an interpreter that the test has written.
struct Shop {
    folder: PathBuf,
    project: Project,
    /// The folder, where it ends with the test.
    _temporary: Option<tempfile::TempDir>,
}

impl Shop {
    /// Writes a project whose interpreter is a script of the shell.
    async fn new(interpreter: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shop = Self::within(folder.path(), interpreter).await;
        Self {
            _temporary: Some(folder),
            ..shop
        }
    }

    /// Writes the project into a folder.
    async fn within(folder: &Path, interpreter: &str) -> Self {
        let path = |name: &str| folder.join(name);
        fs::write(path("Pulumi.yaml"), "name: shop\nruntime: nodejs\n").unwrap();
        fs::write(path("index.js"), "").unwrap();
        fs::create_dir(path("bin")).unwrap();
        fs::write(path("bin/node"), format!("#!/bin/sh\n{interpreter}\n")).unwrap();
        fs::set_permissions(path("bin/node"), fs::Permissions::from_mode(0o755)).unwrap();
        let runtime = Runtime::system(Handle::current());
        let plugins = PluginSettings {
            cache: Some(path("plugins")),
            ..PluginSettings::default()
        };
        let engine = Engine::builder(Handle::current())
            .store(Arc::new(MemoryStore::new(runtime)))
            .secrets(Arc::new(Base64Provider))
            .plugins(plugins)
            .build()
            .unwrap();
        let project = Project::open(&engine, folder).await.unwrap();
        Self {
            folder: folder.to_owned(),
            project,
            _temporary: None,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn environment(&self) -> HostEnvironment {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        HostEnvironment::new([].into(), self.path("")).with("PATH", path)
    }

    async fn stack(&self) -> Stack {
        let settings = StackSettings {
            program: Some(self.project.program(Some(self.environment())).await.unwrap()),
            ..StackSettings::default()
        };
        self.project.stack("dev", settings).await.unwrap()
    }

    async fn update(&self) -> Arc<OperationResult> {
        let operation = self.stack().await.update(OperationOptions::default());
        operation.wait().within("the end of the update").await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_its_facts_and_its_lines_become_messages() {
    let shop = Shop::new("cat > facts; pwd; echo trouble >&2; printf complete >&0").await;
    let operation = shop.stack().await.update(OperationOptions::default());
    let mut events = operation.events();
    let result = operation.wait().within("the end of the update").await;
    assert!(result.error.is_none(), "{result:?}");
    let facts: serde_json::Value = serde_json::from_slice(&fs::read(shop.path("facts")).unwrap()).unwrap();
    assert_eq!(
        (&facts["project"], &facts["stack"]),
        (&"shop".into(), &"dev".into())
    );
    assert_eq!(facts["program"], shop.path("index.js").display().to_string());
    let mut lines = Vec::new();
    while let Some(event) = events.next().within("an event").await {
        if let EventPayload::Diagnostic(message) = &event.payload {
            lines.push((
                message.severity,
                message.message.reference().trim_end().to_owned(),
            ));
        }
    }
    let folder = shop.folder.display().to_string();
    for line in [
        (Severity::Info, folder),
        (Severity::InfoError, "trouble".to_owned()),
    ] {
        assert!(lines.contains(&line), "{line:?} is not among {lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_warning_lists_all_plugins_that_a_program_lacks_before_it_runs() {
    let shop = Shop::new("cat > facts; echo runs; printf complete >&0").await;
    for (package, version) in [("files", "1.2.0"), ("notes", "2.0.0"), ("random", "4.0.0")] {
        let folder = shop.path(&format!("node_modules/@pulumi/{package}"));
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            r#"{{"name": "@pulumi/{package}", "version": "{version}", "pulumi": {{"resource": true}}}}"#
        );
        fs::write(folder.join("package.json"), text).unwrap();
    }
    let installed = shop.path("plugins/resource-notes-v2.0.0");
    fs::create_dir_all(&installed).unwrap();
    fs::write(installed.join("pulumi-resource-notes"), "").unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(installed.join("pulumi-resource-notes"), executable).unwrap();
    let operation = shop.stack().await.update(OperationOptions::default());
    let mut events = operation.events();
    let result = operation.wait().within("the end of the update").await;
    assert!(result.error.is_none(), "{result:?}");
    let mut texts = Vec::new();
    while let Some(event) = events.next().within("an event").await {
        if let EventPayload::Diagnostic(message) = &event.payload {
            texts.push((
                message.severity,
                message.message.reference().trim_end().to_owned(),
            ));
        }
    }
    let warning = "2 plugins of packages of the program are not installed: files 1.2.0, random 4.0.0; the first request that needs \
                   one of them fails";
    assert_eq!(
        texts,
        [
            (Severity::Warning, warning.to_owned()),
            (Severity::Info, "runs".to_owned())
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_exits_early_fails_with_its_last_lines() {
    let shop = Shop::new("for number in $(seq 100); do echo line $number; done; exit 3").await;
    let error = shop.update().await.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Program);
    assert!(
        error
            .message()
            .ends_with("program exited with non-zero exit code: 3"),
        "{error}"
    );
    let hint = error.hints().join("\n");
    assert!(
        hint.starts_with("its last lines:\nline 81\n") && hint.ends_with("line 100"),
        "{hint}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_code_of_0_alone_does_not_make_a_program_complete() {
    let error = Shop::new("cat > facts; echo the last line")
        .await
        .update()
        .await
        .error
        .clone()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Program);
    assert!(
        error.message().ends_with("before the program was complete"),
        "{error}"
    );
    assert_eq!(error.hints(), ["its last lines:\nthe last line"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_a_signal_ends_is_an_error_that_names_it() {
    let error = Shop::new("kill -9 $$")
        .await
        .update()
        .await
        .error
        .clone()
        .unwrap();
    assert!(error.message().contains("ended by the signal 9"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_processes_of_a_cancelled_program_are_gone() {
    let shop = Shop::new("sleep 1000 & echo $$ $! > processes.new; mv processes.new processes; wait").await;
    let operation = shop.stack().await.update(OperationOptions::default());
    let noted = shop.path("processes");
    until("the processes have been noted", || noted.exists()).await;
    operation.cancel();
    operation.wait().within("the end of the update").await;
    let processes = fs::read_to_string(noted).unwrap();
    let running = || {
        let states = processes.split_whitespace().map(|process| {
            let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            status.rsplit(") ").next().and_then(|rest| rest.chars().next())
        });
        states.flatten().any(|state| state != 'Z')
    };
    until("the processes have ended", || !running()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_has_left_the_group_of_its_program_holds_up_no_run_and_ends_with_its_control_group() {
    // The daemon holds the outputs of the program open. Its parent has ended when the program does.
    let daemon = "(setsid sh -c 'echo $$ > daemon.new; mv daemon.new daemon; exec sleep 600' &); until [ -e daemon ]; do sleep 0.05; done";
    // A daemon of the first milliseconds can be outside of the control group.
    let joins = match writable_control_group() {
        Some(_) => "until grep -q stackwright- /proc/$$/cgroup; do sleep 0.05; done",
        None => ":",
    };
    for (ends, cancels) in [
        ("printf complete >&0", false),
        ("echo > begun; exec sleep 600", true),
    ] {
        let shop = Shop::new(&format!("cat > facts; {joins}; {daemon}; {ends}")).await;
        let operation = shop.stack().await.update(OperationOptions::default());
        if cancels {
            until("the program runs", || shop.path("begun").exists()).await;
            operation.cancel();
        }
        let result = operation.wait().within("the end of the update").await;
        assert_eq!(result.error.is_some(), cancels, "{result:?}");
        let daemon = fs::read_to_string(shop.path("daemon")).unwrap();
        let daemon = daemon.trim();
        if writable_control_group().is_some() {
            let stat = format!("/proc/{daemon}/stat");
            let runs = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
            until("the daemon has ended", || !runs()).await;
        } else {
            // It is not killed: docs/security.md describes that.
            let killed = Command::new("kill").args(["-9", daemon]).status();
            assert!(killed.unwrap().success(), "the daemon {daemon} does not run");
        }
    }
}

/// The environment variable with the folder of the host that the test below starts and kills.
const HOST_FOLDER: &str = "PROGRAM_HOST_FOLDER";

/// Not a separate test: the host process of the test below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the host process of the other test"]
#[expect(clippy::disallowed_methods, reason = "the environment carries the argument")]
async fn host() {
    let folder = PathBuf::from(std::env::var(HOST_FOLDER).unwrap());
    // The program ignores signals and has a child; both hold the fifo open while they run.
    let interpreter = "trap '' INT HUP TERM; exec 9>alive; sleep 600 & echo up >&9; wait";
    let shop = Shop::within(&folder, interpreter).await;
    shop.stack()
        .await
        .update(OperationOptions::default())
        .wait()
        .await;
}

#[test]
fn a_killed_host_leaves_no_program_and_no_child_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("alive");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "host", "--ignored", "--nocapture"])
        .env(HOST_FOLDER, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut alive = blocking("the start of the program", move || {
        let mut alive = BufReader::new(fs::File::open(&fifo).unwrap());
        let mut line = String::new();
        alive.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        alive
    });

    host.kill().unwrap();
    blocking("the end of the host", move || host.wait().unwrap());

    // The fifo ends when the last process that holds it open has ended.
    let rest = blocking("the end of the program and its child", move || {
        let mut rest = String::new();
        alive.read_to_string(&mut rest).unwrap();
        rest
    });
    assert_eq!(rest, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_without_a_program_has_that_of_its_folder() {
    let shop = Shop::new("").await;
    let stack = shop.project.stack("dev", StackSettings::default()).await.unwrap();
    assert!(stack.has_program());
    fs::remove_file(shop.path("index.js")).unwrap();
    let result = stack
        .preview(OperationOptions::default())
        .wait()
        .within("the preview")
        .await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains("cannot run"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_without_an_interpreter_of_its_own_needs_a_language_host() {
    let shop = Shop::new("").await;
    fs::write(shop.path("Pulumi.yaml"), "name: shop\nruntime: yaml\n").unwrap();
    let error = shop
        .project
        .program(Some(shop.environment()))
        .await
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    let text = error.to_string();
    assert!(
        text.contains("pulumi-language-yaml") && text.contains("/usr/bin"),
        "{text}"
    );
}
