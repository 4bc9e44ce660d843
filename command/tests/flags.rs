//! The flags of operations that choose what is shown, and what is changed beside resources.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod shop;

use std::sync::Arc;

use serde_json::{Value, json};
use shop::Shop;
use stackwright::{
    Engine,
    monitor::Registration,
    program::{self, Program, ProgramContext},
    property::PropertyValue,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse,
        HandshakeRequest, Provider, ProviderResult,
    },
    runtime::Runtime,
    secrets::PassphraseProvider,
    store::MemoryStore,
};
use stackwright_command::Command;
use tokio::runtime::Handle;

/// A provider whose resources are replaced when their inputs change.
struct Notes;

impl Provider for Notes {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let is_same = request.old_inputs == request.news;
        Ok(DiffResponse {
            changes: match is_same {
                true => DiffChanges::None,
                false => DiffChanges::Some,
            },
            replaces: if is_same {
                Vec::new()
            } else {
                vec!["text".to_owned()]
            },
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse {
            id: request.name.into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

fn command() -> Command {
    let runtime = Runtime::system(Handle::current());
    let engine = Engine::builder(Handle::current())
        .store(Arc::new(MemoryStore::new(runtime.clone())))
        .secrets(Arc::new(PassphraseProvider::new("correct horse", runtime)))
        .provider("notes", Arc::new(Notes))
        .build()
        .unwrap();
    Command::with_engine(Handle::current(), engine)
}

/// A program with two notes, one of which has this text, and a secret output.
fn notes(text: &'static str) -> Arc<dyn Program> {
    program::from_fn(move |context: ProgramContext| async move {
        for (name, text) in [("kept", "same"), ("changed", text)] {
            let note = json!({"type": "notes:index:Note", "name": name, "inputs": {"text": text}});
            let note = Registration::from_json(note.to_string().as_bytes())?;
            context.monitor.register(note).await?;
        }
        context
            .monitor
            .export("token", PropertyValue::secret("hush".into()));
        Ok(())
    })
}

fn steps(document: &Value, member: &str) -> Vec<String> {
    let steps = document[member].as_array().unwrap().iter();
    let mut steps: Vec<String> = steps
        .map(|step| {
            let urn = step["urn"].as_str().unwrap();
            let name = urn.rsplit("::").next().unwrap();
            format!("{} {name}", step["op"].as_str().unwrap())
        })
        .collect();
    steps.sort();
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unchanged_resources_and_halves_of_replacements_are_listed_on_request() {
    let shop = Shop::new(command()).await;
    let up = shop
        .run("up --yes --skip-preview --client=host", Some(notes("one")))
        .await;
    assert_eq!(up.code, 0, "{up:?}");
    let listed = async |flags: &str, member: &str| {
        let line = format!("preview --client=host {flags}");
        let preview = shop.run(&line, Some(notes("two"))).await;
        assert_eq!(preview.code, 0, "{preview:?}");
        steps(&serde_json::from_str(&preview.stdout).unwrap(), member)
    };
    let digest = listed("--json --show-reads --suppress-permalink", "steps").await;
    assert_eq!(digest, ["replace changed", "same shop-dev"]);
    let preview = shop.run("preview --client=host --json", Some(notes("two"))).await;
    let document: Value = serde_json::from_str(&preview.stdout).unwrap();
    let changed = document["steps"].as_array().unwrap();
    let changed = changed.iter().find(|step| step["op"] == "replace").unwrap();
    assert_eq!(changed["replaceReasons"], json!(["text"]));
    let digest = listed("--json --show-sames", "steps").await;
    assert_eq!(digest, ["replace changed", "same kept", "same shop-dev"]);
    let digest = listed("--json --show-replacement-steps", "steps").await;
    assert_eq!(
        digest,
        [
            "create-replacement changed",
            "delete-replaced changed",
            "replace changed",
            "same shop-dev"
        ]
    );
    let halves = [
        "create-replacement changed",
        "delete-replaced changed",
        "replace changed",
    ];
    assert_eq!(listed("--output json", "resources").await, halves);
    let all = listed("--output json --show-sames", "resources").await;
    assert_eq!(all, [&halves[..], &["same kept", "same shop-dev"]].concat());
    let line = "    notes:index:Note kept unchanged \n";
    let preview = shop.run("preview --client=host", Some(notes("two"))).await;
    assert!(!preview.stdout.contains(line), "{}", preview.stdout);
    let preview = shop
        .run("preview --client=host --show-sames", Some(notes("two")))
        .await;
    assert!(preview.stdout.contains(line), "{}", preview.stdout);
    let up = shop
        .run(
            "up --yes --skip-preview --client=host --show-sames",
            Some(notes("two")),
        )
        .await;
    assert!(up.stdout.contains(line), "{}", up.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_is_drawn_into_a_file_and_a_file_that_cannot_be_written_is_named() {
    let shop = Shop::new(command()).await;
    for (line, title) in [
        ("preview --client=host --html plan.html", "Preview of shop/dev"),
        ("up --yes --client=host --html plan.html", "Update of shop/dev"),
    ] {
        assert_eq!(shop.run(line, Some(notes("one"))).await.code, 0);
        let page = std::fs::read_to_string(shop.path("plan.html")).unwrap();
        assert!(page.contains(&format!("<title>{title}</title>")) && page.contains("\"op\":\"create\""));
        assert!(!page.contains("hush"));
    }
    for verb in ["preview", "up --yes --skip-preview"] {
        let line = format!("{verb} --client=host --html absent/plan.html");
        let refused = shop.run(&line, Some(notes("two"))).await;
        assert_ne!(refused.code, 0);
        let text = "could not write absent/plan.html: ";
        assert!(refused.stderr.contains(text), "{}", refused.stderr);
        assert!(
            !refused.stdout.contains("Resources:"),
            "nothing is done: {}",
            refused.stdout
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_shown_to_readers_on_request_and_never_in_documents() {
    let shop = Shop::new(command()).await;
    for (flags, shown) in [
        (
            "up --yes --skip-preview --client=host --show-secrets",
            "    token: \"hush\"\n",
        ),
        ("up --yes --skip-preview --client=host", "    token: [secret]\n"),
    ] {
        let up = shop.run(flags, Some(notes("one"))).await;
        assert_eq!(up.code, 0, "{up:?}");
        assert!(up.stdout.contains(shown), "{}", up.stdout);
    }
    for form in ["--json", "--output json"] {
        let line = format!("up --yes --skip-preview --client=host --show-secrets {form}");
        let up = shop.run(&line, Some(notes("one"))).await;
        assert_eq!(up.code, 0, "{up:?}");
        assert!(!up.stdout.contains("hush"), "{}", up.stdout);
    }
    let line = "preview --client=host --show-secrets --save-plan plan.json";
    let preview = shop.run(line, Some(notes("one"))).await;
    assert_eq!(
        (preview.code, preview.stderr.as_str()),
        (
            1,
            "error: --show-secrets is not supported with --save-plan: secrets in plans are always encrypted\n"
        )
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_the_command_line_are_kept_and_shown() {
    let shop = Shop::new(command()).await;
    let line = "preview --client=host -c size=3 --config other:place=here --show-config";
    let preview = shop.run(line, Some(notes("one"))).await;
    assert_eq!(preview.code, 0, "{preview:?}");
    let shown = "Configuration:\n    other:place: here\n    shop:size: 3\nPreviewing update (dev):\n";
    assert!(preview.stdout.starts_with(shown), "{}", preview.stdout);
    let line = "up --yes --skip-preview --client=host --config-path -c tags.team=payments";
    let up = shop.run(line, Some(notes("one"))).await;
    assert_eq!(up.code, 0, "{up:?}");
    let config = shop.run("config --json", None).await;
    let config: Value = serde_json::from_str(&config.stdout).unwrap();
    assert_eq!(config["shop:tags"]["objectValue"], json!({"team": "payments"}));
    assert_eq!(config["shop:size"]["value"], "3");
    let refused = shop
        .run("preview --client=host -c size", Some(notes("one")))
        .await;
    let text = "error: config value must be in the form [key]=[value]\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (1, text));
    let refused = shop
        .run("preview --client=host --stack none -c size=3", Some(notes("one")))
        .await;
    assert_eq!(refused.code, 6, "{refused:?}");
    assert!(!shop.path("Pulumi.none.yaml").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_target_is_the_only_one() {
    let shop = Shop::new(command()).await;
    let up = shop
        .run(
            "up --yes --skip-preview --client=host --secrets-provider passphrase",
            Some(notes("one")),
        )
        .await;
    assert_eq!(up.code, 0, "{up:?}");
    let line = "up --yes --skip-preview --client=host --output json --target-replace urn:pulumi:dev::shop::notes:index:Note::kept";
    let up = shop.run(line, Some(notes("two"))).await;
    assert_eq!(up.code, 0, "{up:?}");
    let steps = steps(&serde_json::from_str(&up.stdout).unwrap(), "resources");
    assert_eq!(
        steps,
        ["create-replacement kept", "delete-replaced kept", "replace kept"]
    );
    let refused = shop
        .run(
            "up --yes --client=host --secrets-provider awskms://key",
            Some(notes("two")),
        )
        .await;
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .starts_with("error: the secrets provider \"awskms\" is not supported"),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destroy_removes_the_stack_on_request() {
    let shop = Shop::new(command()).await;
    let up = shop
        .run(
            "up --yes --skip-preview --client=host -c size=3",
            Some(notes("one")),
        )
        .await;
    assert_eq!(up.code, 0, "{up:?}");
    let preview = shop.run("destroy --preview-only --remove", None).await;
    assert_eq!(preview.code, 0, "{preview:?}");
    let line = "destroy --yes --skip-preview --remove --target urn:pulumi:dev::shop::notes:index:Note::kept";
    let partial = shop.run(line, None).await;
    assert_eq!(partial.code, 1, "{partial:?}");
    assert!(
        partial
            .stderr
            .starts_with("error: 'dev' still has resources; removal rejected."),
        "{partial:?}"
    );
    assert!(shop.path("Pulumi.dev.yaml").exists());
    let destroy = shop.run("destroy --yes --skip-preview --remove", None).await;
    assert_eq!(destroy.code, 0, "{destroy:?}");
    assert!(
        destroy.stdout.ends_with("Stack 'dev' has been removed!\n"),
        "{destroy:?}"
    );
    assert!(!shop.path("Pulumi.dev.yaml").exists());
    assert_eq!(shop.run("stack ls --json", None).await.stdout, "[]\n");
    let gone = shop.run("stack select --stack dev", None).await;
    assert_eq!(gone.code, 6, "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_creations_are_not_both_kept_and_dropped() {
    let shop = Shop::new(command()).await;
    let refresh = shop
        .run("refresh --yes --skip-preview --skip-pending-creates", None)
        .await;
    assert_eq!(refresh.code, 0, "{refresh:?}");
    let line = "refresh --yes --skip-pending-creates --clear-pending-creates";
    let refresh = shop.run(line, None).await;
    let text = "error: cannot set both --skip-pending-creates and --clear-pending-creates\n";
    assert_eq!((refresh.code, refresh.stderr.as_str()), (1, text));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_take_the_place_of_flags_that_are_left_out() {
    let shop = Shop::new(command()).await;
    let up = shop
        .run("up --yes --skip-preview --client=host", Some(notes("one")))
        .await;
    assert_eq!(up.code, 0, "{up:?}");
    for (flag, value, runs) in [
        ("", "true", true),
        ("", "false", false),
        (" --run-program=false", "true", false),
        (" --run-program", "false", true),
    ] {
        let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let marks = Arc::clone(&ran);
        let program = program::from_fn(move |_: ProgramContext| {
            marks.store(true, std::sync::atomic::Ordering::SeqCst);
            async { Ok(()) }
        });
        let line = format!("destroy --preview-only --client=host{flag}");
        let (mut invocation, _) = shop.invocation(&line, Some(program));
        invocation
            .environment
            .insert("PULUMI_RUN_PROGRAM".to_owned(), value.to_owned());
        assert_eq!(shop.command.run(invocation).await, 0);
        assert_eq!(
            ran.load(std::sync::atomic::Ordering::SeqCst),
            runs,
            "{flag} {value}"
        );
    }
}
