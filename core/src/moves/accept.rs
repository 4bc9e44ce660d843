//! Accepted moves: the option of an operation, and the former URNs that it gives to resources.

use std::{borrow::Cow, sync::Arc};

use rustc_hash::FxHashMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{event::SuggestedMove, resource::ResourceState, urn::Urn};

/// The least confidence of a suggestion that `true` accepts.
pub const MIN_ACCEPTED_CONFIDENCE: f64 = 0.7;

/// Which moves an update applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "moves are a truth value, or a list of objects with `oldUrn` and `newUrn`"
)]
pub enum AcceptMoves {
    /// All suggestions with a confidence of at least [`MIN_ACCEPTED_CONFIDENCE`], or none.
    All(bool),
    /// These only.
    Only(Vec<AcceptedMove>),
}

/// A move to apply: a suggestion, or the two URNs of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptedMove {
    /// The recorded URN.
    pub old_urn: Urn,
    /// The URN that the program registers.
    pub new_urn: Urn,
    /// Ignored, as all other members of suggestions.
    #[serde(default, skip_serializing)]
    #[doc(hidden)]
    pub reason: Value,
    #[serde(default, skip_serializing)]
    #[doc(hidden)]
    pub confidence: Value,
    #[serde(default, skip_serializing)]
    #[doc(hidden)]
    pub alias: Value,
    #[serde(default, skip_serializing)]
    #[doc(hidden)]
    pub following: Value,
    #[serde(default, skip_serializing)]
    #[doc(hidden)]
    pub accepted: Value,
}

impl AcceptedMove {
    /// Creates a move of a record to another URN.
    #[must_use]
    pub const fn new(old_urn: Urn, new_urn: Urn) -> Self {
        Self {
            old_urn,
            new_urn,
            reason: Value::Null,
            confidence: Value::Null,
            alias: Value::Null,
            following: Value::Null,
            accepted: Value::Null,
        }
    }
}

impl From<&SuggestedMove> for AcceptedMove {
    fn from(suggestion: &SuggestedMove) -> Self {
        Self::new(suggestion.old_urn.clone(), suggestion.new_urn.clone())
    }
}

impl JsonSchema for AcceptMoves {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AcceptMoves".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "boolean" },
            { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "oldUrn": { "type": "string", "format": "urn", "x-takes": "a URN" },
                    "newUrn": { "type": "string", "format": "urn", "x-takes": "a URN" },
                    "reason": {}, "confidence": {}, "alias": {}, "following": {}, "accepted": {},
                },
                "required": ["oldUrn", "newUrn"],
                "additionalProperties": false,
                "x-takes": "a suggested move",
            } },
        ] })
    }
}

/// The moves that an operation applies. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppliedMoves(Option<Arc<Applied>>);

#[derive(Debug)]
struct Applied {
    moves: Vec<SuggestedMove>,
    /// Suggestions that were not accepted.
    declined: Vec<SuggestedMove>,
    /// From the URN of a resource to that of its record, what follows included.
    former: FxHashMap<Urn, Urn>,
    /// The reverse.
    present: FxHashMap<Urn, Urn>,
    /// The root stacks before and after, where the project or the stack is renamed.
    roots: Option<(Urn, Urn)>,
}

impl AppliedMoves {
    /// `declined` are suggestions that the result lists beside the applied moves.
    pub(crate) fn new(moves: Vec<SuggestedMove>, declined: Vec<SuggestedMove>) -> Self {
        if moves.is_empty() && declined.is_empty() {
            return Self::default();
        }
        let pairs = moves.iter().flat_map(|accepted| {
            let following = accepted.following.iter();
            let following = following.map(|moved| (&moved.new_urn, &moved.old_urn));
            std::iter::once((&accepted.new_urn, &accepted.old_urn)).chain(following)
        });
        let former: FxHashMap<Urn, Urn> = pairs.map(|(new, old)| (new.clone(), old.clone())).collect();
        let present = former
            .iter()
            .map(|(new, old)| (old.clone(), new.clone()))
            .collect();
        let roots = moves.iter().find(|accepted| accepted.new_urn.is_root_stack());
        let roots = roots.map(|roots| (roots.old_urn.clone(), roots.new_urn.clone()));
        Self(Some(Arc::new(Applied {
            moves,
            declined,
            former,
            present,
            roots,
        })))
    }

    /// Returns the moves.
    pub(crate) fn moves(&self) -> &[SuggestedMove] {
        self.0.as_ref().map_or(&[], |applied| &applied.moves)
    }

    /// Returns the suggestions that were not accepted.
    pub(crate) fn declined(&self) -> &[SuggestedMove] {
        self.0.as_ref().map_or(&[], |applied| &applied.declined)
    }

    /// Returns all pairs of a resource's URN and that of its record.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Urn, &Urn)> {
        self.0.iter().flat_map(|applied| &applied.former)
    }

    /// Returns whether a move gives the record of a URN to another resource than this one.
    pub(crate) fn is_for_another(&self, old: &Urn, urn: &Urn) -> bool {
        let present = self.0.as_ref().and_then(|applied| applied.present.get(old));
        present.is_some_and(|present| present != urn)
    }

    /// Returns the URN of the record that a resource takes over. The default providers of a renamed project are part of
    /// its move, although no suggestion lists them.
    pub(crate) fn former(&self, urn: &Urn) -> Option<Urn> {
        let applied = self.0.as_ref()?;
        if let Some(former) = applied.former.get(urn) {
            return Some(former.clone());
        }
        let (old, _) = applied.roots.as_ref()?;
        urn.is_default_provider()
            .then(|| Urn::new(old.stack(), old.project(), "", urn.qualified_type(), urn.name()))
    }
}

/// Returns whether one record can be that of another resource: both are components or resources of one package.
pub(crate) fn same_kind(old: &ResourceState, new: &ResourceState) -> bool {
    let (old_type, new_type) = (&old.resource_type, &new.resource_type);
    old.custom == new.custom
        && old_type.package() == new_type.package()
        && (old_type == new_type || !(old_type.is_provider() || new_type.is_provider()))
}
