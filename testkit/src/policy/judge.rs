//! What the policies of a pack find: as pure functions of a resource's properties.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    scenario::{PackScript, PolicyScript},
    value,
};

/// Levels as the engine has configured them, by policy.
pub(super) type Levels = BTreeMap<String, i32>;

/// The numbers of the protocol.
pub(super) fn level(name: &str) -> i32 {
    match name {
        "mandatory" => 1,
        "disabled" => 2,
        "remediate" => 3,
        _ => 0,
    }
}

pub(super) fn severity(name: &str) -> i32 {
    match name {
        "low" => 1,
        "medium" => 2,
        "high" => 3,
        "critical" => 4,
        _ => 0,
    }
}

/// Returns the level of a policy, and `None` when it is disabled.
fn enforced(name: &str, policy: &PolicyScript, levels: &Levels) -> Option<i32> {
    let own = levels.get(name).copied().unwrap_or_else(|| level(&policy.level));
    (own != level("disabled")).then_some(own)
}

fn violation(name: &str, policy: &PolicyScript, level: i32) -> Value {
    json!({ "policy": name, "level": level, "message": policy.message, "severity": policy.severity })
}

/// Returns levels with which one policy runs at a level of the engine.
pub(super) fn enforcing(policy: &str, name: &str) -> Levels {
    Levels::from([(policy.to_owned(), level(name))])
}

/// Finds what is wrong with one resource.
pub(super) fn analyze(pack: &PackScript, levels: &Levels, properties: &Map<String, Value>) -> Vec<Value> {
    let found = pack.has.iter().filter_map(|(name, policy)| {
        let level = enforced(name, policy, levels)?;
        let forbidden = policy.forbids.as_ref()?;
        let has = |(key, wanted): (&String, &Value)| {
            let property = properties.get(key).map(value::revealed);
            property.is_some_and(|property| value::equal(wanted, &property))
        };
        forbidden.iter().all(has).then(|| violation(name, policy, level))
    });
    found.collect()
}

/// Rewrites the properties of one resource; each rewrite continues from the previous one.
pub(super) fn remediate(
    pack: &PackScript,
    levels: &Levels,
    properties: &Map<String, Value>,
) -> Vec<(String, Map<String, Value>)> {
    let mut properties = properties.clone();
    let mut rewrites = Vec::new();
    for (name, policy) in &pack.has {
        let rewrites_now = enforced(name, policy, levels) == Some(level("remediate"));
        let Some(wanted) = policy.sets.as_ref().filter(|_| rewrites_now) else {
            continue;
        };
        let before = properties.clone();
        for (key, wanted) in wanted {
            if let Some(property) = properties.get_mut(key) {
                property.clone_from(wanted);
            }
        }
        if properties != before {
            rewrites.push((name.clone(), properties.clone()));
        }
    }
    rewrites
}

/// Finds what is wrong with a stack of so many resources.
pub(super) fn analyze_stack(pack: &PackScript, levels: &Levels, count: usize) -> Vec<Value> {
    let found = pack.has.iter().filter_map(|(name, policy)| {
        let level = enforced(name, policy, levels)?;
        (count > policy.at_most?).then(|| violation(name, policy, level))
    });
    found.collect()
}
