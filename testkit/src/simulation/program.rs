//! The program of the simulated hosts.

use std::sync::Arc;

use futures::future::try_join_all;
use stackwright::{
    monitor::Registration,
    program::{Program, ProgramContext, from_fn},
    property::PropertyValue,
    urn::Urn,
};

use super::edits::THING;

/// The thing below which the last one lies.
const PARENT: u64 = 1;
const CHILD: u64 = 5;
/// How many things are registered at once. Each of the next ones depends on one of them.
const WIDTH: u64 = 2;

/// Registers things with those names. Half of the values are secrets. A thing whose parent is left out is left out, too.
pub(super) fn program(names: Vec<u64>, value: u64) -> Arc<dyn Program> {
    from_fn(move |context| {
        let names = names.clone();
        async move {
            let mut urns: Vec<(u64, Urn)> = Vec::new();
            let has_parent = names.contains(&PARENT);
            let names: Vec<u64> = names
                .into_iter()
                .filter(|name| *name != CHILD || has_parent)
                .collect();
            for level in names.chunk_by(|one, other| one / WIDTH == other / WIDTH) {
                let registering = level.iter().map(|name| register(&context, *name, value, &urns));
                let registered = try_join_all(registering).await?;
                urns.extend(registered);
            }
            Ok(())
        }
    })
}

async fn register(
    context: &ProgramContext,
    name: u64,
    value: u64,
    urns: &[(u64, Urn)],
) -> stackwright::Result<(u64, Urn)> {
    let urn_of = |wanted: u64| {
        let mut found = urns.iter().filter(|(name, _)| *name == wanted);
        found.next().map(|(_, urn)| urn.clone())
    };
    let value = PropertyValue::from(format!("value {value}"));
    let value = match name % 2 {
        0 => PropertyValue::secret(value),
        _ => value,
    };
    let registered = context.monitor.register(Registration {
        resource_type: THING.into(),
        name: format!("thing{name}"),
        custom: true,
        inputs: [("value", value)].into_iter().collect(),
        parent: (name == CHILD).then(|| urn_of(PARENT)).flatten(),
        dependencies: name.checked_sub(WIDTH).and_then(urn_of).into_iter().collect(),
        ..Registration::default()
    });
    Ok((name, registered.await?.urn))
}
