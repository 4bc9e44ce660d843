//! The stage: one scenario with its actor, its providers and the progress of its program.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
};

use super::{
    actor_process::ActorProcess,
    goal::{Answers, References},
    link::{ActorMessage, Link},
    program::{INPUTS, ProgramRun},
    transform::{Transforms, is_transform, transform},
};
use crate::{
    policy::Packs,
    scenario::{BodyScript, STACK_BESIDE, Scenario, ScenarioOperation, Statement},
    script::{Providers, Scene},
};

/// The statements of one run.
struct Script {
    program: Vec<Statement>,
    answers: Arc<Mutex<Answers>>,
    /// The component or the method whose code it is.
    body: Option<BodyScript>,
}

/// The program of one stack, and the answers that it received.
#[derive(Default)]
struct Part {
    program: Vec<Statement>,
    answers: Arc<Mutex<Answers>>,
    /// The configuration that the program has received.
    config: Mutex<Value>,
}

impl Part {
    fn new(program: Vec<Statement>) -> Self {
        Self {
            program,
            ..Self::default()
        }
    }
}

/// The context of an operation, and of the one beside it.
pub(super) struct Stage {
    pub(super) link: Arc<Link>,
    pub(super) references: References,
    pub(super) providers: Arc<Providers>,
    pub(super) packs: Arc<Packs>,
    pub(super) scene: Arc<Scene>,
    transforms: Arc<Transforms>,
    own: Part,
    beside: Part,
    /// The number of unfinished runs of the program.
    running: watch::Sender<usize>,
}

impl Stage {
    /// Sets the stage for one operation.
    pub(super) fn new(
        actor: &ActorProcess,
        providers: Arc<Providers>,
        packs: Arc<Packs>,
        scene: Scene,
        program: Vec<Statement>,
    ) -> Self {
        Self {
            link: Arc::clone(&actor.link),
            references: actor.references,
            providers,
            packs,
            scene: Arc::new(scene),
            transforms: Arc::default(),
            own: Part::new(program),
            beside: Part::default(),
            running: watch::Sender::new(0),
        }
    }

    /// Adds the program of the stack beside.
    pub(super) fn with_beside(self, program: Vec<Statement>) -> Self {
        Self {
            beside: Part::new(program),
            ..self
        }
    }

    /// Adds the transforms of the scenario.
    pub(super) fn with_transforms(self, transforms: &Arc<Transforms>) -> Self {
        Self {
            transforms: Arc::clone(transforms),
            ..self
        }
    }

    fn part(&self, stack: &str) -> &Part {
        match stack {
            STACK_BESIDE => &self.beside,
            _ => &self.own,
        }
    }

    /// Answers calls and runs programs until the actor is gone, or the future is dropped. Returns why it ended.
    pub(super) async fn attend(&self, messages: &mut mpsc::UnboundedReceiver<ActorMessage>) -> String {
        let mut running = Running::default();
        let mut ends = HashMap::new();
        loop {
            match messages.recv().await {
                Some(ActorMessage::Call { number, call }) if is_transform(&call) => {
                    let (link, scene) = (Arc::clone(&self.link), Arc::clone(&self.scene));
                    let scripts = Arc::clone(&self.transforms);
                    running.start(("call", number), async move {
                        let answer = transform(&scripts, &scene, call).await;
                        link.reply(number, answer);
                    });
                }
                Some(ActorMessage::Call { number, call }) => {
                    let (link, scene) = (Arc::clone(&self.link), Arc::clone(&self.scene));
                    let (providers, packs) = (Arc::clone(&self.providers), Arc::clone(&self.packs));
                    running.start(("call", number), async move {
                        let answer = match packs.hosts(&call) {
                            true => packs.answer(&scene, &call).await,
                            false => providers.answer(&scene, call).await,
                        };
                        link.reply(number, answer);
                    });
                }
                Some(ActorMessage::Abandoned(number)) => running.stop(("call", number)),
                Some(ActorMessage::Program {
                    number,
                    preview,
                    stack,
                    body,
                    config,
                }) => {
                    if body.is_null() {
                        *locked(&self.part(&stack).config) = config;
                    }
                    let Some(script) = self.script_of(&stack, &body) else {
                        self.scene.problem(format!("the scenario has no code for {body}"));
                        continue;
                    };
                    let (end, ended) = watch::channel(false);
                    ends.insert(number, end);
                    let run = ProgramRun {
                        link: Arc::clone(&self.link),
                        scene: Arc::clone(&self.scene),
                        number,
                        preview,
                        references: self.references,
                        answers: script.answers,
                        body: script.body,
                        ended,
                    };
                    let (program, count) = (script.program, self.running.clone());
                    count.send_modify(|count| *count += 1);
                    running.start(("program", number), async move {
                        run.run(program).await;
                        count.send_modify(|count| *count -= 1);
                    });
                }
                Some(ActorMessage::ProgramEnded(number)) => {
                    if let Some(end) = ends.get(&number) {
                        end.send_replace(true);
                    }
                }
                Some(ActorMessage::Gone(reason)) => return reason,
                None => return "the actor is gone".into(),
            }
        }
    }

    /// Returns the statements of a run: those of the stack's program, or of a component or a method.
    fn script_of(&self, stack: &str, body: &Value) -> Option<Script> {
        if body.is_null() {
            let part = self.part(stack);
            return Some(Script {
                program: part.program.clone(),
                answers: Arc::clone(&part.answers),
                body: None,
            });
        }
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let script = self
            .providers
            .body(text("package"), text("method"), text("token"))?;
        let inputs = json!({ "outputs": body["inputs"] });
        Some(Script {
            program: script.program_of(text("name"))?,
            answers: Arc::new(Mutex::new(Answers::from([(INPUTS.to_owned(), inputs)]))),
            body: Some(script),
        })
    }

    /// Waits until every run of the program has ended.
    pub(super) async fn settled(&self) {
        // The sender is this stage's own.
        drop(self.running.subscribe().wait_for(|count| *count == 0).await);
    }

    /// Returns the answers that the program of a stack received.
    pub(super) fn answers(&self, stack: &str) -> Answers {
        locked(&self.part(stack).answers).clone()
    }

    /// Returns the configuration that the program of a stack has received.
    pub(super) fn received_config(&self, stack: &str) -> Value {
        locked(&self.part(stack).config).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks of one operation; dropping it ends them.
#[derive(Default)]
struct Running(HashMap<(&'static str, u64), AbortHandle>);

impl Running {
    fn start(&mut self, key: (&'static str, u64), work: impl Future<Output = ()> + Send + 'static) {
        self.0.insert(key, tokio::spawn(work).abort_handle());
    }

    fn stop(&mut self, key: (&'static str, u64)) {
        if let Some(task) = self.0.remove(&key) {
            task.abort();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.values().for_each(AbortHandle::abort);
    }
}

/// The parts of a scenario that change from operation to operation.
pub(super) struct Changing {
    pub(super) program: Vec<Statement>,
    pub(super) config: BTreeMap<String, Value>,
}

impl Changing {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            program: scenario.program.clone(),
            config: scenario.config.clone(),
        }
    }

    /// Applies the changes of an operation before it runs.
    pub(super) fn change(&mut self, operation: &ScenarioOperation) -> Result<(), String> {
        if let Some(program) = &operation.program {
            self.program.clone_from(program);
        }
        for (handle, change) in &operation.change {
            let place = self
                .program
                .iter()
                .position(|statement| statement.handle() == handle);
            let place = place.ok_or_else(|| format!("there is no statement `{handle}` to change"))?;
            if change.is_null() {
                self.program.remove(place);
            } else {
                self.program[place] = changed(&self.program[place], change)?;
            }
        }
        self.program.extend(operation.add.iter().cloned());
        for (name, value) in &operation.config {
            if value.is_null() {
                self.config.remove(name);
            } else {
                self.config.insert(name.clone(), value.clone());
            }
        }
        Ok(())
    }

    /// Returns the configuration for the actor.
    pub(super) fn config(&self) -> Value {
        config(&self.config)
    }
}

/// Returns a stack's configuration for the actor.
pub(super) fn config(entries: &BTreeMap<String, Value>) -> Value {
    let entry = |value: &Value| {
        let content = value.get("$secret").unwrap_or(value);
        let text = content
            .as_str()
            .map_or_else(|| content.to_string(), str::to_owned);
        json!({ "value": text, "secret": value.get("$secret").is_some() })
    };
    entries
        .iter()
        .map(|(name, value)| (name.clone(), entry(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Merges a change into a statement: through JSON, where members have the names that scenarios give them.
fn changed(statement: &Statement, change: &Value) -> Result<Statement, String> {
    let mut whole = serde_json::to_value(statement).map_err(|error| error.to_string())?;
    merge(&mut whole, change);
    serde_json::from_value(whole).map_err(|error| format!("after a change: {error}"))
}

fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) if !change.contains_key("$secret") => {
            for (name, change) in change {
                if change.is_null() {
                    target.remove(name);
                } else {
                    merge(target.entry(name.clone()).or_insert(Value::Null), change);
                }
            }
        }
        (target, change) => *target = change.clone(),
    }
}
