//! What stands around every provider of a simulation: the moments of the run, faults, and the list of calls.

use std::sync::Arc;

use async_trait::async_trait;

use super::{FaultEffect, SimulatedCall, Simulation, recording::Recorder, store::KILLED};
use crate::{
    property::PropertyMap,
    provider::{Call, InitFailure, ProviderBackend, ProviderError, ProviderResult, ProviderStatus, Reply},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// A provider whose calls the simulation counts, fails and records.
pub(super) struct Watched {
    pub(super) inner: Arc<dyn ProviderBackend>,
    pub(super) simulation: Simulation,
    /// Records the calls of a real provider.
    pub(super) recorder: Option<Recorder>,
    /// Whether the provider is a real one.
    pub(super) is_real: bool,
}

fn killed() -> ProviderError {
    ProviderError::new(ProviderStatus::Unavailable, KILLED)
}

/// What is left to do with the answer of a call.
enum Ending {
    Lost(String),
    Uninitialized(String),
    Killed,
}

impl Watched {
    /// Does what faults do before the call, and returns what they do with its answer.
    async fn begin(&self, call: &SimulatedCall) -> ProviderResult<Vec<Ending>> {
        let parts = &self.simulation.0;
        let mut endings = Vec::new();
        for effect in parts.faults.of(call) {
            match effect {
                FaultEffect::Fail { message, status } => return Err(ProviderError::new(status, message)),
                FaultEffect::LoseAnswer { message } => endings.push(Ending::Lost(message)),
                FaultEffect::FailInitialization { message } => endings.push(Ending::Uninitialized(message)),
                FaultEffect::Delay(duration) => self.simulation.clock().wait(duration).await,
                FaultEffect::Interrupt => self.simulation.interrupt(),
                FaultEffect::KillBefore => parts.life.kill(format!("before the {}", call.describe())),
                FaultEffect::KillAfter => endings.push(Ending::Killed),
            }
        }
        Ok(endings)
    }

    fn end(&self, endings: Vec<Ending>, call: &SimulatedCall, answer: Reply) -> ProviderResult<Reply> {
        for ending in endings {
            match ending {
                Ending::Lost(message) => {
                    return Err(ProviderError::without_answer(
                        ProviderStatus::Unavailable,
                        message,
                    ));
                }
                Ending::Uninitialized(message) => return Err(uninitialized(answer, message)),
                Ending::Killed => self
                    .simulation
                    .0
                    .life
                    .kill(format!("after the {}", call.describe())),
            }
        }
        Ok(answer)
    }
}

/// Returns the failure of an initialization with what was created.
fn uninitialized(answer: Reply, message: String) -> ProviderError {
    let (id, outputs): (String, PropertyMap) = match answer {
        Reply::Create(created) => (created.id.to_string(), created.outputs),
        Reply::Update(updated) => (String::new(), updated.outputs),
        _ => return ProviderError::new(ProviderStatus::Unknown, message),
    };
    ProviderError::init_failed(InitFailure {
        id,
        outputs,
        reasons: vec![message],
        ..InitFailure::default()
    })
}

/// What a call of a real provider changes.
enum Change {
    Creates(TypeToken, Urn),
    Deletes(TypeToken, ResourceId),
    /// What it reads may be gone.
    Reads(TypeToken, ResourceId),
}

impl Change {
    fn of(call: &Call) -> Option<Self> {
        match call {
            Call::Create(request) if !request.preview => {
                Some(Self::Creates(request.resource_type.clone(), request.urn.clone()))
            }
            Call::Delete(request) => Some(Self::Deletes(request.resource_type.clone(), request.id.clone())),
            Call::Read(request) => Some(Self::Reads(request.resource_type.clone(), request.id.clone())),
            _ => None,
        }
    }
}

impl Watched {
    /// Asks the provider, and notes what a real one has created and deleted.
    async fn ask(&self, call: Call) -> ProviderResult<Reply> {
        let change = Change::of(&call).filter(|_| self.is_real);
        let answer = self.inner.call(call).await;
        let mut world = self.simulation.world();
        match (change, &answer) {
            (Some(Change::Creates(kind, urn)), Ok(Reply::Create(created))) => {
                world.made.insert((kind, created.id.clone()), urn);
            }
            (Some(Change::Creates(kind, urn)), Err(error)) => {
                if let Some(failure) = &error.init_failure {
                    world.made.insert((kind, failure.id.as_str().into()), urn);
                }
            }
            (Some(Change::Deletes(kind, id)), Ok(_)) => {
                world.made.remove(&(kind, id));
            }
            (Some(Change::Reads(kind, id)), Ok(Reply::Read(read))) if read.outputs.is_none() => {
                world.made.remove(&(kind, id));
            }
            _ => {}
        }
        drop(world);
        answer
    }

    /// Refuses a remote component that is to be recorded: what its provider registers while it is constructed has no place in a
    /// recording.
    fn refuse_component(&self, call: &Call) -> ProviderResult<()> {
        let Call::Construct(request) = call else {
            return Ok(());
        };
        let (kind, package) = (&request.resource_type, request.resource_type.package());
        if self.recorder.is_none() || self.simulation.0.settings.is_real(package) {
            return Ok(());
        }
        Err(ProviderError::new(
            ProviderStatus::FailedPrecondition,
            format!(
                "a recording cannot have the remote component {} ({kind}): its provider registers resources while it is constructed; \
                 name the package in the option `real`: [{package:?}], so that its components are constructed by the provider when the \
                 recording is played, too",
                request.name
            ),
        ))
    }
}

#[async_trait]
impl ProviderBackend for Watched {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        let Some(about) = SimulatedCall::of(&call) else {
            return self.inner.call(call).await;
        };
        let life = &self.simulation.0.life;
        self.simulation.note(about.clone());
        let is_alive = match about.preview {
            true => life.death().is_none(),
            false => life.pass(|| format!("before the {}", about.describe())),
        };
        if !is_alive {
            return Err(killed());
        }
        let endings = self.begin(&about).await?;
        if life.death().is_some() {
            return Err(killed());
        }
        let id = match &call {
            Call::Update(request) => Some(request.id.to_string()),
            _ => None,
        };
        self.refuse_component(&call)?;
        let recorded = self.recorder.as_ref().and_then(|recorder| recorder.begin(&call));
        let answer = self.ask(call).await;
        if let (Some(recorder), Some(recorded)) = (&self.recorder, recorded) {
            recorder.end(recorded, &answer);
        }
        let mut answer = answer.and_then(|answer| self.end(endings, &about, answer));
        if let (Err(error), Some(id)) = (&mut answer, id)
            && let Some(failure) = error.init_failure.as_mut()
            && failure.id.is_empty()
        {
            failure.id = id;
        }
        if life.death().is_some()
            || about.is_change() && !life.pass(|| format!("after the {}", about.describe()))
        {
            return Err(killed());
        }
        answer
    }
}
