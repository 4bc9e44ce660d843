//! Observations: the visible effects of an operation, for the checks.

use std::{path::Path, sync::PoisonError};

use serde_json::Value;

use super::{goal::Answers, play::Player, role::Role, stage::Stage};
use crate::{
    files::{FileSearch, Files},
    scenario::OperationKind,
    script::CallRecord,
    value::contains_in_plain,
};

/// The visible effects of one operation.
#[derive(Debug)]
pub struct Observation {
    /// The kind of the operation.
    pub kind: OperationKind,
    /// Whether it was a preview.
    pub dry: bool,
    /// What the binding returned; `None` when its process was killed.
    pub result: Option<Value>,
    /// The calls of providers.
    pub calls: Vec<CallRecord>,
    /// The answers that the program received.
    pub answers: Answers,
    /// The configuration that the program received, in the form of scenarios; null when it did not run.
    pub config: Value,
    /// The exported deployment before, and after.
    pub before: Value,
    /// The exported deployment after the operation.
    pub after: Value,
    /// What was read without a program; null for nothing.
    pub read: Value,
    /// Files of the store that changed.
    pub written: Vec<String>,
    /// Lock files that are left.
    pub locks: Vec<String>,
    /// The things that exist.
    pub world: Vec<String>,
    /// Faults of the scenario itself.
    pub problems: Vec<String>,
    /// All labels of the trace, in order.
    pub trace: Vec<String>,
    /// Texts that must not occur in plaintext.
    pub secrets: Vec<String>,
    /// Those of them that are never recorded in plaintext.
    pub kept: Vec<String>,
    /// The places that contain one in plaintext: files of the store, now or while it ran, the state in the result, logs.
    pub leaks: Vec<String>,
    /// Texts that are secrets of the other stack only, and must not be in the state.
    pub foreign: Vec<String>,
}

/// Returns the secrets that are never recorded in plaintext. One that the program also uses in a plain value is.
pub(super) fn recorded_secrets(roles: &[Role<'_>]) -> Vec<String> {
    let is_plain = |secret: &&String| {
        let mut statements = roles.iter().flat_map(|role| role.program);
        statements.any(|statement| contains_in_plain(&statement.values(), secret))
    };
    let secrets = roles.iter().flat_map(|role| &role.secrets);
    secrets.filter(|secret| !is_plain(secret)).cloned().collect()
}

impl Player<'_, '_> {
    /// Returns the observation of each role; `states` are those before and after. A killed role has no result.
    pub(super) fn observations(
        &self,
        roles: &[Role<'_>],
        stage: &Stage,
        results: Vec<Value>,
        states: impl Iterator<Item = (Value, Value)>,
        (files, later): (&Files, &Files),
        (mut read, logged): (Value, &str),
    ) -> Vec<Observation> {
        let secrets: Vec<String> = roles.iter().flat_map(|role| &role.secrets).cloned().collect();
        let kept = recorded_secrets(roles);
        let holds = |text: &str| kept.iter().any(|secret| text.contains(secret.as_str()));
        let mut problems = std::mem::take(
            &mut *stage
                .scene
                .problems
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let mut results = results.into_iter();
        let mut seen = Vec::new();
        for (role, (before, after)) in roles.iter().zip(states) {
            let result = results.next();
            let left = result.as_ref().map(|result| result["deployment"].to_string());
            let mut leaks = later.holding(&kept);
            let meanwhile = stage.scene.search.iter().flat_map(FileSearch::found);
            leaks.extend(meanwhile.map(|name| format!("{name}, while it ran")));
            if left.is_some_and(|left| holds(&left)) {
                leaks.push("the deployment of the result".to_owned());
            }
            if holds(logged) {
                leaks.push(format!("what the actor has logged: {logged}"));
            }
            let others = secrets.iter().filter(|secret| !role.secrets.contains(secret));
            seen.push(Observation {
                kind: role.kind,
                dry: role.dry,
                result,
                calls: role.calls(stage.scene.log.records()),
                answers: stage.answers(&role.stack),
                config: stage.received_config(&role.stack),
                before,
                after,
                read: read.take(),
                written: role.files(written(files, later)),
                locks: locks_left(role.dry, files, later),
                world: self.providers.existing(),
                problems: std::mem::take(&mut problems),
                trace: stage.scene.trace.labels(),
                leaks,
                foreign: others.cloned().collect(),
                secrets: secrets.clone(),
                kept: kept.clone(),
            });
        }
        seen
    }
}

/// Returns the files that an operation changed, without lock files.
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

/// Returns the lock files that remain after an operation.
fn locks_left(dry: bool, before: &Files, after: &Files) -> Vec<String> {
    let mut locks = after.containing("/locks/");
    if dry {
        // A preview takes no lock, and does not remove those of processes that have ended.
        let stood = before.containing("/locks/");
        locks.retain(|lock| !stood.contains(lock));
    }
    locks
}
