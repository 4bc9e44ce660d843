//! Secrets below the top level of inputs, with a provider that accepts secrets and returns their values without marks:
//! nothing that a run writes or emits has them in plaintext.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use stackwright::{
    EngineBuilder, Language, Stack, StackSettings, binding,
    operation::{Operation, OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::{PropertyMap, PropertyValue, json::SecretForm},
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, Provider, ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse,
        UpdateRequest, UpdateResponse,
    },
    runtime::Runtime,
    state::journal::entry_to_json,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Entries, engine, resource};

const PASSWORD: &str = "tulip-mania-of-1637";
const TOKEN: &str = "south-sea-bubble";
const KEY: &str = "railway-mania";

/// Returns values without the marks that they came with, and keeps what the files of the store contain meanwhile.
struct Forgetful {
    folder: PathBuf,
    /// Whether Check returns the inputs with their marks.
    keeps_inputs: bool,
    files: Mutex<Vec<String>>,
}

impl Forgetful {
    fn look(&self) {
        self.files.lock().unwrap().extend(contents(&self.folder));
    }
}

impl Provider for Forgetful {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let inputs = if self.keeps_inputs {
            request.news
        } else {
            request.news.without_secrets()
        };
        Ok(CheckResponse {
            inputs,
            failures: Vec::new(),
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.look();
        if request.name == "refused" {
            let text = format!("cannot use {:?}", request.inputs.without_secrets());
            return Err(ProviderError::new(ProviderStatus::Unknown, text));
        }
        Ok(CreateResponse {
            id: "id".into(),
            outputs: request.inputs.without_secrets(),
            ..CreateResponse::default()
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        let plain = |values: Option<PropertyMap>| values.map(|values| values.without_secrets());
        Ok(ReadResponse {
            id: request.id,
            inputs: plain(request.inputs),
            outputs: plain(request.properties),
            ..ReadResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.look();
        Ok(UpdateResponse {
            outputs: request.news.without_secrets(),
            ..UpdateResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        self.look();
        Ok(())
    }
}

/// Returns the contents of all files below a folder.
fn contents(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if let Ok(content) = fs::read(&path) {
            found.push(String::from_utf8_lossy(&content).into_owned());
        }
    }
    found
}

fn secret(text: &str) -> PropertyValue {
    PropertyValue::secret(text.into())
}

fn object<const N: usize>(entries: [(&'static str, PropertyValue); N]) -> PropertyValue {
    PropertyValue::Object(entries.into_iter().collect())
}

fn inputs(user: &'static str) -> PropertyMap {
    let login = object([("password", secret(PASSWORD)), ("user", user.into())]);
    let inputs = [
        ("login", login),
        (
            "list",
            vec!["open".into(), object([("token", secret(TOKEN))])].into(),
        ),
        ("keys", PropertyValue::secret(object([("first", KEY.into())]))),
    ];
    inputs.into_iter().collect()
}

fn program(user: &'static str, names: &'static [&'static str]) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        for name in names {
            let mut registration = resource(name, "1");
            registration.inputs = inputs(user);
            let registered = context.monitor.register(registration).await?;
            let list = registered.outputs.get("list").cloned().unwrap_or_default();
            context.monitor.export("list", list);
        }
        Ok(())
    })
}

struct Host {
    stack: Stack,
    folder: tempfile::TempDir,
    provider: Arc<Forgetful>,
    entries: Arc<Entries>,
}

async fn host(keeps_inputs: bool, configure: impl FnOnce(EngineBuilder) -> EngineBuilder) -> Host {
    let folder = tempfile::tempdir().unwrap();
    let provider = Arc::new(Forgetful {
        folder: folder.path().to_owned(),
        keeps_inputs,
        files: Mutex::default(),
    });
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let url = format!("file://{}", folder.path().display());
    let store = stackwright::store::open(&url, folder.path(), &runtime).unwrap();
    let builder = engine().store(store).provider("echo", Arc::clone(&provider) as _);
    let engine = configure(builder).build().unwrap();
    let entries = Arc::new(Entries::default());
    let settings = StackSettings {
        journal: Some(Arc::clone(&entries) as _),
        ..StackSettings::default()
    };
    let stack = engine.create_or_select_stack("shop/dev", settings).await.unwrap();
    Host {
        stack,
        folder,
        provider,
        entries,
    }
}

/// Returns all texts that an operation has emitted, and those of its result.
async fn texts(operation: Operation) -> (Arc<OperationResult>, Vec<String>) {
    let mut events = operation.events();
    let json = events.json(false);
    let result = operation.ended().await;
    let mut texts = Vec::new();
    while let Some(event) = events.next().within("the next event").await {
        texts.push(json.line(&event));
    }
    let document = binding::result_document(&result, Language::C, false).unwrap();
    texts.push(String::from_utf8(document).unwrap());
    texts.push(result.tree());
    texts.extend(result.error.iter().map(|error| format!("{error:?}")));
    texts.extend(
        result
            .steps
            .iter()
            .map(|step| binding::step_document(&result, step, Language::C).to_string()),
    );
    texts.extend(
        result
            .diagnostics
            .iter()
            .map(|each| binding::diagnostic_document(each).to_string()),
    );
    texts.extend(
        result
            .plan
            .iter()
            .filter_map(|plan| plan.document())
            .map(str::to_owned),
    );
    let deployment = result.deployment().unwrap();
    texts.extend(deployment.map(|bytes| String::from_utf8(bytes).unwrap()));
    texts.push(format!("{result:?}"));
    (result, texts)
}

fn assert_sealed<'a>(what: &str, texts: impl IntoIterator<Item = &'a String>) {
    for text in texts {
        for secret in [PASSWORD, TOKEN, KEY] {
            assert!(!text.contains(secret), "{what}: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_run_writes_or_emits_has_a_nested_secret_in_plaintext() {
    use stackwright::operation::OperationKind::{Destroy, Refresh, Update};
    let host = host(false, |builder| builder).await;
    let preview = OperationOptions {
        generate_plan: Some(true),
        ..OperationOptions::default().preview()
    };
    let plain = OperationOptions::default;
    let runs = [
        ("preview", Update, preview, program("me", &["a"])),
        ("update", Update, plain(), program("me", &["a"])),
        ("refresh", Refresh, plain(), program("me", &["a"])),
        ("change", Update, plain(), program("you", &["a"])),
        ("failure", Update, plain(), program("you", &["a", "refused"])),
        ("destroy", Destroy, plain(), program("you", &["a"])),
    ];
    for (what, kind, options, program) in runs {
        let (result, texts) = texts(host.stack.start(kind, options, Some(program))).await;
        assert_eq!(
            result.error.is_some(),
            what == "failure",
            "{what}: {:?}",
            result.error
        );
        assert!(texts.len() > 5, "{what}");
        assert_sealed(what, &texts);
        if what != "destroy" {
            let state = result
                .snapshot
                .resources
                .iter()
                .find(|state| state.urn.name() == "a");
            let expected = inputs(if matches!(what, "change" | "failure") {
                "you"
            } else {
                "me"
            });
            if let Some(state) = state {
                assert_eq!(state.inputs, expected, "{what}");
                assert_eq!(state.outputs, expected, "{what}");
            }
        }
    }
    assert_sealed("files after all runs", &contents(host.folder.path()));
    let files = host.provider.files.lock().unwrap();
    assert!(
        files.iter().any(|text| text.contains("echo:index:Echo")),
        "files were seen"
    );
    assert_sealed("files during the runs", &*files);
    let entries = host.entries.0.lock().unwrap();
    let entries: Vec<_> = entries
        .iter()
        .flat_map(|entry| {
            [
                entry_to_json(entry, SecretForm::Base64).unwrap(),
                format!("{entry:?}"),
            ]
        })
        .collect();
    assert_sealed("the journal of the host", &entries);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_only_outputs_of_secret_inputs_at_the_top_level_are_marked() {
    let host = host(true, |builder| builder.nested_secrets(false)).await;
    let program = from_fn(|context| async move {
        let mut registration = resource("a", "1");
        registration.inputs = inputs("me");
        context.monitor.register(registration).await?;
        Ok(())
    });
    let kind = stackwright::operation::OperationKind::Update;
    let operation = host.stack.start(kind, OperationOptions::default(), Some(program));
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let state = result.snapshot.resources.last().unwrap();
    assert_eq!(state.inputs, inputs("me"));
    let keys = PropertyValue::secret(object([("first", KEY.into())]));
    let mut expected = inputs("me").without_secrets();
    expected.insert("keys", keys);
    assert_eq!(state.outputs, expected);
}
