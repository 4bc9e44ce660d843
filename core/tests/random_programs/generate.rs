//! Random plans.

use proptest::{collection::vec, prelude::*};
use stackwright_testkit::store::Fault as StoreFault;

use crate::plan::{
    Act, DECLARED, Declared, Drift, Fault, INNER, KIT, MOMENTS, Plan, Point, Script, Stop, Trouble, Verb,
};
use crate::whole;

fn declared() -> impl Strategy<Value = Declared> {
    let rarely = || prop::bool::weighted(0.12);
    let identity = (
        prop::bool::weighted(0.75),
        0..3_u8,
        prop_oneof![4 => Just(0_u8), 1 => Just(1)],
        prop::sample::subsequence((0..DECLARED - 1).collect::<Vec<_>>(), 0..3),
        any::<bool>(),
        prop::option::weighted(0.3, 0..2_usize),
        rarely(),
    );
    let options = (
        prop::option::weighted(0.15, prop::sample::select(vec![0_usize, 2, 3])),
        prop::option::weighted(0.3, any::<bool>()),
        prop::bool::weighted(0.05),
        prop::bool::weighted(0.06),
        rarely(),
        prop::bool::weighted(0.25),
        (rarely(), rarely(), any::<bool>(), any::<bool>()),
        prop_oneof![3 => Just(Vec::new()), 1 => prop::sample::subsequence((0..MOMENTS.len()).collect::<Vec<_>>(), 1..3)],
        0..5_u8,
    );
    (identity, options).prop_map(|(identity, options)| {
        let (present, value, key, depends_on, uses, parent, renamed) = identity;
        let (deleted_with, delete_first, protect, retain, imported, transformed, calls, hooks, pace) =
            options;
        let (asks, opens, followed, by_transform) = calls;
        Declared {
            present,
            value,
            key,
            depends_on,
            uses,
            parent,
            renamed,
            followed,
            deleted_with,
            delete_first,
            protect,
            retain,
            imported,
            transformed,
            by_transform,
            asks,
            opens,
            hooks,
            pace,
        }
    })
}

/// Changes some declarations of a script, so that much of it stays.
fn changed(base: Script) -> impl Strategy<Value = Script> {
    let changes = vec(prop::option::weighted(0.4, declared()), DECLARED);
    (changes, any::<bool>()).prop_map(move |(changes, in_turn)| {
        let kept = base.declared.iter().cloned();
        let declared = changes.into_iter().zip(kept);
        Script {
            declared: declared.map(|(new, old)| new.unwrap_or(old)).collect(),
            in_turn,
        }
    })
}

pub(crate) fn scripts() -> impl Strategy<Value = Vec<Script>> {
    let first = (vec(declared(), DECLARED), any::<bool>());
    first
        .prop_map(|(declared, in_turn)| Script { declared, in_turn })
        .prop_flat_map(|first| (Just(first.clone()), changed(first)))
        .prop_map(|(first, second)| vec![first, second])
}

fn fault() -> impl Strategy<Value = Fault> {
    let point = prop_oneof![
        2 => Just(Point::Check),
        2 => Just(Point::Diff),
        6 => Just(Point::Create),
        4 => Just(Point::Update),
        4 => Just(Point::Delete),
        2 => Just(Point::Read),
        2 => Just(Point::Construct),
        1 => Just(Point::Handshake),
        1 => Just(Point::CheckConfig),
        1 => Just(Point::DiffConfig),
        1 => Just(Point::Configure),
        2 => Just(Point::Invoke),
        2 => Just(Point::Method),
        3 => Just(Point::Hook),
        1 => Just(Point::ErrorHook),
        1 => Just(Point::Transform),
        1 => Just(Point::InvokeTransform),
        1 => Just(Point::Policy),
    ];
    let trouble = prop_oneof![
        4 => Just(Trouble::Fails),
        2 => Just(Trouble::Half),
        2 => Just(Trouble::Unanswered),
        2 => Just(Trouble::Late),
        2 => any::<bool>().prop_map(|acts| Trouble::Hangs { acts }),
        1 => any::<bool>().prop_map(|acts| Trouble::Deaf { acts }),
        1 => any::<bool>().prop_map(|acts| Trouble::Dies { acts }),
    ];
    (point, 0..=INNER, trouble).prop_map(|(point, number, trouble)| Fault {
        point,
        number: match point {
            Point::Handshake | Point::CheckConfig | Point::DiffConfig | Point::Configure => 0,
            Point::Construct if number < DECLARED => KIT,
            Point::Construct => INNER,
            Point::Method => KIT,
            _ => number,
        },
        trouble,
    })
}

fn stop() -> impl Strategy<Value = Stop> {
    let cancel = (1..25_usize, any::<bool>()).prop_map(|(call, twice)| Stop::Cancel { call, twice });
    let store = (1..40_u64, 0..4_u8).prop_map(|(write, kind)| {
        Stop::Store(match kind {
            0 => StoreFault::FailsAt(write),
            1 => StoreFault::DiesAt(write),
            2 => StoreFault::DiesAfter(write),
            _ => StoreFault::TearsAt(write),
        })
    });
    prop_oneof![5 => Just(Stop::No), 2 => cancel, 2 => store]
}

/// An operation that nothing disturbs.
fn calm() -> impl Strategy<Value = Act> {
    let verb = prop_oneof![
        6 => Just(Verb::Update),
        1 => Just(Verb::Preview),
        2 => Just(Verb::Refresh),
        2 => Just(Verb::Destroy),
    ];
    let targets = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::sample::subsequence((0..DECLARED).collect::<Vec<_>>(), 1..4),
    ];
    let drift = (0..=INNER, any::<bool>()).prop_map(|(number, vanishes)| Drift { number, vanishes });
    let flags = (
        prop::bool::weighted(0.3),
        any::<bool>(),
        prop::bool::weighted(0.2),
        any::<bool>(),
        prop::sample::select(vec![1, 2, 16]),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.7),
    );
    let rest = (
        prop::option::weighted(0.08, 0..DECLARED),
        prop::option::weighted(0.3, drift),
    );
    (verb, 0..2_usize, targets, flags, rest).prop_map(|(verb, script, targets, flags, rest)| {
        let (excludes, dependents, refresh, runs_program, parallel, continues, ignores_protection) = flags;
        let (replaces, drift) = rest;
        Act {
            verb,
            script,
            targets,
            excludes,
            dependents,
            refresh,
            runs_program,
            parallel,
            continues,
            ignores_protection,
            replaces,
            drift,
            faults: Vec::new(),
            stop: Stop::No,
        }
    })
}

fn act() -> impl Strategy<Value = Act> {
    let faults = prop_oneof![1 => Just(Vec::new()), 2 => vec(fault(), 1..4)];
    (calm(), faults, stop()).prop_map(|(calm, faults, stop)| Act { faults, stop, ..calm })
}

/// Plans in which everything may fail.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    (scripts(), vec(act(), 1..5)).prop_map(|(scripts, acts)| Plan { scripts, acts })
}

/// Plans in which nothing fails.
pub(crate) fn calm_plan() -> impl Strategy<Value = Plan> {
    (scripts(), vec(calm(), 1..4)).prop_map(|(scripts, mut acts)| {
        for act in &mut acts {
            act.ignores_protection = true;
            act.drift = None;
        }
        Plan { scripts, acts }
    })
}

/// Plans with an update that goes on after failures, of a program in which all resources use the outputs of those that they need.
pub(crate) fn continued_plan() -> impl Strategy<Value = Plan> {
    let point = prop::sample::select(vec![Point::Check, Point::Diff, Point::Create, Point::Update]);
    let fault = (point, 0..=INNER).prop_map(|(point, number)| Fault {
        point,
        number,
        trouble: Trouble::Fails,
    });
    (scripts(), vec(fault, 2..8), prop::sample::select(vec![1, 16])).prop_map(
        |(mut scripts, faults, parallel)| {
            let (first, second) = scripts.split_at_mut(1);
            for (before, after) in first[0].declared.iter_mut().zip(&mut second[0].declared) {
                before.present |= before.value > 0;
                before.uses = true;
                before.imported = false;
                before.opens = false;
                // The engine knows the needs of what is not registered from its records.
                *after = Declared {
                    value: after.value,
                    key: after.key,
                    hooks: after.hooks.clone(),
                    ..before.clone()
                };
            }
            let update = |script: usize| Act {
                parallel,
                ..whole(Verb::Update, script)
            };
            let continued = Act {
                continues: true,
                faults,
                ..update(1)
            };
            let acts = vec![update(0), continued];
            Plan { scripts, acts }
        },
    )
}
