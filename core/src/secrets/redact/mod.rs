//! Redaction: replaces known secrets in texts before they are shown.

mod forms;
#[cfg(test)]
mod tests;
mod values;

use std::{
    borrow::{Borrow, Cow},
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
};

use aho_corasick::{AhoCorasick, MatchKind};
use rustc_hash::FxHashSet;
use zeroize::Zeroizing;

use crate::property::PropertyValue;

pub(crate) use values::{numbered, renamed, with_texts};

/// The replacement of a secret.
pub(crate) const PLACEHOLDER: &str = "[secret]";

/// Replaces known secrets in texts. Cheap to clone; all clones share the secrets.
///
/// A secret is found in plain form, as JSON and as Python and JavaScript literals (also with escapes of non-ASCII
/// characters), percent-encoded, and as base64 of the whole; each line of a secret with several lines is found. An
/// array or object is also found as JSON with sorted names. Numbers and booleans are found only as the whole text.
/// Secrets with fewer than four characters are not found.
///
/// Secrets are added while an operation runs, and compiled when the next text is searched. The automata double in size,
/// so that each secret is compiled, and each text searched, a logarithmic number of times.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Known>);

/// A reference to a redactor that does not keep its secrets.
#[derive(Clone)]
pub(crate) struct WeakRedactor(Weak<Known>);

impl WeakRedactor {
    /// Returns the redactor; `None` once it has been dropped.
    pub(crate) fn upgrade(&self) -> Option<Redactor> {
        self.0.upgrade().map(Redactor)
    }

    /// Returns whether the redactor is in use.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

#[derive(Default)]
struct Known {
    learned: Mutex<Learned>,
    compiled: RwLock<Compiled>,
}

#[derive(Default)]
struct Learned {
    /// All secrets.
    seen: FxHashSet<Text>,
    /// Secrets that are not compiled yet.
    fresh: Vec<Zeroizing<String>>,
    /// Numbers and booleans that are not compiled yet.
    fresh_scalars: Vec<Text>,
}

/// A text that is compared by its content and wiped when it is dropped.
#[derive(PartialEq, Eq)]
struct Text(Zeroizing<String>);

impl Text {
    fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}

#[derive(Default)]
struct Compiled {
    levels: Vec<Level>,
    /// Texts of numbers and booleans.
    scalars: FxHashSet<Text>,
}

struct Level {
    forms: Vec<Zeroizing<String>>,
    automaton: AhoCorasick,
}

impl Redactor {
    /// Creates a redactor without secrets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a reference that does not keep the secrets.
    pub(crate) fn downgrade(&self) -> WeakRedactor {
        WeakRedactor(Arc::downgrade(&self.0))
    }

    /// Adds secret texts.
    pub fn learn<S: AsRef<str>>(&self, secrets: impl IntoIterator<Item = S>) {
        for secret in secrets {
            let secret = secret.as_ref();
            if !forms::is_long_enough(secret) {
                continue;
            }
            let mut learned = self.0.learned.lock().unwrap_or_else(PoisonError::into_inner);
            if !learned.seen.contains(secret) {
                learned.fresh.push(Zeroizing::new(secret.to_owned()));
                learned.seen.insert(Text::new(secret));
            }
        }
    }

    /// Adds the secrets of a value.
    pub fn learn_value(&self, value: &PropertyValue) {
        value.each_secret_text(&mut |text, is_scalar| self.learn_text(text, is_scalar));
    }

    /// Adds a secret text; a number or a boolean is replaced only if it is the whole text.
    pub fn learn_text(&self, text: &str, is_scalar: bool) {
        if !is_scalar {
            self.learn([text]);
        } else if forms::is_long_enough(text) {
            let mut learned = self.0.learned.lock().unwrap_or_else(PoisonError::into_inner);
            learned.fresh_scalars.push(Text::new(text));
        }
    }

    /// Compiles the secrets that were added since the last search.
    fn compile(&self) {
        let mut learned = self.0.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if learned.fresh.is_empty() && learned.fresh_scalars.is_empty() {
            return;
        }
        // A concurrent search waits for this lock, and finds the secrets compiled.
        let mut compiled = self.0.compiled.write().unwrap_or_else(PoisonError::into_inner);
        compiled.scalars.extend(learned.fresh_scalars.drain(..));
        let secrets = std::mem::take(&mut learned.fresh);
        if secrets.is_empty() {
            return;
        }
        let mut fresh = Vec::with_capacity(secrets.len() * 4);
        for secret in &secrets {
            forms::expand(secret, &mut fresh);
        }
        let levels = &mut compiled.levels;
        while levels
            .last()
            .is_some_and(|level| level.forms.len() <= fresh.len())
        {
            if let Some(level) = levels.pop() {
                fresh.extend(level.forms);
            }
        }
        fresh.sort_unstable_by(|left, right| left.as_str().cmp(right));
        fresh.dedup();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(fresh.iter().map(|form| form.as_bytes()));
        // Building fails only if the secrets together exceed two thousand million bytes.
        match automaton {
            Ok(automaton) => levels.push(Level {
                forms: fresh,
                automaton,
            }),
            Err(error) => tracing::warn!(%error, "secrets cannot be redacted: too many"),
        }
    }

    /// Returns `text` with a placeholder for each known secret; allocates only if it contains one.
    #[must_use]
    pub fn scrub<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.compile();
        let compiled = self.0.compiled.read().unwrap_or_else(PoisonError::into_inner);
        if !compiled.scalars.is_empty() && compiled.scalars.contains(text.trim()) {
            return Cow::Borrowed(PLACEHOLDER);
        }
        let mut found: Vec<(usize, usize)> = compiled
            .levels
            .iter()
            .flat_map(|level| level.automaton.find_overlapping_iter(text))
            .map(|found| (found.start(), found.end()))
            .collect();
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        Cow::Owned(replace(text, &found))
    }
}

/// Replaces the ranges, which are sorted by their starts; overlapping ranges are merged.
fn replace(text: &str, ranges: &[(usize, usize)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    // Adjacent ranges are separate secrets.
    for &(start, end) in ranges {
        if start >= done {
            replaced.push_str(&text[done..start]);
            replaced.push_str(PLACEHOLDER);
        }
        done = done.max(end);
    }
    replaced.push_str(&text[done..]);
    replaced
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}
