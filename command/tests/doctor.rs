//! What `doctor` finds.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod shop;

use std::fs;

use serde_json::{Value, json};
use shop::Shop;
use stackwright_command::Command;
use tokio::runtime::Handle;

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
