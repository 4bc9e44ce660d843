//! Interning of texts that many records of one document have: URNs, types, provider references.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use crate::urn::Urn;

/// The longest text, in bytes, that a small string stores without an allocation. Such texts are not shared.
const MAX_INLINE_LEN: usize = 23;

/// The texts that were read so far.
#[derive(Default)]
pub(super) struct Interner {
    urns: FxHashSet<Urn>,
    texts: FxHashSet<SmolStr>,
}

impl Interner {
    /// Returns the URN of this text. It is checked and allocated at its first occurrence only.
    pub(super) fn urn<E: serde::de::Error>(&mut self, text: &str) -> Result<Urn, E> {
        if let Some(known) = self.urns.get(text) {
            return Ok(known.clone());
        }
        let urn = Urn::parse(text).map_err(E::custom)?;
        self.urns.insert(urn.clone());
        Ok(urn)
    }

    /// Returns the URNs of a list.
    pub(super) fn urns<E: serde::de::Error>(
        &mut self,
        texts: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<Urn>, E> {
        texts.into_iter().map(|text| self.urn(text.as_ref())).collect()
    }

    /// Returns a text that is not a URN.
    pub(super) fn text(&mut self, text: &str) -> SmolStr {
        if text.len() <= MAX_INLINE_LEN {
            return SmolStr::new(text);
        }
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let text = SmolStr::new(text);
        self.texts.insert(text.clone());
        text
    }
}
