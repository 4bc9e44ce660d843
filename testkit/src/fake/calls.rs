//! The calls of a provider with an answer for each: unimplemented, unless the provider has its own.

use stackwright_proto::{
    MESSAGE_LIMIT,
    pulumirpc::{
        self as rpc,
        resource_provider_server::{ResourceProvider, ResourceProviderServer},
    },
};
use tonic::{Request, Response, Status};

/// Passes the unary calls of a provider, with their messages, to a macro.
macro_rules! each_provider_call {
    ($then:ident) => {
        $then! {
            handshake: rpc::ProviderHandshakeRequest => rpc::ProviderHandshakeResponse;
            parameterize: rpc::ParameterizeRequest => rpc::ParameterizeResponse;
            get_schema: rpc::GetSchemaRequest => rpc::GetSchemaResponse;
            check_config: rpc::CheckRequest => rpc::CheckResponse;
            diff_config: rpc::DiffRequest => rpc::DiffResponse;
            configure: rpc::ConfigureRequest => rpc::ConfigureResponse;
            invoke: rpc::InvokeRequest => rpc::InvokeResponse;
            call: rpc::CallRequest => rpc::CallResponse;
            check: rpc::CheckRequest => rpc::CheckResponse;
            diff: rpc::DiffRequest => rpc::DiffResponse;
            create: rpc::CreateRequest => rpc::CreateResponse;
            read: rpc::ReadRequest => rpc::ReadResponse;
            update: rpc::UpdateRequest => rpc::UpdateResponse;
            delete: rpc::DeleteRequest => ();
            construct: rpc::ConstructRequest => rpc::ConstructResponse;
            cancel: () => ();
            get_plugin_info: () => rpc::PluginInfo;
            attach: rpc::PluginAttach => ();
            get_mapping: rpc::GetMappingRequest => rpc::GetMappingResponse;
            get_mappings: rpc::GetMappingsRequest => rpc::GetMappingsResponse;
        }
    };
}
pub(super) use each_provider_call;

macro_rules! provider_calls {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        /// The unary calls of a provider. A call that is not overridden is unimplemented.
        #[tonic::async_trait]
        pub trait ProviderCalls: Send + Sync + 'static {
            $(#[doc = concat!("Answers the call `", stringify!($call), "`.")]
            async fn $call(&self, _request: Request<$request>) -> Result<Response<$response>, Status> {
                Err(Status::unimplemented(stringify!($call)))
            })*
        }

        #[tonic::async_trait]
        impl<P: ProviderCalls> ResourceProvider for ProviderServer<P> {
            type ListStream = futures::stream::Empty<Result<rpc::ListResponse, Status>>;

            async fn list(&self, _request: Request<rpc::ListRequest>) -> Result<Response<Self::ListStream>, Status> {
                Err(Status::unimplemented("list"))
            }

            $(async fn $call(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                self.0.$call(request).await
            })*
        }
    };
}

/// The server of a provider.
#[derive(Debug)]
pub struct ProviderServer<P>(P);

impl<P: ProviderCalls> ProviderServer<P> {
    /// Returns the service, which accepts and sends messages of the size that the protocol permits.
    pub fn service(provider: P) -> ResourceProviderServer<Self> {
        ResourceProviderServer::new(Self(provider))
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(usize::MAX)
    }
}

each_provider_call!(provider_calls);
