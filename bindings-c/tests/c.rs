//! Compiles the C and C++ tests against the header and the shared library, and runs them. The larger ones run under
//! valgrind as well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::expect_used,
    reason = "a test that cannot compile or run its programs has failed"
)]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    time::Duration,
};

use stackwright_proto::{
    pulumirpc::{
        RegisterResourceOutputsRequest, RegisterResourceRequest, RunRequest, RunResponse,
        resource_monitor_client::ResourceMonitorClient,
    },
    values::{Struct, Value, value::Kind},
};
use stackwright_testkit::{fake::FakeRuntime, wait};
use tonic::Status;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// The limit of a command: of the build of the library, and of a test under valgrind.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Builds and installs the library once, because cargo builds no `cdylib` for tests; returns the prefix.
fn prefix() -> &'static Path {
    static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
        let executable = std::env::current_exe().expect("the test executable has a path");
        let profile_directory = executable.ancestors().nth(2).expect("tests are in `deps`");
        let target_directory = profile_directory.parent().expect("a profile has a parent");
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        run(Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--package",
                "stackwright-c",
                "--lib",
                "--profile",
                profile,
            ])
            .arg("--target-dir")
            .arg(target_directory));
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
        let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/install");
        run(Command::new(install)
            .arg(&prefix)
            .arg(profile_directory)
            .arg(env!("CARGO_PKG_VERSION")));
        prefix
    });
    &PREFIX
}

fn run(command: &mut Command) {
    let text = format!("{command:?}");
    let output = wait::output(command, COMMAND_TIMEOUT);
    assert!(
        output.status.success(),
        "{text} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compiles a test file; returns the path of the executable.
fn compile(compiler: &str, standard: &str, file: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file.replace('.', "_"));
    compile_to(&program, compiler, standard, file, &[])
}

/// Compiles a test file with options of the compiler.
fn compile_to(program: &Path, compiler: &str, standard: &str, file: &str, options: &[&str]) -> PathBuf {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    run(Command::new(compiler)
        .args(options)
        .arg(format!("-std={standard}"))
        .args(WARNINGS)
        .arg("-I")
        .arg(prefix().join("include"))
        .arg(crate_directory.join("tests").join(file))
        .arg("-o")
        .arg(program)
        .arg("-L")
        .arg(prefix().join("lib"))
        .args(["-lstackwright", "-lpthread"]));
    program.to_owned()
}

fn with_library(command: &mut Command) -> &mut Command {
    command.env("LD_LIBRARY_PATH", prefix().join("lib"))
}

fn valgrind(program: &Path) {
    run(with_library(&mut under_valgrind(program)));
}

fn under_valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--leak-check=full", "--error-exitcode=1"])
        .arg(program)
        .env("STACKWRIGHT_TEST_WITHOUT_KEYS", "1");
    command
}

#[test]
fn the_header_is_clean_c() {
    for standard in ["c11", "c99", "c17"] {
        run(with_library(&mut Command::new(compile(
            "gcc", standard, "header.c",
        ))));
    }
}

#[test]
fn the_header_is_clean_cpp() {
    for standard in ["c++11", "c++17"] {
        run(with_library(&mut Command::new(compile(
            "g++",
            standard,
            "header.cpp",
        ))));
    }
}

#[test]
fn stacks_run_through_their_lifecycle() {
    let program = compile("gcc", "c11", "lifecycle.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn the_host_supplies_and_observes() {
    let program = compile("gcc", "c11", "host.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn the_host_supplies_the_store_and_its_credentials() {
    let program = compile("gcc", "c11", "stores.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn the_host_constructs_components_and_answers_methods() {
    let program = compile("gcc", "c11", "components.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn transforms_of_the_host_change_resources() {
    let program = compile("gcc", "c11", "transforms.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn hooks_of_the_host_run_around_steps() {
    let program = compile("gcc", "c11", "hooks.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn policies_are_functions_of_the_host() {
    let program = compile("gcc", "c11", "policies.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn the_host_installs_plugins() {
    let program = compile("gcc", "c11", "installer.c");
    let plugin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pulumi-resource-gofiles");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/go-provider");
    run(Command::new("go")
        .args(["build", "-buildvcs=false", "-o"])
        .arg(&plugin)
        .arg(".")
        .current_dir(source));
    for mut command in [Command::new(&program), under_valgrind(&program)] {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        run(with_library(command.arg(&plugin).arg(folder.path())));
    }
}

#[test]
fn plugins_are_installed_listed_and_removed() {
    let program = compile("gcc", "c11", "plugins.c");
    for mut command in [Command::new(&program), under_valgrind(&program)] {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path();
        std::fs::write(path.join("pulumi-resource-shop"), "shelf").expect("the folder is writable");
        run(Command::new("tar")
            .args(["-czf", "shop.tar.gz", "pulumi-resource-shop"])
            .current_dir(path));
        run(with_library(command.arg(path)));
    }
}

#[test]
fn the_host_proposes_physical_names() {
    let program = compile("gcc", "c11", "names.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

/// Runs a program with arguments, and returns the JSON that it writes.
fn written(program: &Path, arguments: [&str; 2]) -> serde_json::Value {
    let mut command = Command::new(program);
    let output = wait::output(with_library(&mut command).args(arguments), COMMAND_TIMEOUT);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} with {arguments:?}: {errors}",
        program.display()
    );
    serde_json::from_slice(&output.stdout).expect("a result is JSON")
}

#[test]
fn the_program_that_an_import_generates_compiles_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a path is text")
            .to_owned()
    };
    let state = path("state");
    let request = r#"{"resources": [
        {"type": "shop:index:Shelf", "name": "shelf", "component": true},
        {"type": "pulumi:providers:cloud", "name": "mine", "inputs": {"region": "north"}},
        {"type": "cloud:index:Machine", "name": "web", "id": "vm-1", "parent": "shelf", "provider": "mine"},
        {"type": "cloud:index:Machine", "name": "other", "id": "vm-1"}]}"#;
    let imported = written(&compile("gcc", "c11", "imported.c"), [&state, request]);
    let code = imported["imported"]["code"]["c"].as_str().expect("there is code");
    assert!(
        !code.contains("narcissus") && !code.contains("hyacinth"),
        "{code}"
    );
    std::fs::write(path("program.h"), code).expect("the program is written");

    let include = format!("-DPROGRAM=\"{}\"", path("program.h"));
    // The text of a program is longer than C99 ensures.
    let options = [include.as_str(), "-Wno-overlength-strings"];
    let program = compile_to(Path::new(&path("program")), "gcc", "c11", "imported.c", &options);
    let keys = imported["imported"]["configuration"]
        .as_object()
        .expect("there are secrets");
    let secret = |value: &serde_json::Value| serde_json::json!({"value": value, "secret": true});
    let config: BTreeMap<_, _> = keys.iter().map(|(key, value)| (key, secret(value))).collect();
    assert_eq!(config.len(), 4);
    let settings = serde_json::json!({ "config": config }).to_string();
    let result = written(&program, [&state, &settings]);
    assert_eq!(result["changes"], serde_json::json!({"same": 5}));
}

#[test]
fn stacks_are_opened_configured_and_unlocked() {
    let program = compile("gcc", "c11", "stacks.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn secrets_and_resources_change_their_places() {
    let program = compile("gcc", "c11", "edits.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn projects_are_read_edited_and_used_by_stacks() {
    let program = compile("gcc", "c11", "projects.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

#[test]
fn stacks_and_host_callbacks_run_concurrently() {
    let program = compile("gcc", "c11", "threads.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}

/// The remote program: registers one resource and exports its outputs and its id.
async fn register_remote(request: RunRequest) -> Result<RunResponse, Status> {
    assert_eq!(request.organization, "acme");
    if request.stack == "failing" {
        return Ok(RunResponse {
            error: "no such region".to_owned(),
            bail: false,
        });
    }
    let address = format!("http://{}", request.monitor_address);
    let mut monitor = ResourceMonitorClient::connect(address)
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let stack = RegisterResourceRequest {
        r#type: "pulumi:pulumi:Stack".to_owned(),
        name: format!("{}-{}", request.project, request.stack),
        ..RegisterResourceRequest::default()
    };
    let stack = monitor.register_resource(stack).await?.into_inner().urn;
    let color = Value {
        kind: Some(Kind::StringValue(request.config["shop:color"].clone())),
    };
    let thing = RegisterResourceRequest {
        r#type: "test:index:Thing".to_owned(),
        name: "far".to_owned(),
        parent: stack.clone(),
        custom: true,
        object: Some(Struct {
            fields: BTreeMap::from([("color".to_owned(), color)]),
        }),
        ..RegisterResourceRequest::default()
    };
    let thing = monitor.register_resource(thing).await?.into_inner();
    let mut outputs = thing.object.unwrap_or_default();
    let id = Value {
        kind: Some(Kind::StringValue(thing.id)),
    };
    outputs.fields.insert("id".to_owned(), id);
    let outputs = RegisterResourceOutputsRequest {
        urn: stack,
        outputs: Some(outputs),
    };
    monitor.register_resource_outputs(outputs).await?;
    Ok(RunResponse::default())
}

#[test]
fn a_language_runtime_at_an_address_runs_the_program() {
    let program = compile("gcc", "c11", "remote.c");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    let address = runtime.block_on(FakeRuntime::new(register_remote).serve());
    for mut command in [Command::new(&program), under_valgrind(&program)] {
        run(with_library(command.arg(&address)));
    }
}

#[test]
fn misuse_is_reported() {
    let program = compile("gcc", "c11", "misuse.c");
    run(with_library(&mut Command::new(&program)));
    valgrind(&program);
}
