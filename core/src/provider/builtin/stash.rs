//! `pulumi:index:Stash`: stores the value of its first input until it is replaced.

use super::{failed, object};
use crate::{
    property::{PropertyMap, PropertyValue},
    provider::{
        CheckFailure, CheckRequest, CheckResponse, DiffChanges, DiffRequest, DiffResponse, ProviderResult,
        ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
    },
};

fn property(map: &PropertyMap, name: &str) -> PropertyValue {
    map.get(name).cloned().unwrap_or_default()
}

pub(super) fn check(request: CheckRequest) -> CheckResponse {
    let mut failures: Vec<CheckFailure> = request
        .news
        .keys()
        .filter(|key| *key != "input")
        .map(|key| CheckFailure {
            property: key.to_string(),
            reason: format!("unknown property \"{key}\""),
        })
        .collect();
    if !request.news.contains_key("input") {
        failures.push(CheckFailure {
            property: "input".to_owned(),
            reason: "missing required property \"input\"".to_owned(),
        });
    }
    CheckResponse {
        inputs: request.news,
        failures,
    }
}

pub(super) fn diff(request: &DiffRequest) -> DiffResponse {
    let same = request.old_inputs.get("input") == request.news.get("input");
    DiffResponse {
        changes: if same {
            DiffChanges::None
        } else {
            DiffChanges::Some
        },
        diffs: if same {
            Vec::new()
        } else {
            vec!["input".to_owned()]
        },
        ..DiffResponse::default()
    }
}

pub(super) fn created(inputs: &PropertyMap) -> PropertyMap {
    let input = property(inputs, "input");
    object([("input", input.clone()), ("output", input)])
}

/// Returns the recorded state; a stash exists nowhere else, so an import fails.
pub(super) fn read(request: ReadRequest) -> ProviderResult<ReadResponse> {
    let (Some(inputs), Some(outputs)) = (request.inputs, request.properties) else {
        return Err(failed("stash can not be imported"));
    };
    Ok(ReadResponse {
        id: request.id,
        inputs: Some(inputs),
        outputs: Some(outputs),
        ..ReadResponse::default()
    })
}

/// Takes the new input; the output does not change.
pub(super) fn updated(request: &UpdateRequest) -> UpdateResponse {
    UpdateResponse {
        outputs: object([
            ("input", property(&request.news, "input")),
            ("output", property(&request.old_outputs, "output")),
        ]),
        refresh_before_update: false,
    }
}
