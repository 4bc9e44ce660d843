use super::*;
use crate::{
    property::{PropertyMap, PropertyValue},
    provider::{Call, CheckRequest, CreateRequest, CreateResponse, Reply, Views},
    secrets::Redactor,
    urn::Urn,
};

fn create(name: &str, inputs: PropertyMap) -> CreateRequest {
    CreateRequest {
        urn: Urn::new("dev", "shop", "", "cloud:index:Machine", name),
        resource_type: "cloud:index:Machine".into(),
        name: name.to_owned(),
        inputs,
        timeout: 0.0,
        preview: false,
        views: Views::default(),
    }
}

fn inputs(password: &str) -> PropertyMap {
    [
        ("password", PropertyValue::secret(password.into())),
        ("pin", PropertyValue::secret(31337.0.into())),
        ("size", "large".into()),
        ("url", format!("https://root:{password}@host").into()),
    ]
    .into_iter()
    .collect()
}

/// Records one creation whose provider returns a token that only the record of the resource marks.
fn recorded() -> Vec<u8> {
    let recorder = Recorder {
        recording: Recording::default(),
        redactor: Redactor::new(),
    };
    let exchange = recorder
        .begin(&Call::Create(create("web", inputs("correct horse"))))
        .unwrap();
    let mut outputs = inputs("correct horse");
    outputs.insert("token", "abc".into());
    let answer = CreateResponse {
        id: "i-17".into(),
        outputs,
        ..CreateResponse::default()
    };
    recorder.end(exchange, &Ok(Reply::Create(answer)));
    let mut masks = Masks::of(vec![recorder.redactor.clone()]);
    let marked = [("token", PropertyValue::secret("abc".into()))]
        .into_iter()
        .collect();
    masks.add("cloud:index:Machine", "web", &marked);
    recorder.recording.write(&masks).unwrap()
}

#[test]
fn no_secret_is_in_a_recording_wherever_it_occurs() {
    let text = String::from_utf8(recorded()).unwrap();
    for secret in ["correct horse", "31337", "abc"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(
        text.contains("i-17") && text.contains("large") && text.contains("https://root:[secret]@host"),
        "{text}"
    );
}

#[test]
fn a_recording_is_played_with_other_secrets_than_it_was_recorded_with() {
    let player = Player::open(&recorded()).unwrap();
    let (id, outputs) = player.create(&create("web", inputs("battery staple"))).unwrap();
    assert_eq!(id.as_str(), "i-17");
    assert_eq!(outputs.get("password"), inputs("battery staple").get("password"));
    assert!(outputs.get("token").is_some_and(PropertyValue::is_secret));
    assert_eq!(outputs.get("size"), Some(&"large".into()));
}

#[test]
fn a_preview_of_a_recorded_creation_knows_what_is_an_input() {
    let player = Player::open(&recorded()).unwrap();
    let request = CreateRequest {
        preview: true,
        ..create("web", inputs("battery staple"))
    };
    let (_, outputs) = player.create(&request).unwrap();
    assert_eq!(outputs.get("size"), Some(&"large".into()));
    assert!(matches!(outputs.get("token"), Some(PropertyValue::Unknown(_))));
}

#[test]
fn the_error_of_a_call_that_was_not_recorded_names_what_differs() {
    let player = Player::open(&recorded()).unwrap();
    let mut changed = inputs("battery staple");
    changed.insert("size", "small".into());
    let error = player.create(&create("web", changed)).unwrap_err();
    let text = "the recording has no create of web (cloud:index:Machine) with these inputs; of the recorded one differs: ";
    assert!(error.message.starts_with(text), "{error}");
    assert!(
        error.message.contains("size") && error.message.ends_with("remove the file to record it anew"),
        "{error}"
    );
    let check = player.check(CheckRequest {
        urn: create("web", PropertyMap::new()).urn,
        resource_type: "cloud:index:Machine".into(),
        name: "web".to_owned(),
        olds: None,
        old_outputs: None,
        news: PropertyMap::new(),
        random_seed: Vec::new(),
        preview: false,
        autonaming: None,
    });
    assert!(
        check
            .unwrap_err()
            .message
            .starts_with("the recording has no check of web (cloud:index:Machine)")
    );
}

#[test]
fn a_file_of_another_form_is_refused_with_the_way_out() {
    let error = Player::open(br#"{"version": 9, "calls": []}"#).err().unwrap();
    assert_eq!(
        error.message(),
        "the recording cannot be read: its version is 9, not 1"
    );
    assert_eq!(
        error.hints(),
        ["remove the file: the next run with real providers writes it anew"]
    );
}
