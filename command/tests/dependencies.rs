//! `install`: the packages of a program's language, with tools that only write down how they are called.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use stackwright_command::{Cancellation, Command, Invocation};
use stackwright_testkit::wait::Within as _;
use tempfile::TempDir;

/// Writes down its name and its arguments. As an interpreter, it makes virtual environments.
const TOOL: &str = r#"#!/bin/sh
echo "$(basename "$0") $*${UV_PROJECT_ENVIRONMENT:+ in $UV_PROJECT_ENVIRONMENT}" >> calls
echo "hello of $(basename "$0")"
echo "a note" >&2
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
"#;

struct Shop(TempDir);

impl Shop {
    /// Creates a folder with a project and tools.
    fn new(runtime: &str, tools: &[&str]) -> Self {
        let shop = Self(tempfile::tempdir().unwrap());
        fs::write(
            shop.path("Pulumi.yaml"),
            format!("name: shop\nruntime: {runtime}\n"),
        )
        .unwrap();
        fs::create_dir(shop.path("bin")).unwrap();
        for tool in tools {
            shop.tool(tool, TOOL);
        }
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn tool(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs `install` without plugins; returns its exit code, and what it has written on both streams.
    async fn install(&self, cancellation: Cancellation) -> (i32, [String; 2]) {
        let outputs: [Arc<Mutex<String>>; 2] = Default::default();
        let [stdout, stderr] = outputs.clone().map(|output| -> stackwright_command::Output {
            Arc::new(move |text| output.lock().unwrap().push_str(text))
        });
        let own = self.path("bin");
        let environment = [
            ("PATH".to_owned(), format!("{}:/bin", own.display())),
            ("PULUMI_HOME".to_owned(), self.path("home").display().to_string()),
        ];
        let invocation = Invocation {
            environment: environment.into(),
            stdout,
            stderr,
            cancellation,
            ..Invocation::new(["install", "--no-plugins"], self.0.path())
        };
        let command = Command::new(tokio::runtime::Handle::current());
        let code = command.run(invocation).within("install").await;
        (code, outputs.map(|output| output.lock().unwrap().clone()))
    }

    /// Installs, and returns the calls of the tools.
    async fn calls(&self) -> Vec<String> {
        let (code, outputs) = self.install(Cancellation::default()).await;
        assert_eq!(code, 0, "{outputs:?}");
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let folder = self.0.path().display().to_string();
        calls.lines().map(|line| line.replace(&folder, "DIR")).collect()
    }
}

#[tokio::test]
async fn the_package_manager_is_that_of_the_options_or_of_the_lock_file() {
    let managers = ["npm", "yarn", "pnpm"];
    let shop = Shop::new("nodejs", &managers);
    let (code, [stdout, stderr]) = shop.install(Cancellation::default()).await;
    let expected = "Installing dependencies...\n\nhello of npm\nFinished installing dependencies\n\n";
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (0, expected, "a note\n")
    );
    for (file, call) in [("pnpm-lock.yaml", "pnpm install"), ("yarn.lock", "yarn install")] {
        fs::write(shop.path(file), "").unwrap();
        assert_eq!(shop.calls().await.last().unwrap(), call);
    }
    let shop = Shop::new("{name: nodejs, options: {packagemanager: pnpm}}", &managers);
    assert_eq!(shop.calls().await, ["pnpm install"]);
}

#[tokio::test]
async fn pip_installs_into_the_virtual_environment_of_the_options() {
    let shop = Shop::new("{name: python, options: {virtualenv: venv}}", &["python3"]);
    let update = "python -m pip install --upgrade pip setuptools wheel";
    assert_eq!(shop.calls().await, ["python3 -m venv DIR/venv", update]);
    fs::write(shop.path("requirements.txt"), "pulumi\n").unwrap();
    let calls = shop.calls().await;
    assert_eq!(calls[2..], [update, "python -m pip install -r requirements.txt"]);
    let shop = Shop::new("python", &["python3"]);
    fs::write(shop.path("requirements.txt"), "pulumi\n").unwrap();
    assert_eq!(shop.calls().await, ["python3 -m pip install -r requirements.txt"]);
}

#[tokio::test]
async fn uv_and_poetry_install_with_their_own_commands() {
    let uv = Shop::new(
        "{name: python, options: {toolchain: uv, virtualenv: env}}",
        &["uv"],
    );
    assert_eq!(uv.calls().await, ["uv sync in DIR/env"]);
    let poetry = Shop::new("{name: python, options: {toolchain: poetry}}", &["poetry"]);
    assert_eq!(poetry.calls().await, ["poetry install --no-ansi"]);
}

#[tokio::test]
async fn what_cannot_be_installed_is_an_error_with_its_cause() {
    let refused = async |shop: &Shop| {
        let (code, [_, stderr]) = shop.install(Cancellation::default()).await;
        assert_ne!(code, 0);
        stderr
    };
    let missing = refused(&Shop::new("{name: python, options: {toolchain: uv}}", &[])).await;
    assert!(
        missing.contains("`uv`, which was not found on the search path"),
        "{missing}"
    );
    let unknown = refused(&Shop::new("cobol", &[])).await;
    assert!(
        unknown.contains("the runtime `cobol`") && unknown.contains("--no-dependencies"),
        "{unknown}"
    );
    let failing = Shop::new("nodejs", &[]);
    failing.tool("npm", "#!/bin/sh\necho 'no such package' >&2\nexit 3\n");
    let failed = refused(&failing).await;
    assert!(
        failed.starts_with("no such package\nerror: installing the packages of the program"),
        "{failed}"
    );
    assert!(failed.contains("npm ended with exit status: 3"), "{failed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_ends_the_tool_with_the_processes_that_it_has_started() {
    let shop = Shop::new("nodejs", &[]);
    // The tool ignores the interrupt, and its child has its output.
    shop.tool("npm", "#!/bin/sh\ntrap '' INT\nsleep 600 &\necho > begun\nwait\n");
    make_pipe(&shop);
    let cancellation = Cancellation::default();
    let begun = shop.path("begun");
    let cancel = cancellation.clone();
    let cancelling = tokio::task::spawn_blocking(move || {
        // Opening it waits for the tool.
        drop(fs::read(begun));
        cancel.cancel();
        cancel.cancel();
    });
    let (code, outputs) = shop.install(cancellation).await;
    assert_ne!(code, 0, "{outputs:?}");
    cancelling.within("the cancellation").await.unwrap();
}

/// Makes the pipe that the tool writes to.
fn make_pipe(shop: &Shop) {
    let made = std::process::Command::new("mkfifo")
        .arg(shop.path("begun"))
        .status();
    assert!(made.unwrap().success());
}
