//! Functions of a program behind the protocol: each is a closure, by its token.

use std::{collections::HashMap, sync::Arc};

use futures::future::{BoxFuture, FutureExt as _};
use prost::Message;
use stackwright_proto::pulumirpc::{
    CallbackInvokeRequest, CallbackInvokeResponse,
    callbacks_server::{Callbacks, CallbacksServer},
};
use tonic::{Request, Response, Status, transport::Server};

use super::serve;

type Function = dyn Fn(Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Status>> + Send + Sync;

/// The functions of a program by token. A call of another token fails.
#[derive(Default)]
pub struct FakeCallbacks(HashMap<String, Arc<Function>>);

impl FakeCallbacks {
    /// Adds a function, with the messages of its requests and responses.
    #[must_use]
    pub fn with<Q, A, F>(mut self, token: &str, function: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        Q: Message + Default,
        A: Message,
        F: Future<Output = Result<A, Status>> + Send + 'static,
    {
        let call = move |request: Vec<u8>| {
            let answer = Q::decode(&*request)
                .map(&function)
                .map_err(|error| Status::invalid_argument(error.to_string()));
            async move { answer?.await.map(|response| response.encode_to_vec()) }.boxed()
        };
        self.0.insert(token.to_owned(), Arc::new(call));
        self
    }

    /// Serves them until the test's runtime ends; returns the target.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve(self) -> String {
        let router = Server::builder().add_service(CallbacksServer::new(self));
        serve(router).await.to_string()
    }
}

#[tonic::async_trait]
impl Callbacks for FakeCallbacks {
    async fn invoke(
        &self,
        request: Request<CallbackInvokeRequest>,
    ) -> Result<Response<CallbackInvokeResponse>, Status> {
        let CallbackInvokeRequest { token, request } = request.into_inner();
        let function = self.0.get(&token).cloned();
        let function = function.ok_or_else(|| Status::not_found(format!("there is no function {token}")))?;
        let response = function(request).await?;
        Ok(Response::new(CallbackInvokeResponse { response }))
    }
}
