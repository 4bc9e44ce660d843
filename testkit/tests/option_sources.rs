//! Options of operations: the engine declares each once, and the bindings carry it without its name.
//!
//! A new boolean option therefore touches two source files: `core/src/operation/options.rs`, which declares and documents it, and
//! the file of the engine that acts on it. `make generate` writes the rest.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use stackwright::{binding::Document as _, operation::OperationOptions};

/// Folders with the sources of the bindings.
const BINDINGS: &[&str] = &[
    "bindings-c/src",
    "bindings-node/src",
    "bindings-node/lib",
    "bindings-python/src",
    "bindings-python/python",
];

/// Files that `make generate` writes.
const GENERATED: &[&str] = &["documents.ts", "options.py", "resource_options.py", "_results.py"];

/// Options that a binding acts on itself, or that its documentation names.
const NAMED: &[&str] = &[
    // A preview is an update with this option; programs and providers see it.
    "dryRun",
    // Refuse a program that the operation would not run.
    "destroyProgram",
    "refreshProgram",
    // The test kit previews what protection would refuse.
    "ignoreProtect",
    // A set on an executor decides it for its stacks.
    "noEvents",
    // Whether listeners and readers of outputs see secrets.
    "showSecrets",
    // In the documentation of plans, of released operations and of installers.
    "generatePlan",
    "holdSession",
    "skipPluginPreInstall",
    // A capability of providers has the same name.
    "waitsForRegistrations",
];

#[test]
fn a_boolean_option_is_declared_in_one_file_of_the_engine_and_named_in_no_binding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut bindings = Vec::new();
    for folder in BINDINGS {
        collect(&root.join(folder), &mut bindings);
    }
    bindings.retain(|file| !GENERATED.iter().any(|generated| file.ends_with(generated)));
    assert!(bindings.len() > 50, "the sources of the bindings were found");
    let mut engine = Vec::new();
    collect(&root.join("core/src"), &mut engine);
    let options = boolean_options();
    assert!(options.len() > 10, "the options of several words: {options:?}");
    for option in options {
        let snake = snake_case(&option);
        let declaration = format!("    pub {snake}: ");
        let declared = files(&engine, |text| text.contains(&declaration));
        assert!(
            declared.contains(&root.join("core/src/operation/options.rs")),
            "{option} is declared in {declared:?}"
        );
        if !NAMED.contains(&option.as_str()) {
            let named = files(&bindings, |text| {
                has_word(text, &option) || has_word(text, &snake)
            });
            assert!(named.is_empty(), "{option} is named by hand in {named:?}");
        }
    }
}

/// Returns the boolean options of more than one word: a single word has other meanings, too.
fn boolean_options() -> Vec<String> {
    let properties = &OperationOptions::schema()["properties"];
    let Some(properties) = properties.as_object() else {
        panic!("options have properties")
    };
    let is_boolean = |schema: &serde_json::Value| match &schema["type"] {
        serde_json::Value::Array(types) => types.iter().any(|it| it == "boolean"),
        one => one == "boolean",
    };
    let options = properties.iter().filter(|(_, schema)| is_boolean(schema));
    let names = options.map(|(name, _)| name.clone());
    names
        .filter(|name| name.contains(|letter: char| letter.is_ascii_uppercase()))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|it| it == "rs" || it == "ts" || it == "py")
        {
            files.push(path);
        }
    }
}

fn files(all: &[PathBuf], holds: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let read = |path: &&PathBuf| fs::read_to_string(path).is_ok_and(|text| holds(&text));
    all.iter().filter(read).cloned().collect()
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

fn snake_case(name: &str) -> String {
    let letters = name.chars().flat_map(|letter| {
        let mark = letter.is_ascii_uppercase().then_some('_');
        mark.into_iter().chain([letter.to_ascii_lowercase()])
    });
    letters.collect()
}
