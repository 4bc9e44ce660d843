use super::*;
use crate::{
    property::{Archive, ArchiveSource, Asset, AssetSource, PropertyMap, PropertyValue},
    provider::{
        Call, CheckFailure, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DiffChanges,
        DiffRequest, DiffResponse, Reply, UpdateRequest, Views,
    },
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

fn asset(text: String) -> PropertyValue {
    let source = AssetSource::Text(text);
    PropertyValue::Asset(
        Asset {
            hash: "0f".into(),
            source,
        }
        .into(),
    )
}

/// Returns inputs that have a password as a name, in an asset and in an archive, and a secret object.
fn odd_inputs(password: &str) -> PropertyMap {
    let object = |entries: Vec<(&str, PropertyValue)>| PropertyValue::Object(entries.into_iter().collect());
    let archive = Archive {
        hash: "0e".into(),
        source: ArchiveSource::Assets([(format!("{password}.txt"), asset(format!("a {password}")))].into()),
    };
    [
        ("asset", asset(format!("text {password}"))),
        ("files", PropertyValue::Archive(archive.into())),
        ("m", object(vec![(password, 1.0.into())])),
        ("password", PropertyValue::secret(password.into())),
        (
            "tags",
            PropertyValue::secret(object(vec![("kkkkk-key", "v".into())])),
        ),
    ]
    .into_iter()
    .collect()
}

fn checked(password: &str) -> CheckRequest {
    CheckRequest {
        urn: create("web", PropertyMap::new()).urn,
        resource_type: "cloud:index:Machine".into(),
        name: format!("user-{password}"),
        olds: None,
        old_outputs: None,
        news: odd_inputs(password),
        random_seed: Vec::new(),
        preview: false,
        autonaming: None,
    }
}

fn compared(password: &str) -> DiffRequest {
    let CheckRequest {
        urn,
        resource_type,
        name,
        news,
        ..
    } = checked(password);
    DiffRequest {
        urn,
        resource_type,
        name,
        id: format!("id-{password}").into(),
        old_inputs: odd_inputs(password),
        old_outputs: PropertyMap::new(),
        news,
        ignore_changes: Vec::new(),
        preview: false,
    }
}

/// Records a Check, a Diff and a Create of a resource whose name and members have a password as their name.
fn odd_recording(password: &str) -> Vec<u8> {
    let recorder = Recorder {
        recording: Recording::default(),
        redactor: Redactor::new(),
    };
    let record = |call: Call, answer: Reply| {
        let exchange = recorder.begin(&call).unwrap();
        recorder.end(exchange, &Ok(answer));
    };
    let failures = vec![CheckFailure {
        property: format!("m[\"{password}\"]"),
        reason: format!("not {password}"),
    }];
    record(
        Call::Check(checked(password)),
        Reply::Check(CheckResponse {
            inputs: odd_inputs(password),
            failures,
        }),
    );
    let paths = || vec![format!("m[\"{password}\"]")];
    record(
        Call::Diff(compared(password)),
        Reply::Diff(DiffResponse {
            changes: DiffChanges::Some,
            diffs: paths(),
            replaces: paths(),
            ..DiffResponse::default()
        }),
    );
    record(
        Call::Create(create(&format!("user-{password}"), odd_inputs(password))),
        Reply::Create(CreateResponse {
            id: format!("id-{password}").into(),
            outputs: odd_inputs(password),
            ..CreateResponse::default()
        }),
    );
    recorder
        .recording
        .write(&Masks::of(vec![recorder.redactor.clone()]))
        .unwrap()
}

#[test]
fn no_secret_is_in_a_recording_as_a_name_a_path_or_in_a_file() {
    let text = String::from_utf8(odd_recording("correct-horse")).unwrap();
    for secret in ["correct-horse", "kkkkk-key"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains(r#""name": "user-[secret]""#), "{text}");
}

#[test]
fn a_recording_with_masked_names_is_played_with_the_names_of_the_program() {
    let player = Player::open(&odd_recording("correct-horse"), None).unwrap();
    for password in ["correct-horse", "battery-staple"] {
        let check = player.check(checked(password)).unwrap();
        assert_eq!(check.inputs, odd_inputs(password));
        assert_eq!(check.failures[0].property, "m[\"[secret]\"]");
        let difference = player.diff(&compared(password)).unwrap();
        assert_eq!(difference.diffs, ["m[\"[secret]\"]"]);
        let request = create(&format!("user-{password}"), odd_inputs(password));
        let (id, outputs) = player.create(&request).unwrap();
        assert_eq!(id.as_str(), "id-[secret]");
        assert_eq!(outputs, odd_inputs(password));
    }
}

#[test]
fn a_recorded_name_with_a_mask_is_found_before_the_secret_is_known() {
    let player = Player::open(&odd_recording("correct-horse"), None).unwrap();
    let other = player.create(&create("other-battery-staple", odd_inputs("battery-staple")));
    assert!(other.is_err());
    let found = player.create(&create("user-of-another-resource", odd_inputs("battery-staple")));
    assert_eq!(found.unwrap().0.as_str(), "id-[secret]");
    let masks = Masks::of(Vec::new());
    for (live, recorded, is_same) in [
        ("user-a", "user-[secret]", true),
        ("a-x-b-y-c", "[secret]-x-[secret]-y-[secret]", true),
        ("a-x-b", "[secret]-x-[secret]-y-[secret]", false),
        ("user", "user-[secret]", false),
        ("user", "user", true),
        ("user", "other", false),
    ] {
        assert_eq!(masks.fits(live, recorded), is_same, "{live} {recorded}");
    }
}

#[test]
fn a_recording_is_played_with_other_secrets_than_it_was_recorded_with() {
    let player = Player::open(&recorded(), None).unwrap();
    let (id, outputs) = player.create(&create("web", inputs("battery staple"))).unwrap();
    assert_eq!(id.as_str(), "i-17");
    assert_eq!(outputs.get("password"), inputs("battery staple").get("password"));
    assert!(outputs.get("token").is_some_and(PropertyValue::is_secret));
    assert_eq!(outputs.get("size"), Some(&"large".into()));
}

#[test]
fn a_preview_of_a_recorded_creation_knows_what_is_an_input() {
    let player = Player::open(&recorded(), None).unwrap();
    let request = CreateRequest {
        preview: true,
        ..create("web", inputs("battery staple"))
    };
    let (_, outputs) = player.create(&request).unwrap();
    assert_eq!(outputs.get("size"), Some(&"large".into()));
    assert!(matches!(outputs.get("token"), Some(PropertyValue::Unknown(_))));
}

#[test]
fn a_preview_of_a_provider_that_is_not_asked_in_previews_has_its_inputs_as_outputs() {
    let player = Player::open(br#"{"version": 1, "calls": []}"#, None).unwrap();
    let given: PropertyMap = [("size", "large".into())].into_iter().collect();
    let planned = CreateRequest {
        preview: true,
        ..create("web", given.clone())
    };
    assert_eq!(player.create(&planned).unwrap().1, given);
    let error = player.create(&create("web", given)).unwrap_err();
    assert!(
        error.message.starts_with("the recording has no create of web"),
        "{error}"
    );
}

#[test]
fn the_answer_to_a_preview_is_recorded_and_played_in_previews_alone() {
    let recorder = Recorder {
        recording: Recording::default(),
        redactor: Redactor::new(),
    };
    let given: PropertyMap = [("size", "large".into())].into_iter().collect();
    let planned = CreateRequest {
        preview: true,
        ..create("web", given.clone())
    };
    let exchange = recorder.begin(&Call::Create(planned.clone())).unwrap();
    let outputs: PropertyMap = [("address", PropertyValue::unknown()), ("size", "huge".into())]
        .into_iter()
        .collect();
    let answer = CreateResponse {
        outputs: outputs.clone(),
        ..CreateResponse::default()
    };
    recorder.end(exchange, &Ok(Reply::Create(answer)));
    let player = Player::open(&recorder.recording.write(&Masks::of(Vec::new())).unwrap(), None).unwrap();
    assert_eq!(player.create(&planned).unwrap().1, outputs);
    assert!(player.create(&create("web", given)).is_err());
}

#[test]
fn a_preview_of_a_recorded_update_knows_the_inputs_and_what_the_update_leaves() {
    let map = |entries: &[(&str, &str)]| -> PropertyMap {
        entries
            .iter()
            .map(|(name, value)| (*name, (*value).into()))
            .collect()
    };
    let recording = br#"{"version": 1, "calls": [{"call": "update", "type": "cloud:index:Machine", "name": "web", "inputs": {"size": "large"},
        "answer": {"outputs": {"size": "large", "zone": "north", "address": "10.0.0.2"}}}]}"#;
    let player = Player::open(recording, None).unwrap();
    let CreateRequest {
        urn,
        resource_type,
        name,
        views,
        ..
    } = create("web", PropertyMap::new());
    let update = UpdateRequest {
        urn,
        resource_type,
        name,
        id: "i-1".into(),
        old_inputs: map(&[("size", "small")]),
        old_outputs: map(&[("size", "small"), ("zone", "north"), ("address", "10.0.0.1")]),
        news: map(&[("size", "large")]),
        ignore_changes: Vec::new(),
        timeout: 0.0,
        preview: true,
        views,
    };
    let planned = player.update(&update).unwrap();
    assert_eq!(planned.get("size"), Some(&"large".into()));
    assert_eq!(planned.get("zone"), Some(&"north".into()));
    assert!(matches!(planned.get("address"), Some(PropertyValue::Unknown(_))));
    let other = UpdateRequest {
        news: map(&[("size", "huge")]),
        ..update
    };
    let planned = player.update(&other).unwrap();
    assert_eq!(planned.get("address"), Some(&"10.0.0.1".into()));
}

#[test]
fn the_error_of_a_call_that_was_not_recorded_names_what_differs() {
    let player = Player::open(&recorded(), None).unwrap();
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
    let newer = br#"{"version": 9, "calls": []}"#;
    let error = Player::open(newer, None).err().unwrap();
    assert_eq!(
        error.message(),
        "the recording cannot be read: its version is 9, not 1"
    );
    let error = Player::open(newer, Some("run.json")).err().unwrap();
    assert_eq!(
        error.message(),
        "run.json: the recording cannot be read: its version is 9, not 1"
    );
    assert_eq!(
        error.hints(),
        ["remove the file: the next run with real providers writes it anew"]
    );
}
