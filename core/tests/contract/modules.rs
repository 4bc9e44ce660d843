//! Components with a state resource: its calls wait for what Construct registers, and Construct for them. The clock stands
//! still, so that an engine which waited for a timer would hang.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures::future::try_join_all;
use stackwright::{
    Engine, Stack, StackSettings,
    monitor::{Component, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        DiffChanges, DiffRequest, DiffResponse, HandshakeRequest, Provider, ProviderResult, ReadRequest,
        ReadResponse, UpdateRequest, UpdateResponse,
    },
    runtime::{Clock, Runtime, Timestamp},
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_testkit::wait::{Ended as _, Within as _};
use tokio::sync::watch;

/// The modules of the program; each has another one inside.
const TOP: usize = 4;

/// A clock on which no time passes.
struct StandingClock;

#[async_trait]
impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn wait(&self, _duration: Duration) {
        std::future::pending::<()>().await;
    }
}

/// How far a Construct is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Begun,
    /// A call on its state waits for it.
    Asked,
    /// It has registered its things and read them back.
    Made,
}

/// Constructs modules and serves their states.
#[derive(Default)]
struct Modules {
    constructing: Mutex<BTreeMap<String, watch::Sender<Progress>>>,
    /// The calls that have waited for a Construct in progress: the method and the module.
    met: Mutex<BTreeSet<(&'static str, String)>>,
}

impl Modules {
    /// Waits until the Construct in progress has made its things; where there is none, or an earlier call has waited for it,
    /// there is nothing to wait for.
    async fn meet(&self, method: &'static str, state: &str) {
        let module = state
            .strip_suffix("-state")
            .expect("the name of a state")
            .to_owned();
        let progress = self.constructing.lock().unwrap().get(&module).cloned();
        let progress = progress.filter(|progress| *progress.borrow() < Progress::Made);
        let Some(progress) = progress else { return };
        progress.send_replace(Progress::Asked);
        let mut made = progress.subscribe();
        let made = made.wait_for(|progress| *progress == Progress::Made);
        made.within("the things of the module").await.unwrap();
        self.met.lock().unwrap().insert((method, module));
    }
}

fn resource(resource_type: &str, name: String, size: PropertyValue) -> Registration {
    Registration {
        resource_type: resource_type.into(),
        name,
        custom: true,
        inputs: [("size", size)].into_iter().collect(),
        ..Registration::default()
    }
}

impl Provider for Modules {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let name = request.name.clone();
        let inputs = request.inputs.clone().collapse_outputs();
        let size = inputs.get("size").cloned().unwrap_or(PropertyValue::Null);
        let component = Component::register(&request).await?;
        let progress = watch::Sender::new(Progress::Begun);
        let mut asked = progress.subscribe();
        let begun = self
            .constructing
            .lock()
            .unwrap()
            .insert(name.clone(), progress.clone());
        assert!(begun.is_none(), "{name} is constructed twice at once");
        let state = component.register_child(resource(
            "module:index:State",
            format!("{name}-state"),
            size.clone(),
        ));
        let state = tokio::spawn(state);
        let inner = (!name.ends_with("-in")).then(|| {
            tokio::spawn(component.register_child(Registration {
                remote: true,
                custom: false,
                ..resource("module:index:Module", format!("{name}-in"), size.clone())
            }))
        });
        let asked = asked.wait_for(|progress| *progress == Progress::Asked);
        asked.within("a call on the state").await.unwrap();
        let things = ["0", "1"].map(|number| {
            component.register_child(resource(
                "things:index:Thing",
                format!("{name}-{number}"),
                size.clone(),
            ))
        });
        for thing in try_join_all(things).await? {
            assert_eq!(thing.outputs.get("size"), Some(&size), "{thing:?}");
        }
        progress.send_replace(Progress::Made);
        state.await.expect("a task of the test")?;
        if let Some(inner) = inner {
            inner.await.expect("a task of the test")?;
        }
        self.constructing.lock().unwrap().remove(&name);
        component.finish(PropertyMap::new()).await
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.meet("diff", &request.name).await;
        let changes = match request.old_inputs == request.news {
            true => DiffChanges::None,
            false => DiffChanges::Some,
        };
        Ok(DiffResponse {
            changes,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.meet("create", &request.name).await;
        Ok(CreateResponse {
            id: if request.preview { "" } else { "state" }.into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        // The Construct of an update has met its Diff already.
        let module = request.name.strip_suffix("-state").unwrap_or_default();
        let progress = self.constructing.lock().unwrap().get(module).cloned();
        if let Some(progress) = progress {
            let mut made = progress.subscribe();
            let made = made.wait_for(|progress| *progress == Progress::Made);
            made.within("the things of the module").await.unwrap();
            self.met.lock().unwrap().insert(("update", module.to_owned()));
        }
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        self.meet("read", &request.name).await;
        Ok(ReadResponse {
            id: request.id,
            inputs: request.inputs,
            outputs: request.properties,
            ..ReadResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

/// The provider of the things.
struct Things;

impl Provider for Things {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse {
            id: if request.preview { "" } else { "thing" }.into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        Ok(ReadResponse {
            id: request.id,
            inputs: request.inputs,
            outputs: request.properties,
            ..ReadResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

fn program(size: f64) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let modules = (0..TOP).map(|number| {
            context.monitor.register(Registration {
                remote: true,
                custom: false,
                ..resource("module:index:Module", format!("module-{number}"), size.into())
            })
        });
        try_join_all(modules).await?;
        Ok(())
    })
}

struct Stage {
    modules: Arc<Modules>,
    stack: Stack,
    parallel: i32,
}

impl Stage {
    async fn new(parallel: i32) -> Self {
        let runtime = Runtime {
            clock: Arc::new(StandingClock),
            ..Runtime::system(tokio::runtime::Handle::current())
        };
        let modules = Arc::new(Modules::default());
        let engine = Engine::builder(tokio::runtime::Handle::current())
            .store(Arc::new(MemoryStore::new(runtime.clone())))
            .runtime(runtime)
            .secrets(Arc::new(Base64Provider))
            .provider("module", Arc::clone(&modules) as _)
            .provider("things", Arc::new(Things))
            .build()
            .unwrap();
        let created = engine.create_stack("shop/dev", StackSettings::default()).await;
        Self {
            modules,
            stack: created.unwrap(),
            parallel,
        }
    }

    /// Runs an operation; returns the methods on whose states all eight modules have waited, and the result.
    async fn run(
        &self,
        kind: OperationKind,
        size: Option<f64>,
        options: OperationOptions,
    ) -> (Vec<&'static str>, Arc<OperationResult>) {
        self.modules.met.lock().unwrap().clear();
        let options = OperationOptions {
            parallel: self.parallel,
            ..options
        };
        let result = self.stack.start(kind, options, size.map(program)).ended().await;
        assert!(result.error.is_none(), "{:?}\n{}", result.error, result.tree());
        assert!(result.diagnostics.is_empty(), "{:?}", result.diagnostics);
        let met = std::mem::take(&mut *self.modules.met.lock().unwrap());
        let names = (0..TOP).flat_map(|number| [format!("module-{number}"), format!("module-{number}-in")]);
        let names: BTreeSet<String> = names.collect();
        let methods: BTreeSet<&'static str> = met.iter().map(|(method, _)| *method).collect();
        for method in &methods {
            let of_method = met.iter().filter(|(other, _)| other == method);
            let modules: BTreeSet<String> = of_method.map(|(_, module)| module.clone()).collect();
            assert_eq!(modules, names, "the modules that {method} has met in {kind:?}");
        }
        (methods.into_iter().collect(), result)
    }
}

/// Plays all operations on eight modules: four beside each other, with one inside each.
async fn live(parallel: i32) {
    let stage = Stage::new(parallel).await;
    let plain = OperationOptions::default;
    let update = OperationKind::Update;
    let (met, _) = stage.run(update, Some(1.0), plain().preview()).await;
    assert_eq!(met, ["create"]);
    let (met, made) = stage.run(update, Some(1.0), plain()).await;
    assert_eq!((met, made.changes["create"]), (vec!["create"], 1 + 8 * 4));
    let (met, same) = stage.run(update, Some(1.0), plain()).await;
    assert_eq!((met, same.changes.len()), (vec!["diff"], 1));
    let (met, _) = stage.run(update, Some(2.0), plain().preview()).await;
    assert_eq!(met, ["diff", "update"]);
    let (met, changed) = stage.run(update, Some(2.0), plain()).await;
    assert_eq!((met, changed.changes["update"]), (vec!["diff", "update"], 8 * 4));
    let (met, _) = stage.run(OperationKind::Refresh, None, plain()).await;
    assert!(met.is_empty(), "{met:?}");
    let with_program = OperationOptions {
        refresh_program: true,
        ..plain()
    };
    let (met, _) = stage.run(OperationKind::Refresh, Some(2.0), with_program).await;
    assert_eq!(met, ["read"]);
    let refreshing = OperationOptions {
        refresh: Some(true),
        ..plain()
    };
    let (met, _) = stage.run(update, Some(3.0), refreshing).await;
    assert_eq!(met, ["diff", "update"]);
    let (met, destroyed) = stage.run(OperationKind::Destroy, None, plain()).await;
    assert!(
        met.is_empty() && destroyed.snapshot.resources.is_empty(),
        "{met:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_on_the_states_of_eight_modules_wait_for_their_constructs_and_for_no_timer_at_parallelism_1() {
    live(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_on_the_states_of_eight_modules_wait_for_their_constructs_and_for_no_timer_at_parallelism_2() {
    live(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_on_the_states_of_eight_modules_wait_for_their_constructs_and_for_no_timer_without_a_limit() {
    live(0).await;
}
