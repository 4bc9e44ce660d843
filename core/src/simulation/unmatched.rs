//! Patterns of the settings that match nothing: they may be misspelt.

use std::collections::BTreeSet;

use super::{SimulatedCall, pattern::matches_type, settings::Settings};
use crate::message::nearest_names;

/// How many names a misspelt pattern may stand for at most.
const MAX_NEAREST: usize = 3;

/// A pattern of the settings that matches neither a type nor a function of the calls so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedPattern {
    /// The setting: `outputs`, `replace_on`, `delete_before_replace` or `functions`.
    pub setting: &'static str,
    /// The pattern.
    pub pattern: String,
    /// What it may be a misspelling of.
    pub nearest: Vec<String>,
}

/// The types and functions of all calls.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    types: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Tokens {
    pub(super) fn note(&mut self, call: &SimulatedCall) {
        let tokens = match call.call {
            "invoke" | "call" => &mut self.functions,
            _ => &mut self.types,
        };
        if !tokens.contains(&call.resource_type) {
            tokens.insert(call.resource_type.clone());
        }
    }
}

/// Returns the patterns of settings that match none of the tokens.
pub(super) fn of(settings: &Settings, tokens: &Tokens) -> Vec<UnmatchedPattern> {
    let functions = settings.answered_functions.iter().flatten();
    let outputs = settings.outputs.keys().chain(&settings.answered_outputs);
    let patterns = outputs
        .map(|pattern| ("outputs", pattern, &tokens.types))
        .chain(
            settings
                .replace_on
                .keys()
                .map(|pattern| ("replace_on", pattern, &tokens.types)),
        )
        .chain(
            settings
                .delete_before_replace
                .iter()
                .map(|pattern| ("delete_before_replace", pattern, &tokens.types)),
        )
        .chain(functions.map(|pattern| ("functions", pattern, &tokens.functions)));
    let unmatched =
        patterns.filter(|(_, pattern, tokens)| !tokens.iter().any(|token| matches_type(pattern, token)));
    let unmatched = unmatched.map(|(setting, pattern, tokens)| UnmatchedPattern {
        setting,
        pattern: pattern.clone(),
        nearest: nearest_names(pattern, tokens.iter().map(String::as_str), MAX_NEAREST)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    });
    unmatched.collect()
}
