//! Every rule of the contract has a scenario, or tests that exist; scenarios name only rules that exist.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use stackwright_testkit::scenario::{Rules, Scenario, read_directory};

const RULES: &str = "rules:
  - {id: \"1.1\", title: One.}
  - {id: 1.1 further, title: Further., tests: [core/x.rs::a_test]}
others:
  - {id: journal, title: The journal.}
";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn scenarios(folder: &Path) -> Vec<Scenario> {
    let scenarios = read_directory(folder).unwrap();
    scenarios
        .into_iter()
        .map(|scenario| scenario.unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// Writes a folder with rules and one scenario that rests on `ids`.
fn folder(rules: &str, ids: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.yaml"), rules).unwrap();
    fs::create_dir(folder.path().join("steps")).unwrap();
    let scenario = format!("scenario: It is so.\nrestsOn: {ids}\noperations: [{{update: {{}}}}]\n");
    fs::write(folder.path().join("steps/one.yaml"), scenario).unwrap();
    folder
}

/// Returns whether a file defines a function, or has a test of this title, in Rust, Python or JavaScript.
fn defines(text: &str, name: &str) -> bool {
    let forms = [
        format!("fn {name}("),
        format!("def {name}("),
        format!("test('{name}'"),
        format!("test(\"{name}\""),
    ];
    forms.iter().any(|form| text.contains(form.as_str()))
}

#[test]
fn every_rule_has_a_scenario_or_tests_that_exist() {
    let folder = repository().join("scenarios");
    let rules = Rules::read(&folder).unwrap().expect("scenarios/rules.yaml");
    assert!(
        rules.rules.len() >= 150,
        "there are only {} rules",
        rules.rules.len()
    );
    let scenarios = scenarios(&folder);
    let coverage = rules.coverage(&scenarios, &folder);
    let missing = coverage.missing();
    assert!(
        missing.is_empty(),
        "rules without a scenario or a test: {missing:?}"
    );
    for rule in &rules.rules {
        for test in &rule.tests {
            let (file, name) = test.split_once("::").unwrap();
            let text = fs::read_to_string(repository().join(file));
            let text = text.unwrap_or_else(|error| panic!("{}: {file}: {error}", rule.id));
            assert!(defines(&text, name), "{}: {file} has no test {name}", rule.id);
        }
    }
}

#[test]
fn an_unknown_id_is_an_error_that_names_scenario_and_id() {
    let folder = folder(RULES, "[\"1.1: in a preview\", \"1.2\"]");
    let read = read_directory(folder.path()).unwrap();
    let [Err(error)] = &read[..] else {
        panic!("{read:?}")
    };
    let text = error.to_string();
    assert!(text.contains("steps/one.yaml"), "{text}");
    assert!(
        text.ends_with("restsOn names \"1.2\", which rules.yaml does not have"),
        "{text}"
    );
}

#[test]
fn a_rule_without_a_scenario_and_without_a_test_is_missing() {
    let folder = folder(RULES, "[journal]");
    let rules = Rules::read(folder.path()).unwrap().unwrap();
    let scenarios = scenarios(folder.path());
    let coverage = rules.coverage(&scenarios, folder.path());
    assert_eq!(coverage.missing(), ["1.1"]);
    let text = coverage.to_markdown();
    assert!(text.contains("\n## 1.1\n"), "{text}");
    assert!(
        text.contains("| 1.1 | One. |  |\n| 1.1 further | Further. | `core/x.rs::a_test` |\n"),
        "{text}"
    );
    assert!(
        text.ends_with("| journal | The journal. | steps/one |\n"),
        "{text}"
    );
}

#[test]
fn malformed_rules_are_refused_with_the_reason() {
    let table = [
        ("rules: [{id: a, title: A., of: b}]", "unknown field `of`"),
        (
            "rules: [{id: a, title: A.}, {id: a, title: B.}]",
            "the id \"a\" occurs twice",
        ),
        (
            "rules: [{id: a, title: A.}]\nothers: [{id: a, title: B.}]",
            "the id \"a\" occurs twice",
        ),
        ("rules: [{id: \"a:b\", title: A.}]", "\"a:b\" is not an id"),
        (
            "rules: [{id: a, title: A}]",
            "the title of \"a\" is not a sentence",
        ),
        (
            "rules: [{id: a, title: A., tests: [b]}]",
            "the test \"b\" of \"a\" is not <file>::<function>",
        ),
    ];
    for (rules, reason) in table {
        let folder = folder(rules, "[a]");
        let error = read_directory(folder.path()).unwrap_err().to_string();
        assert!(error.contains("rules.yaml") && error.contains(reason), "{error}");
    }
}
