//! A language runtime for tests: Run and Cancel are closures, the required packages are data, other calls are
//! unimplemented.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use stackwright_proto::pulumirpc::{
    self as rpc, RunRequest, RunResponse,
    language_runtime_server::{LanguageRuntime, LanguageRuntimeServer},
};
use tonic::{Request, Response, Status, transport::Server};

use super::serve;

type Run = dyn Fn(RunRequest) -> BoxFuture<'static, Result<RunResponse, Status>> + Send + Sync;

/// A language runtime. A call without a closure or data is unimplemented.
pub struct FakeRuntime {
    run: Arc<Run>,
    cancel: Option<Arc<dyn Fn() + Send + Sync>>,
    packages: Option<rpc::GetRequiredPackagesResponse>,
    plugins: Option<rpc::GetRequiredPluginsResponse>,
    /// The handshakes so far, when the runtime requires one before Run.
    greetings: Option<Arc<Mutex<Vec<rpc::LanguageHandshakeRequest>>>>,
}

impl FakeRuntime {
    /// Creates a runtime whose programs are calls of `run`.
    pub fn new<F>(run: impl Fn(RunRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<RunResponse, Status>> + Send + 'static,
    {
        Self {
            run: Arc::new(move |request| run(request).boxed()),
            cancel: None,
            packages: None,
            plugins: None,
            greetings: None,
        }
    }

    /// Sets the response to `GetRequiredPackages`.
    #[must_use]
    pub fn requiring_packages(mut self, packages: Vec<rpc::PackageDependency>) -> Self {
        self.packages = Some(rpc::GetRequiredPackagesResponse {
            packages,
            specs: Vec::new(),
        });
        self
    }

    /// Sets the response to `GetRequiredPlugins`.
    #[must_use]
    pub fn requiring_plugins(mut self, plugins: Vec<rpc::PluginDependency>) -> Self {
        self.plugins = Some(rpc::GetRequiredPluginsResponse { plugins });
        self
    }

    /// Requires a handshake before Run, and records the handshakes.
    #[must_use]
    pub fn demanding_a_greeting(
        mut self,
        greetings: &Arc<Mutex<Vec<rpc::LanguageHandshakeRequest>>>,
    ) -> Self {
        self.greetings = Some(Arc::clone(greetings));
        self
    }

    /// Sets the handler of `Cancel`.
    #[must_use]
    pub fn on_cancel(mut self, cancel: impl Fn() + Send + Sync + 'static) -> Self {
        self.cancel = Some(Arc::new(cancel));
        self
    }

    /// Serves it until the test's runtime ends; returns the address.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve(self) -> String {
        let router = Server::builder().add_service(LanguageRuntimeServer::new(self));
        serve(router).await.to_string()
    }
}

macro_rules! language_runtime {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        #[tonic::async_trait]
        impl LanguageRuntime for FakeRuntime {
            type InstallDependenciesStream =
                futures::stream::Empty<Result<rpc::InstallDependenciesResponse, Status>>;
            type RunPluginStream = futures::stream::Empty<Result<rpc::RunPluginResponse, Status>>;

            async fn run(&self, request: Request<RunRequest>) -> Result<Response<RunResponse>, Status> {
                if self.greetings.as_ref().is_some_and(|greetings| greetings.lock().unwrap().is_empty()) {
                    return Err(Status::failed_precondition("must call Handshake before Run"));
                }
                // A failed assertion of the program must not appear as a hanging runtime.
                match tokio::spawn((self.run)(request.into_inner())).await {
                    Ok(answer) => answer.map(Response::new),
                    Err(error) => Err(Status::internal(format!("the program panicked: {error}"))),
                }
            }

            async fn handshake(
                &self,
                request: Request<rpc::LanguageHandshakeRequest>,
            ) -> Result<Response<rpc::LanguageHandshakeResponse>, Status> {
                let greetings = self.greetings.as_ref();
                let greetings = greetings.ok_or_else(|| Status::unimplemented("Handshake"))?;
                greetings.lock().unwrap().push(request.into_inner());
                Ok(Response::new(rpc::LanguageHandshakeResponse {}))
            }

            async fn cancel(&self, _request: Request<()>) -> Result<Response<()>, Status> {
                match &self.cancel {
                    Some(cancel) => {
                        cancel();
                        Ok(Response::new(()))
                    }
                    None => Err(Status::unimplemented("Cancel")),
                }
            }

            async fn get_required_packages(
                &self,
                request: Request<rpc::GetRequiredPackagesRequest>,
            ) -> Result<Response<rpc::GetRequiredPackagesResponse>, Status> {
                assert!(request.into_inner().info.is_some());
                let unknown = || Status::unimplemented("GetRequiredPackages");
                self.packages.clone().map(Response::new).ok_or_else(unknown)
            }

            async fn get_required_plugins(
                &self,
                _request: Request<rpc::GetRequiredPluginsRequest>,
            ) -> Result<Response<rpc::GetRequiredPluginsResponse>, Status> {
                let unknown = || Status::unimplemented("GetRequiredPlugins");
                self.plugins.clone().map(Response::new).ok_or_else(unknown)
            }

            async fn install_dependencies(
                &self,
                _request: Request<rpc::InstallDependenciesRequest>,
            ) -> Result<Response<Self::InstallDependenciesStream>, Status> {
                Err(Status::unimplemented("InstallDependencies"))
            }

            async fn run_plugin(
                &self,
                _request: Request<rpc::RunPluginRequest>,
            ) -> Result<Response<Self::RunPluginStream>, Status> {
                Err(Status::unimplemented("RunPlugin"))
            }

            $(async fn $call(&self, _request: Request<$request>) -> Result<Response<$response>, Status> {
                Err(Status::unimplemented(stringify!($call)))
            })*
        }
    };
}

language_runtime! {
    get_plugin_info: () => rpc::PluginInfo;
    runtime_options_prompts: rpc::RuntimeOptionsRequest => rpc::RuntimeOptionsResponse;
    template: rpc::TemplateRequest => rpc::TemplateResponse;
    about: rpc::AboutRequest => rpc::AboutResponse;
    get_program_dependencies: rpc::GetProgramDependenciesRequest => rpc::GetProgramDependenciesResponse;
    generate_program: rpc::GenerateProgramRequest => rpc::GenerateProgramResponse;
    generate_project: rpc::GenerateProjectRequest => rpc::GenerateProjectResponse;
    generate_package: rpc::GeneratePackageRequest => rpc::GeneratePackageResponse;
    pack: rpc::PackRequest => rpc::PackResponse;
    link: rpc::LinkRequest => rpc::LinkResponse;
}
