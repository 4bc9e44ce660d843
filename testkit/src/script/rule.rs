//! Rules: which of them fits a call.

use std::collections::HashMap;

use crate::scenario::CallRule;

/// Counts calls, for rules that match the n-th one only.
#[derive(Debug, Default)]
pub(super) struct RuleBook(HashMap<String, usize>);

impl RuleBook {
    /// Counts one more call and returns which one it is, from 1.
    pub(super) fn count(&mut self, label: &str) -> usize {
        let count = self.0.entry(label.to_owned()).or_default();
        *count += 1;
        *count
    }
}

/// Returns whether a rule matches the call `label`, the `nth` one of this operation.
pub(super) fn fits(rule: &CallRule, label: &str, nth: usize, preview: bool) -> bool {
    let named = match rule.on.strip_suffix('*') {
        Some(start) => label.starts_with(start),
        None => rule.on == label,
    };
    named
        && rule.nth.is_none_or(|wanted| wanted == nth)
        && rule.preview.is_none_or(|wanted| wanted == preview)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(on: &str) -> CallRule {
        CallRule {
            on: on.into(),
            ..CallRule::default()
        }
    }

    #[test]
    fn a_star_stands_for_any_name() {
        assert!(fits(&rule("create *"), "create a", 1, false));
        assert!(!fits(&rule("create *"), "check a", 1, false));
        assert!(!fits(&rule("create a"), "create ab", 1, false));
    }

    #[test]
    fn a_rule_can_mean_one_call_only() {
        let mut book = RuleBook::default();
        let second = CallRule {
            nth: Some(2),
            ..rule("create a")
        };
        let fits: Vec<bool> = (0..3)
            .map(|_| fits(&second, "create a", book.count("create a"), false))
            .collect();
        assert_eq!(fits, [false, true, false]);
    }

    #[test]
    fn a_rule_can_mean_previews_only() {
        let dry = CallRule {
            preview: Some(true),
            ..rule("create a")
        };
        assert!(fits(&dry, "create a", 1, true));
        assert!(!fits(&dry, "create a", 1, false));
    }
}
