//! Roles: the operation of a scenario, and the one on the stack beside it that runs at the same time.

use std::path::Path;

use serde_json::{Value, json};

use super::stage::{Changing, config};
use crate::{
    scenario::{
        Expectation, OperationBeside, OperationKind, STACK_BESIDE, Scenario, ScenarioOperation, StackBeside,
        Statement,
    },
    script::CallRecord,
};

/// One operation that is played.
pub(super) struct Role<'a> {
    pub(super) stack: String,
    /// The name of the other stack.
    other: String,
    pub(super) kind: OperationKind,
    pub(super) dry: bool,
    /// The members of the `start` request.
    pub(super) start: Value,
    /// Labels that must have happened before it starts.
    pub(super) after: &'a [String],
    pub(super) program: &'a [Statement],
    pub(super) config: Value,
    pub(super) expect: &'a Expectation,
    /// Texts of the stack that are secret.
    pub(super) secrets: Vec<String>,
}

impl<'a> Role<'a> {
    /// Returns the role of the scenario's own stack, of this name.
    pub(super) fn own(
        stack: &str,
        scenario: &Scenario,
        operation: &'a ScenarioOperation,
        start: Value,
        changing: &'a Changing,
    ) -> Result<Self, String> {
        let (kind, _) = operation.verb()?;
        Ok(Self {
            stack: stack.to_owned(),
            other: STACK_BESIDE.to_owned(),
            kind,
            dry: operation.is_dry(),
            start,
            after: &[],
            program: &changing.program,
            config: changing.config(),
            expect: &operation.expect,
            secrets: scenario.hidden_texts(),
        })
    }

    /// Returns the role of the stack beside that of the name `own`.
    pub(super) fn beside(
        own: &str,
        stack: &'a StackBeside,
        operation: &'a OperationBeside,
        number: usize,
    ) -> Result<Self, String> {
        let (kind, options) = operation.verb()?;
        Ok(Self {
            stack: STACK_BESIDE.to_owned(),
            other: own.to_owned(),
            kind,
            dry: kind.is_dry(options),
            start: json!({
                "stack": STACK_BESIDE, "operation": kind.name(), "number": number, "options": options,
            }),
            after: &operation.after,
            program: &stack.program,
            config: config(&stack.config),
            expect: &operation.expect,
            secrets: stack.secret_texts(),
        })
    }

    /// Names the operation, of which `place` is the scenario's own.
    pub(super) fn place(&self, place: &str) -> String {
        match self.stack.as_str() {
            STACK_BESIDE => format!("{place}, beside"),
            _ => place.to_owned(),
        }
    }

    /// Returns the calls without those about resources of the other stack.
    pub(super) fn calls(&self, mut calls: Vec<CallRecord>) -> Vec<CallRecord> {
        let start = format!("urn:pulumi:{}::", self.stack);
        calls.retain(|call| {
            let urn = call.request["urn"].as_str().unwrap_or_default();
            urn.is_empty() || urn.starts_with(&start)
        });
        calls
    }

    /// Returns files of the store without those of the other stack.
    pub(super) fn files(&self, mut files: Vec<String>) -> Vec<String> {
        files.retain(|file| {
            let mut parts = Path::new(file).components();
            !parts.any(|part| part.as_os_str().to_string_lossy().split('.').next() == Some(&*self.other))
        });
        files
    }
}
