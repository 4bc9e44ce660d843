//! Execution of provider scripts: answers to a provider's calls, in the form of scenarios, with a log of the calls.

mod answer;
mod engine;
mod hook;
mod log;
mod rule;
mod views;
mod world;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    files::FileSearch,
    scenario::{BodyScript, CallRule, FailureScript, PACKAGE, PackageScript, WorldEdit},
    trace::Trace,
    value,
};

pub use log::{CallLog, CallOutcome, CallRecord};
use rule::RuleBook;
use world::World;

/// How long a call waits for a rule's labels before it fails the scenario.
const LABEL_TIMEOUT: Duration = Duration::from_secs(10);

/// A call of a provider, as an actor passes it on; values in the engine's plain JSON form.
#[derive(Clone, Debug)]
pub struct ProviderCall {
    /// The package.
    pub package: String,
    /// The method: `check`, `create`…
    pub method: String,
    /// The members of the request by their camelCase names.
    pub request: Value,
    /// Where the engine listens for calls of the provider; `None` for one that is code in the actor.
    pub engine: Option<String>,
}

impl ProviderCall {
    /// Returns the subject of the call: the resource's name, or the function.
    #[must_use]
    pub fn subject(&self) -> &str {
        let member = |name: &str| {
            self.request
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let of_urn = || member("urn").and_then(|urn| urn.splitn(4, "::").nth(3));
        member("token")
            .or_else(|| member("name"))
            .or_else(of_urn)
            .unwrap_or(&self.package)
    }

    /// Returns the name of the call in rules, traces and expectations.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.subject())
    }
}

/// A failed call, in the protocol between director and actor.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFailure {
    /// The gRPC status.
    pub status: u8,
    /// The message.
    pub message: String,
    /// `id`, `outputs`, `reasons` of a resource that exists all the same; values in plain JSON form.
    pub init_failure: Option<Value>,
    /// Whether a served provider states that it has to wait, so that it has not begun.
    pub awaits: bool,
}

impl CallFailure {
    fn of(script: &FailureScript) -> Self {
        Self {
            status: status(script.status.as_deref().unwrap_or("unknown")),
            message: script.message.clone(),
            init_failure: None,
            awaits: script.awaits,
        }
    }

    /// Returns the failure as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = json!({ "status": self.status, "message": self.message });
        if let Some(failure) = &self.init_failure {
            json["initFailure"] = failure.clone();
        }
        json
    }
}

/// The providers of one scenario. Their things persist between operations.
#[derive(Debug)]
pub struct Providers {
    packages: BTreeMap<String, Package>,
}

#[derive(Debug)]
struct Package {
    script: PackageScript,
    world: Mutex<World>,
}

/// The rules, trace and log of one operation.
#[derive(Debug)]
pub struct Scene {
    /// Rules for [`PACKAGE`] in this operation, ahead of its own.
    pub rules: Vec<CallRule>,
    /// The trace of the operation.
    pub trace: Arc<Trace>,
    /// The log of calls.
    pub log: CallLog,
    /// Faults of the scenario itself.
    pub problems: Mutex<Vec<String>>,
    /// The search for secrets in the files of the store, at each call.
    pub search: Option<FileSearch>,
    cancelled: watch::Sender<bool>,
    book: Mutex<RuleBook>,
    /// After how many failures each error hook agrees to another attempt.
    retries: Mutex<BTreeMap<String, usize>>,
}

impl Scene {
    /// Creates the scene of an operation.
    #[must_use]
    pub fn new(rules: Vec<CallRule>) -> Self {
        let trace = Arc::<Trace>::default();
        Self {
            rules,
            log: CallLog::new(Arc::clone(&trace)),
            trace,
            problems: Mutex::default(),
            search: None,
            cancelled: watch::Sender::new(false),
            book: Mutex::default(),
            retries: Mutex::default(),
        }
    }

    /// Searches the files of the store at each call.
    #[must_use]
    pub fn with_search(self, search: FileSearch) -> Self {
        Self {
            search: Some(search),
            ..self
        }
    }

    /// Sets after how many failures an error hook agrees to another attempt.
    pub fn set_retries(&self, hook: &str, retries: usize) {
        let mut known = self.retries.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(hook.to_owned(), retries);
    }

    /// Records a fault of the scenario itself.
    pub fn problem(&self, text: impl Into<String>) {
        self.problems
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text.into());
    }
}

impl Providers {
    /// Creates the providers of a scenario.
    #[must_use]
    pub fn new(packages: &BTreeMap<String, PackageScript>) -> Self {
        let package = |script: &PackageScript| Package {
            script: script.clone(),
            world: Mutex::new(World::new(&script.world)),
        };
        let packages = packages
            .iter()
            .map(|(name, script)| (name.clone(), package(script)))
            .collect();
        Self { packages }
    }

    /// Changes things of [`PACKAGE`] outside of the engine.
    pub fn edit_world(&self, edit: &WorldEdit) -> Result<(), String> {
        let empty = edit.set.is_empty() && edit.gone.is_empty();
        match self.packages.get(PACKAGE) {
            Some(package) => package.world().edit(edit),
            None if empty => Ok(()),
            None => Err(format!("there is no package {PACKAGE}")),
        }
    }

    /// Returns the code of a component or of a method of a package.
    #[must_use]
    pub fn body(&self, package: &str, method: &str, token: &str) -> Option<BodyScript> {
        let script = &self.packages.get(package)?.script;
        let bodies = match method {
            "construct" => &script.components,
            _ => &script.methods,
        };
        bodies.get(token).cloned()
    }

    /// Returns the ids of all things that exist.
    #[must_use]
    pub fn existing(&self) -> Vec<String> {
        let mut ids: Vec<_> = self
            .packages
            .values()
            .flat_map(|package| package.world().ids())
            .collect();
        ids.sort();
        ids
    }

    /// Answers a call. Dropping the future cancels the call.
    ///
    /// # Errors
    /// The failure that the script prescribes.
    pub async fn answer(&self, scene: &Scene, call: ProviderCall) -> Result<Value, CallFailure> {
        if let Some(search) = &scene.search {
            search.look();
        }
        if call.method == hook::METHOD {
            return hook::answer(scene, &call).await;
        }
        let request = canonical(&call.method, value::from_plain(&call.request));
        let label = call.label();
        let mut ticket = scene.log.begin(&call.method, call.subject(), request.clone());
        let answer = self.play(scene, &call, &label, &request).await;
        ticket.end(answer.is_ok());
        answer
    }

    async fn play(
        &self,
        scene: &Scene,
        call: &ProviderCall,
        label: &str,
        request: &Value,
    ) -> Result<Value, CallFailure> {
        if call.method == "cancel" {
            scene.cancelled.send_replace(true);
            return Ok(json!({}));
        }
        let Some(package) = self.packages.get(&call.package) else {
            let text = format!("a call for the unknown package {:?}", call.package);
            scene.problem(text.clone());
            return Err(internal(text));
        };
        let rule = scene.rule(label, request, &package.script.calls);
        let Some(rule) = rule else {
            return Ok(value::to_plain(&package.usual(call, request)?));
        };
        scene.wait(label, &rule).await?;
        if !rule.log.is_empty() {
            if let Err(text) = engine::log(call, &rule.log).await {
                scene.problem(format!("`{label}` cannot log: {text}"));
                return Err(internal(text));
            }
            scene.trace.note(format!("{label} logged"));
        }
        scene.hang(label, &rule).await?;
        if let Some(failure) = &rule.fail {
            return Err(package.failure(call, request, failure)?);
        }
        let mut answer = package.usual(call, request)?;
        if let (Value::Object(answer), Some(members)) = (&mut answer, &rule.answer) {
            for (name, member) in members {
                answer.insert(name.clone(), member.clone());
            }
        }
        Ok(value::to_plain(&answer))
    }
}

impl Scene {
    /// Plays a call that is not a provider's: the answer is `usual`, unless a rule of the operation replaces it.
    /// Dropping the future cancels the call.
    ///
    /// # Errors
    /// The failure that the rule prescribes.
    pub(crate) async fn play(
        &self,
        method: &str,
        subject: &str,
        request: Value,
        mut usual: Value,
    ) -> Result<Value, CallFailure> {
        let label = format!("{method} {subject}");
        let mut ticket = self.log.begin(method, subject, request.clone());
        let rule = self.rule(&label, &request, &[]);
        let answer = async {
            let Some(rule) = rule else { return Ok(usual) };
            self.wait(&label, &rule).await?;
            self.hang(&label, &rule).await?;
            if let Some(failure) = &rule.fail {
                return Err(CallFailure::of(failure));
            }
            for (name, member) in rule.answer.into_iter().flatten() {
                usual[name] = member;
            }
            Ok(usual)
        };
        let answer = answer.await;
        ticket.end(answer.is_ok());
        answer
    }

    /// Records a cancellation request.
    pub(crate) fn note_cancel(&self, subject: &str) {
        let mut ticket = self.log.begin("cancel", subject, json!({}));
        self.cancelled.send_replace(true);
        ticket.end(true);
    }

    /// Waits for the labels of a rule.
    async fn wait(&self, label: &str, rule: &CallRule) -> Result<(), CallFailure> {
        for awaited in &rule.wait_for {
            if let Err(text) = self.trace.wait_for(awaited, LABEL_TIMEOUT).await {
                self.problem(format!("`{label}` {text}"));
                return Err(internal(text));
            }
        }
        Ok(())
    }

    /// Never returns for a rule with `hang`; with `hang_until_cancel` returns after the cancellation.
    async fn hang(&self, label: &str, rule: &CallRule) -> Result<(), CallFailure> {
        if rule.hang {
            std::future::pending::<()>().await;
        }
        if rule.hang_until_cancel {
            // The scene owns the sender and outlives the call.
            drop(self.cancelled.subscribe().wait_for(|cancelled| *cancelled).await);
            return Err(CallFailure {
                status: status("cancelled"),
                message: format!("{label} was cancelled"),
                init_failure: None,
                awaits: false,
            });
        }
        Ok(())
    }

    /// Finds the rule of a call: those of the operation first.
    fn rule(&self, label: &str, request: &Value, package: &[CallRule]) -> Option<CallRule> {
        let preview = request.get("preview") == Some(&Value::Bool(true));
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let nth = book.count(label);
        let mut rules = self.rules.iter().chain(package);
        rules
            .find(|candidate| rule::fits(candidate, label, nth, preview))
            .cloned()
    }
}

impl Package {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn internal(message: impl Into<String>) -> CallFailure {
    CallFailure {
        status: status("internal"),
        message: message.into(),
        init_failure: None,
        awaits: false,
    }
}

/// Returns the number of a gRPC status; unknown names are `unknown`.
fn status(name: &str) -> u8 {
    match name {
        "cancelled" => 1,
        "invalid_argument" => 3,
        "deadline_exceeded" => 4,
        "not_found" => 5,
        "already_exists" => 6,
        "permission_denied" => 7,
        "resource_exhausted" => 8,
        "failed_precondition" => 9,
        "aborted" => 10,
        "out_of_range" => 11,
        "unimplemented" => 12,
        "internal" => 13,
        "unavailable" => 14,
        "data_loss" => 15,
        "unauthenticated" => 16,
        _ => 2,
    }
}

/// Renames members of requests that bindings name differently to the protocol's names.
fn canonical(method: &str, mut request: Value) -> Value {
    let renamed: &[(&str, &str)] = match method {
        "check" | "checkConfig" => &[("inputs", "news"), ("oldInputs", "olds")],
        "diff" | "diffConfig" | "update" => &[("inputs", "news")],
        _ => &[],
    };
    if let Value::Object(members) = &mut request {
        for (theirs, ours) in renamed {
            if let Some(member) = members.remove(*theirs) {
                members.insert((*ours).to_owned(), member);
            }
        }
    }
    request
}
