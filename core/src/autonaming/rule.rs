//! One rule of names, as a section of the settings gives it, and what follows from it for a resource.

use super::{Proposal, pattern::Pattern};
use crate::provider::{Autonaming, AutonamingMode};

/// What a section says about names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The provider names things as it does without any setting.
    Default,
    /// The provider makes up no names at all.
    Disabled,
    /// Names are of a pattern; `enforce` leaves the provider no choice.
    Pattern { pattern: Pattern, enforce: bool },
}

impl Rule {
    /// Things have the very names of their resources.
    pub(super) fn verbatim() -> Self {
        Self::Pattern {
            pattern: Pattern::verbatim(),
            enforce: true,
        }
    }

    /// Returns what it comes to for a resource; `specific` says that it was made for its package or its type.
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
    fn people_are_warned_where_somebody_insists_and_nothing_is_proposed_by_default() {
        assert!(facts(&of_pattern("${uuid}", true), false).3);
        assert!(facts(&of_pattern("${uuid}", false), true).3);
        assert!(!facts(&of_pattern("${uuid}", false), false).3);
        assert!(facts(&Rule::Disabled, true).3);
        assert_eq!(Rule::Default.proposal("bucket", b"seed", true), None);
    }
}
