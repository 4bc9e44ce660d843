//! The address of the monitor that providers of components are given.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use stackwright::{
    Engine, Result as LibraryResult,
    monitor::Registration,
    operation::OperationOptions,
    program::from_fn,
    provider::{Resolution, ResolutionRequest, Resolver},
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{self as rpc, RegisterResourceRequest};
use stackwright_testkit::{
    fake::{FakeProxy, ProviderCalls, serve_provider},
    wait::Ended as _,
};
use tonic::{Request, Response, Status};

use crate::fixture::{client, register, runtime, stack};

/// Constructs a component, with one of the package `inner` inside where there is one.
struct Boxes {
    inner: Option<&'static str>,
    /// The addresses in the requests of all providers.
    addresses: Arc<Mutex<Vec<String>>>,
}

#[tonic::async_trait]
impl ProviderCalls for Boxes {
    async fn handshake(
        &self,
        _request: Request<rpc::ProviderHandshakeRequest>,
    ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
        Ok(Response::new(rpc::ProviderHandshakeResponse {
            accept_secrets: true,
            ..rpc::ProviderHandshakeResponse::default()
        }))
    }

    async fn configure(
        &self,
        _request: Request<rpc::ConfigureRequest>,
    ) -> Result<Response<rpc::ConfigureResponse>, Status> {
        Ok(Response::new(rpc::ConfigureResponse::default()))
    }

    async fn construct(
        &self,
        request: Request<rpc::ConstructRequest>,
    ) -> Result<Response<rpc::ConstructResponse>, Status> {
        let request = request.into_inner();
        self.addresses
            .lock()
            .unwrap()
            .push(request.monitor_endpoint.clone());
        let mut client = client(&request.monitor_endpoint).await;
        let component =
            |resource_type: String, name: String, parent: String, remote| RegisterResourceRequest {
                r#type: resource_type,
                name,
                parent,
                remote,
                ..RegisterResourceRequest::default()
            };
        let own = component(request.r#type, request.name.clone(), request.parent, false);
        let urn = register(&mut client, own).await?.urn;
        if let Some(package) = self.inner {
            let name = format!("{}-in", request.name);
            let inner = component(format!("{package}:index:Box"), name, urn.clone(), true);
            register(&mut client, inner).await?;
        }
        Ok(Response::new(rpc::ConstructResponse {
            urn,
            ..rpc::ConstructResponse::default()
        }))
    }
}

/// Finds each package at the address of its provider.
struct ByPackage([(&'static str, String); 2]);

#[async_trait]
impl Resolver for ByPackage {
    async fn resolve(&self, request: ResolutionRequest) -> LibraryResult<Resolution> {
        let mut known = self.0.iter();
        let found = known.find(|(package, _)| request.name == *package);
        Ok(Resolution::Address(
            found.expect("a package of the test").1.clone(),
        ))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_components_of_an_operation_get_one_monitor_address_and_belong_where_they_are_registered() {
    let addresses = Arc::new(Mutex::new(Vec::new()));
    let serve = |inner| {
        let addresses = Arc::clone(&addresses);
        async move {
            let address = serve_provider(Boxes { inner, addresses }).await;
            FakeProxy::before(&address.to_string()).await
        }
    };
    let proxies = [serve(Some("inner")).await, serve(None).await];
    let resolver = ByPackage([
        ("outer", proxies[0].address.clone()),
        ("inner", proxies[1].address.clone()),
    ]);
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::new(resolver))
        .build()
        .unwrap();
    let program = from_fn(|context| async move {
        let remote = |token: &str, name: &str| {
            let component = Registration {
                resource_type: token.into(),
                name: name.to_owned(),
                remote: true,
                ..Registration::default()
            };
            context.monitor.register(component)
        };
        let boxes = futures::future::try_join4(
            remote("outer:index:Box", "a"),
            remote("outer:index:Box", "b"),
            remote("inner:index:Box", "c"),
            remote("inner:index:Box", "d"),
        );
        boxes.await?;
        Ok(())
    });
    let stack = stack(&engine, "shop/dev", program).await;
    let result = stack.update(OperationOptions::default()).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let given = std::mem::take(&mut *addresses.lock().unwrap());
    assert_eq!(given.len(), 6, "{given:?}");
    assert_eq!(BTreeSet::from_iter(&given).len(), 1, "{given:?}");
    // Three Constructs each.
    assert_eq!(proxies.each_ref().map(FakeProxy::connections), [1, 1]);
    let parents = result.snapshot.resources.iter().filter_map(|state| {
        let parent = state.parent.as_ref().filter(|parent| !parent.is_root_stack())?;
        Some((state.urn.name().to_owned(), parent.name().to_owned()))
    });
    let parents: BTreeSet<_> = parents.collect();
    let expected = [("a-in", "a"), ("b-in", "b")].map(|(name, parent)| (name.to_owned(), parent.to_owned()));
    assert_eq!(parents, BTreeSet::from(expected));
}
