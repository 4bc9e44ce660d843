//! `concurrent.100`: the time of a hundred stacks at once, divided by that of the same one after the other.

use std::{sync::Arc, time::Duration};

use stackwright::{
    Engine, Error, Result,
    operation::{OperationKind, OperationOptions},
    property::PropertyMap,
};

use crate::{
    figure::{Selection, Stopwatch},
    provider::Echo,
    stack,
};

const STACKS: usize = 100;

/// The number of resources of each stack.
const RESOURCES: usize = 20;

/// The duration of each Create.
const CREATE_DURATION: Duration = Duration::from_millis(10);

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    let name = format!("concurrent.{STACKS}");
    stack::executor()?.block_on(async {
        let folder = stack::folder()?;
        let runtime = stack::runtime();
        let store = stack::file_store(folder.path(), &runtime)?;
        let engine = stack::engine(store, Echo::slow_creation(runtime.clock, CREATE_DURATION))?;
        let values = stack::values(RESOURCES);
        let watch = Stopwatch::start();
        for number in 0..STACKS {
            create(engine.clone(), format!("single/s{number}"), values.clone()).await?;
        }
        let one_by_one = watch.seconds();
        let watch = Stopwatch::start();
        let mut running = tokio::task::JoinSet::new();
        for number in 0..STACKS {
            running.spawn(create(
                engine.clone(),
                format!("together/s{number}"),
                values.clone(),
            ));
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(|error| Error::invalid(format!("an update died: {error}")))??;
        }
        selection.print(&name, watch.seconds() / one_by_one, "x")
    })
}

async fn create(engine: Engine, name: String, values: Arc<Vec<PropertyMap>>) -> Result<()> {
    let thing = stack::open(&engine, &name).await?;
    let program = Some(stack::tree(values));
    stack::run(
        &thing,
        OperationKind::Update,
        OperationOptions::default(),
        program,
    )
    .await?;
    Ok(())
}
