//! Requests of pending operations, and of all that is read without a program.

use serde_json::{Map, Value, json};

use super::play::Player;
use crate::{
    check::name_of,
    scenario::{Analysis, ReadingExpectation, ScenarioOperation},
    script::Scene,
};

/// The members of an adoption, which are no options.
const ADOPTION: [&str; 3] = ["pending", "resourceId", "replace"];

impl Player<'_, '_> {
    /// Returns the id of the pending operation `<kind> <name>`. Another text is passed as it is.
    async fn pending_id(&mut self, label: &str) -> Result<String, String> {
        let found = self.inspect("pending", json!({})).await?;
        let entries = found.as_array().into_iter().flatten();
        let mut named = entries.filter(|entry| label_of(entry) == label);
        let id = named.next().and_then(|entry| entry["id"].as_str());
        Ok(id.unwrap_or(label).to_owned())
    }

    /// Forgets the pending operations that an operation names.
    pub(super) async fn forget(&mut self, operation: &ScenarioOperation) -> Result<(), String> {
        for forgotten in &operation.forget {
            let (label, dry_run) = forgotten.parts();
            let id = self.pending_id(label).await?;
            let entry = self
                .inspect("forget", json!({ "pending": id, "dryRun": dry_run }))
                .await?;
            if label_of(&entry) != label {
                return Err(format!("{label} was to be forgotten, and the answer is {entry}"));
            }
        }
        Ok(())
    }

    /// Moves the members of an adoption out of the options of a `start` request.
    pub(super) async fn adoption(&mut self, start: &mut Value) -> Result<(), String> {
        let options = start["options"].as_object_mut();
        let moved = options.into_iter().flat_map(|options| {
            let members = ADOPTION
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), options.remove(*name)?)));
            members.collect::<Vec<_>>()
        });
        let mut adoption: Map<String, Value> = moved.collect();
        let label = adoption
            .get("pending")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        adoption.insert("pending".to_owned(), self.pending_id(&label).await?.into());
        start["adoption"] = adoption.into();
        Ok(())
    }

    /// Reads all that an expectation names.
    pub(super) async fn read(&mut self, expected: &ReadingExpectation) -> Result<Value, String> {
        if expected.is_empty() {
            return Ok(Value::Null);
        }
        let mut read = Map::new();
        if !expected.resources.is_empty() {
            read.insert("resources".into(), self.inspect("resources", json!({})).await?);
        }
        if expected.graph.is_some() {
            read.insert("graph".into(), self.inspect("graph", json!({})).await?);
        }
        if expected.pending.is_some() {
            read.insert("pending".into(), self.inspect("pending", json!({})).await?);
        }
        if !expected.stacks.is_empty() {
            read.insert("stacks".into(), self.inspect("stacks", json!({})).await?);
        }
        let mut found = Vec::new();
        for pending in &expected.pending_resources {
            let id = self.pending_id(&pending.pending).await?;
            let members = json!({ "pending": id, "resourceId": pending.resource_id });
            found.push(self.inspect("pendingResource", members).await?);
        }
        read.insert("pendingResources".into(), found.into());
        let mut pages = Vec::new();
        for part in &expected.history {
            let members = json!({ "limit": part.limit, "page": part.page });
            pages.push(self.inspect("history", members).await?);
        }
        read.insert("history".into(), pages.into());
        let mut analyses = Vec::new();
        for analysis in &expected.analyses {
            analyses.push(self.analyze(analysis).await?);
        }
        read.insert("analyses".into(), analyses.into());
        Ok(read.into())
    }

    /// Analyzes the state; returns the analysis as `found`, or the `error`.
    async fn analyze(&mut self, analysis: &Analysis) -> Result<Value, String> {
        let options = json!({ "localPolicyPacks": analysis.packs });
        let options = options.as_object().map(|options| self.packs.addressed(options));
        let members = json!({
            "stack": self.stack,
            "part": "analysis",
            "options": options,
            "policyPacks": self.packs.documents(),
        });
        let scene = Scene::new(analysis.calls.clone());
        match self.answer_in(scene, "inspect", members).await? {
            Ok(answer) => Ok(json!({ "found": answer["found"] })),
            Err(error) if error.kind == "actor" => Err(format!("an analysis: {}", error.message)),
            Err(error) => Ok(json!({ "error": error.whole })),
        }
    }

    async fn inspect(&mut self, part: &str, mut members: Value) -> Result<Value, String> {
        members["stack"] = self.stack.as_str().into();
        members["part"] = part.into();
        let mut answer = self.ask("inspect", members).await?;
        Ok(answer["found"].take())
    }
}

/// Returns a pending operation as `<kind> <name>`.
fn label_of(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    format!("{} {}", text("kind"), name_of(text("urn")))
}
