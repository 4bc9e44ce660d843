//! Shared by all measurements: executor, engine over a folder, programs of a given size, and operations.

use std::{path::Path, sync::Arc};

use stackwright::{
    Engine, Error, Result, Stack, StackSettings,
    monitor::{Registered, Registration, WireStatus},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, ProgramContext, from_fn},
    property::{PropertyMap, PropertyValue},
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::Base64Provider,
    store::{FileStore, Store},
    urn::Urn,
};

use crate::provider::Echo;

/// The package of all resources.
pub(crate) const PACKAGE: &str = "bench";

/// No limit on concurrent steps.
pub(crate) const UNBOUNDED: i32 = i32::MAX;

/// Creates the Tokio runtime of a measurement.
pub(crate) fn executor() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::invalid(format!("no runtime can be started: {error}")))
}

/// Creates a folder for states, below the build's folder: on the disk that the project is on, not in memory.
pub(crate) fn folder() -> Result<tempfile::TempDir> {
    let failed = |error| Error::invalid(format!("no folder for states can be made: {error}"));
    let executable = std::env::current_exe().map_err(failed)?;
    let below = executable.parent().unwrap_or_else(|| Path::new("."));
    tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(below)
        .map_err(failed)
}

/// Creates the file store of a folder.
pub(crate) fn file_store(folder: &Path, runtime: &Runtime) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(FileStore::new(folder, runtime.clone())?))
}

/// Creates the runtime of the engine that the calling task runs on.
pub(crate) fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

/// Creates an engine over a store, with a provider of this process.
pub(crate) fn engine(store: Arc<dyn Store>, provider: Echo) -> Result<Engine> {
    let provider: Arc<dyn ProviderBackend> = Arc::new(provider);
    Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider(PACKAGE, provider)
        .build()
}

/// Creates an engine whose provider answers at once, over a folder.
pub(crate) fn instant_engine(folder: &Path) -> Result<Engine> {
    let runtime = runtime();
    let store = file_store(folder, &runtime)?;
    engine(store, Echo::instant(runtime.clock))
}

/// Opens a stack, which is created unless it exists.
pub(crate) async fn open(engine: &Engine, name: &str) -> Result<Stack> {
    engine
        .create_or_select_stack(name, StackSettings::default())
        .await
}

/// Runs an operation to its end; a failed one is an error.
pub(crate) async fn run(
    stack: &Stack,
    kind: OperationKind,
    options: OperationOptions,
    program: Option<Arc<dyn Program>>,
) -> Result<Arc<OperationResult>> {
    let operation = stack.start(kind, options, program);
    let result = operation.wait().await;
    match &result.error {
        Some(error) => Err(error.clone()),
        None => Ok(result),
    }
}

/// Returns options without a limit on parallel steps and without events.
pub(crate) fn unbounded() -> OperationOptions {
    OperationOptions {
        parallel: UNBOUNDED,
        no_events: true,
        ..OperationOptions::default()
    }
}

/// Returns the inputs of a resource: a name, a number, and some tags; about 200 bytes of JSON.
pub(crate) fn inputs(number: usize) -> PropertyMap {
    #[expect(clippy::cast_precision_loss, reason = "numbers of resources are small")]
    let size = number as f64;
    let tags = [("owner", PropertyValue::from("team")), ("tier", "web".into())];
    PropertyMap::from_iter([
        ("name", PropertyValue::from(format!("thing-{number}"))),
        (
            "description",
            "one of many things that the measurement makes".into(),
        ),
        ("size", size.into()),
        ("tags", PropertyMap::from_iter(tags).into()),
    ])
}

/// Returns the registration of a resource that depends on others.
pub(crate) fn registration(number: usize, inputs: PropertyMap, dependencies: Vec<Urn>) -> Registration {
    Registration {
        resource_type: "bench:index:Thing".into(),
        name: format!("thing-{number}"),
        custom: true,
        inputs,
        dependencies,
        ..Registration::default()
    }
}

/// Returns a program that registers `count` resources at once; each but the first depends on the one at a tenth of its
/// number, which gives a wide tree.
pub(crate) fn tree(values: Arc<Vec<PropertyMap>>) -> Arc<dyn Program> {
    from_fn(move |context| {
        let values = Arc::clone(&values);
        async move { register_tree(context, &values).await }
    })
}

/// Returns the values of `count` resources, for [`tree`].
pub(crate) fn values(count: usize) -> Arc<Vec<PropertyMap>> {
    Arc::new((0..count).map(inputs).collect())
}

async fn register_tree(context: ProgramContext, values: &[PropertyMap]) -> Result<()> {
    let info = &context.info;
    let urn = |number: usize| {
        Urn::new(
            &info.stack,
            &info.project,
            "pulumi:pulumi:Stack",
            "bench:index:Thing",
            &format!("thing-{number}"),
        )
    };
    // `register` starts the request at once; its future only waits for the answer.
    let mut answers = Vec::with_capacity(values.len());
    for (number, inputs) in values.iter().enumerate() {
        let dependencies = if number == 0 {
            Vec::new()
        } else {
            vec![urn(number / 10)]
        };
        let registered = context
            .monitor
            .register(registration(number, inputs.clone(), dependencies));
        answers.push(registered);
    }
    for answer in answers {
        answer.await?;
    }
    Ok(())
}

/// Converts the outcome of a registering task into a result.
pub(crate) fn settle(
    registered: std::result::Result<std::result::Result<Registered, WireStatus>, tokio::task::JoinError>,
) -> Result<Registered> {
    let registered =
        registered.map_err(|error| Error::invalid(format!("a registration panicked: {error}")))?;
    Ok(registered?)
}
