//! The usual answers: a provider that keeps what it is given in its world and compares inputs member by member.

use serde_json::{Map, Value, json};

use super::{CallFailure, Package, ProviderCall, internal, views};
use crate::{
    scenario::{FailureScript, PACKAGE, TypeScript},
    value,
};

impl Package {
    /// Answers a call as a provider without peculiarities does.
    pub(super) fn usual(&self, call: &ProviderCall, request: &Value) -> Result<Value, CallFailure> {
        if self.script.forgets_secrets {
            return self.usual_of(call, &value::revealed(request));
        }
        self.usual_of(call, request)
    }

    fn usual_of(&self, call: &ProviderCall, request: &Value) -> Result<Value, CallFailure> {
        Ok(match call.method.as_str() {
            "checkConfig" => json!({ "inputs": object(request, "news"), "failures": [] }),
            "diffConfig" => self.compare(
                request,
                &TypeScript {
                    replace_on: self.script.replace_on.clone(),
                    ..TypeScript::default()
                },
            ),
            // The code of a component or of a method is a program, which runs when this answer has come.
            "configure" | "close" | "construct" | "call" | "parameterize" => json!({}),
            "check" => self.check(request),
            "diff" => self.compare(request, &self.type_of(request)),
            "create" => self.create(call, request),
            "read" => self.read(request),
            "update" => self.update(request),
            "delete" => {
                self.world().remove(text(request, "id"));
                let steps = self
                    .type_of(request)
                    .views
                    .map(|_| views::steps(request, &Map::new()));
                with_steps(json!({}), steps)
            }
            "invoke" => self.invoke(request),
            other => return Err(internal(format!("the scenario knows no method {other:?}"))),
        })
    }

    fn type_of(&self, request: &Value) -> TypeScript {
        let token = text(request, "type");
        let short = token.strip_prefix(&format!("{PACKAGE}:index:"));
        let types = &self.script.types;
        types
            .get(token)
            .or_else(|| types.get(short?))
            .cloned()
            .unwrap_or_default()
    }

    fn check(&self, request: &Value) -> Value {
        let mut inputs = object(request, "news");
        for (name, default) in self.type_of(request).defaults {
            inputs.entry(name).or_insert(default);
        }
        json!({ "inputs": inputs, "failures": [] })
    }

    fn compare(&self, request: &Value, peculiarities: &TypeScript) -> Value {
        if peculiarities.diff_unknown {
            return json!({ "changes": "unknown" });
        }
        let (olds, news) = (object(request, "oldInputs"), object(request, "news"));
        let mut diffs = Vec::new();
        let mut details = Map::new();
        let names: std::collections::BTreeSet<_> = olds.keys().chain(news.keys()).collect();
        for name in names {
            let kind = match (olds.get(name), news.get(name)) {
                (Some(old), Some(new)) if same(old, new) => continue,
                (Some(_), Some(_)) => "update",
                (None, _) => "add",
                (_, None) => "delete",
            };
            let replaces = if peculiarities.replace_on.contains(name) {
                "-replace"
            } else {
                ""
            };
            details.insert(
                name.clone(),
                json!({ "kind": format!("{kind}{replaces}"), "inputDiff": true }),
            );
            diffs.push(name.clone());
        }
        let replaces: Vec<_> = diffs
            .iter()
            .filter(|name| peculiarities.replace_on.contains(name))
            .collect();
        let mut answer = json!({
            "changes": if diffs.is_empty() { "none" } else { "some" },
            "replaces": replaces,
            "diffs": diffs,
            "deleteBeforeReplace": peculiarities.delete_before_replace,
        });
        if peculiarities.detailed_diff {
            answer["detailedDiff"] = details.into();
        }
        answer
    }

    fn create(&self, call: &ProviderCall, request: &Value) -> Value {
        let inputs = object(request, "inputs");
        let mut script = self.type_of(request);
        if request["preview"] == json!(true) {
            let computed = std::mem::take(&mut script.computed)
                .into_iter()
                .map(|name| (name, value::unknown()));
            let outputs: Map<_, _> = inputs.into_iter().chain(computed).collect();
            let steps = views::of(script.views.as_deref(), request, &outputs);
            return with_steps(json!({ "id": "", "outputs": outputs }), steps);
        }
        let mut world = self.world();
        let id = world.new_id(call.subject());
        let outputs = with_computed(inputs, &script, &id, &Map::new());
        world.put(&id, outputs.clone());
        let steps = views::of(script.views.as_deref(), request, &outputs);
        with_steps(json!({ "id": id, "outputs": outputs }), steps)
    }

    fn update(&self, request: &Value) -> Value {
        let id = text(request, "id");
        let script = self.type_of(request);
        let outputs = with_computed(
            object(request, "news"),
            &script,
            id,
            &object(request, "oldOutputs"),
        );
        if request["preview"] != json!(true) {
            self.world().put(id, outputs.clone());
        }
        let steps = views::of(script.views.as_deref(), request, &outputs);
        with_steps(json!({ "outputs": outputs }), steps)
    }

    fn read(&self, request: &Value) -> Value {
        let id = text(request, "id");
        let Some(properties) = self.world().get(id).cloned() else {
            return json!({ "id": "", "inputs": null, "outputs": null });
        };
        let asked = object(request, "inputs");
        let TypeScript { computed, views, .. } = self.type_of(request);
        let is_input = |name: &String| match asked.is_empty() {
            true => !computed.contains(name),
            false => asked.contains_key(name),
        };
        let inputs: Map<_, _> = properties
            .iter()
            .filter(|(name, _)| is_input(name))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let steps = views::of(views.as_deref(), request, &properties);
        with_steps(
            json!({ "id": id, "inputs": inputs, "outputs": properties }),
            steps,
        )
    }

    fn invoke(&self, request: &Value) -> Value {
        let token = text(request, "token");
        let short = token.strip_prefix(&format!("{PACKAGE}:index:"));
        let functions = &self.script.functions;
        let script = functions.get(token).or_else(|| functions.get(short?));
        let result = script.and_then(|script| script.returns.clone());
        json!({ "result": result.unwrap_or_else(|| object(request, "arguments")), "failures": [] })
    }

    /// Returns the failure of a rule; with `init` the call takes effect first.
    pub(super) fn failure(
        &self,
        call: &ProviderCall,
        request: &Value,
        script: &FailureScript,
    ) -> Result<CallFailure, CallFailure> {
        let mut failure = CallFailure::of(script);
        if let Some(init) = &script.init {
            let mut done = self.usual(call, request)?;
            if done.get("id").is_none() {
                done["id"] = request["id"].clone();
            }
            if let Some(id) = &init.id {
                done["id"] = id.as_str().into();
            }
            if let Some(outputs) = &init.outputs {
                done["outputs"] = outputs.clone().into();
            }
            let mut init_failure = json!({
                "id": done["id"],
                "inputs": value::to_plain(&done["inputs"]),
                "outputs": value::to_plain(&done["outputs"]),
                "reasons": init.reasons,
            });
            if let Some(steps) = done.get("viewSteps") {
                init_failure["viewSteps"] = value::to_plain(steps);
            }
            failure.init_failure = Some(init_failure);
        }
        Ok(failure)
    }
}

fn with_computed(
    inputs: Map<String, Value>,
    script: &TypeScript,
    id: &str,
    olds: &Map<String, Value>,
) -> Map<String, Value> {
    let mut outputs = inputs;
    for name in &script.computed {
        let made_up = || format!("{name} of {id}").into();
        outputs.insert(name.clone(), olds.get(name).cloned().unwrap_or_else(made_up));
    }
    outputs
}

fn with_steps(mut answer: Value, steps: Option<Vec<Value>>) -> Value {
    if let Some(steps) = steps {
        answer["viewSteps"] = steps.into();
    }
    answer
}

/// Compares an old and a new input, secret or not; an unknown differs from every value.
pub(super) fn same(old: &Value, new: &Value) -> bool {
    !value::contains_unknown(new) && value::equal(&value::revealed(old), &value::revealed(new))
}

pub(super) fn object(request: &Value, name: &str) -> Map<String, Value> {
    request
        .get(name)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

fn text<'a>(request: &'a Value, name: &str) -> &'a str {
    request.get(name).and_then(Value::as_str).unwrap_or_default()
}
