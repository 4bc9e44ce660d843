//! The provider of a simulated host, which creates and deletes the things of the world.

use std::{sync::Arc, time::Duration};

use stackwright::property::PropertyMap;
use stackwright::provider::{
    Capabilities, CheckFailure, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest,
    DiffChanges, DiffRequest, DiffResponse, HandshakeRequest, InitFailure, Provider, ProviderError,
    ProviderResult, ProviderStatus, ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
};

use super::{
    host::{Host, Moment},
    world::World,
};

/// The longest time that a call takes.
const MAX_DURATION: Duration = Duration::from_secs(10);
/// One of so many calls fails in each way, where calls fail.
const FAILURES: u64 = 12;
/// One of so many changes replaces the thing.
const REPLACEMENTS: u64 = 3;

pub(super) struct Cloud {
    pub(super) host: Arc<Host>,
    pub(super) world: Arc<World>,
}

impl Cloud {
    /// Draws whether a call without an effect fails, and how: only hosts with failures do.
    fn fails(&self) -> ProviderResult<()> {
        let fate = match self.host.troubles.has_failures {
            true => self.world.roll(4 * FAILURES),
            false => 4 * FAILURES,
        };
        match fate {
            0 => Err(ProviderError::new(ProviderStatus::FailedPrecondition, "refused")),
            1 => Err(ProviderError::new(ProviderStatus::Unavailable, "unavailable")),
            2 => Err(ProviderError::without_answer(
                ProviderStatus::Internal,
                "the answer was lost",
            )),
            _ => Ok(()),
        }
    }

    /// Draws whether a thing exists whose initialization has failed.
    fn initialized(&self, id: &str, outputs: &PropertyMap) -> ProviderResult<()> {
        if !self.host.troubles.has_failures || !self.world.is_hit(FAILURES) {
            return Ok(());
        }
        Err(ProviderError::init_failed(InitFailure {
            id: id.to_owned(),
            outputs: outputs.clone(),
            reasons: vec!["it does not start".to_owned()],
            ..InitFailure::default()
        }))
    }

    /// Performs a call with an effect.
    async fn call<T: Send>(&self, what: &str, effect: impl FnOnce() -> T + Send) -> ProviderResult<T> {
        let (world, host) = (&self.world, &self.host);
        let number = host.count();
        world.state().step(host.pid);
        world.note(format_args!("host {} call {number}: {what}", host.pid));
        world.wait_up_to(MAX_DURATION).await;
        host.passes(world, number, Moment::Before).await;
        let fate = match host.troubles.has_failures {
            true => world.roll(FAILURES),
            false => FAILURES,
        };
        if fate == 0 {
            return Err(ProviderError::new(ProviderStatus::FailedPrecondition, "refused"));
        }
        if fate == 2 {
            return Err(ProviderError::new(ProviderStatus::Unavailable, "unavailable"));
        }
        let done = effect();
        host.passes(world, number, Moment::Within).await;
        world.wait_up_to(MAX_DURATION).await;
        host.passes(world, number, Moment::After).await;
        if fate == 1 {
            return Err(ProviderError::without_answer(
                ProviderStatus::Internal,
                "the answer was lost",
            ));
        }
        Ok(done)
    }
}

impl Provider for Cloud {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.fails()?;
        let is_refused = self.host.troubles.has_failures && self.world.is_hit(4 * FAILURES);
        let refused = is_refused.then(|| CheckFailure {
            property: "value".to_owned(),
            reason: "it is refused".to_owned(),
        });
        Ok(CheckResponse {
            inputs: request.news,
            failures: refused.into_iter().collect(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.fails()?;
        if request.old_inputs == request.news {
            return Ok(DiffResponse {
                changes: DiffChanges::None,
                ..DiffResponse::default()
            });
        }
        let mut replaces = Vec::new();
        if self.world.is_hit(REPLACEMENTS) {
            replaces.push("value".to_owned());
            self.world.state().replace(request.id.as_str());
        }
        Ok(DiffResponse {
            changes: DiffChanges::Some,
            replaces,
            delete_before_replace: self.world.is_hit(2),
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let name = request.name.clone();
        self.host.goes_on(&self.world).await;
        let tried = self.world.state().try_creation(self.host.pid, &name);
        let id = match tried {
            Ok(id) => id,
            Err(double) => {
                self.world.fail(double);
                return Err(ProviderError::new(ProviderStatus::AlreadyExists, "it exists"));
            }
        };
        let create = || drop(self.world.state().things.insert(id.clone(), name.clone()));
        self.call(&format!("create {name}"), create).await?;
        self.initialized(&id, &request.inputs)?;
        Ok(CreateResponse {
            id: id.as_str().into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        self.host.goes_on(&self.world).await;
        self.fails()?;
        if !self.world.state().things.contains_key(request.id.as_str()) {
            return Ok(ReadResponse::default());
        }
        // An imported thing has no inputs: the update sets them.
        let inputs = request.inputs.unwrap_or_default();
        Ok(ReadResponse {
            id: request.id,
            inputs: Some(inputs.clone()),
            outputs: Some(inputs),
            ..ReadResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.host.goes_on(&self.world).await;
        self.call(&format!("update {}", request.name), || ()).await?;
        self.initialized(request.id.as_str(), &request.news)?;
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.host.goes_on(&self.world).await;
        let id = request.id.as_str();
        let delete = || drop(self.world.state().things.remove(id));
        self.call(&format!("delete {id}"), delete).await
    }
}
