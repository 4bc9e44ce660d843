//! Tests of the forms in which secrets are found.

use super::*;
use crate::property::PropertyMap;

#[test]
fn secrets_are_redacted_in_plain_and_in_json_form() {
    let redactor = Redactor::new();
    redactor.learn(["hunter2", "two\nlines", "abc"]);
    assert_eq!(
        redactor.scrub("it is hunter2, \"two\\nlines\" and two\nlines, not abc"),
        "it is [secret], \"[secret]\" and [secret], not abc"
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
fn overlapping_secrets_are_redacted_completely() {
    let redactor = Redactor::new();
    redactor.learn(["user:hunter2", "hunter2@host"]);
    assert_eq!(redactor.scrub("to user:hunter2@host."), "to [secret].");
}

#[test]
fn secrets_added_one_by_one_are_compiled_into_few_automata() {
    let redactor = Redactor::new();
    for number in 0..1000 {
        redactor.learn([format!("secret-{number:04}-value")]);
        assert!(matches!(redactor.scrub("nothing"), Cow::Borrowed(_)));
    }
    redactor.learn(["secret-0500-value"]);
    assert!(matches!(redactor.scrub("nothing"), Cow::Borrowed(_)));
    assert!(redactor.0.compiled.read().unwrap().levels.len() <= 13);
    for number in 0..1000 {
        assert_eq!(
            redactor.scrub(&format!("<secret-{number:04}-value>")),
            "<[secret]>"
        );
    }
}

fn scrubbed(secret: &str, text: &str) -> String {
    let redactor = Redactor::new();
    redactor.learn([secret]);
    redactor.scrub(text).into_owned()
}

#[test]
fn a_secret_is_found_in_literals_of_either_quotes() {
    let secret = "it's \"so\" 5\\6";
    // The output of json.dumps and repr; Python uses the quote that the text does not contain.
    assert_eq!(scrubbed(secret, r#""it's \"so\" 5\\6""#), r#""[secret]""#);
    assert_eq!(scrubbed(secret, r#"'it\'s "so" 5\\6'"#), "'[secret]'");
    assert_eq!(
        scrubbed("it's so", r#"KeyError("it's so")"#),
        r#"KeyError("[secret]")"#
    );
    assert_eq!(scrubbed("tab\there", r"'tab\there'"), "'[secret]'");
}

#[test]
fn a_secret_beyond_ascii_is_found_with_escapes() {
    let secret = "p\u{e4}ss\u{20ac}\u{1f511}";
    assert_eq!(
        scrubbed(secret, r#""p\u00e4ss\u20ac\ud83d\udd11""#),
        r#""[secret]""#
    );
    assert_eq!(scrubbed(secret, r"'p\xe4ss\u20ac\U0001f511'"), "'[secret]'");
}

#[test]
fn a_secret_is_found_in_urls_and_as_base64() {
    let secret = "a b/c+d?=~\u{e4}";
    for encoded in [
        "a%20b%2Fc%2Bd%3F%3D~%C3%A4",
        "a+b%2Fc%2Bd%3F%3D~%C3%A4",
        "a%20b/c%2Bd%3F%3D~%C3%A4",
        "YSBiL2MrZD89fsOk",
    ] {
        assert_eq!(
            scrubbed(secret, &format!("<{encoded}>")),
            "<[secret]>",
            "{encoded}"
        );
    }
    let password = "pa$$w&rd@1 /x";
    for encoded in [
        "pa$$w&rd%401%20%2Fx",
        "pa$$w&rd@1%20%2Fx",
        "pa$$w&rd@1%20/x",
        "pa%24%24w%26rd%401%20%2fx",
    ] {
        let url = format!("postgres://bob:{encoded}@host/db");
        assert_eq!(scrubbed(password, &url), "postgres://bob:[secret]@host/db");
    }
    assert_eq!(scrubbed("hunter2", "Basic aHVudGVyMg==."), "Basic [secret].");
    assert_eq!(scrubbed("hunter2", "token aHVudGVyMg."), "token [secret].");
    assert_eq!(scrubbed("it's (so)!", "q=it's%20(so)!"), "q=[secret]");
    assert_eq!(scrubbed("<a&b>", r#""\u003ca\u0026b\u003e""#), r#""[secret]""#);
}

#[test]
fn each_line_of_a_secret_with_several_is_found() {
    let key = "-----BEGIN KEY-----\r\n  MIIEpAIBAAKCAQEA\nab\nqqqqZZZZ\n-----END KEY-----\n";
    assert_eq!(scrubbed(key, "bad line: MIIEpAIBAAKCAQEA"), "bad line: [secret]");
    assert_eq!(scrubbed(key, "qqqqZZZZ ab"), "[secret] ab");
}

#[test]
fn numbers_and_booleans_are_found_only_as_the_whole_text() {
    let redactor = Redactor::new();
    let values = [12345.0.into(), true.into(), 17.0.into()];
    redactor.learn_value(&PropertyValue::secret(PropertyValue::array(values.to_vec())));
    assert_eq!(redactor.scrub("12345"), "[secret]");
    assert_eq!(redactor.scrub(" 12345.0\n"), "[secret]");
    assert_eq!(redactor.scrub("True"), "[secret]");
    for text in ["port 12345", "17", "it is true"] {
        assert_eq!(redactor.scrub(text), text);
    }
}

#[test]
fn the_json_of_a_secret_object_is_found_as_a_whole() {
    let redactor = Redactor::new();
    let members: PropertyMap = [("on", true.into()), ("pin", 123_456.0.into())]
        .into_iter()
        .collect();
    redactor.learn_value(&PropertyValue::secret(PropertyValue::Object(members)));
    for text in [r#"{"on":true,"pin":123456}"#, r#"{"on": true, "pin": 123456}"#] {
        assert_eq!(redactor.scrub(&format!("got {text}.")), "got [secret].");
    }
    assert_eq!(redactor.scrub("pin 123456"), "pin 123456");
}

#[test]
fn secrets_with_fewer_than_four_characters_are_not_redacted() {
    assert_eq!(scrubbed("abc", "abc"), "abc");
    assert_eq!(
        scrubbed("\u{e4}\u{e4}\u{e4}", "\u{e4}\u{e4}\u{e4}"),
        "\u{e4}\u{e4}\u{e4}"
    );
    assert_eq!(scrubbed("abcd", "abcd"), "[secret]");
}
