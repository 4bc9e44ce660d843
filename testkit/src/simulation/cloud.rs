//! The provider of a simulated host, which creates and deletes the things of the world.

use std::{sync::Arc, time::Duration};

use stackwright::provider::{
    Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffChanges,
    DiffRequest, DiffResponse, HandshakeRequest, Provider, ProviderError, ProviderResult, ProviderStatus,
    ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
};

use super::{
    host::{Host, Moment},
    world::World,
};

/// The longest time that a call takes.
const MAX_DURATION: Duration = Duration::from_secs(10);
/// One of so many calls fails in each way, where calls fail.
const FAILURES: u64 = 12;

pub(super) struct Cloud {
    pub(super) host: Arc<Host>,
    pub(super) world: Arc<World>,
}

impl Cloud {
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
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let changes = match request.old_inputs == request.news {
            true => DiffChanges::None,
            false => DiffChanges::Some,
        };
        Ok(DiffResponse {
            changes,
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
        Ok(CreateResponse {
            id: id.as_str().into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        self.host.goes_on(&self.world).await;
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
