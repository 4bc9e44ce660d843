//! Execution of programs: statements start in order, each as soon as its references are resolved.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    goal::{Answers, GoalMaker, References},
    link::{ActorError, Link, answer},
    reference::for_each_reference,
};
use crate::{
    scenario::{BodyScript, Statement, StatementKind},
    script::Scene,
};

/// How long a statement waits for a label before it fails the scenario.
const LABEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The handle of the inputs in the code of a component, and of the arguments in that of a method.
pub(crate) const INPUTS: &str = "inputs";

/// One run of a program.
pub(super) struct ProgramRun {
    pub(super) link: Arc<Link>,
    pub(super) scene: Arc<Scene>,
    pub(super) number: u64,
    pub(super) preview: bool,
    pub(super) references: References,
    /// The answers of all runs of the operation, for the checks.
    pub(super) answers: Arc<Mutex<Answers>>,
    /// The component or the method whose code this run is.
    pub(super) body: Option<BodyScript>,
    /// Becomes true when the engine ends the run.
    pub(super) ended: watch::Receiver<bool>,
}

/// The progress of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Waiting,
    Issued,
    Answered,
    /// Statements that need its outputs are skipped.
    Failed,
}

type Marks = HashMap<String, watch::Sender<Progress>>;

impl ProgramRun {
    /// Runs the program and reports its end to the actor. A run that the engine ends starts nothing more, and waits for
    /// the pending answers: the engine answers each call.
    pub(super) async fn run(self, program: Vec<Statement>) {
        let marks: Marks = program
            .iter()
            .filter(|statement| !statement.handle().is_empty())
            .map(|statement| {
                (
                    statement.handle().to_owned(),
                    watch::Sender::new(Progress::Waiting),
                )
            })
            .chain(self.body.iter().map(|_| {
                let answered = watch::Sender::new(Progress::Answered);
                (INPUTS.to_owned(), answered)
            }))
            .collect();
        let failure = Mutex::new(None);
        join_all(program.iter().map(|statement| async {
            if let Err(message) = self.statement(statement, &marks).await {
                failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(message);
            }
        }))
        .await;
        if self.has_ended() {
            return;
        }
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut members = json!({ "program": self.number });
        if let Some(message) = failure {
            members["error"] = message.into();
        } else if let Some(body) = &self.body {
            let answers = self.answers();
            let maker = GoalMaker {
                references: self.references,
                preview: self.preview,
                answers: &answers,
            };
            members["outputs"] = maker.inputs(&body.outputs);
            members["outputDependencies"] = maker.property_dependencies(&body.outputs);
            let failures = body.failures.iter();
            members["failures"] = failures
                .map(|(property, reason)| json!({ "property": property, "reason": reason }))
                .collect();
        }
        // Fails when the engine ends the run at the same time.
        drop(self.link.ask("finish", members).await);
    }

    fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    async fn ended(&self) {
        // The stage owns the sender and outlives the run.
        drop(self.ended.clone().wait_for(|ended| *ended).await);
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one statement; an error is one that the program raises.
    async fn statement(&self, statement: &Statement, marks: &Marks) -> Result<(), String> {
        let kind = statement.kind()?;
        let mark = |progress| {
            if let Some(mark) = marks.get(statement.handle()) {
                mark.send_replace(progress);
            }
        };
        let is_ready = tokio::select! {
            biased;
            is_ready = self.ready(statement, &kind, marks) => is_ready && !self.has_ended(),
            () = self.ended() => false,
        };
        if !is_ready {
            mark(Progress::Failed);
            return Ok(());
        }
        if let StatementKind::Fail(message) = kind {
            return Err(message);
        }
        if let StatementKind::Hook(name) = &kind {
            self.scene.set_retries(name, statement.retries);
        }
        let handle = statement.handle().to_owned();
        let (verb, members) = self.command(statement, &kind);
        self.scene.trace.note(format!("issued {handle}"));
        let request = self.link.request(verb, members);
        mark(Progress::Issued);
        match answer(request).await {
            Ok(mut answer) => {
                let failed = answer["failed"] == json!(true);
                if let StatementKind::Call(_) = kind {
                    answer["sources"] = json!(self.sources_of_call(statement));
                }
                self.answers().insert(handle.clone(), answer);
                self.scene.trace.note(format!("registered {handle}"));
                mark(if failed {
                    Progress::Failed
                } else {
                    Progress::Answered
                });
                Ok(())
            }
            Err(error) => {
                mark(Progress::Failed);
                self.refused(statement, &error)
            }
        }
    }

    fn sources_of_call(&self, statement: &Statement) -> Vec<String> {
        let answers = self.answers();
        let maker = GoalMaker {
            references: self.references,
            preview: self.preview,
            answers: &answers,
        };
        maker.sources_of_call(statement)
    }

    /// Keeps an error for the checks; the program raises it unless the statement catches it.
    fn refused(&self, statement: &Statement, error: &ActorError) -> Result<(), String> {
        if self.has_ended() {
            return Ok(());
        }
        let entry = json!({ "error": error.message, "kind": error.kind });
        self.answers().insert(statement.handle().to_owned(), entry);
        if statement.catch {
            Ok(())
        } else {
            Err(error.message.clone())
        }
    }

    /// Waits for the references of a statement; false when one cannot be resolved.
    async fn ready(&self, statement: &Statement, kind: &StatementKind, marks: &Marks) -> bool {
        for label in &statement.after {
            if let Some(mark) = marks.get(label) {
                // A failed answer counts as well.
                drop(
                    mark.subscribe()
                        .wait_for(|progress| *progress >= Progress::Answered)
                        .await,
                );
            } else if let Err(text) = self.scene.trace.wait_for(label, LABEL_TIMEOUT).await {
                self.scene
                    .problem(format!("statement `{}` {text}", statement.handle()));
                return false;
            }
        }
        let needed = match self.references {
            References::Resolved => Progress::Answered,
            References::Native => Progress::Issued,
        };
        for (handle, by_value) in needs(statement, kind) {
            let Some(mark) = marks.get(&handle) else {
                self.scene.problem(format!(
                    "statement `{}` refers to nothing: {handle}",
                    statement.handle()
                ));
                return false;
            };
            let mut progress = mark.subscribe();
            let reached = progress
                .wait_for(|progress| *progress >= needed)
                .await
                .map(|progress| *progress);
            let has_urn = || {
                self.answers()
                    .get(&handle)
                    .is_some_and(|answer| answer["urn"].is_string())
            };
            match reached {
                Ok(Progress::Failed) if by_value || !has_urn() => return false,
                Err(_) => return false,
                Ok(_) => {}
            }
        }
        true
    }

    /// Returns the request to the actor: verb and members.
    fn command(&self, statement: &Statement, kind: &StatementKind) -> (&'static str, Value) {
        let answers = self.answers();
        let maker = GoalMaker {
            references: self.references,
            preview: self.preview,
            answers: &answers,
        };
        let mut members = json!({ "program": self.number, "as": statement.handle() });
        let verb = match kind {
            StatementKind::Resource(token) => {
                members["goal"] = maker.goal(statement, token, true);
                "register"
            }
            StatementKind::Provider(package) => {
                let token = format!("pulumi:providers:{package}");
                members["goal"] = maker.goal(statement, &token, true);
                "register"
            }
            StatementKind::Component(token) => {
                members["goal"] = maker.goal(statement, token, false);
                "register"
            }
            StatementKind::Remote(token) => {
                let mut goal = maker.goal(statement, token, false);
                goal["remote"] = true.into();
                if self.references == References::Resolved {
                    goal["propertyDependencies"] = maker.property_dependencies(&statement.inputs);
                }
                members["goal"] = goal;
                "register"
            }
            StatementKind::Call(token) => {
                members["goal"] = maker.call(statement, token);
                "call"
            }
            StatementKind::Read(token) => {
                members["goal"] = read_goal(&maker, statement, token);
                "read"
            }
            StatementKind::Exists(token) => {
                members["goal"] = maker.exists(statement, token);
                "exists"
            }
            StatementKind::Invoke(token) => {
                let goal = maker.invoke(statement, token);
                // Its members are also members of the request, for actors that build their own calls.
                for (name, member) in goal.as_object().into_iter().flatten() {
                    members[name] = member.clone();
                }
                members["goal"] = goal;
                "invoke"
            }
            StatementKind::Export(name) => {
                members["name"] = name.clone().into();
                members["value"] = crate::value::to_plain(&maker.value(&statement.value));
                "export"
            }
            StatementKind::Outputs(component) => {
                members["of"] = maker.resource(component);
                members["outputs"] = maker.inputs(&statement.inputs);
                "registerOutputs"
            }
            StatementKind::Log(severity) => {
                members["severity"] = severity.clone().into();
                members["message"] = statement.value.clone();
                "log"
            }
            StatementKind::Transform(name) => {
                members["name"] = name.clone().into();
                members["of"] = statement.of.as_deref().unwrap_or("resources").into();
                "transform"
            }
            StatementKind::Hook(name) => {
                members["name"] = name.clone().into();
                members["onDryRun"] = statement.on_dry_run.into();
                members["ignoreErrors"] = statement.ignore_errors.into();
                members["error"] = statement.error.into();
                "registerHook"
            }
            StatementKind::Fail(_) => "finish",
        };
        (verb, members)
    }
}

/// Returns the goal of a read: a registration's with the id, without members that a read does not have.
fn read_goal(maker: &GoalMaker<'_>, statement: &Statement, token: &str) -> Value {
    let mut goal = maker.goal(statement, token, true);
    let id = statement.id.clone().unwrap_or_default();
    goal["id"] = crate::value::to_plain(&maker.value(&id.into()));
    if let Some(members) = goal.as_object_mut() {
        members.remove("custom");
        members.remove("propertyDependencies");
    }
    goal
}

/// Returns the handles that a statement refers to; true for those whose values it needs, false for the URN only.
fn needs(statement: &Statement, kind: &StatementKind) -> Vec<(String, bool)> {
    let mut by_value = BTreeSet::new();
    let texts = json!([statement.values(), statement.id, statement.replacement_trigger]);
    for_each_reference(&texts, &mut |reference| {
        by_value.insert(reference.handle);
    });
    let mut by_identity: BTreeSet<String> = BTreeSet::new();
    by_identity.extend(statement.parent.iter().cloned());
    by_identity.extend(statement.deleted_with.iter().cloned());
    if matches!(kind, StatementKind::Call(_)) {
        by_identity.extend(statement.of.iter().cloned());
    }
    by_identity.extend(
        statement
            .depends_on
            .iter()
            .chain(&statement.replace_with)
            .cloned(),
    );
    by_identity.extend(statement.provider.iter().chain(&statement.providers).cloned());
    if let StatementKind::Outputs(component) = kind {
        by_identity.insert(component.clone());
    }
    let identities = by_identity
        .into_iter()
        .filter(|handle| !by_value.contains(handle))
        .map(|handle| (handle, false));
    let mut needs: Vec<(String, bool)> = identities.collect();
    needs.extend(by_value.into_iter().map(|handle| (handle, true)));
    needs
}
