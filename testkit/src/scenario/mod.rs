//! Scenarios: behaviour tests as data. One file is one scenario; `scenarios/README.md` describes every field.

mod edit;
mod expectation;
mod operation;
mod policy;
mod project;
mod provider;
mod read;
mod reading;
mod rules;
mod statement;
mod transform;

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

pub use edit::{Edit, EditExpectation};
pub use expectation::{
    CallExpectation, DiagnosticExpectation, ErrorExpectation, Expectation, ImportedExpectation,
    StateExpectation,
};
pub use operation::{OperationBeside, OperationKind, ScenarioOperation, WorldEdit};
pub use policy::{PackScript, PackServed, PolicyScript};
pub use project::{ListOptions, ProjectAction, ProjectExpectation};
pub use provider::{
    BodyScript, CallRule, FailureScript, FunctionScript, InitScript, LogLine, PackageScript, ProviderLimits,
    Serving, TypeScript,
};
pub use read::{ScenarioError, read_directory, read_scenario};
pub use reading::{Analysis, Forgotten, HistoryPart, PendingResource, ReadingExpectation};
pub use rules::{COVERAGE_FILE, Coverage, OtherPart, RULES_FILE, Rule, Rules};
pub use statement::{AliasSpec, Statement, StatementKind};
pub use transform::TransformScript;

/// The default package of statements and rules.
pub const PACKAGE: &str = "test";
/// The project of every scenario's stack.
pub const PROJECT: &str = "story";
/// The name of every scenario's stack.
pub const STACK: &str = "dev";
/// The name of the stack beside it, in scenarios that have one.
pub const STACK_BESIDE: &str = "side";

/// One behaviour: a program, its operations and their expectations.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario shows, as a sentence.
    pub scenario: String,
    /// The rules of the contract that it rests on: ids of `rules.yaml`, each with a note after a colon or without.
    #[serde(default)]
    pub rests_on: Vec<String>,
    /// Whether the behaviour depends on the binding; such a scenario is played through each of them.
    #[serde(default)]
    pub binding: bool,
    /// The bindings whose actors can play it; all when left out.
    #[serde(default)]
    pub bindings: Vec<String>,
    /// Configuration by `namespace:name`: a text, or `{$secret: text}`.
    #[serde(default)]
    pub config: BTreeMap<String, Value>,
    /// The files of a project by name. The stack is opened with this project.
    #[serde(default)]
    pub project: BTreeMap<String, String>,
    /// The settings (`kind`, `state`) of the actor's own encryption, which then encrypts secrets in place of a passphrase.
    #[serde(default)]
    pub secrets: Option<Value>,
    /// Set to false where the engine marks no outputs below the path of a secret input, as the reference does.
    #[serde(default)]
    pub nested_secrets: Option<bool>,
    /// The in-process providers by package, and how they answer. Without any there is one for [`PACKAGE`].
    #[serde(default)]
    pub packages: BTreeMap<String, PackageScript>,
    /// The policy packs, by name.
    #[serde(default)]
    pub policies: BTreeMap<String, PackScript>,
    /// The transforms that the program registers, by name.
    #[serde(default)]
    pub transforms: BTreeMap<String, TransformScript>,
    /// A deployment (version 3) to import before anything runs.
    #[serde(default)]
    pub state: Option<Value>,
    /// Whether the director keeps the state: each opening supplies the deployment after the previous operation.
    #[serde(default)]
    pub supplied: bool,
    /// What the program does.
    #[serde(default)]
    pub program: Vec<Statement>,
    /// Another stack of the same engine, for operations that run at the same time.
    #[serde(default)]
    pub beside: Option<StackBeside>,
    /// What is run, one after the other.
    pub operations: Vec<ScenarioOperation>,
    /// The file that it was read from.
    #[serde(skip)]
    pub path: PathBuf,
}

/// A stack beside the scenario's own, on the same engine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StackBeside {
    /// Its configuration.
    pub config: BTreeMap<String, Value>,
    /// What its program does.
    pub program: Vec<Statement>,
}

impl StackBeside {
    /// Returns every text of the stack that is secret.
    #[must_use]
    pub fn secret_texts(&self) -> Vec<String> {
        secret_texts(&self.program, &self.config)
    }
}

impl Scenario {
    /// Returns whether the stack has a passphrase: when there are secrets to encrypt, or the stack is opened again.
    /// The other scenarios have none, since key derivation is slow by design.
    #[must_use]
    pub fn has_passphrase(&self) -> bool {
        let opens_again = |operation: &ScenarioOperation| {
            operation.reopen || operation.kill.is_some() || operation.nested_secrets.is_some()
        };
        let beside = self.beside.as_ref().map(StackBeside::secret_texts);
        self.state.as_ref().is_some_and(has_secrets)
            || !self.secret_texts().is_empty()
            || beside.is_some_and(|texts| !texts.is_empty())
            || self.operations.iter().any(opens_again)
    }

    /// Returns whether a program registers hooks, which not every actor can.
    #[must_use]
    pub fn has_hooks(&self) -> bool {
        let of_operations = self.operations.iter();
        let of_operations =
            of_operations.flat_map(|operation| operation.program.iter().flatten().chain(&operation.add));
        let of_beside = self.beside.iter().flat_map(|stack| &stack.program);
        let mut statements = self.program.iter().chain(of_operations).chain(of_beside);
        statements.any(|statement| statement.hook.is_some())
    }

    /// Returns the texts that nothing writes or emits in plaintext: none where the engine is asked to leave nested secrets
    /// unmarked, else all that are secret.
    #[must_use]
    pub fn hidden_texts(&self) -> Vec<String> {
        let settings = self.operations.iter().map(|operation| operation.nested_secrets);
        match settings
            .chain([self.nested_secrets])
            .any(|set| set == Some(false))
        {
            true => Vec::new(),
            false => self.secret_texts(),
        }
    }

    /// Returns every text of the scenario's own stack that is secret.
    #[must_use]
    pub fn secret_texts(&self) -> Vec<String> {
        let programs = self
            .operations
            .iter()
            .flat_map(|operation| operation.program.iter().flatten().chain(&operation.add));
        let mut texts = secret_texts(programs.chain(&self.program), &self.config);
        for change in self
            .operations
            .iter()
            .flat_map(|operation| operation.change.values())
        {
            let mut changed = Vec::new();
            crate::value::collect_secrets(change, &mut changed);
            // What becomes a secret was none before.
            let is_plain = |text: &String| {
                let mut statements = self.program.iter();
                statements.any(|statement| crate::value::contains_in_plain(&statement.values(), text))
            };
            texts.extend(changed.into_iter().filter(|text| !is_plain(text)));
        }
        let actions = self.operations.iter().flat_map(|operation| &operation.project);
        actions.for_each(|action| action.collect_secrets(&mut texts));
        for request in self
            .operations
            .iter()
            .filter_map(|operation| operation.import.as_ref())
        {
            crate::value::collect_secrets(&request.clone().into(), &mut texts);
        }
        for transform in self.transforms.values() {
            let values = [&transform.inputs, &transform.options];
            for value in values.into_iter().flat_map(Map::values) {
                crate::value::collect_secrets(value, &mut texts);
            }
        }
        without_short(texts)
    }

    /// Returns whether the actors of these bindings can play it.
    pub fn is_for(&self, bindings: &[&str]) -> bool {
        self.bindings.is_empty()
            || bindings
                .iter()
                .all(|one| self.bindings.iter().any(|other| other == one))
    }
}

/// Returns whether a state, in the form of files, has secrets or names their manager.
fn has_secrets(state: &Value) -> bool {
    let text = state.to_string();
    ["secrets_providers", crate::value::SIGNATURE, "$secret"]
        .iter()
        .any(|mark| text.contains(mark))
}

fn secret_texts<'a>(
    program: impl IntoIterator<Item = &'a Statement>,
    config: &BTreeMap<String, Value>,
) -> Vec<String> {
    let mut texts = Vec::new();
    for statement in program {
        crate::value::collect_secrets(&statement.values(), &mut texts);
    }
    for value in config.values() {
        crate::value::collect_secrets(value, &mut texts);
    }
    without_short(texts)
}

/// Returns the texts once each, without those that are so short that they occur by chance.
fn without_short(mut texts: Vec<String>) -> Vec<String> {
    texts.retain(|text| text.len() > 4);
    texts.sort_unstable();
    texts.dedup();
    texts
}
