//! Faults: what happens to the calls that a pattern names.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::pattern::{matches, matches_type};
use crate::provider::{Call, ProviderStatus};

/// What a fault does to a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultEffect {
    /// The call fails and has no effect.
    Fail {
        /// The provider's message.
        message: String,
        /// The status of the answer.
        status: ProviderStatus,
    },
    /// The call has its effect, but its answer is lost.
    LoseAnswer {
        /// The message of the failure.
        message: String,
    },
    /// The resource is created or updated, but its initialization fails.
    FailInitialization {
        /// The provider's reason.
        message: String,
    },
    /// The call begins later, by the clock of the engine.
    Delay(Duration),
    /// The operation is interrupted when the call begins, as by a key press: the call ends as usual, and no other begins.
    Interrupt,
    /// The run is killed before the call has its effect.
    KillBefore,
    /// The run is killed after the call had its effect: its result is not recorded.
    KillAfter,
}

/// A fault: an effect on the calls that its patterns name. A `*` in a pattern is any text.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The name of the calls: `create`, `update`, `delete`, `read`, `check`, `diff`, `invoke`, `call`, `construct`.
    pub call: String,
    /// The type of the resource, or the token of the function.
    pub resource_type: String,
    /// The name of the resource.
    pub name: String,
    /// What happens.
    pub effect: FaultEffect,
    /// How many calls it happens to; `None` is every one.
    pub times: Option<u64>,
    /// How many calls that match are spared first.
    pub skip: u64,
    /// Whether calls of previews count.
    pub in_previews: bool,
}

/// What a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedCall {
    /// The name of the call: `create` for instance.
    pub call: &'static str,
    /// The type of the resource, or the token of the function.
    pub resource_type: String,
    /// The name of the resource; empty for functions and methods.
    pub name: String,
    /// The URN of the resource; empty for functions and methods.
    pub urn: String,
    /// Whether a preview made it.
    pub preview: bool,
}

impl SimulatedCall {
    /// Returns what a call is about; `None` for those about providers.
    pub(super) fn of(call: &Call) -> Option<Self> {
        macro_rules! of {
            ($request:expr, $preview:expr) => {
                (
                    $request.resource_type.to_string(),
                    $request.name.clone(),
                    $request.urn.to_string(),
                    $preview,
                )
            };
        }
        let (resource_type, name, urn, preview) = match call {
            Call::Check(request) => of!(request, request.preview),
            Call::Diff(request) => of!(request, request.preview),
            Call::Create(request) => of!(request, request.preview),
            Call::Read(request) => of!(request, request.preview),
            Call::Update(request) => of!(request, request.preview),
            Call::Delete(request) => of!(request, false),
            Call::Invoke(request) => (
                request.token.clone(),
                String::new(),
                String::new(),
                request.preview,
            ),
            Call::Method(request) => (
                request.token.clone(),
                String::new(),
                String::new(),
                request.run.dry_run,
            ),
            Call::Construct(request) => (
                request.resource_type.to_string(),
                request.name.clone(),
                String::new(),
                request.run.dry_run,
            ),
            _ => return None,
        };
        Some(Self {
            call: call.name(),
            resource_type,
            name,
            urn,
            preview,
        })
    }

    /// Returns whether the call changes things.
    pub(super) fn is_change(&self) -> bool {
        !self.preview && matches!(self.call, "create" | "update" | "delete")
    }

    /// Describes the call for users: `create of web`.
    pub(super) fn describe(&self) -> String {
        match self.name.is_empty() {
            true => format!("{} of {}", self.call, self.resource_type),
            false => format!("{} of {} ({})", self.call, self.name, self.resource_type),
        }
    }
}

impl Fault {
    fn is_about(&self, call: &SimulatedCall) -> bool {
        (self.in_previews || !call.preview)
            && matches(&self.call, call.call)
            && matches_type(&self.resource_type, &call.resource_type)
            && matches(&self.name, &call.name)
    }
}

/// The faults of a simulation, with how often each has happened.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Vec<Counted>>);

#[derive(Debug)]
struct Counted {
    fault: Fault,
    seen: u64,
    happened: u64,
}

impl Faults {
    fn all(&self) -> std::sync::MutexGuard<'_, Vec<Counted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, faults: Vec<Fault>) {
        let counted = faults.into_iter().map(|fault| Counted {
            fault,
            seen: 0,
            happened: 0,
        });
        *self.all() = counted.collect();
    }

    /// Returns what happens to a call, in the order of the faults.
    pub(super) fn of(&self, call: &SimulatedCall) -> Vec<FaultEffect> {
        let mut effects = Vec::new();
        for counted in self
            .all()
            .iter_mut()
            .filter(|counted| counted.fault.is_about(call))
        {
            counted.seen += 1;
            let is_over = counted.fault.times.is_some_and(|times| counted.happened >= times);
            if counted.seen > counted.fault.skip && !is_over {
                counted.happened += 1;
                effects.push(counted.fault.effect.clone());
            }
        }
        effects
    }

    /// Returns the faults that have not happened at all.
    pub(super) fn unused(&self) -> Vec<Fault> {
        let all = self.all();
        let unused = all.iter().filter(|counted| counted.happened == 0);
        unused.map(|counted| counted.fault.clone()).collect()
    }
}
