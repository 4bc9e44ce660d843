//! Each coded message: its two texts, its arguments, and terms that library texts must not contain.

use std::borrow::Cow;

use serde_json::json;

use super::*;

const URN: &str = "urn:pulumi:dev::shop::test:index:Thing::a";

fn all() -> Vec<Message<'static>> {
    const KEYS: &[(String, String)] = &[];
    let problem = |is_set| Message::InvalidProperty {
        resource_type: "test:index:Thing",
        name: "a",
        property: "size",
        value: if is_set { "{5}" } else { "{<nil>}" },
        is_set,
        reason: "too large",
    };
    vec![
        Message::ProtectedFromDeletion { urn: URN },
        Message::ProtectedFromReplacement { urn: URN },
        Message::TargetNotFound { target: URN },
        Message::DependencyNotTargeted {
            urn: URN,
            dependency: "other",
        },
        Message::DeletionNotTargeted { urn: URN },
        Message::ProviderChangedWithTargets {
            urn: URN,
            provider: "other::id",
        },
        Message::DeleteHooksWithoutProgram { resources: &[] },
        problem(true),
        problem(false),
        Message::MissingConfiguration { keys: KEYS },
        Message::SecretId,
        Message::PluginOnPath {
            executable: "pulumi-resource-aws",
            place: "/bin",
        },
        Message::VersionNotSatisfied {
            version: "3.260.0",
            range: ">=4",
        },
        Message::PluginNotFound {
            kind: "resource",
            name: "aws",
            executable: "pulumi-resource-aws",
            version: Some("1.2.3"),
            places: &[],
        },
        Message::PlanViolated {
            urn: URN,
            what: "properties",
            reference: "~~v[{2}!={3}]",
            library: "`v` was to become 2 and is to be 3",
            changes: &[],
        },
        Message::Cancelled { operation: "update" },
        Message::TimedOut {
            operation: "update",
            seconds: 30.0,
            abandoned: &[],
        },
    ]
}

#[test]
fn no_library_text_names_a_command_a_flag_or_a_variable_of_other_tools() {
    let keys = [("region".to_owned(), "where".to_owned())];
    let mut messages = all();
    messages.push(Message::MissingConfiguration { keys: &keys });
    for message in messages {
        let text = Text::from(message);
        for foreign in [
            "pulumi ", "Pulumi", "`pulumi", "--", "$PATH", "PULUMI_", "shell", "BAIL", "<nil>", "CLI",
        ] {
            let shown = text.library().replace(URN, "URN");
            assert!(!shown.contains(foreign), "{}: {shown}", message.code());
        }
    }
}

#[test]
fn each_message_has_a_code_and_a_reference_text_of_its_own() {
    for message in all() {
        let text = Text::from(message);
        assert_eq!(text.code(), Some(message.code()));
        assert!(text.arguments().is_some());
        assert!(
            message.code() == "missing_configuration" || text.reference() != text.library(),
            "{}",
            message.code()
        );
    }
}

#[test]
fn the_reference_texts_are_those_that_tools_match_on() {
    let reference = |message: Message<'_>| Text::from(message).reference().to_owned();
    assert_eq!(
        reference(Message::ProtectedFromDeletion { urn: "U" }),
        "resource \"U\" cannot be deleted\nbecause it is protected. To unprotect the resource, either remove the \
         `protect` flag from the resource in your Pulumi program and run `pulumi up`, or use the command:\n\
         `pulumi state unprotect 'U'`"
    );
    assert_eq!(
        reference(Message::TargetNotFound { target: "U" }),
        "Target 'U' could not be found in the stack. Did you forget to escape $ in your shell?"
    );
    assert_eq!(
        reference(Message::TargetNotFound { target: "a$b" }),
        "Target 'a$b' could not be found in the stack."
    );
    let keys = [("region".to_owned(), "where".to_owned())];
    assert_eq!(
        reference(Message::MissingConfiguration { keys: &keys }),
        "missing required configuration key \"region\": where\nSet a value using the command `pulumi config set region \
         <value>`."
    );
}

#[test]
fn a_property_without_a_value_is_named_as_such() {
    let text = |is_set, value| {
        Text::from(Message::InvalidProperty {
            resource_type: "test:index:Thing",
            name: "a",
            property: "content",
            value,
            is_set,
            reason: "is required",
        })
    };
    assert_eq!(
        text(false, "{<nil>}").library(),
        "test:index:Thing resource 'a': property `content`, which is not set: is required"
    );
    assert_eq!(
        text(false, "{<nil>}").reference(),
        "test:index:Thing resource 'a': property content value {<nil>} has a problem: is required"
    );
    assert_eq!(
        text(true, "{x}").library(),
        "test:index:Thing resource 'a': property `content` with the value `x`: is required"
    );
}

#[test]
fn scrubbing_covers_both_texts_and_the_arguments() {
    fn scrub(text: &str) -> Cow<'_, str> {
        match text.contains("hunter2") {
            true => Cow::Owned(text.replace("hunter2", "[secret]")),
            false => Cow::Borrowed(text),
        }
    }
    let text = Text::from(Message::TargetNotFound { target: "hunter2" });
    let scrubbed = text.scrubbed(scrub).unwrap();
    assert!(!format!("{scrubbed:?} {} {:?}", scrubbed.reference(), scrubbed.arguments()).contains("hunter2"));
    let nested = Text::from(Message::PlanViolated {
        urn: URN,
        what: "inputs",
        reference: "",
        library: "",
        changes: &[json!({ "old": "hunter2", "path": "a" })],
    });
    let scrubbed = nested.scrubbed(scrub).unwrap();
    assert_eq!(
        scrubbed.arguments().unwrap()["changes"],
        json!([{ "old": "[secret]", "path": "a" }])
    );
    assert!(Text::from("plain").scrubbed(scrub).is_none());
}

/// Texts of other tools are only in this module, each with a library text.
#[test]
fn no_other_module_has_a_text_that_names_a_command_a_flag_or_a_variable_of_other_tools() {
    let foreign = [
        "`pulumi ",
        "$PATH",
        "in your shell",
        "--target",
        "--run-program",
        "Pulumi CLI",
        "BAIL: ",
    ];
    let mut folders = vec![std::path::PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src"
    ))];
    let mut found = Vec::new();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let place = path.display().to_string();
            if path.is_dir() {
                let skipped = place.ends_with("src/message") || place.ends_with("/tests");
                folders.extend((!skipped).then_some(path));
                continue;
            }
            if place.ends_with("tests.rs") || place.ends_with("src/error.rs") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let lines = code.filter(|line| foreign.iter().any(|words| line.contains(words)));
            found.extend(lines.map(|line| format!("{place}: {line}")));
        }
    }
    assert!(files > 100 && found.is_empty(), "{found:#?}");
}
