//! A provider of notes and a program, which work as files in the folder of a transcript say.
//!
//! `program.json` has the `notes` of the program by name, each with its inputs, the `outputs` of the stack, of which `secret` is one,
//! and the `error` with which it fails. `real.json` has what is read of notes, by id: their inputs, or `null` for one that is gone; others
//! are as they were recorded. A note whose text is `refused` fails its check, one whose text is `broken` its creation.

use std::{fs, path::PathBuf, sync::Arc};

use serde_json::{Map, Value, json};
use stackwright::{
    Error, ErrorKind,
    event::{DiffKind, PropertyDiff},
    monitor::Registration,
    program::{self, Program, ProgramContext},
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CheckFailure, CheckRequest, CheckResponse, CreateRequest, CreateResponse,
        DeleteRequest, DiffChanges, DiffRequest, DiffResponse, HandshakeRequest, Provider, ProviderError,
        ProviderResult, ProviderStatus, ReadRequest, ReadResponse, SchemaRequest, UpdateRequest,
        UpdateResponse,
    },
};

/// The output of the stack that is a secret.
const SECRET: &str = "secret";

/// The provider, with the folder of its files.
pub(super) struct Notes(pub(super) PathBuf);

fn object(folder: &std::path::Path, file: &str) -> Map<String, Value> {
    let text = fs::read(folder.join(file));
    text.map_or_else(|_| Map::new(), |text| serde_json::from_slice(&text).unwrap())
}

fn texts(members: &Map<String, Value>) -> PropertyMap {
    let members = members.iter();
    members
        .map(|(name, text)| (name.clone(), PropertyValue::from(text.as_str().unwrap())))
        .collect()
}

fn text(inputs: &PropertyMap) -> &str {
    inputs
        .get("text")
        .and_then(PropertyValue::as_str)
        .unwrap_or_default()
}

impl Provider for Notes {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let failures = (text(&request.news) == "refused").then(|| CheckFailure {
            property: "text".to_owned(),
            reason: "such notes are not taken".to_owned(),
        });
        Ok(CheckResponse {
            inputs: request.news,
            failures: failures.into_iter().collect(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        if text(&request.old_inputs) == text(&request.news) {
            return Ok(DiffResponse {
                changes: DiffChanges::None,
                ..DiffResponse::default()
            });
        }
        let changed = PropertyDiff {
            kind: DiffKind::Update,
            input_diff: true,
        };
        Ok(DiffResponse {
            changes: DiffChanges::Some,
            diffs: vec!["text".to_owned()],
            detailed_diff: Some([("text".to_owned(), changed)].into()),
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        if text(&request.inputs) == "broken" {
            return Err(ProviderError::new(ProviderStatus::Unknown, "the paper is torn"));
        }
        Ok(CreateResponse {
            id: format!("id-{}", request.name).into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        let real = object(&self.0, "real.json");
        let found = match real.get(request.id.as_str()) {
            Some(Value::Object(members)) => Some(texts(members)),
            Some(_) => return Ok(ReadResponse::default()),
            None => request.properties,
        };
        Ok(ReadResponse {
            id: request.id,
            inputs: found.clone(),
            outputs: found,
            ..ReadResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Ok(UpdateResponse {
            outputs: request.news,
            ..UpdateResponse::default()
        })
    }

    async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn get_schema(&self, _: SchemaRequest) -> ProviderResult<String> {
        let property = json!({"text": {"type": "string"}});
        let note = json!({"inputProperties": property, "properties": property, "requiredInputs": ["text"]});
        Ok(json!({"name": "notes", "resources": {"notes:index:Note": note}}).to_string())
    }
}

/// Returns the program, which reads its file in each run.
pub(super) fn program(folder: PathBuf) -> Arc<dyn Program> {
    program::from_fn(move |context: ProgramContext| {
        let program = object(&folder, "program.json");
        async move {
            let members = |name: &str| program.get(name).and_then(Value::as_object).cloned();
            for (name, inputs) in members("notes").unwrap_or_default() {
                let note = json!({"type": "notes:index:Note", "name": name, "inputs": inputs});
                let note = Registration::from_json(note.to_string().as_bytes())?;
                context.monitor.register(note).await?;
            }
            for (name, value) in members("outputs").unwrap_or_default() {
                let value = PropertyValue::from(value.as_str().unwrap());
                let value = match name == SECRET {
                    true => PropertyValue::secret(value),
                    false => value,
                };
                context.monitor.export(name.as_str(), value);
            }
            match program.get("error").and_then(Value::as_str) {
                Some(error) => Err(Error::new(ErrorKind::Program, error)),
                None => Ok(()),
            }
        }
    })
}
