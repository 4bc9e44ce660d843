//! Redaction: takes known secrets out of texts before people see them.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use zeroize::Zeroizing;

/// What stands where a secret was.
pub const PLACEHOLDER: &str = "[secret]";

/// Shorter secrets are left alone: they would turn up in any text, and a mark there would tell what they are.
const SHORTEST: usize = 3;

/// Knows secrets and replaces them in texts. Cheap to clone; all clones know the same secrets.
///
/// Secrets become known while an operation runs; nothing is made of them until a text is to be searched. Then they are
/// kept in automata whose sizes double, so that each secret is compiled a logarithmic number of times and a text is
/// searched a logarithmic number of times.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Known>);

#[derive(Default)]
struct Known {
    /// What no text has been searched for yet.
    fresh: Mutex<Vec<Zeroizing<String>>>,
    levels: RwLock<Vec<Level>>,
}

struct Level {
    secrets: Vec<Zeroizing<String>>,
    automaton: AhoCorasick,
}

impl Level {
    /// Tells whether a secret is in this level; the secrets are sorted.
    fn knows(&self, secret: &str) -> bool {
        self.secrets
            .binary_search_by(|known| known.as_str().cmp(secret))
            .is_ok()
    }
}

impl Redactor {
    /// Creates a redactor that knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns secrets, also in the form in which JSON text shows them.
    pub fn learn<S: AsRef<str>>(&self, secrets: impl IntoIterator<Item = S>) {
        let mut fresh = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < SHORTEST {
                continue;
            }
            if let Ok(quoted) = serde_json::to_string(secret).map(Zeroizing::new) {
                let inner = &quoted[1..quoted.len() - 1];
                if inner != secret {
                    fresh.push(Zeroizing::new(inner.to_owned()));
                }
            }
            fresh.push(Zeroizing::new(secret.to_owned()));
        }
        if !fresh.is_empty() {
            self.0
                .fresh
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(&mut fresh);
        }
    }

    /// Makes automata of what was learned since the last text was searched.
    fn compile(&self) {
        let mut learned = self.0.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        if learned.is_empty() {
            return;
        }
        // Whoever searches meanwhile waits for the lock of what was learned, and finds it compiled.
        let mut levels = self.0.levels.write().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = std::mem::take(&mut *learned);
        fresh.retain(|secret| !levels.iter().any(|level| level.knows(secret)));
        fresh.sort_unstable_by(|left, right| left.as_str().cmp(right));
        fresh.dedup();
        while levels
            .last()
            .is_some_and(|level| level.secrets.len() <= fresh.len())
        {
            if let Some(level) = levels.pop() {
                fresh.extend(level.secrets);
            }
        }
        if fresh.is_empty() {
            return;
        }
        fresh.sort_unstable_by(|left, right| left.as_str().cmp(right));
        fresh.dedup();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(fresh.iter().map(|secret| secret.as_bytes()));
        // Building fails only when the secrets together have more than two thousand million bytes.
        match automaton {
            Ok(automaton) => levels.push(Level {
                secrets: fresh,
                automaton,
            }),
            Err(error) => tracing::warn!(%error, "secrets cannot be taken out of texts: too many"),
        }
    }

    /// Returns `text` with a placeholder for each known secret; allocates only when there is one.
    #[must_use]
    pub fn scrub<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.compile();
        let levels = self.0.levels.read().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<(usize, usize)> = levels
            .iter()
            .flat_map(|level| level.automaton.find_iter(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_in_plain_and_in_json_form() {
        let redactor = Redactor::new();
        redactor.learn(["hunter2", "two\nlines", "ab"]);
        assert_eq!(
            redactor.scrub("it is hunter2, \"two\\nlines\" and two\nlines, not ab"),
            "it is [secret], \"[secret]\" and [secret], not ab"
        );
        assert!(matches!(redactor.scrub("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_longer_of_two_secrets_that_share_a_beginning_wins() {
        let redactor = Redactor::new();
        redactor.learn(["password", "port"]);
        redactor.learn(["pass"]);
        assert_eq!(
            redactor.scrub("password pass passport"),
            "[secret] [secret] [secret][secret]"
        );
    }

    #[test]
    fn secrets_that_come_one_by_one_are_compiled_in_few_automata() {
        let redactor = Redactor::new();
        for number in 0..1000 {
            redactor.learn([format!("secret-{number:04}-value")]);
            assert!(matches!(redactor.scrub("nothing"), Cow::Borrowed(_)));
        }
        redactor.learn(["secret-0500-value"]);
        assert!(matches!(redactor.scrub("nothing"), Cow::Borrowed(_)));
        assert!(redactor.0.levels.read().unwrap().len() <= 11);
        for number in 0..1000 {
            assert_eq!(
                redactor.scrub(&format!("<secret-{number:04}-value>")),
                "<[secret]>"
            );
        }
    }
}
