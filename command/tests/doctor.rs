//! What `doctor` finds.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod shop;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use serde_json::{Value, json};
use shop::{Ended, Shop};
use stackwright::{
    program::{self, ProgramContext},
    store::HostFacts,
};
use stackwright_command::Command;
use stackwright_testkit::wait::Within as _;
use tokio::{runtime::Handle, sync::Notify};

/// The variable with the servers of plugins.
const OVERRIDES: &str = "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES";

/// Returns the findings about an area.
async fn findings(shop: &Shop, area: &str) -> Vec<Value> {
    let ended = shop.run("doctor --json", None).await;
    let report: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    let all = report["findings"].as_array().unwrap();
    all.iter()
        .filter(|finding| finding["area"] == area)
        .cloned()
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_operations_of_the_selected_stack_are_a_warning() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    assert_eq!(findings(&shop, "pending").await, [] as [Value; 0]);
    let urn = "urn:pulumi:dev::shop::my:index:Site::lost";
    let resource = json!({ "urn": urn, "custom": true, "type": "my:index:Site" });
    let latest = json!({
        "manifest": { "time": "2026-01-02T03:04:05Z", "magic": "", "version": "" },
        "pending_operations": [{ "type": "creating", "resource": resource }],
    });
    let checkpoint =
        json!({ "version": 3, "checkpoint": { "stack": "organization/shop/dev", "latest": latest } });
    fs::write(
        shop.path("state/.pulumi/stacks/shop/dev.json"),
        checkpoint.to_string(),
    )
    .unwrap();
    let found = findings(&shop, "pending").await;
    assert_eq!(found.len(), 1, "{found:?}");
    let found = &found[0];
    assert_eq!(found["status"], "warning");
    assert_eq!(found["found"], format!("dev has a pending operation: {urn}"));
    let advice = found["advice"].as_str().unwrap();
    assert!(advice.starts_with("`pulumi refresh --stack dev` "), "{advice}");
    let cleared = shop.run("refresh --yes --clear-pending-creates", None).await;
    assert_eq!(cleared.code, 0, "{cleared:?}");
    assert_eq!(findings(&shop, "pending").await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_project_file_is_a_problem_beside_what_else_is_found() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    fs::write(shop.path("Pulumi.yaml"), "name: [shop").unwrap();
    let project = findings(&shop, "project").await;
    assert_eq!(project[0]["status"], "problem", "{project:?}");
    assert_eq!(findings(&shop, "node").await.len(), 1);
    assert_eq!(findings(&shop, "plugins").await.len(), 1);
    let store = findings(&shop, "store").await;
    assert_eq!(store[0]["status"], "warning", "{store:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_script_is_the_member_of_a_document() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    let script = shop.run("completion bash", None).await.stdout;
    let document: Value =
        serde_json::from_str(&shop.run("completion bash --json", None).await.stdout).unwrap();
    assert_eq!(document["shell"], "bash");
    assert_eq!(document["script"].as_str().unwrap().trim_end(), script.trim_end());
}

/// Runs a command with more variables of the environment.
async fn run(shop: &Shop, line: &str, variables: &[(&str, String)]) -> Ended {
    let (mut invocation, [stdout, stderr]) = shop.invocation(line, None);
    let variables = variables.iter();
    invocation
        .environment
        .extend(variables.map(|(name, value)| ((*name).to_owned(), value.clone())));
    let code = shop.command.run(invocation).within(line).await;
    let [stdout, stderr] = [stdout, stderr].map(|output| output.lock().unwrap().clone());
    Ended { code, stdout, stderr }
}

/// Returns the findings about an area as a status, what was found, and the advice, each a line. Both forms of the report have them.
async fn reported(shop: &Shop, area: &str, variables: &[(&str, String)]) -> Vec<[String; 3]> {
    let document = run(shop, "doctor --json", variables).await;
    let text = run(shop, "doctor", variables).await;
    assert_eq!(document.code, text.code, "{document:?} {text:?}");
    let report: Value = serde_json::from_str(&document.stdout).expect(&document.stderr);
    let all = report["findings"].as_array().unwrap().iter();
    let findings = all.filter(|finding| finding["area"] == area).map(|finding| {
        ["status", "found", "advice"].map(|member| finding[member].as_str().unwrap_or_default().to_owned())
    });
    let findings: Vec<_> = findings.collect();
    let lines: Vec<_> = text.stdout.lines().map(str::trim_end).collect();
    let at_area = |line: &&str| line.split_whitespace().nth(1) == Some(area) && !line.starts_with(' ');
    let of_area = lines.iter().filter(|line| at_area(line)).count();
    assert_eq!(of_area, findings.len(), "{}", text.stdout);
    for [status, found, advice] in &findings {
        let line = format!("{status:7}  {area:7}  {found}");
        let place = lines.iter().position(|known| *known == line).expect(&text.stdout);
        if !advice.is_empty() {
            assert_eq!(lines[place + 1].trim_start(), format!("-> {advice}"));
        }
    }
    findings
}

fn finding(status: &str, found: impl Into<String>, advice: impl Into<String>) -> [String; 3] {
    [status.to_owned(), found.into(), advice.into()]
}

/// Writes a lock of the stack `dev`.
fn lock(shop: &Shop, owner: &Value) {
    let folder = shop.path("state/.pulumi/locks/organization/shop/dev");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("one.json"), owner.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_of_a_running_operation_is_named_with_its_process() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    assert_eq!(reported(&shop, "lock", &[]).await, [] as [[String; 3]; 0]);
    let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let of_program = (Arc::clone(&begun), Arc::clone(&end));
    let program = program::from_fn(move |_: ProgramContext| {
        let (begun, end) = of_program.clone();
        async move {
            begun.notify_one();
            end.notified().await;
            Ok(())
        }
    });
    let up = shop.run("up --yes --skip-preview --client=host", Some(program));
    let examined = async {
        begun.notified().within("the begin of the program").await;
        let found = reported(&shop, "lock", &[]).await;
        end.notify_one();
        found
    };
    let (up, found) = tokio::join!(up, examined);
    assert_eq!(up.code, 0, "{up:?}");
    assert_eq!(found.len(), 1, "{found:?}");
    let [status, text, advice] = &found[0];
    assert_eq!((status.as_str(), advice.as_str()), ("ok", ""));
    let begin = format!("dev is in use by update of process {} of ", std::process::id());
    assert!(text.starts_with(&begin), "{text}");
    assert_eq!(reported(&shop, "lock", &[]).await, [] as [[String; 3]; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_whose_owner_can_have_ended_is_a_warning_with_what_removes_it() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    let owner = json!({
        "pid": 1, "username": "someone", "hostname": "elsewhere", "timestamp": "2026-01-02T03:04:05Z",
    });
    lock(&shop, &owner);
    let owner = "an operation of process 1 of someone@elsewhere since 2026-01-02T03:04:05.000Z";
    let expected = finding(
        "warning",
        format!("dev is locked by {owner}, which may have ended"),
        "if it has ended, `pulumi cancel dev` removes the lock",
    );
    assert_eq!(reported(&shop, "lock", &[]).await, [expected]);
    assert_eq!(shop.run("cancel dev --yes", None).await.code, 0);
    assert_eq!(reported(&shop, "lock", &[]).await, [] as [[String; 3]; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_another_program_is_found_when_its_process_has_ended_because_it_refuses_operations() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    // No process has this number.
    let owner = json!({
        "pid": i32::MAX, "username": "someone", "hostname": HostFacts::system().hostname, "timestamp": "2026-01-02T03:04:05Z",
    });
    lock(&shop, &owner);
    let refresh = shop.run("refresh --yes --skip-preview", None).await;
    assert_ne!(refresh.code, 0, "{refresh:?}");
    let [[kind, _, advice]] = <[_; 1]>::try_from(reported(&shop, "lock", &[]).await).unwrap();
    assert_eq!(kind, "warning");
    assert_eq!(advice, "if it has ended, `pulumi cancel dev` removes the lock");
    assert_eq!(shop.run("cancel dev --yes", None).await.code, 0);
    let refresh = shop.run("refresh --yes --skip-preview", None).await;
    assert_eq!(refresh.code, 0, "{refresh:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_the_next_operation_replaces_is_no_finding() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    let facts = HostFacts::system();
    // No process has this number.
    let owner = json!({
        "pid": i32::MAX, "username": "someone", "hostname": facts.hostname,
        "timestamp": "2026-01-02T03:04:05Z", "system": facts.system, "operation": "update",
    });
    lock(&shop, &owner);
    assert_eq!(reported(&shop, "lock", &[]).await, [] as [[String; 3]; 0]);
    let refresh = shop.run("refresh --yes --skip-preview", None).await;
    assert_eq!(refresh.code, 0, "{refresh:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_state_is_a_problem_of_each_stack_with_what_mends_it() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    assert_eq!(shop.run("stack init prod --no-select", None).await.code, 0);
    assert_eq!(reported(&shop, "state", &[]).await, [] as [[String; 3]; 0]);
    for stack in ["dev", "prod"] {
        let path = shop.path(&format!("state/.pulumi/stacks/shop/{stack}.json"));
        fs::write(path, "{\"version\": 3, \"checkpoint\": {").unwrap();
    }
    let found = reported(&shop, "state", &[]).await;
    assert_eq!(found.len(), 2, "{found:?}");
    for (stack, [status, text, advice]) in ["dev", "prod"].iter().zip(&found) {
        assert_eq!(status, "problem");
        let is_named =
            text.starts_with(&format!("{stack}: ")) && text.contains(&format!("shop/{stack}.json"));
        assert!(is_named, "{text}");
        let expected = format!(
            "`pulumi stack export --stack {stack}` reads a damaged state, `pulumi state repair` mends it"
        );
        assert_eq!(*advice, expected);
    }
    assert_eq!(shop.run("doctor", None).await.code, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_a_package_needs_is_a_warning_until_it_is_in_the_cache() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    let project = "name: shop\nruntime: nodejs\npackages:\n  shop: shop@1.2.0\n";
    fs::write(shop.path("Pulumi.yaml"), project).unwrap();
    let add = |version: &str| {
        let folder = shop.path(&format!("home/plugins/resource-shop-v{version}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pulumi-resource-shop"), "#!/bin/sh\n").unwrap();
    };
    let install = "`pulumi plugin install resource shop 1.2.0`";
    let missing = "the program's packages need shop 1.2.0, which is not in the cache";
    let count = |count: usize| finding("ok", format!("{count} in the cache"), "");
    let unknown =
        format!("{install} with `--server URL` or `--file ARCHIVE`, or name its server in {OVERRIDES}");
    let found = reported(&shop, "plugins", &[]).await;
    assert_eq!(found, [count(0), finding("warning", missing, unknown)]);
    // The version in the cache is too old; the server is named.
    add("1.1.0");
    let servers = [(OVERRIDES, "^shop$=https://plugins.example".to_owned())];
    let found = reported(&shop, "plugins", &servers).await;
    assert_eq!(found, [count(1), finding("warning", missing, install)]);
    add("1.3.0");
    assert_eq!(reported(&shop, "plugins", &servers).await, [count(2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interpreters_of_the_path_are_named_with_the_versions_that_they_print() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    fs::create_dir(shop.path("bin")).unwrap();
    let path = [("PATH", shop.path("bin").display().to_string())];
    let advice =
        |program: &str, oldest: &str| format!("install {program} {oldest} or later, in a folder of PATH");
    // The project needs Python, and not Node.
    for (area, program, printed, version, status) in [
        ("python", "python3", "Python 3.12.4", Some("3.12.4"), "ok"),
        ("python", "python3", "Python 3.9.18", Some("3.9.18"), "problem"),
        ("node", "node", "v22.3.0", Some("22.3.0"), "ok"),
        ("node", "node", "v18.20.1", Some("18.20.1"), "warning"),
        ("node", "node", "", None, "warning"),
    ] {
        let file = shop.path("bin").join(program);
        let content = match version {
            Some(_) => format!("#!/bin/sh\n[ \"$*\" = --version ] && echo '{printed}'\n"),
            None => "#!/bin/sh\nexit 3\n".to_owned(),
        };
        executable(&file, &content);
        let shown = file.display();
        let text = match version {
            Some(version) => format!("{shown}, version {version}"),
            None => format!("{shown} does not print its version: exit status: 3"),
        };
        let advice = match (status, area) {
            ("ok", _) => String::new(),
            (_, "python") => advice("python3", "3.10"),
            _ => advice("node", "20.0"),
        };
        assert_eq!(
            reported(&shop, area, &path).await,
            [finding(status, text, advice)]
        );
    }
}

/// Writes an executable script.
fn executable(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
