//! The rules that every recorded state obeys: each record stands after all that it refers to.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Findings, events::text, state};

/// Checks the rules of the deployment format.
pub(super) fn check(exported: &Value, wrong: &mut Findings) {
    if let Some(error) = state::deployment(exported).pointer("/metadata/integrity_error") {
        wrong.push(format!("the state is marked as invalid: {error}"));
    }
    let (mut seen, mut live, mut providers) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for record in state::records(exported) {
        let urn = text(record, "urn");
        if urn.is_empty() || text(record, "type").is_empty() {
            wrong.push(format!("a record has no URN or no type: {record}"));
        }
        let is_old = record.get("delete") == Some(&Value::Bool(true));
        if !is_old && !live.insert(urn) {
            wrong.push(format!("two live records of {urn}"));
        }
        for (what, target) in references(record) {
            if !seen.contains(target) {
                wrong.push(format!("the {what} {target} of {urn} does not stand before it"));
            }
        }
        let provider = text(record, "provider");
        let waived = record.get("pendingReplacement") == Some(&Value::Bool(true));
        if !provider.is_empty() && !waived && !providers.contains(provider) {
            wrong.push(format!(
                "the provider {provider} of {urn} does not stand before it"
            ));
        }
        if text(record, "type").starts_with("pulumi:providers:") {
            providers.insert(format!("{urn}::{}", text(record, "id")));
        }
        seen.insert(urn);
    }
}

fn references(record: &Value) -> Vec<(&'static str, &str)> {
    let mut references = Vec::new();
    for name in ["parent", "deletedWith"] {
        let target = text(record, name);
        if !target.is_empty() {
            references.push((name, target));
        }
    }
    for name in ["dependencies", "replaceWith"] {
        let targets = record.get(name).and_then(Value::as_array).into_iter().flatten();
        references.extend(targets.filter_map(Value::as_str).map(|target| (name, target)));
    }
    let by_property = record.get("propertyDependencies").and_then(Value::as_object);
    let targets = by_property
        .into_iter()
        .flatten()
        .filter_map(|(_, targets)| targets.as_array())
        .flatten();
    references.extend(
        targets
            .filter_map(Value::as_str)
            .map(|target| ("property dependency", target)),
    );
    references
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn findings(resources: Value) -> Vec<String> {
        let mut wrong = Findings::default();
        check(&json!({ "deployment": { "resources": resources } }), &mut wrong);
        wrong.0
    }

    #[test]
    fn a_record_before_its_parent_is_found() {
        let record = |urn: &str, parent: &str| json!({"urn": urn, "type": "t", "parent": parent});
        assert!(findings(json!([record("p", ""), record("c", "p")])).is_empty());
        assert_eq!(findings(json!([record("c", "p"), record("p", "")])).len(), 1);
    }

    #[test]
    fn an_old_copy_may_share_its_urn() {
        let record = |delete: bool| json!({"urn": "u", "type": "t", "delete": delete});
        assert!(findings(json!([record(false), record(true)])).is_empty());
        assert_eq!(findings(json!([record(false), record(false)])).len(), 1);
    }

    #[test]
    fn a_provider_reference_must_name_a_record_with_its_id() {
        let provider = json!({"urn": "p", "type": "pulumi:providers:test", "custom": true, "id": "1"});
        let user =
            |id: &str| json!({"urn": "u", "type": "t", "custom": true, "provider": format!("p::{id}")});
        assert!(findings(json!([provider, user("1")])).is_empty());
        assert_eq!(findings(json!([provider, user("2")])).len(), 1);
    }
}
