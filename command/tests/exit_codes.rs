//! The exit codes of the command, which `docs/errors/index.md` lists.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod shop;

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use shop::Shop;
use stackwright::{
    monitor::Registration,
    program::{self, Program, ProgramContext},
};
use stackwright_command::Command;
use stackwright_testkit::wait::Within as _;
use tokio::runtime::Handle;

/// The heading above the table.
const HEADING: &str = "## Exit codes of the command";

/// Returns the codes of the table.
fn documented() -> BTreeSet<i32> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors/index.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(HEADING).unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let codes = rows.filter_map(|row| row.split(' ').next()?.parse().ok());
    codes.collect()
}

/// A program with one component.
fn site() -> Arc<dyn Program> {
    program::from_fn(|context: ProgramContext| async move {
        let site =
            Registration::from_json(br#"{"type": "shop:index:Site", "name": "site", "custom": false}"#)?;
        context.monitor.register(site).await?;
        Ok(())
    })
}

/// Runs a command line that asks a question, and is cancelled by then.
async fn cancelled(shop: &Shop) -> i32 {
    let (mut invocation, _) = shop.invocation("up --client=host", Some(site()));
    let cancellation = invocation.cancellation.clone();
    invocation.terminal.ask = Some(Arc::new(move |_| {
        cancellation.cancel();
        Ok(Some("yes".to_owned()))
    }));
    shop.command.run(invocation).within("the cancelled command").await
}

/// Runs a command line with a store.
async fn in_store(shop: &Shop, url: Option<&str>) -> i32 {
    let (mut invocation, _) = shop.invocation("whoami", None);
    invocation.environment.remove("PULUMI_BACKEND_URL");
    let url = url.map(|url| ("PULUMI_BACKEND_URL".to_owned(), url.to_owned()));
    invocation.environment.extend(url);
    shop.command.run(invocation).within("the store").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_end_with_each_of_the_documented_codes_and_with_no_other() {
    let shop = Shop::new(Command::new(Handle::current())).await;
    let mut seen = BTreeSet::new();
    for (line, code) in [
        ("version", 0),
        ("version --unknown", 1),
        ("stack rm dev --json", 1),
        ("stack unselect", 0),
        ("stack output --json", 1),
        ("stack select dev", 0),
        ("up", 2),
        ("up --json", 2),
        ("refresh", 2),
        ("destroy", 2),
        ("import shop:index:Site site id", 2),
        ("stack output --stack nothing", 6),
        ("stack select", 6),
        ("preview --client=host --expect-no-changes", 7),
        ("up --yes --skip-preview --client=host --expect-no-changes", 7),
    ] {
        let ended = shop.run(line, Some(site())).await;
        assert_eq!(ended.code, code, "{line}: {}{}", ended.stdout, ended.stderr);
        seen.insert(code);
    }
    assert_eq!(shop.run("destroy --yes --skip-preview", None).await.code, 0);
    for url in [None, Some("mem://bucket")] {
        assert_eq!(in_store(&shop, url).await, 3, "{url:?}");
    }
    let code = cancelled(&shop).await;
    assert_eq!(code, 8);
    seen.extend([3, code]);
    assert_eq!(documented(), seen, "the table, and the codes of these commands");
}
