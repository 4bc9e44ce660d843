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

#[test]
fn an_edit_keeps_comments_and_form_of_unchanged_entries() {
    let source = "# top\nsalt: 'x'  # why\n\n# the settings\nconfig:\n    # first\n    a:b: 1\n    # second\n    a:c:\n        deep: [1, 2]\n        text: |\n            # no comment\n    # third\n    a:d: yes\n    # last\nother: {x: 1}\n# end\n";
    let Node::Mapping(mut entries) = Node::parse(source).unwrap() else {
        panic!("it is a mapping");
    };
    assert_eq!(Node::edit(source, &entries), source);
    let Some(Node::Mapping(config)) = entries.get_mut("config") else {
        panic!("it is a mapping");
    };
    config.insert("a:b".into(), Node::string("two"));
    config.shift_remove("a:d");
    config.insert("a:e".into(), Node::string("new"));
    entries.insert("z".into(), Node::string("end"));
    assert_eq!(
        Node::edit(source, &entries),
        "# top\nsalt: 'x'  # why\n\n# the settings\nconfig:\n    # first\n    a:b: two\n    # second\n    a:c:\n        deep: [1, 2]\n        text: |\n            # no comment\n    a:e: new\n    # last\nother: {x: 1}\nz: end\n# end\n"
    );
}

#[test]
fn a_document_in_another_form_is_rewritten() {
    let new: Mapping = [("a".to_owned(), Node::string("b"))].into_iter().collect();
    for source in [
        "{\"a\": 1}",
        "",
        "- x\n",
        "a: [",
        "? a\n: 1\n",
        "b: &x {a: 1}\n<<: *x\n",
    ] {
        assert_eq!(Node::edit(source, &new), "a: b\n", "{source}");
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
        let text = Node::edit(&Node::Mapping(old).to_yaml(), &new);
        prop_assert_eq!(Node::parse(&text).map_err(|error| error.to_string()), Ok(Node::Mapping(new)));
    }

    #[test]
    fn any_texts_are_read_back_from_a_written_file(node in any_node()) {
        let wrapped = Node::Mapping([("root".to_owned(), node)].into_iter().collect());
        let text = wrapped.to_yaml();
        prop_assert_eq!(Node::parse(&text).map_err(|error| format!("{error}\n{text}")), Ok(wrapped));
    }
}
