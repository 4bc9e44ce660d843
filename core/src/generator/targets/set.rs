//! Sets of URNs in the user's options: literals or globs.

use rustc_hash::FxHashSet;

use super::glob::Glob;
use crate::urn::Urn;

/// URNs that were named literally or by globs: `*` matches any text without a colon, `**` any text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetSet {
    literals: FxHashSet<String>,
    /// The literals in the given order.
    ordered: Vec<String>,
    /// The globs: text and parsed pattern.
    globs: Vec<(Box<str>, Glob)>,
}

impl TargetSet {
    /// Returns whether no URN was named.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.ordered.is_empty() && self.globs.is_empty()
    }

    /// Returns whether a URN is in the set.
    #[must_use]
    pub(crate) fn contains(&self, urn: &Urn) -> bool {
        self.literals.contains(urn.as_str()) || self.globs.iter().any(|(_, glob)| glob.matches(urn.as_str()))
    }

    /// Returns the globs that match none of `urns`; the search stops when every glob has a match.
    pub(crate) fn idle_globs<'a>(&self, urns: impl IntoIterator<Item = &'a Urn>) -> Vec<&str> {
        let mut idle: Vec<_> = self.globs.iter().collect();
        for urn in urns {
            if idle.is_empty() {
                break;
            }
            idle.retain(|(_, glob)| !glob.matches(urn.as_str()));
        }
        idle.into_iter().map(|(text, _)| &**text).collect()
    }

    /// Returns the literals, each once, in order.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(String::as_str)
    }
}

impl<T: AsRef<str>> FromIterator<T> for TargetSet {
    fn from_iter<I: IntoIterator<Item = T>>(named: I) -> Self {
        let mut set = Self::default();
        for text in named {
            let text = text.as_ref();
            match Glob::parse(text) {
                Some(glob) => set.globs.push((text.into(), glob)),
                None if set.literals.insert(text.to_owned()) => set.ordered.push(text.to_owned()),
                None => {}
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    #[test]
    fn nothing_named_is_empty_and_contains_nothing() {
        let set = TargetSet::from_iter([""; 0]);
        assert!(set.is_empty());
        assert!(!set.contains(&urn("a")));
    }

    #[test]
    fn literals_and_globs_stand_beside_each_other() {
        let set: TargetSet = [urn("a").as_str(), "**::b*"].into_iter().collect();
        let contained = ["a", "b", "bc", "c"].map(|name| set.contains(&urn(name)));
        assert_eq!(contained, [true, true, true, false]);
    }

    #[test]
    fn globs_without_a_match_are_found() {
        let set = TargetSet::from_iter(["**::a", "**::b*", "c", "**::*d"]);
        assert_eq!(set.idle_globs(&[urn("bc"), urn("c")]), ["**::a", "**::*d"]);
        assert_eq!(set.idle_globs(&[]).len(), 3);
        assert_eq!(set.idle_globs(&[urn("a"), urn("bd")]), [""; 0]);
    }

    #[test]
    fn only_literals_are_returned_and_each_once() {
        let set: TargetSet = ["z", "a*", "z", "y"].into_iter().collect();
        assert_eq!(set.literals().collect::<Vec<_>>(), ["z", "y"]);
    }
}
