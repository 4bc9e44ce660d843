//! Playing a story: operation after operation, each followed by a look at what came of it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    cast::Cast,
    files::Files,
    goal::Answers,
    link::ActorError,
    plans::Plans,
    stage::{Changing, Stage},
};
use crate::{
    check,
    policy::Packs,
    script::{CallRecord, Providers, Scene},
    story::{OperationKind, PROJECT, STACK, Story, StoryOperation},
    trace::within,
    value::tells_openly,
};

/// How long an operation may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a label may take to happen.
const LABEL_PATIENCE: Duration = Duration::from_secs(20);

/// The passphrase of the stacks that have one.
const PASSPHRASE: &str = "correct horse";

/// What could be seen of one operation.
#[derive(Debug)]
pub struct Observation {
    /// What was run.
    pub kind: OperationKind,
    /// Whether it only showed what it would do.
    pub dry: bool,
    /// What the face returned; `None` when its process was killed.
    pub result: Option<Value>,
    /// The calls of providers.
    pub calls: Vec<CallRecord>,
    /// What the program got back.
    pub answers: Answers,
    /// The exported deployment before, and after.
    pub before: Value,
    /// The exported deployment after the operation.
    pub after: Value,
    /// Files of the store that changed.
    pub written: Vec<String>,
    /// Lock files that are left.
    pub locks: Vec<String>,
    /// The things that exist.
    pub world: Vec<String>,
    /// What went wrong with the story itself.
    pub problems: Vec<String>,
    /// All that happened, in order.
    pub trace: Vec<String>,
    /// Texts that must be nowhere in the clear.
    pub secrets: Vec<String>,
    /// Files of the store in which one stands in the clear.
    pub leaks: Vec<String>,
}

/// Plays a story and judges it. Returns one text for each thing that was not as it should be.
pub async fn play(story: &Story, cast: &mut Cast<'_>) -> Vec<String> {
    cast.begin(&story.path.display().to_string());
    let played = match Player::new(story, cast).await {
        Ok(mut player) => player.all(story).await,
        Err(text) => Err(text),
    };
    played.unwrap_or_else(|text| {
        // What it is in the middle of is not known.
        drop(cast.lose());
        vec![text]
    })
}

struct Player<'a, 'b> {
    cast: &'a mut Cast<'b>,
    folder: tempfile::TempDir,
    providers: Arc<Providers>,
    packages: Vec<String>,
    /// Whether each package's provider declares that its calls may wait for later registrations.
    waits: BTreeMap<String, bool>,
    /// What providers do not accept or have, by package.
    limits: Value,
    passphrase: Option<&'static str>,
    packs: Arc<Packs>,
    /// The state, where the story has the director keep it.
    deployment: Option<Value>,
}

impl<'a, 'b> Player<'a, 'b> {
    async fn new(story: &Story, cast: &'a mut Cast<'b>) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        Ok(Self {
            cast,
            folder,
            providers: Arc::new(Providers::new(&story.packages)),
            packages: story.packages.keys().cloned().collect(),
            waits: story
                .packages
                .iter()
                .map(|(package, script)| (package.clone(), script.waits_for_registrations))
                .collect(),
            limits: story
                .packages
                .iter()
                .filter_map(|(package, script)| Some((package.clone(), script.limits()?)))
                .collect::<Map<_, _>>()
                .into(),
            passphrase: story.has_passphrase().then_some(PASSPHRASE),
            packs: Arc::new(Packs::serve(&story.policies).await?),
            deployment: story
                .supplied
                .then(|| story.state.clone().unwrap_or_else(|| json!({}))),
        })
    }

    async fn all(&mut self, story: &Story) -> Result<Vec<String>, String> {
        let mut changing = Changing::new(story);
        let secrets = story.secret_texts();
        let mut failures = Vec::new();
        let mut plans = Plans::new(story);
        let mut open = false;
        for (index, operation) in story.operations.iter().enumerate() {
            if open && (self.cast.takes_turns() || operation.reopen || !operation.config.is_empty()) {
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
                self.open(&changing).await?;
                if let Some(state) = story.state.as_ref().filter(|_| index == 0 && !story.supplied) {
                    self.ask("importState", json!({ "deployment": state })).await?;
                }
            }
            // What one actor has kept, another one cannot know.
            let keeps_plans = !self.cast.takes_turns() && self.cast.actor().await?.keeps_plans;
            let mut start = plans
                .start(index, operation, keeps_plans)
                .map_err(|text| format!("{place}: {text}"))?;
            if story.supplied {
                start["deployment"] = true.into();
            }
            let observation = self
                .operation(operation, start, &changing, &secrets)
                .await
                .map_err(|t| format!("{place}: {t}"))?;
            plans.keep(index, observation.result.as_ref());
            self.keep_deployment(operation, observation.result.as_ref())
                .map_err(|text| format!("{place}: {text}"))?;
            open = operation.kill.is_none();
            let wrong = check::check(&observation, &operation.expect);
            if !wrong.is_empty() {
                failures.extend(wrong.into_iter().map(|text| format!("{place}: {text}")));
                failures.push(format!("{place} went: {}", observation.trace.join(", ")));
                break;
            }
        }
        if open {
            self.ask("close", json!({})).await?;
        }
        Ok(failures)
    }

    /// Names an operation, and whose it is where that differs.
    fn place(&self, index: usize) -> String {
        let number = index + 1;
        if self.cast.takes_turns() {
            format!("operation {number}, by {}", self.cast.face())
        } else {
            format!("operation {number}")
        }
    }

    /// Asks for something besides operations.
    async fn ask(&mut self, verb: &str, members: Value) -> Result<Value, String> {
        let providers = Arc::clone(&self.providers);
        let actor = self.cast.actor().await?;
        let stage = Stage::new(actor, providers, Vec::new(), Vec::new());
        let answer = tokio::select! {
            answer = within(PATIENCE, stage.link.ask(verb, members)) => answer,
            reason = stage.attend(&mut actor.told) => return Err(reason),
        };
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(format!("{verb}: {} ({})", error.message, error.kind)),
            None => Err(format!("{verb} hangs")),
        }
    }

    async fn open(&mut self, changing: &Changing) -> Result<(), String> {
        let members = json!({
            "store": format!("file://{}", self.folder.path().display()),
            "passphrase": self.passphrase,
            "project": PROJECT,
            "stack": STACK,
            "packages": self.packages,
            "waitsForRegistrations": self.waits,
            "limits": self.limits,
            "config": changing.config(),
            "deployment": self.deployment,
        });
        self.ask("open", members).await.map(drop)
    }

    /// Takes the state that an operation has left, where the director keeps it.
    fn keep_deployment(&mut self, operation: &StoryOperation, result: Option<&Value>) -> Result<(), String> {
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

    async fn export(&mut self) -> Result<Value, String> {
        self.ask("exportState", json!({})).await
    }

    async fn operation(
        &mut self,
        operation: &StoryOperation,
        mut start: Value,
        changing: &Changing,
        secrets: &[String],
    ) -> Result<Observation, String> {
        let (kind, _) = operation.verb()?;
        self.providers.edit_world(&operation.world)?;
        let before = self.export().await?;
        let files = Files::of(self.folder.path());
        let providers = Arc::clone(&self.providers);
        let packs = Arc::clone(&self.packs);
        if let Some(options) = start["options"].as_object() {
            start["options"] = with_reference_defaults(packs.addressed(options)).into();
        }
        let actor = self.cast.actor().await?;
        let stage = Stage::new(
            actor,
            providers,
            operation.calls.clone(),
            changing.program.clone(),
        );
        packs.enter(&stage.scene);
        let played = async {
            let result = stage.link.ask("start", start).await;
            stage.settled().await;
            result
        };
        let result = tokio::select! {
            result = within(PATIENCE, played) => match result {
                Some(result) => Some(result.or_else(|error| rejected(&error))?),
                None => return Err(format!("hangs; so far: {}", stage.scene.trace.labels().join(", "))),
            },
            reason = stage.attend(&mut actor.told) => return Err(reason),
            () = cancel(&stage, &operation.cancel) => return Err("a cancellation ended the watch".into()),
            () = killed(&stage.scene, operation.kill.as_deref()) => None,
        };
        if result.is_none() {
            if let Some(actor) = self.cast.lose() {
                actor.kill().await;
            }
            self.open(changing).await?;
        }
        let after = self.export().await?;
        if result.is_none() {
            self.ask("close", json!({})).await?;
        }
        let later = Files::of(self.folder.path());
        let locks = locks_left(operation, &files, &later);
        // What a program puts into a plain value is recorded as it is, like any plain value.
        let told = |secret: &&String| {
            let mut statements = changing.program.iter();
            statements.any(|statement| tells_openly(&statement.values(), secret))
        };
        let left = result.as_ref().map(|result| result["deployment"].to_string());
        let kept: Vec<String> = secrets.iter().filter(|secret| !told(secret)).cloned().collect();
        let problems = std::mem::take(
            &mut *stage
                .scene
                .problems
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let mut leaks = later.holding(&kept);
        if left.is_some_and(|left| kept.iter().any(|secret| left.contains(secret.as_str()))) {
            leaks.push("the deployment of the result".to_owned());
        }
        Ok(Observation {
            kind,
            dry: operation.is_dry(),
            result,
            calls: stage.scene.log.records(),
            answers: stage.answers(),
            before,
            after,
            written: written(&files, &later),
            locks,
            world: self.providers.existing(),
            problems,
            trace: stage.scene.trace.labels(),
            leaks,
            secrets: secrets.to_vec(),
        })
    }
}

/// Fills in the options whose defaults differ between the bindings and the reference engine: stories follow the latter.
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

/// Cancels the operation at each label; never returns.
async fn cancel(stage: &Stage, labels: &[String]) {
    for (index, label) in labels.iter().enumerate() {
        if let Err(text) = stage.scene.trace.wait_for(label, LABEL_PATIENCE).await {
            stage.scene.problem(format!("a cancellation {text}"));
            break;
        }
        // What it comes to shows in the operation's result.
        drop(stage.link.ask("cancel", json!({})).await);
        stage.scene.trace.note(format!("cancel {}", index + 1));
    }
    std::future::pending::<()>().await;
}

/// Returns when the process is to be killed; never when it is not.
async fn killed(scene: &Scene, label: Option<&str>) {
    if let Some(label) = label {
        match scene.trace.wait_for(label, LABEL_PATIENCE).await {
            Ok(()) => return,
            Err(text) => scene.problem(format!("the kill {text}")),
        }
    }
    std::future::pending::<()>().await;
}

/// Returns the files that an operation changed, without those that only tell of its lock.
fn written(before: &Files, after: &Files) -> Vec<String> {
    let changed = before.changed(after).into_iter();
    changed
        .filter(|name| {
            !Path::new(name)
                .components()
                .any(|part| part.as_os_str() == "locks")
        })
        .collect()
}

/// Returns the locks that an operation has left.
fn locks_left(operation: &StoryOperation, before: &Files, after: &Files) -> Vec<String> {
    let mut locks = after.containing("/locks/");
    if operation.is_dry() {
        // A preview takes no lock, and does not sweep those of the dead.
        let stood = before.containing("/locks/");
        locks.retain(|lock| !stood.contains(lock));
    }
    locks
}
