//! A provider's server: each call is handled by a closure, or unimplemented.

use std::sync::{Arc, Mutex};

use stackwright_proto::pulumirpc as rpc;
use tonic::{Request, Response, Status};

use super::{ProviderCalls, calls::each_provider_call, serve_provider};

/// The handler of a call.
pub type Answer<Q, A> = Option<Box<dyn Fn(Q) -> Result<A, Status> + Send + Sync>>;

macro_rules! fake {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        /// The handlers of a fake provider; a call without a handler is unimplemented.
        #[derive(Default)]
        pub struct FakeProvider {
            $(#[doc = concat!("Handles `", stringify!($call), "`.")]
            pub $call: Answer<$request, $response>,)*
            /// The names of the received calls.
            pub calls: Arc<Mutex<Vec<&'static str>>>,
        }

        #[tonic::async_trait]
        impl ProviderCalls for FakeProvider {
            $(async fn $call(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                self.calls.lock().unwrap().push(stringify!($call));
                match &self.$call {
                    Some(answer) => answer(request.into_inner()).map(Response::new),
                    None => Err(Status::unimplemented(stringify!($call))),
                }
            })*
        }
    };
}

each_provider_call!(fake);

impl FakeProvider {
    /// Creates a provider with a handshake; `secrets` sets whether it accepts secrets.
    #[must_use]
    pub fn greeting(secrets: bool) -> Self {
        Self {
            handshake: Some(Box::new(move |_| {
                Ok(rpc::ProviderHandshakeResponse {
                    accept_secrets: secrets,
                    ..rpc::ProviderHandshakeResponse::default()
                })
            })),
            configure: Some(Box::new(|_| Ok(rpc::ConfigureResponse::default()))),
            ..Self::default()
        }
    }

    /// Serves the provider until the test's runtime ends; returns the port.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve(self) -> u16 {
        serve_provider(self).await.port()
    }
}
