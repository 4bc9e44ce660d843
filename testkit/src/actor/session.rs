//! The session: the engine that is open, its stack, the running operation and the runs of the program.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use stackwright::{
    Engine, Language, Stack, StackSettings, binding,
    config::{Config, ConfigKey, ConfigValue},
    operation::{Adoption, Operation, OperationKind, OperationOptions, OperationResult},
    plugin::{PluginCommand, PluginSettings},
    program::{self, ProgramContext},
    provider::{Resolution, ResolutionRequest, Resolver},
    runtime::Runtime,
    store,
};

use super::{
    encryption::encryption,
    inspect::{analysis, inspect},
    policies::attach_packs,
    projects::{act, open_stack},
    run::{Answer, Run, broken, error},
    wire::Wire,
};
use crate::provider::{AnswerSource, Body, ScriptedProvider};

/// The state of an actor.
pub(super) struct Session {
    wire: Arc<Wire>,
    engine: Mutex<Option<Engine>>,
    /// The open stacks of the engine, by name.
    stacks: Mutex<HashMap<String, Stack>>,
    /// The operations that run, by the name of their stack.
    operations: Mutex<HashMap<String, Operation>>,
    /// The results of the open engine, by the number of the operation.
    results: Mutex<HashMap<u64, Arc<OperationResult>>>,
    runs: Arc<Mutex<HashMap<u64, Arc<Run>>>>,
}

/// Names one address for each package that is served there.
struct Addresses(BTreeMap<String, String>);

#[async_trait]
impl Resolver for Addresses {
    async fn resolve(&self, request: ResolutionRequest) -> stackwright::Result<Resolution> {
        let address = self.0.get(&request.name).cloned();
        Ok(address.map_or(Resolution::Default, Resolution::Address))
    }
}

/// Answers from the director; runs the code of components and methods as runs of their own.
struct Bodies {
    wire: Arc<Wire>,
    runs: Arc<Mutex<HashMap<u64, Arc<Run>>>>,
}

#[async_trait]
impl AnswerSource for Bodies {
    async fn answer(&self, package: &str, method: &str, request: Value) -> Result<Value, Value> {
        self.wire.answer(package, method, request).await
    }

    async fn run(&self, body: Body) -> Result<Value, Value> {
        let number = self.wire.number();
        let (run, finished) = Run::new(body.monitor.clone(), Arc::clone(&self.wire), body.component);
        locked(&self.runs).insert(number, Arc::new(run));
        let info = body.monitor.run_info();
        self.wire.send(&json!({
            "program": number, "preview": info.dry_run, "stack": info.stack, "body": body.description,
        }));
        let result = tokio::select! {
            result = finished => result.unwrap_or(Ok(Value::Null)),
            () = body.monitor.closed() => {
                self.wire.send(&json!({ "programEnded": number }));
                Ok(Value::Null)
            }
        };
        locked(&self.runs).remove(&number);
        result.map_err(|error| json!({ "status": 2, "message": error.message() }))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        Self {
            wire,
            engine: Mutex::default(),
            stacks: Mutex::default(),
            operations: Mutex::default(),
            results: Mutex::default(),
            runs: Arc::default(),
        }
    }

    /// Starts a request; the answer is sent when it is there.
    pub(super) fn take(self: &Arc<Self>, id: u64, verb: &str, message: &Value) {
        if let Some(number) = message["program"].as_u64() {
            let run = locked(&self.runs).get(&number).cloned();
            let Some(run) = run else {
                return self.answer(
                    id,
                    Err(json!({ "kind": "program", "message": "the run has ended" })),
                );
            };
            let answer = run.start(verb, message);
            let session = Arc::clone(self);
            tokio::spawn(async move { session.answer(id, answer.await) });
            return;
        }
        let (session, verb, message) = (Arc::clone(self), verb.to_owned(), message.clone());
        if verb == "cancel" {
            // Cancels at once, ahead of requests that are in progress.
            if let Some(operation) = locked(&self.operations).get(text(&message, "stack")) {
                operation.cancel();
            }
            return self.answer(id, Ok(json!({})));
        }
        tokio::spawn(async move {
            let answer = session.execute(&verb, &message).await;
            session.answer(id, answer);
        });
    }

    fn answer(&self, id: u64, answer: Answer) {
        self.wire.send(&match answer {
            Ok(value) => json!({ "id": id, "ok": value }),
            Err(error) => json!({ "id": id, "error": error }),
        });
    }

    async fn execute(&self, verb: &str, message: &Value) -> Answer {
        match verb {
            "hello" => {
                Ok(json!({ "binding": "rust", "references": "resolved", "plans": "kept", "hooks": true }))
            }
            "open" => self.open(message).await,
            "start" => self.start(message).await,
            "project" => {
                let engine = locked(&self.engine).clone();
                let engine = engine.ok_or_else(|| broken("no engine is open"))?;
                act(&engine, &self.opened(message)?, message).await
            }
            "importState" => {
                let document = message["deployment"].to_string();
                self.opened(message)?
                    .import_deployment(document.as_bytes())
                    .await
                    .map_err(|it| error(&it))?;
                Ok(json!({}))
            }
            "exportState" => {
                let document = self
                    .opened(message)?
                    .export_deployment(true)
                    .await
                    .map_err(|it| error(&it))?;
                serde_json::from_slice(&document).map_err(|error| broken(error.to_string()))
            }
            "inspect" if text(message, "part") == "analysis" => {
                analysis(&self.opened(message)?, message, &self.wire).await
            }
            "inspect" => {
                let engine = locked(&self.engine).clone();
                let engine = engine.ok_or_else(|| broken("no engine is open"))?;
                let destination = locked(&self.stacks).get(text(message, "destination")).cloned();
                inspect(&engine, &self.opened(message)?, destination.as_ref(), message).await
            }
            "close" => {
                let engine = locked(&self.engine).take();
                locked(&self.stacks).clear();
                locked(&self.operations).clear();
                locked(&self.results).clear();
                if let Some(engine) = engine {
                    engine.close().await;
                }
                Ok(json!({}))
            }
            other => Err(broken(format!("this actor cannot {other}"))),
        }
    }

    fn opened(&self, message: &Value) -> Result<Stack, Value> {
        let stack = locked(&self.stacks).get(text(message, "stack")).cloned();
        stack.ok_or_else(|| broken("no such stack is open"))
    }

    async fn open(&self, message: &Value) -> Answer {
        let known = locked(&self.engine).clone();
        let engine = known.map_or_else(|| self.engine(message), Ok)?;
        let settings = StackSettings {
            program: Some(self.program()),
            config: config(&message["config"])?,
            deployment: message["deployment"]
                .is_object()
                .then(|| message["deployment"].to_string().into()),
            ..StackSettings::default()
        };
        let name = format!("{}/{}", text(message, "project"), text(message, "stack"));
        let folder = message["projectFolder"].as_str();
        let stack = open_stack(
            &engine,
            &name,
            folder.map(|folder| Path::new(folder).to_owned().into()),
            settings,
        )
        .await
        .map_err(|it| error(&it))?;
        *locked(&self.engine) = Some(engine);
        locked(&self.stacks).insert(text(message, "stack").to_owned(), stack);
        Ok(json!({}))
    }

    /// Creates the engine on which stacks are opened.
    fn engine(&self, message: &Value) -> Result<Engine, Value> {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store = store::open(text(message, "store"), Path::new("/"), &runtime).map_err(|it| error(&it))?;
        let mut builder = Engine::builder(tokio::runtime::Handle::current())
            .store(store)
            .secrets(encryption(message, runtime));
        for package in message["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let waits = message["waitsForRegistrations"][package]
                .as_bool()
                .unwrap_or_default();
            let limits = serde_json::from_value(message["limits"][package].clone()).unwrap_or_default();
            let source = Bodies {
                wire: Arc::clone(&self.wire),
                runs: Arc::clone(&self.runs),
            };
            let provider = ScriptedProvider::new(package, Arc::new(source))
                .waits_for_registrations(waits)
                .with_limits(limits);
            builder = builder.provider(package, Arc::new(provider));
        }
        let addresses: BTreeMap<_, _> =
            serde_json::from_value(message["addresses"].clone()).unwrap_or_default();
        if !addresses.is_empty() {
            builder = builder.resolver(Arc::new(Addresses(addresses)));
        }
        if let Some(nested) = message["nestedSecrets"].as_bool() {
            builder = builder.nested_secrets(nested);
        }
        let plugins = PluginSettings {
            commands: commands(&message["commands"]),
            call_timeouts: call_timeouts(&message["callTimeouts"]),
            ..PluginSettings::default()
        };
        builder.plugins(plugins).build().map_err(|it| error(&it))
    }

    /// Returns the program: it announces its run to the director and executes the director's requests until `finish`.
    fn program(&self) -> Arc<dyn program::Program> {
        let (wire, runs) = (Arc::clone(&self.wire), Arc::clone(&self.runs));
        program::from_fn(move |context: ProgramContext| {
            let (wire, runs) = (Arc::clone(&wire), Arc::clone(&runs));
            async move {
                let number = wire.number();
                let (run, finished) = Run::new(context.monitor.clone(), Arc::clone(&wire), None);
                locked(&runs).insert(number, Arc::new(run));
                let (preview, stack) = (context.info.dry_run, &context.info.stack);
                wire.send(&json!({
                    "program": number, "preview": preview, "stack": stack,
                    "config": context.info.config, "configSecretKeys": context.info.config_secret_keys,
                }));
                let result = tokio::select! {
                    result = finished => result.unwrap_or(Ok(Value::Null)).map(drop),
                    () = context.ended() => {
                        wire.send(&json!({ "programEnded": number }));
                        Ok(())
                    }
                };
                locked(&runs).remove(&number);
                result
            }
        })
    }

    async fn start(&self, message: &Value) -> Answer {
        let stack = self.opened(message)?;
        let mut options = binding::read::<OperationOptions>(
            message["options"].to_string().as_bytes(),
            Language::Rust,
            "an operation",
        )
        .map_err(|it| error(&it))?;
        let packs = options
            .required_policies
            .iter_mut()
            .chain(&mut options.local_policy_packs);
        attach_packs(packs, &message["policyPacks"], &self.wire)?;
        if let Some(number) = message["planOf"].as_u64() {
            let kept = locked(&self.results).get(&number).cloned();
            let plan = kept.and_then(|result| result.plan.clone());
            let plan = plan.ok_or_else(|| broken(format!("operation {number} left no plan")))?;
            options.plan = Some(plan.into());
        }
        let kind = match message["operation"].as_str() {
            Some("preview") => {
                options = options.preview();
                OperationKind::Update
            }
            Some("update") => OperationKind::Update,
            Some("refresh") => OperationKind::Refresh,
            Some("destroy") => OperationKind::Destroy,
            Some("import") => OperationKind::Import,
            Some("adopt") => OperationKind::Adopt,
            other => return Err(broken(format!("there is no operation {other:?}"))),
        };
        let operation = match kind {
            OperationKind::Import => {
                let request = message["request"].to_string();
                let request = binding::import_request(request.as_bytes(), Language::Rust, "an import");
                stack.import_resources(request.map_err(|it| error(&it))?, options)
            }
            OperationKind::Adopt => stack.adopt_pending(adoption(&message["adoption"]), options),
            kind => stack.start(kind, options, None),
        };
        locked(&self.operations).insert(text(message, "stack").to_owned(), operation.clone());
        let mut stream = operation.events();
        let json = stream.json(false);
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            let line = json.line(&event);
            events.push(
                serde_json::from_str::<Value>(&line).map_err(|error| broken(format!("{line}: {error}")))?,
            );
        }
        let result = operation.wait().await;
        let document = result.plan.as_ref().and_then(|plan| plan.document());
        let document: Option<Value> = document
            .map(|text| serde_json::from_str(text).map_err(|error| broken(format!("the plan: {error}"))))
            .transpose()?;
        if let Some(number) = message["number"].as_u64() {
            locked(&self.results).insert(number, Arc::clone(&result));
        }
        let deployment: Option<Value> = match message["deployment"] == json!(true) {
            true => left(&result)?,
            false => None,
        };
        Ok(json!({
            "imported": imported(&result)?, "deployment": deployment, "plan": document, "outcome": result.outcome.name(), "error": result.error.as_ref().map(error),
            "changes": result.changes, "droppedPending": dropped(&result), "outputs": outputs(&result)?, "events": events,
            "texts": texts(&result)?,
        }))
    }
}

/// Returns all further texts of a result that users may see.
fn texts(result: &OperationResult) -> Answer {
    let document = binding::result_document(result, Language::Rust, false).map_err(|it| error(&it))?;
    let mut document: Value =
        serde_json::from_slice(&document).map_err(|error| broken(format!("the result: {error}")))?;
    if let Some(members) = document.as_object_mut() {
        // The values that an import has found are readable.
        members.remove("imported");
    }
    let steps: Vec<Value> = result
        .steps
        .iter()
        .map(|step| binding::step_document(result, step, Language::Rust))
        .collect();
    let failure = result.error.as_ref();
    let shown = failure.map(|error| format!("{error} {error:?}"));
    Ok(json!([
        document,
        steps,
        shown,
        result.tree(),
        format!("{result:?}")
    ]))
}

/// Returns the report of an import as bindings describe it.
fn imported(result: &OperationResult) -> Result<Option<Value>, Value> {
    let document = binding::result_document(result, Language::Rust, true).map_err(|it| error(&it))?;
    let document: Value =
        serde_json::from_slice(&document).map_err(|error| broken(format!("the result: {error}")))?;
    Ok(document.get("imported").cloned())
}

/// Returns the outputs as bindings describe them.
fn outputs(result: &OperationResult) -> Result<Value, Value> {
    let document = binding::outputs_document(&result.outputs, true).map_err(|it| error(&it))?;
    serde_json::from_slice(&document).map_err(|error| broken(format!("the outputs: {error}")))
}

/// Returns the pending operations that an operation dropped.
fn dropped(result: &OperationResult) -> Vec<Value> {
    result
        .dropped_pending
        .iter()
        .map(binding::dropped_document)
        .collect()
}

fn adoption(members: &Value) -> Adoption {
    Adoption {
        pending: text(members, "pending").to_owned(),
        resource_id: members["resourceId"].as_str().map(str::to_owned),
        replace: members["replace"] == json!(true),
    }
}

/// Returns the state after an operation.
fn left(result: &OperationResult) -> Result<Option<Value>, Value> {
    let document = result.deployment().map_err(|it| error(&it))?;
    let parsed = document.map(|text| serde_json::from_slice(&text)).transpose();
    parsed.map_err(|error| broken(format!("the deployment: {error}")))
}

fn text<'a>(message: &'a Value, name: &str) -> &'a str {
    message[name].as_str().unwrap_or_default()
}

/// Reads the commands that start plugins.
fn commands(commands: &Value) -> BTreeMap<String, PluginCommand> {
    let command = |(name, command): (&String, &Value)| {
        let arguments = command["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.filter_map(Value::as_str).map(Into::into);
        let command = PluginCommand {
            program: text(command, "program").into(),
            arguments: arguments.collect(),
            ..PluginCommand::default()
        };
        (name.clone(), command)
    };
    let commands = commands.as_object().into_iter().flatten();
    commands.map(command).collect()
}

/// Reads the timeouts of providers' calls.
fn call_timeouts(timeouts: &Value) -> BTreeMap<String, Duration> {
    let timeouts = timeouts.as_object().into_iter().flatten();
    let timeout = |(name, seconds): (&String, &Value)| {
        let seconds = seconds.as_f64()?;
        Some((name.clone(), Duration::from_secs_f64(seconds)))
    };
    timeouts.filter_map(timeout).collect()
}

/// Reads configuration.
fn config(entries: &Value) -> Result<Config, Value> {
    let mut config = Config::new();
    for (name, entry) in entries.as_object().into_iter().flatten() {
        let key = ConfigKey::parse(name).map_err(|it| error(&it))?;
        let text = entry["value"].as_str().unwrap_or_default();
        let value = if entry["secret"] == json!(true) {
            ConfigValue::secret(text)
        } else {
            ConfigValue::plain(text)
        };
        config.insert(key, value);
    }
    Ok(config)
}
