//! Plans of a scenario: which operation is constrained by the plan of which, and in which form it is passed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::{
    scenario::{OperationKind, Scenario, ScenarioOperation},
    value::to_plain,
};

/// The members of an import that are those of its request, and no options.
const REQUEST: [&str; 6] = [
    "resources",
    "nameTable",
    "providerInputs",
    "file",
    "protect",
    "generateCode",
];

/// The plans of the operations so far.
pub(super) struct Plans {
    /// The operations whose plans constrain others, by number.
    wanted: BTreeSet<usize>,
    /// The documents that results had, by number.
    documents: BTreeMap<usize, Value>,
}

impl Plans {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let wanted = scenario.operations.iter().filter_map(number).collect();
        Self {
            wanted,
            documents: BTreeMap::new(),
        }
    }

    /// Returns the `start` request. A plan that the scenario requests as a document is passed as one, any
    /// other as the number of the result that the actor has kept; actors that keep none get documents.
    pub(super) fn start(
        &self,
        index: usize,
        operation: &ScenarioOperation,
        keeps_plans: bool,
    ) -> Result<Value, String> {
        let (kind, options) = operation.verb()?;
        let mut options: Map<String, Value> = options.clone();
        let mut start = json!({ "operation": kind.name(), "number": index + 1 });
        if let Some(number) = number(operation) {
            if let Some(document) = self.documents.get(&number) {
                options.insert("plan".into(), document.clone());
            } else if keeps_plans {
                options.remove("plan");
                start["planOf"] = number.into();
            } else {
                return Err(format!("operation {number} left no plan"));
            }
        }
        if self.wanted.contains(&(index + 1)) && !keeps_plans {
            options.entry("generatePlan").or_insert(Value::Bool(true));
        }
        if kind == OperationKind::Import {
            let members = REQUEST
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), options.remove(*name)?)));
            let request: Map<String, Value> = members.collect();
            start["request"] = to_plain(&request.into());
        }
        start["options"] = options.into();
        Ok(start)
    }

    /// Keeps the document that a result has.
    pub(super) fn keep(&mut self, index: usize, result: Option<&Value>) {
        if let Some(document) = result
            .and_then(|result| result.get("plan"))
            .filter(|plan| plan.is_object())
        {
            self.documents.insert(index + 1, document.clone());
        }
    }
}

/// Returns the number of the operation whose plan constrains this one; `None` for a plan that is a document.
fn number(operation: &ScenarioOperation) -> Option<usize> {
    let (_, options) = operation.verb().ok()?;
    usize::try_from(options.get("plan")?.as_u64()?).ok()
}
