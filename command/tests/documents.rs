//! The documents that commands print in place of their prose.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod shop;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use shop::{Ended, Shop};
use stackwright_command::{Command, Invocation, Terminal};
use stackwright_testkit::wait::Within as _;
use tokio::runtime::Handle;

/// A state with a resource that depends on another one.
const STATE: &str = include_str!("shop/state.json");
const SITE: &str = "urn:pulumi:dev::shop::my:index:Site::site";
const OTHER: &str = "urn:pulumi:dev::shop::my:index:Site::other";
/// The error of a command that would ask a question.
const NEEDS_YES: &str = "error: non-interactive mode requires --yes flag\n";

async fn shop() -> Shop {
    Shop::new(Command::new(Handle::current())).await
}

/// Returns the document that an invocation has printed: one, pretty, with a newline at its end.
fn document_of(line: &str, ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{line}: {ended:?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let is_pretty = match &document {
        Value::Array(items) if items.is_empty() => ended.stdout == "[]\n",
        Value::Object(members) if members.is_empty() => ended.stdout == "{}\n",
        Value::Array(_) => ended.stdout.starts_with("[\n  {\n    \"") && ended.stdout.ends_with("\n]\n"),
        _ => ended.stdout.starts_with("{\n  \"") && ended.stdout.ends_with("\n}\n"),
    };
    assert!(is_pretty, "{line}: {}", ended.stdout);
    document
}

/// Runs a command with `--json`, and returns its document.
async fn document(shop: &Shop, line: &str) -> Value {
    let line = format!("{line} --json");
    document_of(&line, &shop.run(&line, None).await)
}

/// Runs a command with `--json` that fails and prints no document, and returns its error.
async fn refusal(shop: &Shop, line: &str) -> String {
    let ended = shop.run(&format!("{line} --json"), None).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{line}");
    ended.stderr
}

/// Imports the state.
async fn import(shop: &Shop) -> Value {
    fs::write(shop.path("state.json"), STATE).unwrap();
    document(shop, "stack import --file state.json").await
}

/// Returns the kinds and the names of the records of a report.
fn records(report: &Value) -> Vec<String> {
    let records = report["records"].as_array().unwrap().iter();
    let records = records.map(|record| {
        let name = record["urn"].as_str().unwrap().rsplit("::").next().unwrap();
        format!("{} {name}", record["kind"].as_str().unwrap())
    });
    records.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_members() {
    let shop = shop().await;
    let expected = json!({ "version": Command::version(), "stackwright": env!("CARGO_PKG_VERSION") });
    for line in [
        "version --json",
        "version -j",
        "version --output json",
        "version --json=true",
    ] {
        assert_eq!(document_of(line, &shop.run(line, None).await), expected);
    }
    for line in ["version", "version --output default", "version --json=false"] {
        assert_eq!(shop.run(line, None).await.stdout, "v3.260.0\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_that_is_selected_and_forgotten_is_a_member() {
    let shop = shop().await;
    let url = format!("file://{}", shop.path("state").display());
    let user = document(&shop, "whoami").await["user"].clone();
    let login = document(&shop, &format!("login {url}")).await;
    assert_eq!(login, json!({ "user": user, "url": url }));
    let logout = document(&shop, "logout").await;
    assert_eq!(logout, json!({ "url": url, "loggedOut": true }));
    assert_eq!(document(&shop, "logout").await, json!({ "loggedOut": false }));
    let refused = refusal(&shop, "org get-default").await;
    assert!(refused.starts_with("error: backends of this type"), "{refused}");
    let refused = refusal(&shop, "org set-default acme").await;
    assert!(
        refused.starts_with("error: unable to set a default organization"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_life_of_a_stack_is_documented_step_by_step() {
    let shop = shop().await;
    let init = shop.run("stack init prod --no-select --json", None).await;
    assert_eq!(init.stderr, "Created stack 'prod'\n");
    let created = |selected: bool| json!({ "name": "prod", "created": true, "selected": selected });
    assert_eq!(document_of("stack init", &init), created(false));
    assert_eq!(
        document(&shop, "stack select prod").await,
        json!({ "name": "prod", "created": false, "selected": true })
    );
    assert_eq!(
        document(&shop, "stack rename live --fully-qualify-stack-names").await,
        json!({ "name": "organization/shop/live", "formerName": "organization/shop/prod" })
    );
    assert_eq!(
        document(&shop, "cancel --yes").await,
        json!({ "name": "live", "canceled": true })
    );
    assert_eq!(
        document(&shop, "stack rm --yes live").await,
        json!({ "name": "live", "removed": true })
    );
    assert_eq!(
        document(&shop, "stack unselect").await,
        json!({ "selected": false })
    );
    assert_eq!(document(&shop, "stack select --create prod").await, created(true));
    assert_eq!(
        document(&shop, "stack unselect").await,
        json!({ "name": "prod", "selected": false })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selection_of_another_engine_is_forgotten_without_a_name() {
    let shop = shop().await;
    let selected = |name: &str| {
        let workspaces = fs::read_dir(shop.path("home/workspaces")).unwrap();
        for workspace in workspaces.map(|entry| entry.unwrap().path()) {
            fs::write(workspace, json!({ "stack": name }).to_string()).unwrap();
        }
    };
    selected("acme/shop/dev");
    assert_eq!(
        shop.run("stack ls --json", None).await.code,
        1,
        "the name is refused"
    );
    assert_eq!(
        document(&shop, "stack unselect").await,
        json!({ "selected": false })
    );
    selected("acme/shop/dev");
    let unselected = shop.run("stack unselect", None).await;
    assert_eq!(
        (unselected.code, unselected.stdout.as_str()),
        (0, "Stack was unselected\n")
    );
    assert_eq!(shop.run("stack ls --json", None).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_and_files_of_a_stack_are_named() {
    let shop = shop().await;
    let tag = json!({ "name": "owner", "value": "payments" });
    assert_eq!(document(&shop, "stack tag set owner payments").await, tag);
    assert_eq!(document(&shop, "stack tag get owner").await, tag);
    for removed in [true, false] {
        let expected = json!({ "name": "owner", "removed": removed });
        assert_eq!(document(&shop, "stack tag rm owner").await, expected);
    }
    let graph = document(&shop, "stack graph graph.dot").await;
    assert_eq!(graph, json!({ "name": "dev", "file": "graph.dot" }));
    assert!(shop.path("graph.dot").exists());
    let export = document(&shop, "stack export --file state.json").await;
    assert_eq!(export, json!({ "name": "dev", "file": "state.json" }));
    let exported = shop.run("stack export", None).await.stdout;
    assert_eq!(shop.run("stack export --json", None).await.stdout, exported);
    assert_eq!(fs::read_to_string(shop.path("state.json")).unwrap(), exported);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_of_a_state_are_reports_of_the_library() {
    let shop = shop().await;
    let imported = import(&shop).await;
    assert_eq!(imported["dryRun"], json!(false));
    assert_eq!(
        imported["warnings"],
        json!([
            "removing pending operation 'creating' on 'urn:pulumi:dev::shop::my:index:Site::lost' from snapshot"
        ])
    );
    for (line, expected) in [
        (format!("state protect {SITE}"), vec!["changed site"]),
        (format!("state unprotect {SITE}"), vec!["changed site"]),
        (
            format!("state taint {SITE} {OTHER}"),
            vec!["changed site", "changed other"],
        ),
        (
            "state untaint --all".to_owned(),
            vec!["changed site", "changed other"],
        ),
        (format!("state delete {OTHER} --yes"), vec!["removed other"]),
        (format!("state rename {SITE} page --yes"), vec!["renamed page"]),
        ("state repair".to_owned(), vec![]),
    ] {
        let report = document(&shop, &line).await;
        assert_eq!(records(&report), expected, "{line}: {report}");
        assert_eq!(report["dryRun"], json!(false));
        let members: Vec<&String> = report.as_object().unwrap().keys().collect();
        assert_eq!(members, ["dryRun", "records", "settings", "text", "warnings"]);
        assert!(!report.to_string().contains("hush"));
    }
    let refused = refusal(&shop, &format!("state delete {OTHER}")).await;
    assert!(refused.starts_with("error: No such resource"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_is_the_reports_of_both_stacks() {
    let shop = shop().await;
    import(&shop).await;
    document(&shop, "stack init prod --no-select").await;
    let line = format!("state move --dest prod {SITE} urn:pulumi:dev::shop::my:index:Site::none");
    let refused = refusal(&shop, &line).await;
    assert!(refused.ends_with(NEEDS_YES), "{refused}");
    let moved = shop.run(&format!("{line} --yes --json"), None).await;
    assert!(
        moved
            .stderr
            .contains("warning: Resource urn:pulumi:dev::shop::my:index:Site::none not found"),
        "{moved:?}"
    );
    let report = document_of(&line, &moved);
    assert!(
        records(&report["source"]).contains(&"removed site".to_owned()),
        "{report}"
    );
    let arrived = records(&report["destination"]);
    assert!(arrived.iter().any(|record| record.ends_with(" site")), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repair_and_another_passphrase_are_reports_of_the_library() {
    let shop = shop().await;
    let state = STATE.replace(
        "\"dependencies\": [\"",
        "\"dependencies\": [\"urn:pulumi:dev::shop::a:b:C::gone\", \"",
    );
    fs::write(shop.path("state.json"), state).unwrap();
    document(&shop, "stack import --force --file state.json").await;
    assert_eq!(refusal(&shop, "state repair").await, NEEDS_YES);
    let repaired = document(&shop, "state repair --yes").await;
    assert_eq!(
        repaired["records"][0]["removedReferences"],
        json!([{ "field": "dependencies", "urn": "urn:pulumi:dev::shop::a:b:C::gone" }])
    );
    let line = "stack change-secrets-provider passphrase --json";
    let (invocation, [stdout, stderr]) = shop.invocation(line, None);
    let invocation = Invocation {
        stdin: Arc::new(|| Ok(b"another horse\n".to_vec())),
        ..invocation
    };
    let code = shop.command.run(invocation).within(line).await;
    let [stdout, stderr] = [stdout, stderr].map(|output| output.lock().unwrap().clone());
    let report = document_of(line, &Ended { code, stdout, stderr });
    assert_eq!(report["settings"], json!("encrypted"));
    assert!(!report.to_string().contains("horse"), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_are_set_are_listed_without_secrets() {
    let shop = shop().await;
    assert_eq!(
        document(&shop, "config set size 3 --plaintext").await,
        json!({ "shop:size": { "value": "3", "secret": false } })
    );
    assert_eq!(
        document(&shop, "config set --path tags.team payments").await,
        json!({ "shop:tags": {
            "value": "{\"team\":\"payments\"}", "objectValue": { "team": "payments" }, "secret": false,
        } })
    );
    assert_eq!(
        document(&shop, "config set token hush --secret").await,
        json!({ "shop:token": { "secret": true } })
    );
    let line = "config set-all --plaintext one=1 --secret two=hush --output json";
    assert_eq!(
        document_of(line, &shop.run(line, None).await),
        json!({ "shop:one": { "value": "1", "secret": false }, "shop:two": { "secret": true } })
    );
    document(&shop, "stack init prod --no-select").await;
    assert_eq!(
        document(&shop, "config cp size --dest prod").await,
        json!({ "shop:size": { "value": "3", "secret": false } })
    );
    let copied = document(&shop, "config cp --dest prod").await;
    assert_eq!(copied, document(&shop, "config --stack prod").await);
    assert_eq!(
        document(&shop, "config rm size").await,
        json!({ "name": "dev", "removedCount": 1 })
    );
    assert_eq!(
        document(&shop, "config rm-all size one two").await,
        json!({ "name": "dev", "removedCount": 2 })
    );
    let unchanged = shop.run("config --json set size 4", None).await;
    assert_eq!(
        (unchanged.code, unchanged.stdout.as_str()),
        (0, ""),
        "the flag of the list"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_is_taken_from_an_operation_names_the_copy_of_the_former_file() {
    let shop = shop().await;
    let refresh = shop.run("refresh --yes --skip-preview -c size=3", None).await;
    assert_eq!(refresh.code, 0, "{refresh:?}");
    let copy = shop.path("Pulumi.dev.yaml.bak").display().to_string();
    let expected = json!({ "name": "dev", "copy": copy });
    assert_eq!(document(&shop, "config refresh").await, expected);
    assert_eq!(
        document(&shop, "config refresh --force").await,
        json!({ "name": "dev" })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_are_rows_of_their_list() {
    let shop = shop().await;
    for name in [
        "resource-shop-v1.0.0/pulumi-resource-shop",
        "language-talk-v0.1.0/pulumi-language-talk",
    ] {
        let path = shop.path("home/plugins").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
    }
    let named = |document: &Value| -> Vec<String> {
        let rows = document.as_array().unwrap().iter();
        let text = |row: &Value, member: &str| row[member].as_str().unwrap().to_owned();
        rows.map(|row| {
            assert_eq!(row["size"], json!(10));
            [text(row, "kind"), text(row, "name"), text(row, "version")].join(" ")
        })
        .collect()
    };
    let installed = document(&shop, "plugin install resource shop 1.0.0").await;
    assert_eq!(named(&installed), ["resource shop 1.0.0"]);
    fs::write(
        shop.path("Pulumi.yaml"),
        "name: shop\nruntime: nodejs\npackages:\n  shop: shop@1.0.0\n",
    )
    .unwrap();
    for line in ["plugin install", "install --no-dependencies"] {
        assert_eq!(named(&document(&shop, line).await), ["resource shop 1.0.0"]);
    }
    assert_eq!(
        document(&shop, "install --no-plugins --no-dependencies").await,
        json!([])
    );
    assert_eq!(refusal(&shop, "plugin rm --all").await, NEEDS_YES);
    let removed = document(&shop, "plugin rm --all --yes").await;
    assert_eq!(named(&removed), ["resource shop 1.0.0", "language talk 0.1.0"]);
    let removed = shop.run("plugin rm --all --yes --json", None).await;
    assert_eq!(document_of("plugin rm", &removed), json!([]));
    assert_eq!(removed.stderr, "no plugins found to uninstall\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_output_of_tools_is_on_standard_error_beside_a_document() {
    let shop = shop().await;
    fs::write(shop.path("Pulumi.yaml"), "name: shop\nruntime: nodejs\n").unwrap();
    fs::create_dir(shop.path("bin")).unwrap();
    fs::write(shop.path("bin/npm"), "#!/bin/sh\necho hello\n").unwrap();
    fs::set_permissions(shop.path("bin/npm"), fs::Permissions::from_mode(0o755)).unwrap();
    let line = "install --no-plugins --json";
    let (mut invocation, [stdout, stderr]) = shop.invocation(line, None);
    let path = format!("{}:/bin", shop.path("bin").display());
    invocation.environment.insert("PATH".to_owned(), path);
    let code = shop.command.run(invocation).within(line).await;
    assert_eq!((code, stdout.lock().unwrap().as_str()), (0, "[]\n"));
    assert!(stderr.lock().unwrap().contains("hello\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_asked_where_a_document_is_printed() {
    let shop = shop().await;
    import(&shop).await;
    let questions: Arc<Mutex<Vec<String>>> = Arc::default();
    let without_urn = "error: Must supply <resource URN> unless pulumi is run interactively\n";
    let without_value = "error: no value is asked for where a document is printed: pass it as the second argument, or through the \
                         standard input\n";
    let both = "error: Must supply <resource URN> and <new name> unless pulumi is run interactively\n";
    for (line, code, text) in [
        ("stack rm dev".to_owned(), 1, NEEDS_YES),
        ("cancel".to_owned(), 1, NEEDS_YES),
        (format!("state delete {OTHER}"), 1, NEEDS_YES),
        (format!("state protect {SITE}"), 1, NEEDS_YES),
        (format!("state rename {SITE} page"), 1, NEEDS_YES),
        ("state delete".to_owned(), 1, without_urn),
        ("state taint".to_owned(), 1, without_urn),
        ("state get".to_owned(), 1, without_urn),
        (format!("state rename {SITE}"), 1, both),
        ("config set token --secret".to_owned(), 1, without_value),
        ("stack init".to_owned(), 1, "error: missing stack name\n"),
        (
            "stack select".to_owned(),
            6,
            "error: no stack selected; specify a stack name with --stack\n",
        ),
    ] {
        let line = format!("{line} --json");
        let (invocation, [stdout, stderr]) = shop.invocation(&line, None);
        let asked = Arc::clone(&questions);
        let invocation = Invocation {
            terminal: Terminal {
                ask: Some(Arc::new(move |question| {
                    asked.lock().unwrap().push(question.to_owned());
                    Ok(Some("yes\n".to_owned()))
                })),
                ..Terminal::default()
            },
            ..invocation
        };
        assert_eq!(shop.command.run(invocation).within(&line).await, code, "{line}");
        assert_eq!(stdout.lock().unwrap().as_str(), "", "{line}");
        assert_eq!(stderr.lock().unwrap().as_str(), text, "{line}");
    }
    assert_eq!(questions.lock().unwrap().as_slice(), [""; 0]);
    let left = document(&shop, &format!("state delete {OTHER} --yes")).await;
    assert_eq!(records(&left), ["removed other"], "nothing was changed before");
}
