//! Passphrases that are typed at a terminal.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    sync::{Arc, Mutex},
};

use stackwright::program;
use stackwright_command::{Command, Invocation};
use stackwright_testkit::wait::Within as _;
use tempfile::TempDir;

const UP: &str = "up --yes --skip-preview --client=host --stack";
const UNLOCK: &str = "Enter your passphrase to unlock config/secrets\n    (set PULUMI_CONFIG_PASSPHRASE or \
                      PULUMI_CONFIG_PASSPHRASE_FILE to remember): ";
const PROTECT: &str = "Enter your passphrase to protect config/secrets: ";
const CONFIRM: &str = "Re-enter your passphrase to confirm: ";

/// What a command has done.
#[derive(Debug)]
struct Ended {
    code: i32,
    stderr: String,
    /// The questions that were asked.
    questions: Vec<String>,
}

/// A folder with a project and a store.
struct Shop(TempDir, Command);

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("state")).unwrap();
        fs::write(folder.path().join("Pulumi.yaml"), "name: shop\nruntime: python\n").unwrap();
        Self(folder, Command::new(tokio::runtime::Handle::current()))
    }

    /// Runs a command line at a terminal where these lines are typed, without a passphrase in the environment.
    async fn run(&self, line: &str, typed: &[&str]) -> Ended {
        let (questions, written): (Arc<Mutex<Vec<String>>>, Arc<Mutex<String>>) = Default::default();
        let (asked, noted) = (Arc::clone(&questions), Arc::clone(&written));
        let typed: Vec<String> = typed.iter().map(|line| (*line).to_owned()).collect();
        let folder = self.0.path();
        let environment = [
            (
                "PULUMI_BACKEND_URL",
                format!("file://{}", folder.join("state").display()),
            ),
            ("PULUMI_HOME", folder.join("home").display().to_string()),
        ];
        let mut invocation = Invocation {
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            stderr: Arc::new(move |text| noted.lock().unwrap().push_str(text)),
            program: Some(program::from_fn(|_| async { Ok(()) })),
            ..Invocation::new(line.split(' '), folder)
        };
        invocation.terminal.ask_hidden = Some(Arc::new(move |question| {
            let mut asked = asked.lock().unwrap();
            asked.push(question.to_owned());
            Ok(typed.get(asked.len() - 1).cloned())
        }));
        let code = self.1.run(invocation).within(line).await;
        let (stderr, questions) = (written.lock().unwrap().clone(), questions.lock().unwrap().clone());
        Ended {
            code,
            stderr,
            questions,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_passphrase_of_a_new_stack_is_typed_twice() {
    let shop = Shop::new();
    let made = shop
        .run("stack init dev", &["one", "two\n", "three\n", "three\n"])
        .await;
    assert_eq!(made.code, 0, "{made:?}");
    assert!(
        made.stderr.starts_with("error: passphrases do not match\n"),
        "{made:?}"
    );
    assert_eq!(made.questions, [PROTECT, CONFIRM].repeat(2));
    let up = shop.run(&format!("{UP} dev"), &["three"]).await;
    assert_eq!((up.code, up.questions.len()), (0, 1), "{up:?}");
    let ended = shop.run("stack init last", &[]).await;
    assert!(ended.code != 0 && ended.questions == [PROTECT], "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("passphrase must be set with PULUMI_CONFIG_PASSPHRASE"),
        "{ended:?}"
    );
    assert!(!shop.0.path().join("state/.pulumi/stacks/shop/last.json").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_passphrase_is_asked_for_once_and_a_wrong_one_again() {
    let shop = Shop::new();
    let typed = ["correct horse", "correct horse"];
    assert_eq!(shop.run("stack init dev", &typed).await.code, 0);
    let up = format!("{UP} dev");
    let ended = shop.run(&up, &["wrong\n", "correct horse\n"]).await;
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (0, "error: incorrect passphrase\n")
    );
    assert_eq!(ended.questions, [UNLOCK, UNLOCK]);
    let ended = shop.run(&up, &["a", "b", "c", "correct horse"]).await;
    assert!(ended.code != 0 && ended.questions.len() == 3, "{ended:?}");
    let set = "config set --secret token hunter2 --stack dev";
    let ended = shop.run(set, &["correct horse"]).await;
    assert_eq!((ended.code, ended.questions.len()), (0, 1), "{ended:?}");
    let ended = shop
        .run(&format!("{up} --non-interactive"), &["correct horse"])
        .await;
    assert!(ended.code != 0 && ended.questions.is_empty(), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("passphrase must be set with PULUMI_CONFIG_PASSPHRASE"),
        "{ended:?}"
    );
}
