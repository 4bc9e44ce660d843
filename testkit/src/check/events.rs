//! Checks of events: steps, their order and their details, messages, counts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Findings, names};
use crate::scenario::{DiagnosticExpectation, Expectation};

/// The events of an operation, in the form of the reference log.
pub(super) struct Events<'a> {
    all: &'a [Value],
}

/// A step that has begun.
struct Step {
    label: String,
    urn: String,
    begin: u64,
    metadata: Value,
}

impl<'a> Events<'a> {
    pub(super) fn new(result: &'a Value) -> Self {
        let all = result
            .get("events")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        Self { all }
    }

    pub(super) fn all(&self) -> &'a [Value] {
        self.all
    }

    /// Returns sequence and payload of the events of a kind.
    pub(super) fn of(&self, kind: &str) -> impl Iterator<Item = (u64, &'a Value)> {
        self.all.iter().filter_map(move |event| {
            let payload = event.get(kind)?;
            Some((event["sequence"].as_u64().unwrap_or_default(), payload))
        })
    }

    /// Returns the steps without those of the stack and of default providers.
    fn steps(&self) -> Vec<Step> {
        let steps = self.of("resourcePreEvent").map(|(begin, payload)| {
            let metadata = &payload["metadata"];
            let urn = text(metadata, "urn");
            Step {
                label: label_of(metadata),
                urn: urn.to_owned(),
                begin,
                metadata: metadata.clone(),
            }
        });
        steps.filter(|step| !names::is_implied(&step.urn)).collect()
    }

    /// Returns the sequence number of the end of a step that began at `begin`.
    fn end(&self, urn: &str, begin: u64) -> Option<u64> {
        let ends = self.of("resOutputsEvent").chain(self.of("resOpFailedEvent"));
        let ends =
            ends.filter(|(sequence, payload)| *sequence > begin && text(&payload["metadata"], "urn") == urn);
        ends.map(|(sequence, _)| sequence).min()
    }

    /// Returns the metadata of a step by its label at its end.
    fn ended(&self, label: &str) -> Option<Value> {
        let ended = self
            .of("resOutputsEvent")
            .map(|(_, payload)| &payload["metadata"]);
        let mut ended = ended.filter(|it| label_of(it) == label);
        ended.next().cloned()
    }

    fn diagnostics(&self) -> Vec<&'a Value> {
        self.of("diagnosticEvent").map(|(_, payload)| payload).collect()
    }
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the label of a step: `<op> <name>`.
fn label_of(metadata: &Value) -> String {
    format!("{} {}", text(metadata, "op"), names::name(text(metadata, "urn")))
}

pub(super) fn check(events: &Events<'_>, expected: &Expectation, wrong: &mut Findings) {
    let steps = events.steps();
    if let Some(expected) = &expected.steps {
        let labels = steps.iter().map(|step| step.label.clone()).collect();
        wrong.same_names("steps", expected, labels);
    }
    if let Some(expected) = &expected.failed {
        let failed = events
            .of("resOpFailedEvent")
            .map(|(_, payload)| &payload["metadata"]);
        let labels = failed.map(label_of);
        wrong.same_names("failed steps", expected, labels.collect());
    }
    for chain in &expected.order {
        for pair in chain.windows(2) {
            check_order(events, &steps, &pair[0], &pair[1], wrong);
        }
    }
    for (label, members) in &expected.metadata {
        let begun = steps.iter().find(|step| step.label == *label);
        // A step begins as `refresh` and ends with the operation that it led to.
        match begun
            .map(|step| step.metadata.clone())
            .or_else(|| events.ended(label))
        {
            Some(metadata) => {
                wrong.compare(&format!("step `{label}`"), members, &names::shortened(&metadata));
            }
            None => wrong.push(format!("there is no step `{label}`")),
        }
    }
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events.all() {
        let kind = event
            .as_object()
            .into_iter()
            .flatten()
            .find(|(_, payload)| payload.is_object());
        *counts
            .entry(kind.map_or("", |(kind, _)| kind.as_str()))
            .or_default() += 1;
    }
    for (kind, expected) in &expected.events {
        let found = counts.get(kind.as_str()).copied().unwrap_or_default();
        if found != *expected {
            wrong.push(format!("{found} events of kind {kind}, not {expected}"));
        }
    }
    check_policies(events, expected, wrong);
    if let Some(expected) = &expected.moves {
        wrong.compare("the moves", expected, &moves(events));
    }
    check_diagnostics(events, expected, wrong);
}

/// Returns the moves that an event lists, in the form of scenarios.
fn moves(events: &Events<'_>) -> Value {
    let listed = events.of("suggestedMovesEvent").next();
    let listed = listed.and_then(|(_, payload)| payload["moves"].as_array());
    let moves = listed.into_iter().flatten().map(|suggestion| {
        let mut members = suggestion.as_object().cloned().unwrap_or_default();
        for (own, name) in [("oldUrn", "old"), ("newUrn", "new")] {
            let urn = members.remove(own).unwrap_or_default();
            members.insert(name.to_owned(), urn);
        }
        let followers = suggestion["following"].as_array().map_or(0, Vec::len);
        members.insert("followers".to_owned(), followers.into());
        names::shortened(&members.into())
    });
    moves.collect()
}

fn check_policies(events: &Events<'_>, expected: &Expectation, wrong: &mut Findings) {
    for (kind, what, expected) in [
        ("policyEvent", "violation", &expected.violations),
        ("policyRemediationEvent", "rewrite", &expected.rewrites),
    ] {
        let Some(expected) = expected else { continue };
        let found = events.of(kind).map(|(_, payload)| {
            let about = names::name(text(payload, "resourceUrn"));
            (format!("{} {about}", text(payload, "policyName")), payload)
        });
        let found: Vec<_> = found.collect();
        let labels: Vec<_> = expected.keys().cloned().collect();
        let seen = found.iter().map(|(label, _)| label.clone());
        wrong.same_names(&format!("{what}s"), &labels, seen.collect());
        for (label, payload) in &found {
            if let Some(members) = expected.get(label) {
                wrong.compare(&format!("{what} `{label}`"), members, &names::shortened(payload));
            }
        }
    }
    if let Some(packs) = &expected.packs {
        let summary = events.of("summaryEvent").next();
        let named = summary.map(|(_, summary)| summary["PolicyPacks"].clone());
        wrong.compare("the summary's packs", packs, &named.unwrap_or_default());
    }
}

fn check_order(events: &Events<'_>, steps: &[Step], first: &str, second: &str, wrong: &mut Findings) {
    let find = |label: &str| steps.iter().find(|step| step.label == label);
    let (Some(before), Some(after)) = (find(first), find(second)) else {
        wrong.push(format!(
            "no order of `{first}` and `{second}`: not both are there"
        ));
        return;
    };
    // Components have no end event unless they publish outputs.
    let end = events.end(&before.urn, before.begin).unwrap_or(before.begin);
    let is_component =
        before.metadata["new"].get("custom").is_none() && before.metadata["old"].get("custom").is_none();
    let end = if is_component { before.begin } else { end };
    if end >= after.begin {
        wrong.push(format!("step `{second}` began before step `{first}` had ended"));
    }
}

fn check_diagnostics(events: &Events<'_>, expected: &Expectation, wrong: &mut Findings) {
    let diagnostics = events.diagnostics();
    let listed = || {
        let texts = diagnostics.iter().filter(|it| text(it, "severity") != "debug");
        let texts = texts.map(|it| format!("{}: {}", text(it, "severity"), message(it)));
        texts.collect::<Vec<_>>().join(" | ")
    };
    for wanted in &expected.diagnostics {
        let found = diagnostics
            .iter()
            .filter(|diagnostic| fits(diagnostic, wanted))
            .count();
        let right = wanted.count.map_or(found > 0, |count| found == count);
        if !right {
            wrong.push(format!(
                "{found} messages fit {wanted:?}; there were: {}",
                listed()
            ));
        }
    }
    for unwanted in &expected.no_diagnostics {
        if diagnostics
            .iter()
            .any(|diagnostic| message(diagnostic).contains(unwanted.as_str()))
        {
            wrong.push(format!(
                "a message contains {unwanted:?}; there were: {}",
                listed()
            ));
        }
    }
}

fn message(diagnostic: &Value) -> &str {
    let message = text(diagnostic, "message");
    message.strip_suffix('\n').unwrap_or(message)
}

fn fits(diagnostic: &Value, wanted: &DiagnosticExpectation) -> bool {
    let about = match text(diagnostic, "urn") {
        "" => String::new(),
        urn => names::name(urn),
    };
    wanted
        .severity
        .as_deref()
        .is_none_or(|severity| severity == text(diagnostic, "severity"))
        && wanted
            .text
            .as_deref()
            .is_none_or(|whole| whole == message(diagnostic))
        && wanted
            .contains
            .as_deref()
            .is_none_or(|part| message(diagnostic).contains(part))
        && wanted.about.as_deref().is_none_or(|name| name == about)
}
