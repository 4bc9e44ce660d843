//! Checks of what is read without a program.

use serde_json::{Value, json};

use super::{Findings, events::text, names, result::check_error};
use crate::{
    director::Observation,
    scenario::{Analysis, ReadingExpectation},
};

pub(super) fn check(seen: &Observation, expected: &ReadingExpectation, wrong: &mut Findings) {
    let read = &seen.read;
    let shown = read.to_string();
    for secret in seen
        .secrets
        .iter()
        .filter(|secret| shown.contains(secret.as_str()))
    {
        wrong.push(format!(
            "the secret {secret:?} stands in the clear in what was read"
        ));
    }
    let list = |name: &str| read[name].as_array().map_or(&[][..], Vec::as_slice);
    for (wanted, members) in &expected.resources {
        let found = list("resources")
            .iter()
            .find(|record| record["delete"] == json!(false) && names::name(text(record, "urn")) == *wanted);
        match found {
            Some(record) => wrong.compare(
                &format!("resource `{wanted}`"),
                members,
                &names::shortened(record),
            ),
            None => wrong.push(format!("no resource `{wanted}` was read")),
        }
    }
    if let Some(expected) = &expected.graph {
        let edges = edges(&read["graph"], wrong);
        wrong.same_names("the graph", expected, edges);
    }
    if let Some(expected) = &expected.pending {
        let label = |entry: &Value| format!("{} {}", text(entry, "kind"), names::name(text(entry, "urn")));
        let labels = list("pending").iter().map(label).collect();
        let wanted: Vec<String> = expected.keys().cloned().collect();
        wrong.same_names("the pending operations that were read", &wanted, labels);
        for (wanted, members) in expected {
            if let Some(entry) = list("pending").iter().find(|entry| label(entry) == *wanted) {
                wrong.compare(
                    &format!("pending operation `{wanted}`"),
                    members,
                    &names::shortened(entry),
                );
            }
        }
    }
    for (wanted, found) in expected.pending_resources.iter().zip(list("pendingResources")) {
        let what = format!("the resource of `{}`", wanted.pending);
        match (wanted.found.is_null(), found.is_null()) {
            (false, false) => wrong.compare(&what, &wanted.found, &names::shortened(found)),
            (true, true) => {}
            _ => wrong.push(format!("{what} is {found}, not {}", wanted.found)),
        }
    }
    for (wanted, members) in &expected.stacks {
        match list("stacks").iter().find(|stack| text(stack, "name") == wanted) {
            Some(stack) if members.is_null() => wrong.push(format!("there is a stack {stack}")),
            None if members.is_null() => {}
            Some(stack) => wrong.compare(&format!("stack `{wanted}`"), members, stack),
            None => wrong.push(format!("the stack `{wanted}` was not listed")),
        }
    }
    for (wanted, page) in expected.history.iter().zip(list("history")) {
        let entries = page.as_array().into_iter().flatten();
        let kinds: Value = entries.map(|entry| entry["kind"].clone()).collect();
        let what = format!("page {:?} of the history", wanted.page);
        wrong.compare(&what, &json!(wanted.kinds), &kinds);
    }
    for (wanted, analysis) in expected.analyses.iter().zip(list("analyses")) {
        check_analysis(analysis, wanted, wrong);
    }
}

fn check_analysis(analysis: &Value, expected: &Analysis, wrong: &mut Findings) {
    let error = &analysis["error"];
    match &expected.error {
        Some(_) if error.is_null() => return wrong.push("an analysis did not fail".to_owned()),
        Some(expected) => return check_error(error, expected, wrong),
        None if !error.is_null() => return wrong.push(format!("an analysis failed: {error}")),
        None => {}
    }
    let found = &analysis["found"];
    let facts = [
        ("passed", expected.passed.map(Value::from)),
        ("resources", expected.resources.map(Value::from)),
    ];
    for (member, wanted) in facts {
        if let Some(wanted) = wanted {
            wrong.compare(&format!("`{member}` of an analysis"), &wanted, &found[member]);
        }
    }
    let Some(expected) = &expected.violations else {
        return;
    };
    let label = |violation: &Value| {
        let about = names::name(text(violation, "urn"));
        format!("{} {about}", text(violation, "policy"))
    };
    let violations = found["violations"].as_array().map_or(&[][..], Vec::as_slice);
    let wanted: Vec<String> = expected.keys().cloned().collect();
    wrong.same_names(
        "the violations of an analysis",
        &wanted,
        violations.iter().map(label).collect(),
    );
    for violation in violations {
        let label = label(violation);
        if let Some(members) = expected.get(&label) {
            wrong.compare(
                &format!("the violation `{label}`"),
                members,
                &names::shortened(violation),
            );
        }
    }
}

/// Returns the edges as texts. Those to the stack and to default providers are left out.
fn edges(graph: &Value, wrong: &mut Findings) -> Vec<String> {
    let nodes = graph["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let urn = |edge: &Value, end: &str| {
        let index = edge[end].as_u64().and_then(|index| usize::try_from(index).ok());
        let node = index.and_then(|index| nodes.get(index));
        node.map_or("", |node| text(node, "urn"))
    };
    let edges = graph["edges"].as_array().into_iter().flatten();
    let mut texts = Vec::new();
    for edge in edges {
        if edge["source"].as_u64() <= edge["target"].as_u64() {
            wrong.push(format!("an edge does not lead to an earlier node: {edge}"));
        }
        let (source, target) = (urn(edge, "source"), urn(edge, "target"));
        if names::is_implied(target) {
            continue;
        }
        let property = edge["property"]
            .as_str()
            .map_or_else(String::new, |name| format!(" {name}"));
        texts.push(format!(
            "{} {}{property} {}",
            names::name(source),
            text(edge, "kind"),
            names::name(target)
        ));
    }
    texts
}
