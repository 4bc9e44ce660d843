//! The rules of the engine's contract, and the scenarios and tests of each: `rules.yaml` and `COVERAGE.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use serde::Deserialize;

use super::{Scenario, ScenarioError};

/// The name of the file in a folder of scenarios.
pub const RULES_FILE: &str = "rules.yaml";
/// The name of the generated file beside it.
pub const COVERAGE_FILE: &str = "COVERAGE.md";

/// The rules that the scenarios of a folder test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The rules, each of which needs a scenario or a test.
    pub rules: Vec<Rule>,
    /// Further parts of the contract that scenarios may name.
    #[serde(default)]
    pub others: Vec<OtherPart>,
}

/// One rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The id by which `restsOn` names it.
    pub id: String,
    /// The rule, as a sentence.
    pub title: String,
    /// Tests of the rule that are no scenarios: `<file>::<function>`, the file relative to the repository.
    #[serde(default)]
    pub tests: Vec<String>,
}

/// A part of the contract without rules of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherPart {
    /// The id by which `restsOn` names it.
    pub id: String,
    /// What it is about, as a sentence.
    pub title: String,
}

impl Rules {
    /// Reads the rules of a folder; `None` when it has none.
    ///
    /// # Errors
    /// When the file cannot be read, has an unknown member, or has an id twice.
    pub fn read(folder: &Path) -> Result<Option<Self>, ScenarioError> {
        let path = folder.join(RULES_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(|error| ScenarioError::new(&path, error))?;
        let rules: Self = serde_norway::from_str(&text).map_err(|error| ScenarioError::new(&path, error))?;
        rules
            .check()
            .map_err(|reason| ScenarioError::new(&path, reason))?;
        Ok(Some(rules))
    }

    fn titles(&self) -> impl Iterator<Item = (&str, &str)> {
        let rules = self
            .rules
            .iter()
            .map(|rule| (rule.id.as_str(), rule.title.as_str()));
        rules.chain(
            self.others
                .iter()
                .map(|part| (part.id.as_str(), part.title.as_str())),
        )
    }

    fn check(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for (id, title) in self.titles() {
            if id.is_empty() || id.contains(':') || id.trim() != id {
                return Err(format!(
                    "{id:?} is not an id: it is empty, has a colon, or spaces around it"
                ));
            }
            if !ids.insert(id) {
                return Err(format!("the id {id:?} occurs twice"));
            }
            if !title.ends_with('.') {
                return Err(format!("the title of {id:?} is not a sentence"));
            }
        }
        let mut tests = self
            .rules
            .iter()
            .flat_map(|rule| rule.tests.iter().map(move |test| (rule, test)));
        match tests.find(|(_, test)| !test.contains("::")) {
            Some((rule, test)) => Err(format!(
                "the test {test:?} of {:?} is not <file>::<function>",
                rule.id
            )),
            None => Ok(()),
        }
    }

    /// Checks that a scenario names only ids that exist.
    ///
    /// # Errors
    /// The first unknown id.
    pub fn check_scenario(&self, scenario: &Scenario) -> Result<(), String> {
        let is_known = |id: &str| self.titles().any(|(known, _)| known == id);
        match scenario.rest_ids().find(|id| !is_known(id)) {
            Some(id) => Err(format!("restsOn names {id:?}, which {RULES_FILE} does not have")),
            None => Ok(()),
        }
    }

    /// Finds the scenarios of each rule; `folder` is the one that they were read from.
    #[must_use]
    pub fn coverage<'a>(&'a self, scenarios: &[Scenario], folder: &Path) -> Coverage<'a> {
        let mut shown = BTreeMap::<String, BTreeSet<String>>::new();
        for scenario in scenarios {
            let path = scenario.path.strip_prefix(folder).unwrap_or(&scenario.path);
            let name = path.with_extension("").display().to_string();
            for id in scenario.rest_ids() {
                shown.entry(id.to_owned()).or_default().insert(name.clone());
            }
        }
        Coverage { rules: self, shown }
    }
}

impl Scenario {
    /// Returns the ids of rules in `restsOn`, without the notes after them.
    pub fn rest_ids(&self) -> impl Iterator<Item = &str> {
        let entries = self.rests_on.iter();
        entries.map(|entry| entry.split_once(':').map_or(entry.as_str(), |(id, _)| id))
    }
}

/// The rules, and by id the scenarios that test them.
#[derive(Clone, Debug)]
pub struct Coverage<'a> {
    rules: &'a Rules,
    shown: BTreeMap<String, BTreeSet<String>>,
}

impl Coverage<'_> {
    /// Returns the ids of rules that have neither a scenario nor a test.
    #[must_use]
    pub fn missing(&self) -> Vec<&str> {
        let rules = self.rules.rules.iter();
        let missing = rules.filter(|rule| rule.tests.is_empty() && !self.shown.contains_key(&rule.id));
        missing.map(|rule| rule.id.as_str()).collect()
    }

    /// Returns the document: a table for each section of the contract.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = String::from(
            "# The rules and their scenarios\n\n\
             Generated from [rules.yaml](rules.yaml) and the `restsOn` of all scenarios by `make documents`. A scenario is named \
             by its path without the extension; a test that is not a scenario, by its file and function.\n",
        );
        let mut section = "";
        for rule in &self.rules.rules {
            if section_of(&rule.id) != section {
                section = section_of(&rule.id);
                // Writing to a text cannot fail.
                let _ = write!(
                    text,
                    "\n## {section}\n\n| id | rule | scenarios and tests |\n| --- | --- | --- |\n"
                );
            }
            let row = self.row(&rule.id, &rule.title, &rule.tests);
            text.push_str(&row);
        }
        text.push_str(
            "\n## Other parts of the contract\n\n| id | contents | scenarios |\n| --- | --- | --- |\n",
        );
        for part in &self.rules.others {
            text.push_str(&self.row(&part.id, &part.title, &[]));
        }
        text
    }

    fn row(&self, id: &str, title: &str, tests: &[String]) -> String {
        let scenarios = self.shown.get(id).into_iter().flatten().cloned();
        let tests = tests.iter().map(|test| format!("`{test}`"));
        let shown: Vec<_> = scenarios.chain(tests).collect();
        format!("| {id} | {title} | {} |\n", shown.join(", "))
    }
}

/// Returns the section of a rule: `1.5` of `1.5.13` and of `1.5 source positions`.
fn section_of(id: &str) -> &str {
    let end = |(index, letter): (usize, char)| (letter == ' ' || letter == '.').then_some(index);
    let mut ends = id.char_indices().filter_map(end);
    let first = ends.next();
    let second = first
        .filter(|&index| id[index..].starts_with('.'))
        .and_then(|_| ends.next());
    match (first, second) {
        (Some(index), None) if id[index..].starts_with(' ') => &id[..index],
        (_, Some(index)) => &id[..index],
        _ => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_two_numbers() {
        let table = [
            ("1.5.13", "1.5"),
            ("1.5 source positions", "1.5"),
            ("1.5.25 partial values", "1.5"),
            ("2.15", "2.15"),
            ("journal", "journal"),
            ("contract 11", "contract"),
        ];
        for (id, section) in table {
            assert_eq!(section_of(id), section, "{id}");
        }
    }
}
