//! Real resources: files in a folder, by a provider with a unique id for every creation.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use stackwright::{
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse,
        HandshakeRequest, Provider, ProviderError, ProviderResult, ProviderStatus, UpdateRequest,
        UpdateResponse,
    },
    runtime::{Clock, Random},
};

/// Creates files. The id of a resource is its file name, unique for each creation: the resource's name and a number.
pub(crate) struct Things {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl Things {
    pub(crate) fn new(folder: PathBuf, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self {
            folder,
            clock,
            random,
        }
    }

    /// Waits half of one to four milliseconds: called before and after the effect.
    async fn half(&self, name: &str) {
        let time = 500 + 500 * u64::from(name.bytes().last().unwrap_or_default() % 4);
        self.clock.wait(Duration::from_micros(time)).await;
    }
}

fn content(inputs: &PropertyMap) -> &str {
    match inputs.get("content") {
        Some(PropertyValue::String(text)) => text,
        _ => "",
    }
}

fn failed(error: std::io::Error) -> ProviderError {
    ProviderError::new(ProviderStatus::Unknown, error.to_string())
}

impl Provider for Things {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let changes = if request.old_inputs == request.news {
            DiffChanges::None
        } else {
            DiffChanges::Some
        };
        Ok(DiffResponse {
            changes,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.half(&request.name).await;
        if !request.preview {
            let mut number = [0; 8];
            self.random.fill(&mut number);
            let id = format!("{}.{:016x}", request.name, u64::from_le_bytes(number));
            let mut file = fs::File::create_new(self.folder.join(&id)).map_err(failed)?;
            file.write_all(content(&request.inputs).as_bytes())
                .map_err(failed)?;
            self.half(&request.name).await;
            return Ok(CreateResponse {
                id: id.into(),
                outputs: request.inputs,
                refresh_before_update: false,
            });
        }
        Ok(CreateResponse::default())
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.half(&request.name).await;
        let path = self.folder.join(request.id.as_str());
        if !path.exists() {
            return Err(ProviderError::new(
                ProviderStatus::Unknown,
                format!("{} is gone", request.id),
            ));
        }
        fs::write(path, content(&request.news)).map_err(failed)?;
        self.half(&request.name).await;
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.half(&request.name).await;
        match fs::remove_file(self.folder.join(request.id.as_str())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        self.half(&request.name).await;
        Ok(())
    }
}

/// Returns the content of the existing files by id.
pub(crate) fn existing(folder: &Path) -> BTreeMap<String, String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let id = path.file_name().unwrap().to_str().unwrap().to_owned();
            (id, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Returns the name of the resource with this id.
pub(crate) fn name_of(id: &str) -> &str {
    id.split_once('.').unwrap().0
}
