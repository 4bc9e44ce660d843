//! The components whose Construct is in flight. Calls on resources below one do not count towards `parallel`: Construct may
//! wait for them, and they for later registrations of the component.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use smol_str::SmolStr;

use crate::{
    executor::slots::StallReport, property::PropertyMap, runtime::Runtime, token::TypeToken, urn::Urn,
};

/// The components by order of their beginning, and the calls of providers meanwhile. Cloning is cheap; all clones share
/// them.
#[derive(Clone)]
pub(super) struct Constructs(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    runtime: Runtime,
    report: StallReport,
}

#[derive(Default)]
struct State {
    constructs: BTreeMap<u64, Construct>,
    /// The calls on resources below a component that their plugin is constructing, in progress.
    below: BTreeMap<u64, Below>,
    /// Number of the other calls, in progress or in a queue.
    others: usize,
    next: u64,
    /// Time of the last beginning or end of a Construct or a call, by the runtime's clock.
    moved: Duration,
    /// Whether the current stall has been reported.
    reported: bool,
    watched: bool,
}

struct Construct {
    component: Urn,
    /// The package of the plugin.
    package: SmolStr,
    /// What the component is constructed from.
    inputs: PropertyMap,
    /// Whether the plugin has registered the component.
    registered: bool,
    began: Duration,
}

struct Below {
    urn: Urn,
    method: &'static str,
    began: Duration,
}

/// How long nothing begins or ends during Constructs before the warning.
const STALL_WARNING_DELAY: Duration = Duration::from_secs(30);

/// Interval between checks for a stall.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of Constructs and of calls in a warning.
const MAX_LISTED: usize = 10;

/// A Construct in flight; dropping it ends it.
pub(crate) struct ConstructGuard {
    constructs: Constructs,
    number: u64,
}

/// A call of a provider; dropping it ends it.
pub(super) struct CallGuard {
    constructs: Constructs,
    /// The number of a call below a component; `None` for any other.
    below: Option<u64>,
}

impl CallGuard {
    /// Returns whether the call's resource is below a component that the plugin of the resource is constructing.
    pub(super) const fn is_below_construct(&self) -> bool {
        self.below.is_some()
    }
}

impl Constructs {
    pub(super) fn new(runtime: Runtime, report: StallReport) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            runtime,
            report,
        }))
    }

    pub(super) fn begin(&self, component: &Urn, package: &str, inputs: PropertyMap) -> ConstructGuard {
        let mut state = self.lock();
        let (number, began) = state.touch(self.now());
        let construct = Construct {
            component: component.clone(),
            package: package.into(),
            inputs,
            registered: false,
            began,
        };
        state.constructs.insert(number, construct);
        if !state.watched {
            state.watched = true;
            self.watch();
        }
        drop(state);
        ConstructGuard {
            constructs: self.clone(),
            number,
        }
    }

    /// Records that a plugin has registered a component.
    pub(super) fn registered(&self, component: &Urn) {
        let mut state = self.lock();
        let mut constructs = state.constructs.values_mut();
        if let Some(construct) = constructs.find(|construct| construct.component == *component) {
            construct.registered = true;
            state.touch(self.now());
        }
    }

    /// Returns the inputs of a component that is being constructed.
    pub(super) fn inputs_of(&self, component: &Urn) -> Option<PropertyMap> {
        let state = self.lock();
        let mut constructs = state.constructs.values();
        let construct = constructs.find(|construct| construct.component == *component)?;
        Some(construct.inputs.clone())
    }

    /// Records a call of a provider until the guard is dropped.
    pub(super) fn enter(&self, urn: &Urn, method: &'static str) -> CallGuard {
        let mut state = self.lock();
        let below = state.contains(urn).then(|| {
            let (number, began) = state.touch(self.now());
            let urn = urn.clone();
            state.below.insert(number, Below { urn, method, began });
            number
        });
        if below.is_none() {
            state.others += 1;
        }
        drop(state);
        CallGuard {
            constructs: self.clone(),
            below,
        }
    }

    /// Returns whether no Construct is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().constructs.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.0.runtime.clock.elapsed()
    }

    /// Looks for a stall at intervals, while Constructs are in flight.
    fn watch(&self) {
        let (constructs, runtime) = (Arc::downgrade(&self.0), self.0.runtime.clone());
        let spawner = runtime.spawner.clone();
        drop(spawner.spawn(async move {
            loop {
                runtime.clock.wait(WATCH_INTERVAL).await;
                let constructs = Weak::upgrade(&constructs).map(Constructs);
                if constructs.is_none_or(|constructs| !constructs.look()) {
                    return;
                }
            }
        }));
    }

    /// Reports a stall once. Returns whether Constructs are in flight.
    fn look(&self) -> bool {
        let now = self.now();
        let mut state = self.lock();
        if state.constructs.is_empty() {
            state.watched = false;
            return false;
        }
        let still = now.saturating_sub(state.moved);
        if still >= STALL_WARNING_DELAY && !state.reported && state.may_wait_for_itself() {
            state.reported = true;
            let text = state.stall_text(now);
            drop(state);
            (self.0.report)(text);
        }
        true
    }
}

impl State {
    /// Records that a Construct or a call has begun or ended; returns the number and the time of one that begins.
    fn touch(&mut self, now: Duration) -> (u64, Duration) {
        self.next += 1;
        self.moved = now;
        self.reported = false;
        (self.next, now)
    }

    /// Returns whether a resource is below a component that the plugin of the resource is constructing. URNs have the
    /// types of the parents, not their names, so that components of one type below each other's parents are not
    /// distinguished.
    fn contains(&self, urn: &Urn) -> bool {
        self.constructs.values().any(
            |Construct {
                 component, package, ..
             }| {
                let below = urn.qualified_type().strip_prefix(component.qualified_type());
                below.is_some_and(|rest| rest.starts_with('$'))
                    && TypeToken::from(urn.resource_type()).asked_package() == package.as_str()
            },
        )
    }

    /// Returns whether all that is in progress may wait for a plugin that is in Construct itself.
    fn may_wait_for_itself(&self) -> bool {
        let queued = self.constructs.values().any(|construct| {
            let same = |other: &&Construct| other.package == construct.package;
            !construct.registered && self.constructs.values().filter(same).count() > 1
        });
        self.others == 0 && (queued || !self.below.is_empty())
    }

    /// Lists the Constructs and the calls below them, the oldest first.
    fn stall_text(&self, now: Duration) -> String {
        let seconds = |since: Duration| now.saturating_sub(since).as_secs();
        let mut text = format!(
            "no call has begun or ended for {} s, while these are in progress:",
            seconds(self.moved)
        );
        for construct in self.constructs.values().take(MAX_LISTED) {
            let waits = match construct.registered {
                true => "",
                false => ", whose component is not registered yet",
            };
            let _ = write!(
                text,
                "\n  construct of {} ({} s){waits}",
                construct.component,
                seconds(construct.began)
            );
        }
        for Below { urn, method, began } in self.below.values().take(MAX_LISTED) {
            let _ = write!(text, "\n  {method} of {urn} ({} s)", seconds(*began));
        }
        let more =
            self.constructs.len().saturating_sub(MAX_LISTED) + self.below.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            let _ = write!(text, "\n  and {more} more");
        }
        text.push_str(
            "\nwhere these wait for each other, the plugin has to serve them at the same time: one with the Pulumi SDK for Python \
             constructs one component after the other before version 3.272, and later has a thread for each of a few \
             registrations, by the number of processors",
        );
        text
    }
}

impl Drop for ConstructGuard {
    fn drop(&mut self) {
        let mut state = self.constructs.lock();
        state.constructs.remove(&self.number);
        state.touch(self.constructs.now());
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut state = self.constructs.lock();
        match self.below {
            Some(number) => drop(state.below.remove(&number)),
            None => state.others -= 1,
        }
        state.touch(self.constructs.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::VirtualClock;

    fn urn(parent: &str, own: &str, name: &str) -> Urn {
        Urn::new("dev", "shop", parent, own, name)
    }

    /// Constructs with their reports.
    fn fixture() -> (Constructs, Arc<Mutex<Vec<String>>>) {
        let runtime = Runtime {
            clock: VirtualClock::start(),
            ..Runtime::system(tokio::runtime::Handle::current())
        };
        let reports = Arc::new(Mutex::new(Vec::new()));
        let report = {
            let reports = Arc::clone(&reports);
            Arc::new(move |text| reports.lock().unwrap().push(text))
        };
        (Constructs::new(runtime, report), reports)
    }

    async fn pass(constructs: &Constructs, seconds: u64) {
        let clock = Arc::clone(&constructs.0.runtime.clock);
        clock.wait(Duration::from_secs(seconds)).await;
    }

    #[tokio::test]
    async fn resources_of_the_same_plugin_below_a_component_in_flight_are_recognised() {
        let (constructs, _) = fixture();
        let below = |parent: &str, own: &str| {
            constructs
                .enter(&urn(parent, own, "a"), "create")
                .is_below_construct()
        };
        let guard = constructs.begin(&urn("", "box:index:Box", "a"), "box", PropertyMap::new());
        assert!(below("box:index:Box", "box:index:State"));
        assert!(below("box:index:Box$x:y:Z", "box:index:State"));
        assert!(!below("box:index:Box", "other:index:State"), "another plugin");
        assert!(!below("box:index:Boxes", "box:index:State"), "another type");
        assert!(!below("", "box:index:Box"), "the component itself");
        drop(guard);
        assert!(!below("box:index:Box", "box:index:State"));
    }

    #[tokio::test]
    async fn a_call_that_waits_for_its_construct_is_reported_once() {
        let (constructs, reports) = fixture();
        let component = urn("", "box:index:Box", "a");
        let _construct = constructs.begin(&component, "box", PropertyMap::new());
        constructs.registered(&component);
        let _call = constructs.enter(&urn("box:index:Box", "box:index:State", "a-state"), "create");
        pass(&constructs, 29).await;
        assert!(reports.lock().unwrap().is_empty());
        pass(&constructs, 600).await;
        let reports = reports.lock().unwrap();
        assert_eq!(reports.len(), 1);
        assert_eq!(
            reports[0],
            "no call has begun or ended for 30 s, while these are in progress:\n  \
             construct of urn:pulumi:dev::shop::box:index:Box::a (30 s)\n  \
             create of urn:pulumi:dev::shop::box:index:Box$box:index:State::a-state (30 s)\n\
             where these wait for each other, the plugin has to serve them at the same time: one with the Pulumi SDK for \
             Python constructs one component after the other before version 3.272, and later has a thread for each of a \
             few registrations, by the number of processors"
        );
    }

    #[tokio::test]
    async fn a_construct_that_waits_for_another_one_of_its_plugin_is_reported() {
        let (constructs, reports) = fixture();
        let outer = urn("", "box:index:Box", "a");
        let _outer = constructs.begin(&outer, "box", PropertyMap::new());
        constructs.registered(&outer);
        let _inner = constructs.begin(
            &urn("box:index:Box", "box:index:Box", "b"),
            "box",
            PropertyMap::new(),
        );
        pass(&constructs, 60).await;
        let reports = reports.lock().unwrap();
        assert_eq!(reports.len(), 1);
        assert!(
            reports[0].contains("Box::b (30 s), whose component is not registered yet"),
            "{}",
            reports[0]
        );
    }

    #[tokio::test]
    async fn a_construct_that_works_or_waits_for_another_provider_is_not_reported() {
        let (constructs, reports) = fixture();
        let component = urn("", "box:index:Box", "a");
        let _construct = constructs.begin(&component, "box", PropertyMap::new());
        pass(&constructs, 600).await;
        constructs.registered(&component);
        let _state = constructs.enter(&urn("box:index:Box", "box:index:State", "a-state"), "create");
        let other = constructs.enter(
            &urn("box:index:Box", "cloud:index:Database", "a-database"),
            "create",
        );
        pass(&constructs, 600).await;
        assert!(reports.lock().unwrap().is_empty());
        drop(other);
        pass(&constructs, 60).await;
        assert_eq!(reports.lock().unwrap().len(), 1);
    }
}
