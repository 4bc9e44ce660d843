//! Redaction: takes known secrets out of texts before people see them.

mod forms;
#[cfg(test)]
mod tests;

use std::{
    borrow::{Borrow, Cow},
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use zeroize::Zeroizing;

use crate::property::PropertyValue;

/// What stands where a secret was.
pub(crate) const PLACEHOLDER: &str = "[secret]";

/// Knows secrets and replaces them in texts. Cheap to clone; all clones know the same secrets.
///
/// A secret is found as it is, as JSON and as Python and JavaScript literals have it (also with escapes for what is not
/// ASCII), percent-encoded, and as base64 of the whole; of one with several lines, each line is found. An array or object is
/// found as JSON, too, with its names in order. Numbers and booleans are found only when they are the whole text. What is shorter than four characters is not found.
///
/// Secrets become known while an operation runs; nothing is made of them until a text is to be searched. Then they are
/// kept in automata whose sizes double, so that each secret is compiled a logarithmic number of times and a text is
/// searched a logarithmic number of times.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Known>);

#[derive(Default)]
struct Known {
    learned: Mutex<Learned>,
    compiled: RwLock<Compiled>,
}

#[derive(Default)]
struct Learned {
    /// All secrets.
    seen: HashSet<Text>,
    /// Those that no text has been searched for yet.
    fresh: Vec<Zeroizing<String>>,
    /// Numbers and booleans that no text has been compared with yet.
    fresh_scalars: Vec<Text>,
}

/// A text that is known by its content and wiped when it is dropped.
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
    scalars: HashSet<Text>,
}

struct Level {
    forms: Vec<Zeroizing<String>>,
    automaton: AhoCorasick,
}

impl Redactor {
    /// Creates a redactor that knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns secret texts.
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

    /// Learns what is secret in a value.
    pub fn learn_value(&self, value: &PropertyValue) {
        value.each_secret_text(&mut |text, is_scalar| self.learn_text(text, is_scalar));
    }

    /// Learns a secret text; the text of a number or a boolean is replaced only where it is the whole text.
    pub fn learn_text(&self, text: &str, is_scalar: bool) {
        if !is_scalar {
            self.learn([text]);
        } else if forms::is_long_enough(text) {
            let mut learned = self.0.learned.lock().unwrap_or_else(PoisonError::into_inner);
            learned.fresh_scalars.push(Text::new(text));
        }
    }

    /// Makes automata of what was learned since the last text was searched.
    fn compile(&self) {
        let mut learned = self.0.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if learned.fresh.is_empty() && learned.fresh_scalars.is_empty() {
            return;
        }
        // Another search waits for the lock of what was learned, and finds it compiled.
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
        // Building fails only when the secrets together have more than two thousand million bytes.
        match automaton {
            Ok(automaton) => levels.push(Level {
                forms: fresh,
                automaton,
            }),
            Err(error) => tracing::warn!(%error, "secrets cannot be taken out of texts: too many"),
        }
    }

    /// Returns `text` with a placeholder for each known secret; allocates only when there is one.
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

/// Replaces the ranges, which are sorted by their starts; those that overlap become one.
fn replace(text: &str, ranges: &[(usize, usize)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    // Two ranges that only touch are two secrets.
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
