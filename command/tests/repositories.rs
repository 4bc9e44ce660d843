//! Facts of a repository, and of a service that builds it, in the history. The repositories are written without Git.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod shop;

use std::{fs, io::Write as _, sync::Arc};

use flate2::{Compression, write::ZlibEncoder};
use serde_json::Value;
use sha1::{Digest as _, Sha1};
use shop::Shop;
use stackwright::program::{self, Program};
use stackwright_command::Command;
use stackwright_testkit::wait::Within as _;

/// A commit with a control character in its title.
const COMMIT: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor Ada <ada@example.com> 1 +0000\n\
                      committer Bob <bob@example.com> 2 +0100\n\nFirst \u{1b}[31mline\n\nSecond line\n";
/// The remote, with a password.
const CONFIG: &str = "[remote \"origin\"]\n\turl = https://user:hunter2@gitlab.com/group/sub/repo.git\n";

/// Returns a project, and another one in its folder `deep`.
async fn shop() -> Shop {
    let shop = Shop::new(Command::new(tokio::runtime::Handle::current())).await;
    write(&shop, "deep/Pulumi.yaml", "name: shop\nruntime: python\n");
    shop
}

fn write(shop: &Shop, name: &str, content: impl AsRef<[u8]>) {
    fs::create_dir_all(shop.path(name).parent().unwrap()).unwrap();
    fs::write(shop.path(name), content).unwrap();
}

/// Writes a repository into the folder of the project, and returns the id of its commit.
fn write_repository(shop: &Shop) -> String {
    let object = format!("commit {}\0{COMMIT}", COMMIT.len());
    let id: String = Sha1::digest(&object)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(object.as_bytes()).unwrap();
    let path = format!(".git/objects/{}/{}", &id[..2], &id[2..]);
    write(shop, &path, encoder.finish().unwrap());
    write(shop, ".git/HEAD", "ref: refs/heads/main\n");
    write(shop, ".git/refs/heads/main", format!("{id}\n"));
    write(shop, ".git/config", CONFIG);
    id
}

fn nothing() -> Arc<dyn Program> {
    program::from_fn(|_| async { Ok(()) })
}

/// Runs an update in a folder, with variables, and returns its record: the message, and the facts about Git and services.
async fn record(shop: &Shop, folder: &str, flags: &str, variables: &[(&str, &str)]) -> (String, Vec<String>) {
    let line = format!("up --yes --skip-preview --client=host --stack dev{flags}");
    let (mut invocation, [_, stderr]) = shop.invocation(&line, Some(nothing()));
    invocation.directory = shop.path(folder);
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    invocation.environment.extend(variables);
    let code = shop.command.run(invocation).within(&line).await;
    assert_eq!(code, 0, "{line}: {}", stderr.lock().unwrap());
    let history = history(shop, " --json --page-size 1").await;
    let history: Value = serde_json::from_str(&history).unwrap();
    let facts = history[0]["environment"].as_object().unwrap().iter();
    let is_of_others = |name: &str| {
        ["git.", "vcs.", "ci."]
            .iter()
            .any(|start| name.starts_with(start))
    };
    let facts = facts.filter(|(name, _)| is_of_others(name));
    let facts = facts.map(|(name, value)| format!("{name}={}", value.as_str().unwrap()));
    (
        history[0]["message"].as_str().unwrap().to_owned(),
        facts.collect(),
    )
}

/// Returns the history in a form.
async fn history(shop: &Shop, flags: &str) -> String {
    let ended = shop.run(&format!("stack history --stack dev{flags}"), None).await;
    assert_eq!((ended.code, &*ended.stderr), (0, ""));
    ended.stdout
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_has_facts_of_the_repository() {
    let shop = shop().await;
    let id = write_repository(&shop);
    let variables = [("PULUMI_GIT_HEAD", "not read")];
    let (message, facts) = record(&shop, "", "", &variables).await;
    assert_eq!(message, "First \u{1b}[31mline");
    let head = format!("git.head={id}");
    let expected = [
        "git.author=Ada",
        "git.author.email=ada@example.com",
        "git.committer=Bob",
        "git.committer.email=bob@example.com",
        &head,
        "git.headName=refs/heads/main",
        "vcs.kind=gitlab.com",
        "vcs.owner=group",
        "vcs.repo=sub/repo",
        "vcs.root=.",
    ];
    assert_eq!(facts, expected);
    let config =
        format!("{CONFIG}[url \"https://example.com/\"]\n\tinsteadOf = https://user:hunter2@gitlab.com/\n");
    write(&shop, ".git/config", config);
    let (message, facts) = record(&shop, "deep", " --message own", &[]).await;
    assert!(facts.contains(&"vcs.kind=example.com".to_owned()), "{facts:?}");
    assert_eq!(message, "own");
    assert!(facts.contains(&"vcs.root=deep".to_owned()), "{facts:?}");
    let whole = history(&shop, " --json").await;
    assert!(!whole.contains("hunter2"), "{whole}");
    // For readers, without what a terminal would act on.
    let shown = history(&shop, "").await;
    assert!(shown.contains("Message: First line\n"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_cannot_be_read_has_no_facts() {
    let shop = shop().await;
    write_repository(&shop);
    write(&shop, ".git/config", [0xff, b'[', 0]);
    write(&shop, ".git/refs/heads/main", "malformed");
    let (message, facts) = record(&shop, "", "", &[]).await;
    assert_eq!((message.as_str(), facts.len()), ("", 0), "{facts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_have_the_facts_of_a_folder_without_repository() {
    let shop = shop().await;
    let variables = [
        ("PULUMI_VCS_REPO_OWNER", "o"),
        ("PULUMI_VCS_REPO_NAME", "r"),
        ("PULUMI_VCS_REPO_KIND", "k"),
        ("PULUMI_VCS_REPO_ROOT", "deep"),
        ("PULUMI_GIT_HEAD_NAME", "refs/heads/n"),
        ("PULUMI_GIT_HEAD", "h"),
        ("PULUMI_GIT_COMMITTER", "c"),
        ("PULUMI_GIT_COMMITTER_EMAIL", "c@x"),
        ("PULUMI_GIT_AUTHOR", ""),
        ("PULUMI_GIT_COMMIT_MESSAGE", "First\nSecond"),
        ("PULUMI_CI_SYSTEM", "Own"),
        ("PULUMI_CI_BRANCH_NAME", "not read"),
        ("PULUMI_COMMIT_MESSAGE", "not read"),
    ];
    let (message, facts) = record(&shop, "", "", &variables).await;
    assert_eq!(message, "First");
    let expected = [
        "ci.system=Own",
        "git.committer=c",
        "git.committer.email=c@x",
        "git.head=h",
        "git.headName=refs/heads/n",
        "vcs.kind=k",
        "vcs.owner=o",
        "vcs.repo=r",
        "vcs.root=deep",
    ];
    assert_eq!(facts, expected);
    let (message, _) = record(&shop, "", " --message own", &variables).await;
    assert_eq!(message, "own");
    let variables = [
        ("GITLAB_CI", "true"),
        ("CI_COMMIT_REF_NAME", "main"),
        ("CI_COMMIT_MESSAGE", "Built\r\n"),
    ];
    let (message, facts) = record(&shop, "", "", &variables).await;
    assert_eq!(message, "Built");
    assert_eq!(facts, ["ci.system=GitLab CI/CD", "git.headName=main"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_has_facts_of_a_service_that_builds() {
    let shop = shop().await;
    let id = write_repository(&shop);
    // Services check out a commit without a branch.
    write(&shop, ".git/HEAD", &id);
    write(
        &shop,
        "event.json",
        r#"{"number": 12, "pull_request": {"head": {"sha": "abc", "ref": "feature"}}}"#,
    );
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REPOSITORY", "owner/repo"),
        ("GITHUB_RUN_ID", "5"),
        ("GITHUB_RUN_NUMBER", "3"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", "event.json"),
        ("GITHUB_REF", "refs/pull/12/merge"),
        ("GITHUB_SHA", "def"),
    ];
    let (_, facts) = record(&shop, "", "", &variables).await;
    let expected = [
        "ci.build.id=5",
        "ci.build.number=3",
        "ci.build.type=pull_request",
        "ci.build.url=https://github.com/owner/repo/actions/runs/5",
        "ci.pr.headSHA=abc",
        "ci.pr.number=12",
        "ci.system=GitHub Actions",
    ];
    assert_eq!(facts[..expected.len()], expected);
    assert!(facts.contains(&"git.headName=feature".to_owned()), "{facts:?}");
    let (_, facts) = record(&shop, "", "", &[]).await;
    let has_name = facts.iter().any(|fact| fact.starts_with("git.headName"));
    assert!(!has_name, "{facts:?}");
}
