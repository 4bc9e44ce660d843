//! Checks of provider calls: their set, order, concurrency and requests.

use std::collections::BTreeSet;

use super::{Findings, names};
use crate::{scenario::CallExpectation, script::CallRecord};

pub(super) fn check(calls: &[CallRecord], expected: &CallExpectation, wrong: &mut Findings) {
    for (method, subjects) in &expected.exactly {
        let found = calls.iter().filter(|call| call.method == *method);
        wrong.same_names(
            &format!("calls of {method}"),
            subjects,
            found.map(|call| call.subject.clone()).collect(),
        );
    }
    for method in &expected.none {
        let found: Vec<_> = calls
            .iter()
            .filter(|call| call.method == *method)
            .map(CallRecord::label)
            .collect();
        if !found.is_empty() {
            wrong.push(format!("there were calls of {method}: {found:?}"));
        }
    }
    for chain in &expected.order {
        for pair in chain.windows(2) {
            check_order(calls, &pair[0], &pair[1], wrong);
        }
    }
    for group in &expected.together {
        check_together(calls, group, wrong);
    }
    for (method, limit) in &expected.at_most {
        let most = most_at_once(calls, method);
        if most > *limit {
            wrong.push(format!("{most} calls of {method} at once, not at most {limit}"));
        }
    }
    for (label, members) in &expected.requests {
        match find(calls, label) {
            Some(call) => wrong.compare(
                &format!("call `{label}`"),
                members,
                &names::shortened(&call.request),
            ),
            None => wrong.push(format!("there was no call `{label}`")),
        }
    }
}

/// Finds a call by its name; `create a #2` is the second one of the name.
fn find<'a>(calls: &'a [CallRecord], label: &str) -> Option<&'a CallRecord> {
    let (label, number) = match label.split_once(" #") {
        Some((label, number)) => (label, number.parse().unwrap_or(1)),
        None => (label, 1_usize),
    };
    calls
        .iter()
        .filter(|call| call.label() == label)
        .nth(number.saturating_sub(1))
}

fn check_order(calls: &[CallRecord], first: &str, second: &str, wrong: &mut Findings) {
    let (Some(before), Some(after)) = (find(calls, first), find(calls, second)) else {
        wrong.push(format!(
            "no order of calls `{first}` and `{second}`: not both are there"
        ));
        return;
    };
    if before.end.is_none_or(|end| end > after.begin) {
        wrong.push(format!("call `{second}` began before call `{first}` had ended"));
    }
}

fn check_together(calls: &[CallRecord], group: &[String], wrong: &mut Findings) {
    let found: Vec<_> = group.iter().filter_map(|label| find(calls, label)).collect();
    if found.len() < group.len() {
        wrong.push(format!("not all of the calls {group:?} are there"));
        return;
    }
    let last_begin = found.iter().map(|call| call.begin).max().unwrap_or_default();
    let first_end = found
        .iter()
        .map(|call| call.end.unwrap_or(usize::MAX))
        .min()
        .unwrap_or_default();
    if last_begin > first_end {
        wrong.push(format!("the calls {group:?} were not running at one moment"));
    }
}

fn most_at_once(calls: &[CallRecord], methods: &str) -> usize {
    let methods: BTreeSet<&str> = methods.split('+').map(str::trim).collect();
    let mut edges: Vec<(usize, i64)> = Vec::new();
    for call in calls.iter().filter(|call| methods.contains(call.method.as_str())) {
        edges.push((call.begin, 1));
        edges.extend(call.end.map(|end| (end, -1)));
    }
    edges.sort_unstable();
    let mut running = 0;
    let counts = edges.into_iter().map(|(_, change)| {
        running += change;
        running
    });
    usize::try_from(counts.max().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::script::CallOutcome;

    fn call(method: &str, subject: &str, begin: usize, end: usize) -> CallRecord {
        CallRecord {
            method: method.into(),
            subject: subject.into(),
            request: Value::Null,
            begin,
            end: Some(end),
            outcome: CallOutcome::Answered,
        }
    }

    fn findings(edit: impl FnOnce(&mut CallExpectation)) -> usize {
        let calls = [
            call("create", "a", 0, 4),
            call("create", "b", 2, 6),
            call("check", "c", 3, 5),
            call("create", "c", 7, 8),
            call("create", "a", 9, 10),
        ];
        let mut expected = CallExpectation::default();
        edit(&mut expected);
        let mut wrong = Findings::default();
        check(&calls, &expected, &mut wrong);
        wrong.0.len()
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn all_calls_of_a_method_are_named_as_often_as_they_occur() {
        assert_eq!(
            findings(|it| drop(it.exactly.insert("create".into(), list(&["a", "b", "c", "a"])))),
            0
        );
        assert_eq!(
            findings(|it| drop(it.exactly.insert("create".into(), list(&["a", "b", "c"])))),
            1
        );
    }

    #[test]
    fn an_order_needs_the_first_to_end_before_the_next_begins() {
        assert_eq!(
            findings(|it| it.order = vec![list(&["create b", "create c", "create a #2"])]),
            0
        );
        assert_eq!(findings(|it| it.order = vec![list(&["create a", "create b"])]), 1);
        assert_eq!(findings(|it| it.order = vec![list(&["create a", "create z"])]), 1);
    }

    #[test]
    fn calls_were_together_when_all_had_begun_before_any_ended() {
        assert_eq!(
            findings(|it| it.together = vec![list(&["create a", "create b", "check c"])]),
            0
        );
        assert_eq!(
            findings(|it| it.together = vec![list(&["create a", "create c"])]),
            1
        );
    }

    #[test]
    fn the_most_at_once_is_counted_over_the_methods_together() {
        assert_eq!(findings(|it| it.at_most = [("create".to_owned(), 2)].into()), 0);
        assert_eq!(findings(|it| it.at_most = [("create".to_owned(), 1)].into()), 1);
        assert_eq!(
            findings(|it| it.at_most = [("create+check".to_owned(), 2)].into()),
            1
        );
    }
}
