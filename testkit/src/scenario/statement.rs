//! Statements of a program, in order. Each starts as soon as its references are resolved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One statement of a program.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Statement {
    /// Registers a resource of this type (`Thing` is short for `test:index:Thing`).
    pub resource: Option<String>,
    /// Registers a component of this type.
    pub component: Option<String>,
    /// Registers a component of this type, which its provider constructs.
    pub remote: Option<String>,
    /// Calls this method of the resource `of`.
    pub call: Option<String>,
    /// The handle of the resource whose method is called; what a transform of the stack changes: `resources`, or `invokes`.
    pub of: Option<String>,
    /// Registers a provider of this package.
    pub provider_of: Option<String>,
    /// Reads a resource of this type.
    pub read: Option<String>,
    /// Queries whether a resource of this type exists.
    pub exists: Option<String>,
    /// Calls this function (`lookup` is short for `test:index:lookup`).
    pub invoke: Option<String>,
    /// Publishes a stack output of this name.
    pub export: Option<String>,
    /// Publishes outputs of this component.
    pub outputs_of: Option<String>,
    /// Writes a message: debug, info, warning or error.
    pub log: Option<String>,
    /// Ends the program with this error.
    pub fail: Option<String>,
    /// Adds this transform of the stack.
    pub transform: Option<String>,
    /// Registers a hook of this name.
    pub hook: Option<String>,

    /// The resource's name; for an invoke, the name of its result.
    pub name: Option<String>,
    /// The name by which other statements refer to this one; its `name` when left out.
    #[serde(rename = "as")]
    pub handle: Option<String>,
    /// Inputs, arguments, or published outputs.
    pub inputs: Map<String, Value>,
    /// The value of an export, or the text of a message.
    pub value: Value,
    /// The id of what is read, or of what may exist.
    pub id: Option<String>,
    /// Handles of statements or labels of the trace that must precede the start of this one.
    pub after: Vec<String>,
    /// Whether the program continues when the engine refuses the statement.
    pub catch: bool,

    /// The parent's handle; the stack when left out.
    pub parent: Option<String>,
    /// A parent by its URN, registered or not.
    pub parent_urn: Option<String>,
    /// Handles of resources that it depends on as a whole.
    pub depends_on: Vec<String>,
    /// The explicit provider's handle.
    pub provider: Option<String>,
    /// The explicit provider as a text, `<urn>::<id>` or any other.
    pub provider_reference: Option<String>,
    /// Handles of the providers of a component's children.
    pub providers: Vec<String>,
    /// The version of the package.
    pub version: Option<String>,
    /// The plugin that serves the package: `pluginName`, `pluginVersion`, and a `parameterization` or an `extension` with `name`,
    /// `version` and a `value` in base64.
    pub package: Option<Value>,
    /// Variables of the host's environment, by name, with the names that a provider's plugin sees.
    pub env_var_mappings: BTreeMap<String, String>,
    /// Whether the resource is protected.
    pub protect: Option<bool>,
    /// Whether a replacement deletes first.
    pub delete_before_replace: Option<bool>,
    /// Paths whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// Paths whose changes replace.
    pub replace_on_changes: Vec<String>,
    /// Paths whose differences are not shown.
    pub hide_diffs: Vec<String>,
    /// Outputs that become secret.
    pub additional_secret_outputs: Vec<String>,
    /// Former names.
    pub aliases: Vec<AliasSpec>,
    /// The id to import.
    pub import: Option<String>,
    /// Limits of calls, in seconds, by `create`, `update`, `delete`, `read`.
    pub custom_timeouts: BTreeMap<String, f64>,
    /// Whether deletion leaves the real thing alone.
    pub retain_on_delete: Option<bool>,
    /// The handle of the resource whose deletion includes this one's.
    pub deleted_with: Option<String>,
    /// Handles of resources whose replacement replaces this one.
    pub replace_with: Vec<String>,
    /// The resource's transforms, in order.
    pub transforms: Vec<String>,
    /// A value whose change replaces.
    pub replacement_trigger: Option<Value>,
    /// The names of hooks by `beforeCreate`, `afterCreate`, `beforeUpdate`, `afterUpdate`, `beforeDelete`, `afterDelete`,
    /// `onError`.
    pub hooks: BTreeMap<String, Vec<String>>,

    /// Whether a hook runs in previews, too.
    pub on_dry_run: bool,
    /// Whether the failures of a hook are warnings.
    pub ignore_errors: bool,
    /// Whether it is a hook that runs after failures.
    pub error: bool,
    /// After how many failures of a step an error hook agrees to another attempt.
    pub retries: usize,
}

/// A former name: a URN, a bare name, or the parts that differ.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum AliasSpec {
    /// A URN, or the former name.
    Text(String),
    /// The parts that differ: `name`, `type`, `parent` (a URN), `noParent`, `stack`, `project`.
    Parts(BTreeMap<String, Value>),
}

/// The kind of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// Registers a resource of a type.
    Resource(String),
    /// Registers a component of a type.
    Component(String),
    /// Registers a component of a type, which its provider constructs.
    Remote(String),
    /// Calls a method.
    Call(String),
    /// Registers a provider of a package.
    Provider(String),
    /// Reads a resource of a type.
    Read(String),
    /// Queries whether a resource of a type exists.
    Exists(String),
    /// Calls a function.
    Invoke(String),
    /// Publishes a stack output.
    Export(String),
    /// Publishes a component's outputs.
    Outputs(String),
    /// Writes a message.
    Log(String),
    /// Ends the program with an error.
    Fail(String),
    /// Adds a transform of the stack.
    Transform(String),
    /// Registers a hook.
    Hook(String),
}

impl Statement {
    /// Returns the kind of the statement.
    ///
    /// # Errors
    /// A text when it does nothing, or more than one thing.
    pub fn kind(&self) -> Result<StatementKind, String> {
        let full = |token: &str| match token.contains(':') {
            true => token.to_owned(),
            false => format!("{}:index:{token}", super::PACKAGE),
        };
        let kinds = [
            self.resource
                .as_deref()
                .map(|token| StatementKind::Resource(full(token))),
            self.component
                .as_deref()
                .map(|token| StatementKind::Component(token.to_owned())),
            self.remote
                .as_deref()
                .map(|token| StatementKind::Remote(token.to_owned())),
            self.call
                .as_deref()
                .map(|token| StatementKind::Call(token.to_owned())),
            self.provider_of
                .as_deref()
                .map(|package| StatementKind::Provider(package.to_owned())),
            self.read.as_deref().map(|token| StatementKind::Read(full(token))),
            self.exists
                .as_deref()
                .map(|token| StatementKind::Exists(full(token))),
            self.invoke
                .as_deref()
                .map(|token| StatementKind::Invoke(full(token))),
            self.export
                .as_deref()
                .map(|name| StatementKind::Export(name.to_owned())),
            self.outputs_of
                .as_deref()
                .map(|handle| StatementKind::Outputs(handle.to_owned())),
            self.log
                .as_deref()
                .map(|severity| StatementKind::Log(severity.to_owned())),
            self.fail
                .as_deref()
                .map(|message| StatementKind::Fail(message.to_owned())),
            self.transform
                .as_deref()
                .map(|name| StatementKind::Transform(name.to_owned())),
            self.hook
                .as_deref()
                .map(|name| StatementKind::Hook(name.to_owned())),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => Ok(kind),
            (None, _) => Err("a statement does nothing".into()),
            (Some(first), Some(second)) => Err(format!("a statement is both {first:?} and {second:?}")),
        }
    }

    /// Returns the name by which other statements refer to this one; empty when they cannot.
    #[must_use]
    pub fn handle(&self) -> &str {
        self.handle
            .as_deref()
            .or(self.name.as_deref())
            .unwrap_or_default()
    }

    /// Returns all values of the statement.
    #[must_use]
    pub fn values(&self) -> Value {
        Value::Array(vec![self.inputs.clone().into(), self.value.clone()])
    }
}
