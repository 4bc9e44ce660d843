//! One naming rule of the settings, and the proposal that it gives for a resource.

use super::{Proposal, pattern::Pattern};
use crate::provider::{Autonaming, AutonamingMode};

/// The naming rule of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The provider chooses the name, as without settings.
    Default,
    /// The provider must not generate names.
    Disabled,
    /// Names are drawn from a pattern; `enforce` makes it mandatory for the provider.
    Pattern { pattern: Pattern, enforce: bool },
}

impl Rule {
    /// Returns the rule by which physical names are the names of the resources.
    pub(super) fn verbatim() -> Self {
        Self::Pattern {
            pattern: Pattern::verbatim(),
            enforce: true,
        }
    }

    /// Returns the proposal for a resource; `specific` is true for a rule of the package or the type.
    pub(super) fn proposal(&self, name: &str, seed: &[u8], specific: bool) -> Option<Proposal> {
        match self {
            Self::Default => None,
            Self::Disabled => Some(Proposal {
                autonaming: Autonaming {
                    proposed_name: String::new(),
                    mode: AutonamingMode::Disable,
                },
                delete_before_replace: true,
                warn_if_unsupported: specific,
            }),
            Self::Pattern { pattern, enforce } => Some(Proposal {
                autonaming: Autonaming {
                    proposed_name: pattern.draw(name, seed),
                    mode: if *enforce {
                        AutonamingMode::Enforce
                    } else {
                        AutonamingMode::Propose
                    },
                },
                delete_before_replace: !pattern.is_random(),
                warn_if_unsupported: specific || *enforce,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_pattern(text: &str, enforce: bool) -> Rule {
        let pattern = Pattern::parse(text, |_| Ok(None)).unwrap();
        Rule::Pattern { pattern, enforce }
    }

    fn facts(rule: &Rule, specific: bool) -> (String, AutonamingMode, bool, bool) {
        let proposal = rule.proposal("bucket", b"seed", specific).unwrap();
        let Autonaming { proposed_name, mode } = proposal.autonaming;
        (
            proposed_name,
            mode,
            proposal.delete_before_replace,
            proposal.warn_if_unsupported,
        )
    }

    #[test]
    fn names_that_cannot_exist_twice_force_the_deletion_first() {
        let own = || "bucket".to_owned();
        assert_eq!(
            facts(&Rule::verbatim(), false),
            (own(), AutonamingMode::Enforce, true, true)
        );
        assert_eq!(
            facts(&of_pattern("${name}", false), false),
            (own(), AutonamingMode::Propose, true, false)
        );
        assert_eq!(
            facts(&Rule::Disabled, false),
            (String::new(), AutonamingMode::Disable, true, false)
        );
        let (name, mode, first, _) = facts(&of_pattern("${name}-${hex(4)}", true), false);
        assert_eq!((name.len(), mode, first), (11, AutonamingMode::Enforce, false));
    }

    #[test]
    fn specific_and_enforced_rules_warn_and_the_default_rule_proposes_nothing() {
        assert!(facts(&of_pattern("${uuid}", true), false).3);
        assert!(facts(&of_pattern("${uuid}", false), true).3);
        assert!(!facts(&of_pattern("${uuid}", false), false).3);
        assert!(facts(&Rule::Disabled, true).3);
        assert_eq!(Rule::Default.proposal("bucket", b"seed", true), None);
    }
}
