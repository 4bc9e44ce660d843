//! Sets of URNs as users name them: literally, or by globs.

use rustc_hash::FxHashSet;

use super::glob::Glob;
use crate::urn::Urn;

/// URNs that were named literally or by globs: `*` stands for anything but a colon, `**` for anything.
#[derive(Clone, Debug, Default)]
pub struct TargetSet {
    literals: FxHashSet<String>,
    /// The literals once more, in the order in which they were given.
    ordered: Vec<String>,
    globs: Vec<Glob>,
}

impl TargetSet {
    /// Tells whether anything was named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ordered.is_empty() && self.globs.is_empty()
    }

    /// Tells whether a URN was named.
    #[must_use]
    pub fn contains(&self, urn: &Urn) -> bool {
        self.literals.contains(urn.as_str()) || self.globs.iter().any(|glob| glob.matches(urn.as_str()))
    }

    /// Returns what was named literally, each once, in order.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(String::as_str)
    }
}

impl<T: AsRef<str>> FromIterator<T> for TargetSet {
    fn from_iter<I: IntoIterator<Item = T>>(named: I) -> Self {
        let mut set = Self::default();
        for text in named {
            let text = text.as_ref();
            match Glob::parse(text) {
                Some(glob) => set.globs.push(glob),
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
    fn only_literals_are_returned_and_each_once() {
        let set: TargetSet = ["z", "a*", "z", "y"].into_iter().collect();
        assert_eq!(set.literals().collect::<Vec<_>>(), ["z", "y"]);
    }
}
