//! Provider scripts: how an in-process provider of a scenario answers. Without rules it keeps things in memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Statement;

/// How the provider of one package answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PackageScript {
    /// Peculiarities of types, by token (`Thing` is short for `test:index:Thing`).
    pub types: BTreeMap<String, TypeScript>,
    /// What functions return, by token.
    pub functions: BTreeMap<String, FunctionScript>,
    /// The code of components, by type token.
    pub components: BTreeMap<String, BodyScript>,
    /// The code of methods, by token.
    pub methods: BTreeMap<String, BodyScript>,
    /// Peculiarities of single calls; the first that fits counts.
    pub calls: Vec<CallRule>,
    /// Things that exist before the scenario begins, by id: their properties.
    pub world: BTreeMap<String, Map<String, Value>>,
    /// Properties of the provider's configuration whose change replaces it.
    pub replace_on: Vec<String>,
    /// Whether it declares that its calls may wait for later registrations.
    pub waits_for_registrations: bool,
    /// Whether the provider accepts no secrets.
    pub declines_secrets: bool,
    /// Whether the provider accepts secrets, and returns their values without the marks.
    pub forgets_secrets: bool,
    /// Whether the provider has no method that deletes.
    pub without_delete: bool,
    /// The engine's timeout of the provider's calls, in seconds.
    pub call_timeout: Option<f64>,
    /// Set when the provider is a server of its own instead of code in the actor.
    pub served: Option<Serving>,
}

/// How the engine reaches a provider that is a server of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Serving {
    /// At the address that the host's resolver names.
    Address,
    /// As a plugin process: each process that the engine starts names the port of the one server.
    Process,
}

impl PackageScript {
    /// Returns the provider's limits; `None` for a provider that accepts everything and has all methods.
    #[must_use]
    pub fn limits(&self) -> Option<Value> {
        let limits = ProviderLimits {
            declines_secrets: self.declines_secrets,
            without_delete: self.without_delete,
        };
        let is_limited = limits != ProviderLimits::default();
        is_limited.then(|| serde_json::to_value(limits).unwrap_or_default())
    }
}

/// Features and methods that a provider does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderLimits {
    /// It accepts no secrets.
    pub declines_secrets: bool,
    /// It has no method that deletes.
    pub without_delete: bool,
}

/// The peculiarities of a type.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TypeScript {
    /// Inputs whose change replaces.
    pub replace_on: Vec<String>,
    /// Whether replacements delete first.
    pub delete_before_replace: bool,
    /// Outputs that the provider makes up: `<output> of <id>`. Unknown in previews of creations.
    pub computed: Vec<String>,
    /// Inputs that Check adds when they are missing.
    pub defaults: Map<String, Value>,
    /// Whether Diff returns a detailed diff.
    pub detailed_diff: bool,
    /// Whether Diff leaves the comparison to the engine.
    pub diff_unknown: bool,
    /// The property that lists the resource's parts by name: each is published as a view of type `Part`.
    pub views: Option<String>,
}

/// The result of a function; its arguments by default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FunctionScript {
    /// The result.
    pub returns: Option<Map<String, Value>>,
}

/// The code of a component or of a method: a program of its own, whose handle `inputs` has the inputs or the arguments.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BodyScript {
    /// The statements; resources without a parent are below the component.
    pub program: Vec<Statement>,
    /// The outputs of the component, or the result of the method.
    pub outputs: Map<String, Value>,
    /// Failures of the component's inputs or the method's arguments: reasons by property.
    pub failures: BTreeMap<String, String>,
}

impl BodyScript {
    /// Returns the statements of the code of a component with a name: resources of several components of one type have names of
    /// their own. `None` where a name makes a statement unreadable.
    #[must_use]
    pub fn program_of(&self, name: &str) -> Option<Vec<Statement>> {
        let text = serde_json::to_string(&self.program).ok()?;
        serde_json::from_str(&text.replace("{name}", name)).ok()
    }
}

/// The peculiarity of a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CallRule {
    /// The call: method and resource name (or function token), `create a`; `*` matches any name.
    pub on: String,
    /// Only the n-th such call of the operation, counted from 1.
    pub nth: Option<usize>,
    /// Only while previewing (true), or only for real (false).
    pub preview: Option<bool>,
    /// Labels of the trace that must have happened before the call is answered.
    pub wait_for: Vec<String>,
    /// Lines that a served provider logs at the engine then, one after the other.
    pub log: Vec<LogLine>,
    /// Never answers.
    pub hang: bool,
    /// Answers only after the provider was cancelled, with the status `cancelled`.
    pub hang_until_cancel: bool,
    /// Fails.
    pub fail: Option<FailureScript>,
    /// Members of the answer that replace the usual ones.
    pub answer: Option<Map<String, Value>>,
}

/// A line that a provider logs at the engine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LogLine {
    /// The message; `{root}` in it stands for what `GetRootResource` returns.
    pub message: String,
    /// The severity; `info` when left out.
    pub severity: Option<String>,
    /// Whether the line has the URN of the call's resource.
    pub urn: bool,
}

/// How a call fails.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FailureScript {
    /// The status by its gRPC name in `snake_case`; `unknown` when left out.
    pub status: Option<String>,
    /// The message.
    pub message: String,
    /// Set when the resource exists all the same.
    pub init: Option<InitScript>,
    /// Whether the provider states that it has to wait, so that it has not begun; only of a served provider.
    pub awaits: bool,
}

/// A resource that exists, but whose initialization failed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InitScript {
    /// The id that is returned instead of the usual one.
    pub id: Option<String>,
    /// The reasons.
    pub reasons: Vec<String>,
    /// Outputs that replace the usual ones.
    pub outputs: Option<Map<String, Value>>,
}
