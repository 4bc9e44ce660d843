//! `construct.blocked.{1,8}`: a first update of components with one slot, in which the creation of each component's state waits
//! for what its Construct registers, as a multiple of the critical path.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use stackwright::{
    Engine, Error, Result,
    monitor::{Component, Registration},
    operation::{OperationKind, OperationOptions},
    program::{Program, from_fn},
    property::PropertyMap,
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, Provider, ProviderBackend, ProviderError, ProviderResult, ProviderStatus,
    },
    secrets::Base64Provider,
};
use tokio::sync::Notify;

use crate::{
    figure::{Selection, Stopwatch},
    provider::Echo,
    stack,
};

/// The duration of the creation of a child.
const CREATION: Duration = Duration::from_millis(100);

/// The number of children of a component.
const CHILDREN: u32 = 2;

const COUNTS: [u32; 2] = [1, 8];

/// The largest ratio: the calls of states must not occupy the slot.
const MAX_RATIO: f64 = 1.3;

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    for count in COUNTS {
        let name = format!("construct.blocked.{count}");
        if selection.selects(&name) {
            let ratio = stack::executor()?.block_on(ratio(count))?;
            selection.print(&name, ratio, "x")?;
            if ratio > MAX_RATIO {
                return Err(Error::invalid(format!(
                    "{name} is {ratio}, more than {MAX_RATIO}"
                )));
            }
        }
    }
    Ok(())
}

async fn ratio(count: u32) -> Result<f64> {
    let folder = stack::folder()?;
    let runtime = stack::runtime();
    let things: Arc<dyn ProviderBackend> =
        Arc::new(Echo::slow_creation(Arc::clone(&runtime.clock), CREATION));
    let modules: Arc<dyn ProviderBackend> = Arc::new(Modules::default());
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(stack::file_store(folder.path(), &runtime)?)
        .secrets(Arc::new(Base64Provider))
        .provider(stack::PACKAGE, things)
        .provider("module", modules)
        .build()?;
    let modules = stack::open(&engine, "bench/dev").await?;
    let options = OperationOptions {
        parallel: 1,
        no_events: true,
        ..OperationOptions::default()
    };
    let watch = Stopwatch::start();
    stack::run(&modules, OperationKind::Update, options, Some(program(count))).await?;
    Ok(watch.seconds() / (CREATION * CHILDREN * count).as_secs_f64())
}

/// Registers the components at once.
fn program(count: u32) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let modules = (0..count).map(|number| {
            context.monitor.register(Registration {
                resource_type: "module:index:Module".into(),
                name: format!("module-{number}"),
                remote: true,
                ..Registration::default()
            })
        });
        for module in modules.collect::<Vec<_>>() {
            module.await?;
        }
        Ok(())
    })
}

/// Constructs components, and serves their states.
#[derive(Default)]
struct Modules {
    /// What the creation of each state waits for, by the name of its component.
    made: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Modules {
    fn made(&self, component: &str) -> Arc<Notify> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(made.entry(component.to_owned()).or_default())
    }
}

fn registration(resource_type: &str, name: String) -> Registration {
    Registration {
        resource_type: resource_type.into(),
        name,
        custom: true,
        ..Registration::default()
    }
}

impl Provider for Modules {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let component = Component::register(&request).await?;
        let name = &request.name;
        let state = component.register_child(registration("module:index:State", format!("{name}-state")));
        let children = (0..CHILDREN).map(|number| {
            component.register_child(registration("bench:index:Thing", format!("{name}-{number}")))
        });
        for child in children.collect::<Vec<_>>() {
            child.await?;
        }
        self.made(name).notify_one();
        state.await?;
        component.finish(PropertyMap::new()).await
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let component = request.name.strip_suffix("-state").ok_or_else(|| {
            let text = format!("{} is no state", request.name);
            ProviderError::new(ProviderStatus::InvalidArgument, text)
        })?;
        self.made(component).notified().await;
        Ok(CreateResponse {
            id: request.name.into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}
