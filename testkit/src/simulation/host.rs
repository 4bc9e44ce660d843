//! A host: a process that runs operations, until it ends, dies or freezes at a call that the seed determines.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::SignedDuration;
use stackwright::{
    runtime::{Clock, Timestamp},
    store::{HostFacts, ProcessState, Processes},
};
use tokio::sync::Notify;

use super::{
    clock::VirtualClock,
    world::{Kind, World},
};

/// The length of a lease.
pub(super) const LEASE: Duration = Duration::from_secs(30);

/// The limit of the calls of a host before it dies or freezes.
const MAX_CALLS: u64 = 50;
/// The longest time that a host is frozen.
const MAX_FREEZE: u64 = 200;
/// How much longer than its lease a host has no connection at most, in seconds.
const MAX_OUTAGE: u64 = 120;
/// How far a wall clock jumps at most, in seconds.
const MAX_JUMP: u64 = 100_000;
/// The longest time for which a disk is full, in writes.
const MAX_FULL: u64 = 8;

/// The moment of a death or a freeze, relative to the effect of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Before,
    /// Of an append the first half is done.
    Within,
    After,
}

/// What disturbs a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    pub(super) death: Option<(u64, Moment)>,
    pub(super) freeze: Option<(u64, Moment, Duration)>,
    /// Whether it freezes within its first write of the checkpoint instead.
    pub(super) freezes_at_checkpoint: bool,
    /// Whether its clock stands still while it is frozen, as that of a suspended machine.
    pub(super) stops_clock: bool,
    /// At which call its wall clock jumps, and how far, in seconds.
    pub(super) jump: Option<(u64, i64)>,
    /// The first and the last write for which the disk is full.
    pub(super) full: Option<(u64, u64)>,
    /// Whether single writes fail, and replies are lost.
    pub(super) has_noise: bool,
    /// Whether calls of its provider fail.
    pub(super) has_failures: bool,
    /// When it loses its connection to the store, and for how long.
    pub(super) outage: Option<(Begin, Duration)>,
}

/// The begin of an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// A call.
    At(u64),
    /// The removal of a lock file, which is followed by the release.
    Release,
}

fn moment(world: &World) -> Moment {
    match world.roll(3) {
        0 => Moment::Before,
        1 => Moment::Within,
        _ => Moment::After,
    }
}

/// Returns how far a wall clock jumps, forwards or back.
pub(super) fn jump(world: &World) -> i64 {
    let seconds = i64::try_from(world.roll(MAX_JUMP)).unwrap_or_default();
    if world.is_hit(2) { -seconds } else { seconds }
}

impl Troubles {
    pub(super) fn drawn(world: &World) -> Self {
        let death = (!world.is_hit(3)).then(|| (1 + world.roll(MAX_CALLS), moment(world)));
        let freeze = world.is_hit(3).then(|| {
            let length = Duration::from_secs(1 + world.roll(MAX_FREEZE));
            (1 + world.roll(MAX_CALLS), moment(world), length)
        });
        let full = world.is_hit(4).then(|| {
            let first = 1 + world.roll(MAX_CALLS);
            (first, first + world.roll(MAX_FULL))
        });
        Self {
            death,
            freeze,
            freezes_at_checkpoint: world.is_hit(2),
            stops_clock: world.is_hit(2),
            jump: world.is_hit(3).then(|| (1 + world.roll(MAX_CALLS), jump(world))),
            full,
            has_noise: world.is_hit(3),
            has_failures: world.is_hit(2),
            outage: world.is_hit(4).then(|| {
                let begin = match world.is_hit(2) {
                    true => Begin::Release,
                    false => Begin::At(1 + world.roll(MAX_CALLS)),
                };
                (begin, LEASE + Duration::from_secs(world.roll(MAX_OUTAGE)))
            }),
        }
    }
}

/// A process that uses the engine.
pub(super) struct Host {
    pub(super) pid: u32,
    pub(super) troubles: Troubles,
    pub(super) died: Notify,
    is_dead: AtomicBool,
    /// Whether another host has taken its lock over.
    pub(super) is_superseded: AtomicBool,
    calls: AtomicU64,
    /// How far its wall clock is off, in seconds.
    offset: AtomicI64,
    /// Since when, and until when it is frozen.
    frozen: Mutex<Option<(Duration, Duration)>>,
    /// Since when, and until when it was frozen.
    freeze: OnceLock<(Duration, Duration)>,
    /// Until when it has no connection.
    cut: OnceLock<Duration>,
}

/// The clock of a host.
pub(super) struct HostClock {
    host: Weak<Host>,
    clock: Arc<VirtualClock>,
}

impl HostClock {
    pub(super) fn new(world: &World, host: &Arc<Host>) -> Self {
        Self {
            host: Arc::downgrade(host),
            clock: Arc::clone(&world.clock),
        }
    }
}

#[async_trait]
impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let host = self.host.upgrade();
        let offset = host.map_or(0, |host| host.offset.load(Ordering::SeqCst));
        let now = self.clock.now();
        now.checked_add(SignedDuration::from_secs(offset)).unwrap_or(now)
    }

    fn elapsed(&self) -> Duration {
        let now = self.clock.elapsed();
        match self.host.upgrade() {
            Some(host) => now.saturating_sub(host.suspended(now)),
            None => now,
        }
    }

    fn since_boot(&self) -> Option<Duration> {
        Some(self.clock.elapsed())
    }

    async fn wait(&self, duration: Duration) {
        self.clock.wait(duration).await;
    }
}

impl Host {
    pub(super) fn new(pid: u32, world: &Arc<World>, troubles: Troubles) -> Arc<Self> {
        world.note(format_args!("host {pid}: {troubles:?}"));
        let host = Arc::new(Self {
            pid,
            troubles,
            died: Notify::new(),
            is_dead: AtomicBool::new(false),
            is_superseded: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            offset: AtomicI64::new(0),
            frozen: Mutex::default(),
            freeze: OnceLock::new(),
            cut: OnceLock::new(),
        });
        world.state().hosts.insert(pid, Arc::clone(&host));
        host
    }

    /// Returns how long its clock has stood still.
    fn suspended(&self, now: Duration) -> Duration {
        match self.freeze.get() {
            Some((since, until)) if self.troubles.stops_clock => now.min(*until).saturating_sub(*since),
            _ => Duration::ZERO,
        }
    }

    /// Ends the process, as after its last operation.
    pub(super) fn exit(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
    }

    /// Lets the outage begin that is to begin then.
    pub(super) fn cut(&self, world: &World, begin: Begin) {
        if let Some((at, length)) = self.troubles.outage
            && at == begin
            && self.cut.set(world.clock.elapsed() + length).is_ok()
        {
            world.note(format_args!(
                "host {} loses its connection for {length:?}",
                self.pid
            ));
        }
    }

    /// Returns whether it has no connection to the store.
    pub(super) fn is_cut(&self, world: &World) -> bool {
        self.cut.get().is_some_and(|until| world.clock.elapsed() < *until)
    }

    /// Counts a call with an effect; returns its number.
    pub(super) fn count(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::SeqCst)
    }

    /// Returns whether its lock may be taken over.
    pub(super) fn has_lost_lease(&self, now: Duration) -> bool {
        let frozen = *self.frozen.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_superseded.load(Ordering::SeqCst) || frozen.is_some_and(|(since, _)| now >= since + LEASE)
    }

    /// Lets a host die or freeze if that is to happen at this moment of the call.
    pub(super) async fn passes(&self, world: &World, number: u64, at: Moment) {
        if let Some((call, seconds)) = self.troubles.jump
            && call == number
        {
            self.offset.store(seconds, Ordering::SeqCst);
        }
        if self.troubles.death == Some((number, at)) {
            world.note(format_args!("host {} dies", self.pid));
            self.exit();
            self.died.notify_one();
        }
        if let Some((call, moment, length)) = self.troubles.freeze
            && (call, moment) == (number, at)
            && !self.troubles.freezes_at_checkpoint
        {
            self.freeze(world, length);
        }
        self.goes_on(world).await;
    }

    /// Lets a host freeze that is to freeze when it writes the checkpoint.
    pub(super) async fn writes_checkpoint(&self, world: &World) {
        if let Some((_, _, length)) = self.troubles.freeze
            && self.troubles.freezes_at_checkpoint
            && self.freeze.get().is_none()
        {
            self.freeze(world, length);
        }
        self.goes_on(world).await;
    }

    fn freeze(&self, world: &World, length: Duration) {
        let now = world.clock.elapsed();
        world.note(format_args!("host {} freezes for {length:?}", self.pid));
        *self.frozen.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, now + length));
        self.freeze.get_or_init(|| (now, now + length));
    }

    /// Waits while the host is frozen. Never returns in a dead one.
    pub(super) async fn goes_on(&self, world: &World) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
        let frozen = *self.frozen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, until)) = frozen {
            let left = until.saturating_sub(world.clock.elapsed());
            if !left.is_zero() {
                world.clock.wait(left).await;
            }
            *self.frozen.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// The processes that other hosts see.
struct Seen(Weak<World>);

impl Processes for Seen {
    fn state(&self, pid: u32) -> ProcessState {
        let Some(world) = self.0.upgrade() else {
            return ProcessState::Unknown;
        };
        match world.state().hosts.get(&pid) {
            Some(host) if !host.is_dead() && !host.is_superseded.load(Ordering::SeqCst) => {
                ProcessState::Running(None)
            }
            _ => ProcessState::Gone,
        }
    }
}

/// Returns what lock files state of a host.
pub(super) fn facts(pid: u32, world: &Arc<World>) -> HostFacts {
    let processes = Arc::new(Seen(Arc::downgrade(world)));
    if world.kind == Kind::Bucket && world.is_one_machine {
        // Those of this process, which runs also when its host has died or has failed to release a lease.
        let HostFacts { pid, system, .. } = HostFacts::system();
        return HostFacts {
            pid,
            username: "user".to_owned(),
            hostname: "host".to_owned(),
            system,
            processes,
        };
    }
    HostFacts {
        pid,
        username: "user".to_owned(),
        hostname: "host".to_owned(),
        system: match world.kind {
            Kind::Folder | Kind::Leases => "simulated".to_owned(),
            // Each host is a machine of its own: others only see its renewals.
            Kind::Bucket => format!("simulated {pid}"),
        },
        processes,
    }
}
