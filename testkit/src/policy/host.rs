//! Packs that are functions of the actor: every call of a function is one of the scene, with its rules, its log and its trace.

use serde_json::{Map, Value, json};

use super::{Packs, judge};
use crate::{
    scenario::PackScript,
    script::{CallFailure, ProviderCall, Scene},
    value,
};

/// The beginning of the methods of functions.
const PREFIX: &str = "policy.";

impl Packs {
    /// Returns whether a call of the actor is one of a policy's function.
    pub(crate) fn hosts(&self, call: &ProviderCall) -> bool {
        call.method.starts_with(PREFIX)
    }

    /// Describes the packs that are functions, for the actor.
    pub(crate) fn documents(&self) -> Value {
        let documents = self.hosted.iter().map(|(name, script)| {
            let policies = script.has.iter().map(|(policy, has)| {
                let mut document = json!({ "name": policy, "ofStack": has.at_most.is_some() });
                for (member, text) in [("level", &has.level), ("severity", &has.severity)] {
                    if !text.is_empty() {
                        document[member] = text.as_str().into();
                    }
                }
                document
            });
            let policies: Vec<Value> = policies.collect();
            let document = json!({ "name": name, "version": script.version, "policies": policies });
            (name.clone(), document)
        });
        Value::Object(documents.collect())
    }

    /// Answers a call of a function.
    pub(crate) async fn answer(&self, scene: &Scene, call: &ProviderCall) -> Result<Value, CallFailure> {
        let policy = call.request["policy"].as_str().unwrap_or_default();
        let script = self.hosted.get(&call.package);
        let Some(own) = script.and_then(|script| script.has.get(policy)) else {
            return Ok(Value::Null);
        };
        let asked = Asked {
            pack: &call.package,
            policy,
            script: PackScript {
                has: [(policy.to_owned(), own.clone())].into(),
                ..PackScript::default()
            },
            argument: &call.request["argument"],
        };
        match call.method.strip_prefix(PREFIX) {
            Some("check") => asked.check(scene).await,
            Some("remediate") => asked.remediate(scene).await,
            _ => asked.check_stack(scene).await,
        }
    }
}

/// One call.
struct Asked<'a> {
    pack: &'a str,
    policy: &'a str,
    /// The script of the policy alone.
    script: PackScript,
    argument: &'a Value,
}

impl Asked<'_> {
    async fn check(&self, scene: &Scene) -> Result<Value, CallFailure> {
        if !is_visible(self.argument) {
            return Ok(json!([]));
        }
        let properties = properties(self.argument);
        let levels = judge::enforcing(self.policy, "mandatory");
        let found = judge::analyze(&self.script, &levels, &properties);
        let answer = scene.play(
            "analyze",
            self.name(),
            self.request(),
            json!({ "diagnostics": found }),
        );
        Ok(messages(&answer.await?))
    }

    async fn remediate(&self, scene: &Scene) -> Result<Value, CallFailure> {
        if !is_visible(self.argument) {
            return Ok(Value::Null);
        }
        let levels = judge::enforcing(self.policy, "remediate");
        let rewrites = judge::remediate(&self.script, &levels, &properties(self.argument));
        scene
            .play("remediate", self.name(), self.request(), json!({}))
            .await?;
        Ok(rewrites
            .into_iter()
            .next()
            .map_or(Value::Null, |(_, properties)| {
                value::to_plain(&Value::Object(properties))
            }))
    }

    async fn check_stack(&self, scene: &Scene) -> Result<Value, CallFailure> {
        let mut resources = Map::new();
        for resource in self.argument["resources"].as_array().into_iter().flatten() {
            let of_package = !resource["type"]
                .as_str()
                .unwrap_or_default()
                .starts_with("pulumi:");
            if let Some(name) = resource["name"].as_str().filter(|_| of_package) {
                resources.insert(name.to_owned(), properties(resource).into());
            }
        }
        let levels = judge::enforcing(self.policy, "mandatory");
        let found = judge::analyze_stack(&self.script, &levels, resources.len());
        let request = json!({ "policy": self.policy, "resources": resources });
        let answer = scene.play(
            "analyzeStack",
            self.pack,
            request,
            json!({ "diagnostics": found }),
        );
        Ok(messages(&answer.await?))
    }

    fn name(&self) -> &str {
        self.argument["name"].as_str().unwrap_or_default()
    }

    fn request(&self) -> Value {
        let provider = &self.argument["provider"]["name"];
        json!({
            "pack": self.pack, "policy": self.policy, "type": self.argument["type"],
            "properties": properties(self.argument), "provider": provider, "config": value::from_plain(&self.argument["config"]),
        })
    }
}

/// Returns the violations of an answer, in the form that functions return.
fn messages(answer: &Value) -> Value {
    let found = answer["diagnostics"].as_array().into_iter().flatten();
    let messages = found.map(|found| json!({ "message": found["message"], "urn": found.get("urn") }));
    messages.collect()
}

fn properties(argument: &Value) -> Map<String, Value> {
    match value::from_plain(&argument["props"]) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Returns whether a resource is part of scenarios: neither the stack nor a default provider.
fn is_visible(argument: &Value) -> bool {
    let text = |member: &str| argument[member].as_str().unwrap_or_default();
    let default = text("type").starts_with("pulumi:providers:") && text("name").starts_with("default");
    text("type") != "pulumi:pulumi:Stack" && !default
}
