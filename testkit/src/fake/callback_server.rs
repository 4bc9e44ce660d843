//! The functions of a program behind the protocol: a server whose calls a closure answers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::{
    StreamExt as _,
    future::{BoxFuture, FutureExt as _},
};
use stackwright_proto::pulumirpc::{
    CallbackInvokeRequest, CallbackInvokeResponse,
    callbacks_server::{Callbacks, CallbacksServer},
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::server::Server};

type Calls = Box<dyn Fn(String, Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Status>> + Send + Sync>;

/// A server of callbacks, until the runtime of the test ends.
#[derive(Clone, Debug)]
pub struct FakeCallbackServer {
    /// Where it listens, in the form of callbacks.
    pub target: String,
    connections: Arc<AtomicUsize>,
}

impl FakeCallbackServer {
    /// Serves functions: `calls` gets the token and the encoded request.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve<F>(calls: impl Fn(String, Vec<u8>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<u8>, Status>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap().to_string();
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        let incoming = TcpListenerStream::new(listener).inspect(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let service = Service(Box::new(move |token, request| calls(token, request).boxed()));
        let router = Server::builder().add_service(CallbacksServer::new(service));
        tokio::spawn(router.serve_with_incoming(incoming));
        Self { target, connections }
    }

    /// Returns how many connections there have been.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

struct Service(Calls);

#[tonic::async_trait]
impl Callbacks for Service {
    async fn invoke(
        &self,
        request: Request<CallbackInvokeRequest>,
    ) -> Result<Response<CallbackInvokeResponse>, Status> {
        let CallbackInvokeRequest { token, request } = request.into_inner();
        let response = (self.0)(token, request).await?;
        Ok(Response::new(CallbackInvokeResponse { response }))
    }
}
