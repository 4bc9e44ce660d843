//! Go's Automation API over the executable: a program starts it as `pulumi`, and knows of nothing else.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and reports when it is skipped"
)]

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

/// Builds a module of the folder `testkit`; `None` without Go.
fn built(module: &str, executable: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let path = root.join("target/testkit").join(executable);
    let mut build = Command::new("go");
    build
        .args(["build", "-buildvcs=false", "-o"])
        .arg(&path)
        .arg(".")
        .current_dir(root.join("testkit").join(module));
    match build.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        built => {
            let built = built.unwrap();
            assert!(built.status.success(), "{}", shown(&built));
            Some(path)
        }
    }
}

fn shown(output: &Output) -> String {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    format!("{stdout}\n{stderr}")
}

#[test]
fn the_automation_api_of_go_runs_a_life_cycle() {
    let Some(program) = built("go-automation", "go-automation") else {
        println!("skipped: Go is missing");
        return;
    };
    let plugin = built("go-provider", "pulumi-resource-gofiles").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["bin", "files", "state", "temporary"] {
        fs::create_dir(path(name)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_stackwright"), path("bin/pulumi")).unwrap();
    symlink(plugin, path("bin/pulumi-resource-gofiles")).unwrap();
    let ended = Command::new(program)
        .arg(path("files"))
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("PATH", path("bin"))
        .env(
            "PULUMI_BACKEND_URL",
            format!("file://{}", path("state").display()),
        )
        .env("PULUMI_CONFIG_PASSPHRASE", "correct horse")
        .env("TMPDIR", path("temporary"))
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", shown(&ended));
    let progress = String::from_utf8_lossy(&ended.stderr);
    assert!(
        progress.contains("Updating (dev):") && progress.contains("    + 2 created"),
        "{progress}"
    );
    let mut found: BTreeMap<String, Value> = serde_json::from_slice(&ended.stdout).unwrap();
    let events = found.remove("events").unwrap();
    assert!(events.as_u64().unwrap() > 5, "{events}");
    assert_eq!(
        json!(found),
        json!({
            "previewed": {"create": 2},
            "created": {"create": 2},
            "again": {"same": 1, "update": 1},
            "refreshed": {"same": 2},
            "destroyed": {"delete": 2},
            "size": 12,
            "password": "hunter2",
            "isSecret": true,
            "historyKinds": ["refresh", "update", "update"],
            "stacks": 0,
        })
    );
    assert!(!path("files/greeting.txt").exists(), "the file was deleted");
}
