//! The simulated world: things that exist, calls that change them, and the disturbances of these calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use stackwright::{operation::Operation, property::PropertyMap, runtime::Clock as _};
use tokio::sync::Notify;

use crate::{
    plan::{Fault, Point, Stop, Trouble},
    time::SimulatedClock,
};

/// How much later than others a late answer arrives.
const LATENESS: Duration = Duration::from_secs(200);

/// A thing that exists.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) number: usize,
    pub(crate) inputs: PropertyMap,
    /// It existed before the engine knew it.
    pub(crate) foreign: bool,
    /// The engine has no answer about its creation.
    pub(crate) unsettled: bool,
    /// Its inputs may differ from the record.
    pub(crate) drifted: bool,
}

/// A thing that does not exist any more.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    /// The record may still exist.
    pub(crate) excused: bool,
}

/// A call that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) point: Point,
    pub(crate) number: usize,
    /// The id of the thing; empty before its creation.
    pub(crate) id: String,
    /// The moment of a hook.
    pub(crate) moment: Option<&'static str>,
    pub(crate) begun: u64,
    pub(crate) ended: Option<u64>,
    pub(crate) succeeded: bool,
    /// It began later than the operation was cancelled. A step that has begun then still calls its provider.
    pub(crate) too_late: bool,
    /// It began later than the process of the provider died.
    pub(crate) unreached: bool,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) things: BTreeMap<String, Thing>,
    pub(crate) gone: BTreeMap<String, Gone>,
    /// The number of creations by resource.
    created: BTreeMap<usize, usize>,
    /// The number of things made beside the engine.
    foreign: usize,
    paces: Vec<u8>,
    faults: Vec<Fault>,
    pub(crate) fired: Vec<Fault>,
    pub(crate) calls: Vec<Called>,
    moments: u64,
    stop: Option<usize>,
    count: usize,
    /// The number of operations so far.
    operations: usize,
    operation: Option<Operation>,
    pub(crate) cancelled: bool,
    cancelled_at: Option<Duration>,
    /// The process of the provider has died in this operation.
    dead: bool,
}

/// The world, with the operation that is running.
pub(crate) struct World {
    pub(crate) clock: Arc<SimulatedClock>,
    state: Mutex<State>,
    /// Notified when the operation is cancelled in a call.
    pub(crate) stopped: Notify,
    /// Notified when the provider is asked to cancel its calls.
    cancelling: Notify,
}

/// A running call; its end is recorded when it is dropped.
pub(crate) struct Call<'a> {
    world: &'a World,
    operation: usize,
    position: usize,
    pub(crate) trouble: Option<Trouble>,
    number: usize,
}

/// The failure of a disturbed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failing {
    Refused,
    Half,
    Unanswered,
    Cancelled,
}

impl World {
    pub(crate) fn new(clock: Arc<SimulatedClock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            stopped: Notify::new(),
            cancelling: Notify::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Prepares the disturbances of the next operation.
    pub(crate) fn prepare(&self, faults: &[Fault], stop: Stop, paces: Vec<u8>) {
        let mut state = self.state();
        state.faults = faults.to_vec();
        state.paces = paces;
        state.fired.clear();
        state.calls.clear();
        state.moments = 0;
        state.count = 0;
        state.cancelled = false;
        state.cancelled_at = None;
        state.dead = false;
        state.operation = None;
        state.operations += 1;
        state.stop = match stop {
            Stop::Cancel { call, .. } => Some(call),
            _ => None,
        };
    }

    /// Sets the running operation, so that a call can cancel it.
    pub(crate) fn runs(&self, operation: &Operation) {
        self.state().operation = Some(operation.clone());
    }

    /// Begins a call.
    pub(crate) fn call(&self, point: Point, number: usize, id: &str) -> Call<'_> {
        let now = self.clock.elapsed();
        let mut state = self.state();
        let unreached = state.dead && point.is_of_provider();
        let wanted = |fault: &Fault| fault.point == point && fault.number == number;
        let found = state.faults.iter().position(wanted).filter(|_| !unreached);
        let trouble = found.map(|position| {
            let fault = state.faults.remove(position);
            state.fired.push(fault);
            let can_be_half = matches!(point, Point::Create | Point::Update | Point::Construct);
            match fault.trouble {
                Trouble::Half if !can_be_half => Trouble::Fails,
                Trouble::Dies { .. } if !point.is_of_provider() => Trouble::Fails,
                trouble => trouble,
            }
        });
        state.moments += 1;
        let called = Called {
            point,
            number,
            id: id.to_owned(),
            moment: None,
            begun: state.moments,
            ended: None,
            succeeded: false,
            too_late: state.cancelled_at.is_some_and(|at| at < now),
            unreached,
        };
        state.calls.push(called);
        state.count += 1;
        let (position, operation) = (state.calls.len() - 1, state.operations);
        if state.stop == Some(state.count) {
            state.stop = None;
            if let Some(operation) = state.operation.clone() {
                state.cancelled = true;
                state.cancelled_at = Some(now);
                drop(state);
                operation.cancel();
                self.stopped.notify_one();
            }
        }
        Call {
            world: self,
            operation,
            position,
            trouble: if unreached {
                Some(Trouble::Dies { acts: false })
            } else {
                trouble
            },
            number,
        }
    }

    /// Lets calls that wait for their cancellation return.
    pub(crate) fn cancel_calls(&self) {
        self.state().cancelled = true;
        self.cancelling.notify_waiters();
    }

    /// Makes a thing that the engine does not know.
    pub(crate) fn make_foreign(&self, number: usize, inputs: PropertyMap) -> String {
        let mut state = self.state();
        state.foreign += 1;
        let id = format!("pre-{number}-{}", state.foreign);
        let thing = Thing {
            number,
            inputs,
            foreign: true,
            unsettled: false,
            drifted: false,
        };
        state.things.insert(id.clone(), thing);
        id
    }
}

impl State {
    /// Creates a thing; returns its id.
    pub(crate) fn create(&mut self, number: usize, inputs: PropertyMap) -> String {
        let count = self.created.entry(number).or_default();
        *count += 1;
        let id = format!("id-{number}-{count}");
        let thing = Thing {
            number,
            inputs,
            foreign: false,
            unsettled: true,
            drifted: false,
        };
        self.things.insert(id.clone(), thing);
        id
    }

    pub(crate) fn update(&mut self, id: &str, number: usize, inputs: PropertyMap) {
        let revived = Thing {
            number,
            inputs: PropertyMap::new(),
            foreign: false,
            unsettled: false,
            drifted: true,
        };
        self.gone.remove(id);
        let thing = self.things.entry(id.to_owned()).or_insert(revived);
        thing.inputs = inputs;
        thing.drifted = true;
    }

    pub(crate) fn delete(&mut self, id: &str) {
        if self.things.remove(id).is_some() {
            self.gone.insert(id.to_owned(), Gone { excused: true });
        }
    }

    pub(crate) fn vanish(&mut self, id: &str) {
        self.things.remove(id);
        self.gone.insert(id.to_owned(), Gone { excused: true });
    }
}

impl Call<'_> {
    /// Notes at which moment of a step a hook is called.
    pub(crate) fn at(self, moment: &'static str) -> Self {
        self.world.state().calls[self.position].moment = Some(moment);
        self
    }

    /// Performs a call: waits, takes effect and fails as its disturbance demands.
    ///
    /// # Errors
    /// The failure, with the effect if it has taken place.
    pub(crate) async fn perform<T: Send>(
        self,
        effect: impl FnOnce(&mut State) -> T + Send,
        settle: impl FnOnce(&mut State, &T) + Send,
    ) -> Result<T, (Failing, Option<T>)> {
        let world = self.world;
        let now = || world.state();
        match self.trouble {
            None => {
                let pace = now().paces.get(self.number).copied().unwrap_or_default();
                if pace > 0 {
                    world.clock.wait(Duration::from_secs(pace.into())).await;
                }
                let done = effect(&mut now());
                Ok(self.done(done, settle))
            }
            Some(Trouble::Late) => {
                let done = effect(&mut now());
                world.clock.wait(LATENESS).await;
                Ok(self.done(done, settle))
            }
            Some(Trouble::Fails) => Err((Failing::Refused, None)),
            Some(Trouble::Half) => {
                let done = effect(&mut now());
                settle(&mut now(), &done);
                Err((Failing::Half, Some(done)))
            }
            Some(Trouble::Unanswered) => Err((Failing::Unanswered, Some(effect(&mut now())))),
            Some(Trouble::Hangs { acts }) => {
                let cancelled = world.cancelling.notified();
                let done = acts.then(|| effect(&mut now()));
                if !now().cancelled {
                    cancelled.await;
                }
                match done {
                    Some(done) => Ok(self.done(done, settle)),
                    None => Err((Failing::Cancelled, None)),
                }
            }
            Some(Trouble::Dies { acts }) => {
                let mut state = now();
                state.dead = true;
                Err((Failing::Unanswered, acts.then(|| effect(&mut state))))
            }
            Some(Trouble::Deaf { acts }) => {
                let _done = acts.then(|| effect(&mut now()));
                std::future::pending().await
            }
        }
    }

    fn done<T>(&self, done: T, settle: impl FnOnce(&mut State, &T)) -> T {
        let mut state = self.world.state();
        settle(&mut state, &done);
        if state.operations == self.operation {
            state.calls[self.position].succeeded = true;
        }
        done
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut state = self.world.state();
        state.moments += 1;
        let moment = state.moments;
        // Another operation may have begun since the call was given up.
        if state.operations == self.operation {
            state.calls[self.position].ended = Some(moment);
        }
    }
}
