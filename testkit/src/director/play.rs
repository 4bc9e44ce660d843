//! Playing a scenario: operation after operation, each followed by the checks of its observation.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;

use serde_json::{Map, Value, json};

use super::{
    cast::Cast,
    editing::Encryption,
    link::ActorError,
    observation::{Observation, recorded_secrets},
    plans::Plans,
    projects::lay_out,
    role::Role,
    stage::{self, Changing, Stage},
    transform::Transforms,
};
use crate::{
    check,
    files::{FileSearch, Files},
    plugin::Plugins,
    policy::Packs,
    scenario::{PROJECT, STACK, STACK_BESIDE, Scenario, ScenarioOperation, StackBeside},
    script::{Providers, Scene},
    wait::at_most,
};

/// How long an operation may take.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a label may take to happen.
const LABEL_TIMEOUT: Duration = Duration::from_secs(20);

/// How many lines that an actor has written are shown when it fails.
const LINES_SHOWN: usize = 20;

/// The passphrase of the stacks that have one.
const PASSPHRASE: &str = "correct horse";

/// Plays a scenario and checks it. Returns one text for each deviation.
pub async fn play(scenario: &Scenario, cast: &mut Cast<'_>) -> Vec<String> {
    cast.begin(&scenario.path.display().to_string());
    let played = match Player::new(scenario, cast).await {
        Ok(mut player) => player.all(scenario).await,
        Err(text) => Err(text),
    };
    played.unwrap_or_else(|text| {
        // The state of the actor is unknown after an error.
        let logged = cast.lose().map(|actor| actor.logged.text()).unwrap_or_default();
        let last: Vec<&str> = logged.lines().rev().take(LINES_SHOWN).collect();
        let last = last
            .into_iter()
            .rev()
            .map(|line| format!("the actor wrote: {line}"));
        std::iter::once(text).chain(last).collect()
    })
}

pub(super) struct Player<'a, 'b> {
    cast: &'a mut Cast<'b>,
    pub(super) folder: tempfile::TempDir,
    /// The folder of the project's files, in scenarios that have some.
    pub(super) project_folder: Option<PathBuf>,
    pub(super) providers: Arc<Providers>,
    packages: Vec<String>,
    /// Whether each package's provider declares that its calls may wait for later registrations.
    waits: BTreeMap<String, bool>,
    /// The timeouts of providers' calls, by package.
    timeouts: BTreeMap<String, f64>,
    /// The limits of providers, by package.
    limits: Value,
    /// The name of the scenario's own stack, which edits can change.
    pub(super) stack: String,
    /// Whether outputs below the path of a secret input become secret; `None` for the engine's default.
    nested_secrets: Option<bool>,
    /// How secrets are encrypted, which edits can change.
    pub(super) encryption: Encryption,
    pub(super) packs: Arc<Packs>,
    plugins: Arc<Plugins>,
    transforms: Arc<Transforms>,
    beside: Option<StackBeside>,
    /// The state, in scenarios with `supplied`.
    deployment: Option<Value>,
}

impl<'a, 'b> Player<'a, 'b> {
    async fn new(scenario: &Scenario, cast: &'a mut Cast<'b>) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        let providers = Arc::new(Providers::new(&scenario.packages));
        let is_in_process = |package: &&String| scenario.packages[*package].served.is_none();
        Ok(Self {
            cast,
            project_folder: lay_out(folder.path(), &scenario.project)?,
            folder,
            plugins: Arc::new(Plugins::serve(&scenario.packages, &providers).await?),
            providers,
            packages: scenario.packages.keys().filter(is_in_process).cloned().collect(),
            transforms: Arc::new(scenario.transforms.clone()),
            beside: scenario.beside.clone(),
            waits: scenario
                .packages
                .iter()
                .map(|(package, script)| (package.clone(), script.waits_for_registrations))
                .collect(),
            timeouts: scenario
                .packages
                .iter()
                .filter_map(|(package, script)| Some((package.clone(), script.call_timeout?)))
                .collect(),
            limits: scenario
                .packages
                .iter()
                .filter_map(|(package, script)| Some((package.clone(), script.limits()?)))
                .collect::<Map<_, _>>()
                .into(),
            stack: STACK.to_owned(),
            nested_secrets: scenario.nested_secrets,
            encryption: match &scenario.secrets {
                Some(settings) => Encryption::Host(settings.clone()),
                None if scenario.has_passphrase() => Encryption::Passphrase(PASSPHRASE.to_owned()),
                None => Encryption::Encoding,
            },
            packs: Arc::new(Packs::serve(&scenario.policies).await?),
            deployment: scenario
                .supplied
                .then(|| scenario.state.clone().unwrap_or_else(|| json!({}))),
        })
    }

    async fn all(&mut self, scenario: &Scenario) -> Result<Vec<String>, String> {
        let mut changing = Changing::new(scenario);
        let mut failures = Vec::new();
        let mut plans = Plans::new(scenario);
        let mut open = false;
        for (index, operation) in scenario.operations.iter().enumerate() {
            self.nested_secrets = operation.nested_secrets.or(self.nested_secrets);
            if open && (self.cast.takes_turns() || operation.opens_again()) {
                self.ask("close", json!({})).await?;
                open = false;
            }
            if index > 0 {
                self.cast.pass();
            }
            let place = self.place(index);
            changing
                .change(operation)
                .map_err(|text| format!("{place}: {text}"))?;
            if !open {
                self.open(changing.config()).await?;
                if let Some(state) = scenario
                    .state
                    .as_ref()
                    .filter(|_| index == 0 && !scenario.supplied)
                {
                    self.ask("importState", json!({ "stack": self.stack, "deployment": state }))
                        .await?;
                }
            }
            // Actors that take turns do not share kept plans.
            let keeps_plans = !self.cast.takes_turns() && self.cast.actor().await?.keeps_plans;
            let mut start = plans
                .start(index, operation, keeps_plans)
                .map_err(|text| format!("{place}: {text}"))?;
            if scenario.supplied {
                start["deployment"] = true.into();
            }
            let requested = async {
                self.forget(operation).await?;
                self.act_on_project(operation, &scenario.secret_texts()).await?;
                self.edit(operation, &changing.config()).await?;
                match operation.adopt {
                    Some(_) => self.adoption(&mut start).await,
                    None => Ok(()),
                }
            };
            requested.await.map_err(|text| format!("{place}: {text}"))?;
            start["stack"] = self.stack.as_str().into();
            let mut roles = vec![Role::own(&self.stack, scenario, operation, start, &changing)?];
            if let (Some(beside), Some(stack)) = (&operation.beside, &scenario.beside) {
                // A number that no other operation has; plans of operations beside are not used.
                let number = scenario.operations.len() + index + 1;
                roles.push(Role::beside(&self.stack, stack, beside, number)?);
            }
            let seen = self
                .operation(operation, &roles)
                .await
                .map_err(|t| format!("{place}: {t}"))?;
            let result = seen[0].result.as_ref();
            plans.keep(index, result);
            if operation.kill.is_none() {
                let salted = self.check_salt(&seen[0].after).await;
                salted.map_err(|text| format!("{place}: {text}"))?;
            }
            self.keep_deployment(operation, result)
                .map_err(|text| format!("{place}: {text}"))?;
            open = operation.kill.is_none();
            for (role, observation) in roles.iter().zip(&seen) {
                let wrong = check::check(observation, role.expect);
                let place = role.place(&place);
                failures.extend(wrong.into_iter().map(|text| format!("{place}: {text}")));
            }
            if !failures.is_empty() {
                failures.push(format!("{place} went: {}", seen[0].trace.join(", ")));
                break;
            }
        }
        if open {
            self.ask("close", json!({})).await?;
        }
        Ok(failures)
    }

    /// Names an operation, with its binding in a relay.
    fn place(&self, index: usize) -> String {
        let number = index + 1;
        if self.cast.takes_turns() {
            format!("operation {number}, by {}", self.cast.binding())
        } else {
            format!("operation {number}")
        }
    }

    /// Sends a request that is not an operation, and that succeeds.
    pub(super) async fn ask(&mut self, verb: &str, members: Value) -> Result<Value, String> {
        let answer = self.answer(verb, members).await?;
        answer.map_err(|error| format!("{verb}: {} ({})", error.message, error.kind))
    }

    /// Sends a request that is not an operation.
    pub(super) async fn answer(
        &mut self,
        verb: &str,
        members: Value,
    ) -> Result<Result<Value, ActorError>, String> {
        self.answer_in(Scene::new(Vec::new()), verb, members).await
    }

    /// Sends a request that is not an operation; calls meanwhile belong to a scene.
    pub(super) async fn answer_in(
        &mut self,
        scene: Scene,
        verb: &str,
        members: Value,
    ) -> Result<Result<Value, ActorError>, String> {
        let (providers, packs) = (Arc::clone(&self.providers), Arc::clone(&self.packs));
        let actor = self.cast.actor().await?;
        let stage = Stage::new(actor, providers, packs, scene, Vec::new());
        self.packs.enter(&stage.scene);
        let answer = tokio::select! {
            answer = at_most(OPERATION_TIMEOUT, stage.link.ask(verb, members)) => answer,
            reason = stage.attend(&mut actor.messages) => return Err(reason),
        };
        answer.ok_or_else(|| format!("{verb} timed out"))
    }

    pub(super) async fn open(&mut self, config: Value) -> Result<(), String> {
        let members = json!({
            "store": format!("file://{}", self.folder.path().display()),
            "passphrase": self.encryption.passphrase(),
            "secrets": self.encryption.of_host(),
            "nestedSecrets": self.nested_secrets,
            "project": PROJECT,
            "stack": self.stack,
            "packages": self.packages,
            "waitsForRegistrations": self.waits,
            "limits": self.limits,
            "addresses": self.plugins.addresses(),
            "commands": self.plugins.commands(),
            "callTimeouts": self.timeouts,
            "config": config,
            "deployment": self.deployment,
            "projectFolder": self.project_folder,
        });
        self.ask("open", members).await?;
        if let Some(beside) = &self.beside {
            let config = stage::config(&beside.config);
            let members = json!({ "project": PROJECT, "stack": STACK_BESIDE, "config": config });
            self.ask("open", members).await?;
        }
        Ok(())
    }

    /// Keeps the state after an operation, in scenarios with `supplied`.
    fn keep_deployment(
        &mut self,
        operation: &ScenarioOperation,
        result: Option<&Value>,
    ) -> Result<(), String> {
        let Some(kept) = &mut self.deployment else {
            return Ok(());
        };
        let left = result.map_or(&Value::Null, |result| &result["deployment"]);
        match (operation.is_dry(), left) {
            (false, Value::Object(_)) => kept.clone_from(left),
            (false, _) => return Err("the result has no deployment".into()),
            (true, Value::Null) => {}
            (true, _) => return Err("the result of a preview has a deployment".into()),
        }
        let files = Files::of(self.folder.path()).containing("");
        match files.is_empty() {
            true => Ok(()),
            false => Err(format!("the store has files: {}", files.join(", "))),
        }
    }

    /// Returns the state of the stack of each role.
    async fn export(&mut self, roles: &[Role<'_>]) -> Result<Vec<Value>, String> {
        let mut states = Vec::new();
        for role in roles {
            states.push(self.ask("exportState", json!({ "stack": role.stack })).await?);
        }
        Ok(states)
    }

    /// Plays an operation and the one beside it, each a role. Returns the observation of each.
    async fn operation(
        &mut self,
        operation: &ScenarioOperation,
        roles: &[Role<'_>],
    ) -> Result<Vec<Observation>, String> {
        self.providers.edit_world(&operation.world)?;
        let before = self.export(roles).await?;
        let files = Files::of(self.folder.path());
        let providers = Arc::clone(&self.providers);
        let (packs, plugins) = (Arc::clone(&self.packs), Arc::clone(&self.plugins));
        let search = FileSearch::new(self.folder.path(), recorded_secrets(roles));
        let actor = self.cast.actor().await?;
        let logged = Arc::clone(&actor.logged);
        let stage = Stage::new(
            actor,
            providers,
            Arc::clone(&packs),
            Scene::new(operation.calls.clone()).with_search(search),
            roles[0].program.to_vec(),
        )
        .with_beside(roles.get(1).map_or_else(Vec::new, |role| role.program.to_vec()))
        .with_transforms(&self.transforms);
        packs.enter(&stage.scene);
        plugins.enter(&stage.scene);
        let played = async {
            let results = join_all(roles.iter().map(|role| perform(&stage, role, &packs))).await;
            stage.settled().await;
            results
        };
        let results = tokio::select! {
            results = at_most(OPERATION_TIMEOUT, played) => match results {
                Some(results) => Some(results.into_iter().collect::<Result<Vec<_>, _>>()?),
                None => return Err(format!("hangs; so far: {}", stage.scene.trace.labels().join(", "))),
            },
            reason = stage.attend(&mut actor.messages) => return Err(reason),
            () = cancel(&stage, &roles[0].stack, &operation.cancel) => return Err("a cancellation ended the watch".into()),
            () = killed(&stage.scene, operation.kill.as_deref()) => None,
        };
        let was_killed = results.is_none();
        if was_killed {
            if let Some(actor) = self.cast.lose() {
                actor.kill().await;
            }
            self.open(roles[0].config.clone()).await?;
        }
        let after = self.export(roles).await?;
        let read = self.read(&roles[0].expect.read).await?;
        if was_killed {
            self.ask("close", json!({})).await?;
        }
        let later = Files::of(self.folder.path());
        let states = before.into_iter().zip(after);
        Ok(self.observations(
            roles,
            &stage,
            results.unwrap_or_default(),
            states,
            (&files, &later),
            (read, &logged.text()),
        ))
    }
}

/// Starts a role's operation after its labels, and waits for its end.
async fn perform(stage: &Stage, role: &Role<'_>, packs: &Packs) -> Result<Value, String> {
    let trace = &stage.scene.trace;
    for label in role.after {
        let waited = trace.wait_for(label, LABEL_TIMEOUT).await;
        waited.map_err(|text| format!("the operation beside {text}"))?;
    }
    let mut start = role.start.clone();
    if let Some(options) = start["options"].as_object() {
        start["options"] = with_reference_defaults(packs.addressed(options)).into();
    }
    start["policyPacks"] = packs.documents();
    let answer = stage.link.ask("start", start).await;
    trace.note(format!("{} ended", role.stack));
    answer.or_else(|error| rejected(&error))
}

/// Adds the reference engine's defaults of options whose defaults differ in the bindings.
fn with_reference_defaults(mut options: Map<String, Value>) -> Map<String, Value> {
    for name in ["allowEmpty", "debug"] {
        options.entry(name).or_insert(Value::Bool(true));
    }
    options
}

/// An operation that could not even start has a result too: its error. A lost actor has none.
fn rejected(error: &ActorError) -> Result<Value, String> {
    if error.kind == "actor" {
        return Err(error.message.clone());
    }
    Ok(json!({ "outcome": "failed", "error": error.whole, "changes": {}, "outputs": {}, "events": [] }))
}

/// Cancels the operation on a stack at each label; never returns.
async fn cancel(stage: &Stage, stack: &str, labels: &[String]) {
    for (index, label) in labels.iter().enumerate() {
        if let Err(text) = stage.scene.trace.wait_for(label, LABEL_TIMEOUT).await {
            stage.scene.problem(format!("a cancellation {text}"));
            break;
        }
        // The operation's result shows the effect.
        drop(stage.link.ask("cancel", json!({ "stack": stack })).await);
        stage.scene.trace.note(format!("cancel {}", index + 1));
    }
    std::future::pending::<()>().await;
}

/// Returns when the process is to be killed; never returns without a label.
async fn killed(scene: &Scene, label: Option<&str>) {
    if let Some(label) = label {
        match scene.trace.wait_for(label, LABEL_TIMEOUT).await {
            Ok(()) => return,
            Err(text) => scene.problem(format!("the kill {text}")),
        }
    }
    std::future::pending::<()>().await;
}
