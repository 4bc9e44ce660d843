//! Checks: compares the observation of an operation with its expectation.

mod always;
mod calls;
mod events;
mod integrity;
mod names;
mod reading;
mod result;
mod state;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{director::Observation, scenario::Expectation};

use events::Events;
pub(crate) use names::name as name_of;

/// Returns one text for each deviation.
#[must_use]
pub fn check(seen: &Observation, expected: &Expectation) -> Vec<String> {
    let mut wrong = Findings::default();
    always::check(seen, &mut wrong);
    if let Some(result) = &seen.result {
        let events = Events::new(result);
        result::check(result, &events, expected, &mut wrong);
        events::check(&events, expected, &mut wrong);
        result::check_imported(result, &expected.imported, &mut wrong);
    }
    calls::check(&seen.calls, &expected.calls, &mut wrong);
    state::check(seen, &expected.state, &mut wrong);
    reading::check(seen, &expected.read, &mut wrong);
    for (handle, members) in &expected.program {
        let answer = seen.answers.get(handle).unwrap_or(&Value::Null);
        wrong.compare(
            &format!("the program's `{handle}`"),
            members,
            &names::shortened(answer),
        );
    }
    if let Some(config) = &expected.config {
        wrong.compare("the program's configuration", config, &seen.config);
    }
    if let Some(world) = &expected.world {
        wrong.same_names("the world", world, seen.world.clone());
    }
    if expected.untouched {
        let touched: Vec<_> = seen
            .written
            .iter()
            .filter(|name| name.contains("/stacks/"))
            .collect();
        if !touched.is_empty() {
            wrong.push(format!("wrote {touched:?}"));
        }
    }
    wrong.0
}

/// The deviations found so far.
#[derive(Debug, Default)]
struct Findings(Vec<String>);

impl Findings {
    fn push(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    fn compare(&mut self, what: &str, expected: &Value, actual: &Value) {
        if let Some(text) = crate::value::difference(expected, actual) {
            let gap = if text.starts_with(['.', '[']) { "" } else { " " };
            self.push(format!("{what}{gap}{text}"));
        }
    }

    /// Compares two lists without regard to their order, but with regard to how often each name occurs.
    fn same_names(&mut self, what: &str, expected: &[String], actual: Vec<String>) {
        let mut balance: BTreeMap<&str, i64> = BTreeMap::new();
        expected
            .iter()
            .for_each(|name| *balance.entry(name).or_default() += 1);
        actual
            .iter()
            .for_each(|name| *balance.entry(name).or_default() -= 1);
        let of = |sign: i64| {
            let names = balance.iter().filter(|(_, count)| **count * sign > 0);
            names.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        };
        let (missing, extra) = (of(1), of(-1));
        if !missing.is_empty() {
            self.push(format!("{what}: missing {missing}"));
        }
        if !extra.is_empty() {
            self.push(format!("{what}: not expected {extra}"));
        }
    }
}
