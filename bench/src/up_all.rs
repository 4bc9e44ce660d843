//! `up_all.200`: the time of 200 stacks as one operation, divided by the sum of their single updates.

use std::{sync::Arc, time::Duration};

use stackwright::{
    Engine, Error, Result,
    fleet::{FleetOptions, StackRun},
    operation::{OperationKind, OperationOptions},
    property::PropertyMap,
};

use crate::{
    figure::{Selection, Stopwatch},
    provider::Echo,
    stack,
};

const STACKS: usize = 200;

/// The number of resources of each stack.
const RESOURCES: usize = 5;

/// The duration of each Create.
const CREATE_DURATION: Duration = Duration::from_millis(50);

/// The greatest ratio that is no error.
const MOST: f64 = 0.3;

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let name = format!("up_all.{STACKS}");
    stack::executor()?.block_on(async {
        let folder = stack::folder()?;
        let runtime = stack::runtime();
        let store = stack::file_store(folder.path(), &runtime)?;
        let engine = stack::engine(store, Echo::slow_creation(runtime.clock, CREATE_DURATION))?;
        let values = stack::values(RESOURCES);
        let watch = Stopwatch::start();
        for number in 0..STACKS {
            let single = stack::open(&engine, &format!("single/s{number}")).await?;
            let program = Some(stack::tree(Arc::clone(&values)));
            stack::run(
                &single,
                OperationKind::Update,
                OperationOptions::default(),
                program,
            )
            .await?;
        }
        let one_by_one = watch.seconds();
        let mut runs = Vec::with_capacity(STACKS);
        for number in 0..STACKS {
            runs.push(part(&engine, number, &values).await?);
        }
        let watch = Stopwatch::start();
        let result = engine.up_all(runs, FleetOptions::default()).wait().await;
        if let Some(error) = &result.error {
            return Err(error.clone());
        }
        let ratio = watch.seconds() / one_by_one;
        selection.print(&name, ratio, "x")?;
        match ratio <= MOST {
            true => Ok(()),
            false => Err(Error::invalid(format!("{name} is {ratio:.3}, more than {MOST}"))),
        }
    })
}

/// Returns a stack of the set, which depends on the one at a tenth of its number.
async fn part(engine: &Engine, number: usize, values: &Arc<Vec<PropertyMap>>) -> Result<StackRun> {
    let run = StackRun {
        program: Some(stack::tree(Arc::clone(values))),
        ..StackRun::new(stack::open(engine, &format!("together/s{number}")).await?)
    };
    Ok(match number {
        0 => run,
        _ => run.depends_on(format!("together/s{}", number / 10)),
    })
}
