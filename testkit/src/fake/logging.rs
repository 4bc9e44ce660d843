//! A listening provider: it has a schema, records its handshakes, and logs the inputs of created resources.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use stackwright_proto::pulumirpc::{
    self as rpc, LogRequest, ProviderHandshakeRequest, engine_client::EngineClient,
};
use tokio::sync::Barrier;
use tonic::{Request, Response, Status};

use super::{ProviderCalls, serve_provider};
use crate::wait::Within as _;

/// The handshakes of a provider.
pub type Handshakes = Arc<Mutex<Vec<ProviderHandshakeRequest>>>;

/// Serves a schema and creates resources, whose inputs it logs.
#[derive(Debug)]
pub struct LoggingProvider {
    schema: &'static str,
    handshakes: Handshakes,
    /// The engine of each connection's handshake.
    engines: Mutex<HashMap<SocketAddr, String>>,
    /// The barrier of all creations, before and after they log.
    together: Barrier,
}

impl LoggingProvider {
    /// Serves it until the test's runtime ends; returns the address.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve(schema: &'static str) -> (String, Handshakes) {
        Self::serve_together(schema, 1).await
    }

    /// As [`Self::serve`], with a barrier for `creations` concurrent creations.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve_together(schema: &'static str, creations: usize) -> (String, Handshakes) {
        let handshakes = Handshakes::default();
        let provider = Self {
            schema,
            handshakes: Arc::clone(&handshakes),
            engines: Mutex::default(),
            together: Barrier::new(creations),
        };
        let address = serve_provider(provider).await;
        (address.to_string(), handshakes)
    }
}

impl LoggingProvider {
    /// Logs a line without a URN at the engine of a connection's handshake.
    async fn log(&self, client: SocketAddr, message: String) {
        let engine = self.engines.lock().unwrap()[&client].clone();
        let mut engine = EngineClient::connect(format!("http://{engine}")).await.unwrap();
        let line = LogRequest {
            severity: 1,
            message,
            ..LogRequest::default()
        };
        engine.log(line).await.unwrap();
    }
}

#[tonic::async_trait]
impl ProviderCalls for LoggingProvider {
    async fn handshake(
        &self,
        request: Request<ProviderHandshakeRequest>,
    ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
        let client = request.remote_addr().unwrap();
        let greeting = request.into_inner();
        self.engines
            .lock()
            .unwrap()
            .insert(client, greeting.engine_address.clone());
        self.handshakes.lock().unwrap().push(greeting);
        Ok(Response::new(rpc::ProviderHandshakeResponse::default()))
    }

    async fn configure(
        &self,
        _request: Request<rpc::ConfigureRequest>,
    ) -> Result<Response<rpc::ConfigureResponse>, Status> {
        Ok(Response::new(rpc::ConfigureResponse::default()))
    }

    async fn check(
        &self,
        request: Request<rpc::CheckRequest>,
    ) -> Result<Response<rpc::CheckResponse>, Status> {
        let inputs = request.into_inner().news;
        Ok(Response::new(rpc::CheckResponse {
            inputs,
            ..rpc::CheckResponse::default()
        }))
    }

    async fn create(
        &self,
        request: Request<rpc::CreateRequest>,
    ) -> Result<Response<rpc::CreateResponse>, Status> {
        let client = request.remote_addr().unwrap();
        let request = request.into_inner();
        self.together.wait().within("the other creations").await;
        self.log(
            client,
            format!("creating {}: {:?}", request.name, request.properties),
        )
        .await;
        self.together.wait().within("the other creations").await;
        Ok(Response::new(rpc::CreateResponse {
            id: request.name,
            properties: request.properties,
            ..rpc::CreateResponse::default()
        }))
    }

    async fn get_schema(
        &self,
        request: Request<rpc::GetSchemaRequest>,
    ) -> Result<Response<rpc::GetSchemaResponse>, Status> {
        assert_eq!(request.into_inner().version, 0);
        let schema = self.schema.to_owned();
        Ok(Response::new(rpc::GetSchemaResponse { schema }))
    }
}
