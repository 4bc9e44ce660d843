//! Tests of the form of written files, and of the values of scalars.

use proptest::prelude::*;

use super::*;

fn value(text: &str) -> Resolved {
    Node::parse(&format!("k: {text}\n"))
        .unwrap()
        .as_mapping()
        .unwrap()["k"]
        .resolved()
        .unwrap()
}

#[test]
fn a_file_in_the_usual_form_is_written_with_the_same_bytes() {
    for text in [
        include_str!("../../../core/tests/fixtures/states/Pulumi.dev.yaml"),
        "name: fixtures\nruntime:\n  name: python\ndescription: states written by the reference CLI\n",
        "a:\n  - b: 1\n    c:\n      - d\n  - - e\n    - f\n  - {}\n  - []\nempty: \"\"\nquoted: 'yes'\nlines: |\n  one\n\n  two\nnothing:\n",
        "kept: |+\n  one\n\n\nstripped: |-\n  a\n  b\n",
    ] {
        assert_eq!(Node::parse(text).unwrap().to_yaml(), text);
    }
}

#[test]
fn the_text_of_a_plain_scalar_determines_its_type() {
    for (text, expected) in [
        ("true", Resolved::Bool(true)),
        ("yes", Resolved::String("yes".into())),
        ("5", Resolved::Integer(5)),
        ("-1_000", Resolved::Integer(-1000)),
        ("0x1F", Resolved::Integer(31)),
        ("017", Resolved::Integer(15)),
        ("089", Resolved::Float(89.0)),
        (
            "18446744073709551616",
            Resolved::Float(18_446_744_073_709_551_616.0),
        ),
        ("1.50", Resolved::Float(1.5)),
        ("1e6", Resolved::Float(1e6)),
        (".inf", Resolved::Float(f64::INFINITY)),
        ("inf", Resolved::String("inf".into())),
        ("1.2.3", Resolved::String("1.2.3".into())),
        ("~", Resolved::Null),
        ("2020-01-02", Resolved::Date(jiff::civil::date(2020, 1, 2))),
        ("'5'", Resolved::String("5".into())),
        ("\"true\"", Resolved::String("true".into())),
        ("!!str 5", Resolved::String("5".into())),
        (">\n  a\n  b\n", Resolved::String("a b\n".into())),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn aliases_and_merges_are_resolved() {
    let node = Node::parse("a: &x {b: 1, c: 2}\nd: *x\ne:\n  <<: *x\n  c: 3\n").unwrap();
    let entries = node.as_mapping().unwrap();
    assert_eq!(entries["a"], entries["d"]);
    let merged = entries["e"].as_mapping().unwrap();
    assert_eq!(
        (merged["b"].as_text(), merged["c"].as_text()),
        (Some("1"), Some("3"))
    );
}

#[test]
fn errors_name_line_and_column() {
    for (text, place) in [
        (
            "a: 1\na: 2\n",
            "line 2, column 1: mapping key \"a\" already defined",
        ),
        ("a: [1\n", "line "),
        ("? {x: 1}\n: 2\n", "must be a text"),
    ] {
        let error = Node::parse(text).unwrap_err();
        assert!(error.message().contains(place), "{text:?}: {error}");
    }
}

#[test]
fn aliases_that_expand_beyond_the_limit_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let previous = format!("*a{}, ", level - 1).repeat(10);
        text += &format!("a{level}: &a{level} [{previous}]\n");
    }
    assert!(
        Node::parse(&text)
            .unwrap_err()
            .message()
            .contains("too many values")
    );
    assert!(Node::parse(&"[".repeat(5000)).is_err());
}

fn any_node() -> impl Strategy<Value = Node> {
    let text = prop_oneof![any::<String>(), "[ -~\n]{0,12}", "[-:#?|>'\"&*!%@ a0.\n\t]{0,6}"];
    let leaf = text.clone().prop_map(Node::string);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Node::Sequence),
            prop::collection::vec((text.clone(), inner), 0..4)
                .prop_map(|entries| Node::Mapping(entries.into_iter().collect())),
        ]
    })
}

/// A document in block form in which each line ends with a comment that names the path of its value, and the paths.
fn any_document() -> impl Strategy<Value = (String, Vec<String>)> {
    #[derive(Clone, Debug)]
    enum Tree {
        Leaf(String),
        List(Vec<(Self, bool)>),
        Mapping(Vec<(Self, bool)>),
    }
    fn write(tree: &Tree, path: &str, indent: usize, out: &mut String, paths: &mut Vec<String>) {
        let pad = " ".repeat(indent);
        let (items, is_list) = match tree {
            Tree::Leaf(_) => return,
            Tree::List(items) => (items, true),
            Tree::Mapping(items) => (items, false),
        };
        for (index, (item, has_comment)) in items.iter().enumerate() {
            let path = match is_list {
                true => format!("{path}[{index}]"),
                false if path.is_empty() => format!("k{index}"),
                false => format!("{path}.k{index}"),
            };
            if *has_comment {
                out.push_str(&format!("{pad}# of {path} above\n"));
            }
            let name = match is_list {
                true => "-".to_owned(),
                false => format!("k{index}:"),
            };
            let text = match item {
                // Unique: equal neighbours in a list are not distinguished.
                Tree::Leaf(text) => format!(" {}", text.replace('N', &paths.len().to_string())),
                _ => String::new(),
            };
            out.push_str(&format!("{pad}{name}{text} # of {path}\n"));
            write(item, &path, indent + 2, out, paths);
            paths.push(path);
        }
    }
    let leaf = prop_oneof![
        "[a-z]{1,5}N",
        "'[a-z ]{0,5}N'",
        "\"[a-z ]{0,5}N\"",
        "[1-9][0-9]{0,3}N",
        Just("{p: N, q: [2]}".to_owned())
    ]
    .prop_map(Tree::Leaf);
    let tree = leaf.prop_recursive(3, 16, 3, |inner| {
        let items = prop::collection::vec((inner, any::<bool>()), 1..4);
        prop_oneof![items.clone().prop_map(Tree::List), items.prop_map(Tree::Mapping)]
    });
    prop::collection::vec((tree, any::<bool>()), 1..4).prop_map(|items| {
        let (mut out, mut paths) = ("# of k head\n".to_owned(), Vec::new());
        write(&Tree::Mapping(items), "", 0, &mut out, &mut paths);
        out.push_str("# the end\n");
        (out, paths)
    })
}

#[test]
fn an_edit_keeps_comments_and_form_of_unchanged_entries() {
    let source = "# top\nsalt: 'x'  # why\n\n# the settings\nconfig:\n    # first\n    a:b: 1\n    # second\n    a:c:\n        deep: [1, 2]\n        text: |\n            # no comment\n    # third\n    a:d: yes\n    # last\nother: {x: 1}\n# end\n";
    let Node::Mapping(mut entries) = Node::parse(source).unwrap() else {
        panic!("it is a mapping");
    };
    let edited = |entries: &Mapping| Node::edit(source, entries, Format::Yaml).unwrap();
    assert_eq!(edited(&entries), source);
    let Some(Node::Mapping(config)) = entries.get_mut("config") else {
        panic!("it is a mapping");
    };
    config.insert("a:b".into(), Node::string("two"));
    config.shift_remove("a:d");
    config.insert("a:e".into(), Node::string("new"));
    entries.insert("z".into(), Node::string("end"));
    assert_eq!(
        edited(&entries),
        "# top\nsalt: 'x'  # why\n\n# the settings\nconfig:\n    # first\n    a:b: two\n    # second\n    a:c:\n        deep: [1, 2]\n        text: |\n            # no comment\n    a:e: new\n    # last\nother: {x: 1}\nz: end\n# end\n"
    );
}

/// Sets or removes the value at a path, and returns the new text.
fn with(source: &str, path: &str, value: Option<&str>, format: Format) -> stackwright::Result<String> {
    let Node::Mapping(mut entries) = Node::parse(source)? else {
        panic!("it is a mapping");
    };
    let value = value.map(|json| Node::from_json_value(&serde_json::from_str(json).unwrap()));
    change(&mut entries, path, value)?;
    Node::edit(source, &entries, format)
}

/// Documents, paths, the JSON of the new values (none removes the entry), and the changed documents.
const CHANGES: &[(&str, &str, Option<&str>, &str)] = &[
    // The comment after a value stays.
    ("a: 1 # one\n", "a", Some("2"), "a: 2 # one\n"),
    (
        "a:   'x'   # one\nb: 2",
        "a",
        Some("\"v\""),
        "a:   v   # one\nb: 2",
    ),
    ("a: # none\nb: 2\n", "a", Some("1"), "a: 1 # none\nb: 2\n"),
    ("a:\nb: 2\n", "a", Some("1"), "a: 1\nb: 2\n"),
    (
        "a: [x, # first\n  y]\n",
        "a[1]",
        Some("3"),
        "a: [x, # first\n  3]\n",
    ),
    (
        "a: {x: 1,  y: 2} # c\n",
        "a.y",
        Some("3"),
        "a: {x: 1,  y: 3} # c\n",
    ),
    ("a: {x: 1}\n", "a.z", Some("[true]"), "a: {x: 1, \"z\": [true]}\n"),
    ("a: {x: 1, y: 2}\n", "a.x", None, "a: {y: 2}\n"),
    ("a: {x: 1, y: 2}\n", "a.y", None, "a: {x: 1}\n"),
    (
        "a: {x: 1, # one\n  y: 2} # end\n",
        "a.y",
        None,
        "a: {x: 1 # one\n  } # end\n",
    ),
    (
        "a: [1 , # one\r\n  2]\r\n",
        "a[1]",
        None,
        "a: [1 # one\r\n  ]\r\n",
    ),
    ("a: {}\n", "a.x", Some("1"), "a:\n  x: 1\n"),
    // A list in block form.
    (
        "a:\n  - 1 # one\n  # two\n  - 2\nb: 3\n",
        "a[0]",
        Some("9"),
        "a:\n  - 9 # one\n  # two\n  - 2\nb: 3\n",
    ),
    (
        "a:\n- 1 # one\n# two\n- 2\nb: 3\n",
        "a[2]",
        Some("9"),
        "a:\n- 1 # one\n# two\n- 2\n- 9\nb: 3\n",
    ),
    (
        "a:\n  - 1\n  # two\n  - 2\n  # three\n  - 3\n",
        "a[1]",
        None,
        "a:\n  - 1\n  # three\n  - 3\n",
    ),
    (
        "a:\n  - 1\n  -\n  - 3\n",
        "a[1]",
        Some("2"),
        "a:\n  - 1\n  - 2\n  - 3\n",
    ),
    (
        "a:\n  - x: 1 # c\n    y: 2\n",
        "a[0].y",
        Some("3"),
        "a:\n  - x: 1 # c\n    y: 3\n",
    ),
    ("a:\n  - x: 1\n    y: 2\n", "a[0].x", None, "a:\n  - y: 2\n"),
    (
        "a:\n  - x: 1 # c\n    # d\n    y: 2\n",
        "a[0].x",
        None,
        "a:\n  -\n    # d\n    y: 2\n",
    ),
    (
        "a:\n  - - 1\n    - 2\n  - 3\n",
        "a[0][0]",
        Some("5"),
        "a:\n  - - 5\n    - 2\n  - 3\n",
    ),
    // A value of another kind.
    (
        "a: 1 # one\nb: 2\n",
        "a",
        Some("{\"x\": 1}"),
        "a: # one\n  x: 1\nb: 2\n",
    ),
    (
        "a: # all\n  x: 1\n  # y\n  y: 2\n# b\nb: 2\n",
        "a",
        Some("5"),
        "a: 5 # all\n# b\nb: 2\n",
    ),
    ("a: |\n  one\n  two\nb: 2\n", "a", Some("\"x\""), "a: x\nb: 2\n"),
    (
        "a: x # c\nb: 2\n",
        "a",
        Some("\"x\\ny\\n\""),
        "a: \"x\\ny\\n\" # c\nb: 2\n",
    ),
    (
        "a: x\nb: 2\n",
        "a",
        Some("\"x\\ny\\n\""),
        "a: |\n  x\n  y\nb: 2\n",
    ),
    (
        "a:\n    b:\n        c: 1\n",
        "a.b.d",
        Some("2"),
        "a:\n    b:\n        c: 1\n        d: 2\n",
    ),
    // Comments of removed entries, and those of sections.
    (
        "# top\n\na: 1\nb: 2\n# end\n",
        "a",
        None,
        "# top\n\nb: 2\n# end\n",
    ),
    (
        "a: 1\n\n# section\n\n# mine\nb: 2\nc: 3\n",
        "b",
        None,
        "a: 1\n\n# section\n\nc: 3\n",
    ),
    // Line breaks of another system, a byte order mark, no last line break, a document start.
    ("a: 1\r\nb: 2\r\n", "c", Some("3"), "a: 1\r\nb: 2\r\nc: 3\r\n"),
    ("\u{feff}a: 1\n", "a", Some("2"), "\u{feff}a: 2\n"),
    ("a: 1", "b", Some("2"), "a: 1\nb: 2"),
    ("---\na: 1\n", "b", Some("2"), "---\na: 1\nb: 2\n"),
    ("# only a comment\n", "b", Some("2"), "# only a comment\nb: 2\n"),
    ("", "b", Some("2"), "b: 2\n"),
    ("{\"a\": 1}", "a", Some("2"), "{\"a\": 2}"),
    // Parts with anchors stay where they are not touched.
    (
        "a: &x {b: 1}\nc: *x\nd: 1\n",
        "d",
        Some("2"),
        "a: &x {b: 1}\nc: *x\nd: 2\n",
    ),
    (
        "a: &x\n  b: 1\nc:\n  <<: *x\n  d: 1\n",
        "c.d",
        Some("2"),
        "a: &x\n  b: 1\nc:\n  <<: *x\n  d: 2\n",
    ),
    (
        "äö: ü # é\nb: 'ß' # ñ\n",
        "b",
        Some("\"x\""),
        "äö: ü # é\nb: x # ñ\n",
    ),
];

#[test]
fn a_change_of_one_value_keeps_all_other_bytes() {
    for &(source, path, value, expected) in CHANGES {
        assert_eq!(
            with(source, path, value, Format::Yaml).unwrap_or_else(|error| error.to_string()),
            expected,
            "{source:?} {path}"
        );
    }
}

#[test]
fn a_json_file_stays_json() {
    for (source, path, value, expected) in [
        (
            "{}\n",
            "a.b",
            Some("1"),
            "{\n    \"a\": {\n        \"b\": 1\n    }\n}\n",
        ),
        ("", "a", Some("[]"), "{\n    \"a\": []\n}\n"),
        (
            "{\n  \"a\": {\n    \"b\": \"x\"\n  }\n}\n",
            "a.c",
            Some("{\"d\": null}"),
            "{\n  \"a\": {\n    \"b\": \"x\",\n    \"c\": {\"d\": null}\n  }\n}\n",
        ),
        (
            "{\"a\": [1, 2, 3], \"b\": 1}",
            "a[1]",
            None,
            "{\"a\": [1, 3], \"b\": 1}",
        ),
        ("{\n\t\"a\": 1\n}\n", "a", Some("2"), "{\n\t\"a\": 2\n}\n"),
    ] {
        assert_eq!(
            with(source, path, value, Format::Json).unwrap_or_else(|error| error.to_string()),
            expected,
            "{source:?} {path}"
        );
    }
}

#[test]
fn a_change_that_would_lose_a_part_of_the_file_is_refused() {
    for (source, path, value) in [
        ("a: &x 1\nb: *x\n", "a", Some("2")),
        ("a: &x {c: 1}\nb: *x\n", "a.c", Some("2")),
        ("a: &x {c: 1}\nb:\n  <<: *x\n  d: 1\n", "b.c", None),
        ("? a\n: 1\nb: 2\n", "b", Some("3")),
        ("a: 1\n---\nb: 2\n", "a", Some("3")),
    ] {
        let error = with(source, path, value, Format::Yaml).unwrap_err();
        assert_eq!(error.kind(), stackwright::ErrorKind::InvalidInput, "{source}");
    }
}

proptest! {
    #[test]
    fn an_edited_text_has_the_new_content(
        old in prop::collection::vec(("[a-d]", any_node()), 0..4),
        new in prop::collection::vec(("[a-d]", any_node()), 0..4),
        kept in prop::collection::vec(any::<bool>(), 4),
    ) {
        let old: Mapping = old.into_iter().collect();
        let mut new: Mapping = new.into_iter().collect();
        for ((name, value), kept) in old.iter().zip(kept) {
            if kept {
                new.insert(name.clone(), value.clone());
            }
        }
        let text = Node::edit(&Node::Mapping(old).to_yaml(), &new, Format::Yaml)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let written = Node::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(written.means(&Node::Mapping(new)), "{}", text);
    }

    #[test]
    fn a_change_of_a_document_with_comments_touches_only_its_own_lines(
        document in any_document(),
        choice in any::<prop::sample::Index>(),
        value in prop_oneof![
            Just(None),
            "[a-z]{1,6}".prop_map(|text| Some(serde_json::Value::from(text))),
            any::<i32>().prop_map(|number| Some(number.into())),
            Just(Some(serde_json::json!({"x": [1, {"y": "z"}]}))),
            Just(Some(serde_json::json!([]))),
        ],
    ) {
        let (source, paths) = document;
        let path = &paths[choice.index(paths.len())];
        let Node::Mapping(before) = Node::parse(&source).map_err(|error| TestCaseError::fail(error.to_string()))? else {
            return Err(TestCaseError::fail("no mapping"));
        };
        let mut after = before.clone();
        let node = value.as_ref().map(Node::from_json_value);
        change(&mut after, path, node).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let text = Node::edit(&source, &after, Format::Yaml).map_err(|error| TestCaseError::fail(format!("{error}\n{source}")))?;
        // Nothing else has changed in meaning, and every line outside of one stretch is there as it was.
        let written = Node::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(written.means(&Node::Mapping(after)), "{}\n{}", source, text);
        let (old, new): (Vec<_>, Vec<_>) = (source.lines().collect(), text.lines().collect());
        let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = ends.take_while(|(old, new)| old == new).count();
        let touched = &old[start..old.len() - end];
        let mark = format!("# of {path} ");
        for line in touched {
            // Each line of these documents ends with a comment that names the entry or item.
            let of = line.split("# of ").nth(1).unwrap_or_default();
            // The last part of a collection leaves an empty one behind.
            let is_parent = value.is_none() && path.starts_with(of);
            let inside = line.contains("# of ") && (of.starts_with(path.as_str()) || is_parent);
            prop_assert!(inside || line.trim().is_empty(), "{:?} is touched by {}\n{}\n{}", line, mark, source, text);
        }
    }

    #[test]
    fn any_texts_are_read_back_from_a_written_file(node in any_node()) {
        let wrapped = Node::Mapping([("root".to_owned(), node)].into_iter().collect());
        let text = wrapped.to_yaml();
        prop_assert_eq!(Node::parse(&text).map_err(|error| format!("{error}\n{text}")), Ok(wrapped));
    }
}
