//! Programs in other processes, or behind an SDK's own server: run through the LanguageRuntime protocol.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use serde_json::Value;
use stackwright_proto::{
    pulumirpc::{
        LanguageHandshakeRequest, ProgramInfo, RunRequest, RunResponse,
        language_runtime_client::LanguageRuntimeClient,
    },
    values::Struct,
};
use tonic::{Code, Status, transport::Channel};

use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    monitor::RunInfo,
    monitor::{MESSAGE_LIMIT, MonitorServer},
    moves::ProgramLanguage,
    program::{Program, ProgramContext, required},
    property::{
        json::PlainMap,
        wire::{EncodeOptions, to_struct},
    },
    runtime::Runtime,
    transport,
};

/// How long to try to connect to a runtime.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for a program after the end of its run, so that it can emit its last messages.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// How long to wait for a runtime's response to Cancel.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(30);

/// The program's entry point within its folder; also the folder if none is known.
pub(super) const CURRENT_DIR: &str = ".";

/// A program in a language runtime that is listening already, such as the server of an SDK's inline programs.
///
/// Each run has a monitor server of its own, which serves both the ResourceMonitor and the Engine service.
pub struct LanguageRuntimeProgram {
    address: String,
    /// Whether it serves nothing but the run of one program.
    runs_only: bool,
}

impl LanguageRuntimeProgram {
    /// Creates a program from the runtime's address: `host:port`, or a URL.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            runs_only: false,
        }
    }

    /// Creates a program from the address of a server of the Automation API. Such servers have no handshake and no
    /// cancellation, and log each call of one as an error, so that they get none.
    pub fn inline(address: impl Into<String>) -> Self {
        Self {
            runs_only: true,
            ..Self::new(address)
        }
    }

    fn calls(&self) -> RuntimeCalls {
        RuntimeCalls {
            label: format!("the language runtime at {}", self.address),
            runs_only: self.runs_only,
        }
    }
}

#[async_trait]
impl Program for LanguageRuntimeProgram {
    fn language(&self) -> ProgramLanguage {
        ProgramLanguage::Unknown
    }

    async fn run(&self, context: ProgramContext) -> Result<()> {
        // Held until the runtime has received a cancellation, or runs no program.
        let Some(cancellation_guard) = context.monitor.enter_cancellation() else {
            return Ok(());
        };
        let (calls, runtime) = (self.calls(), context.monitor.runtime());
        let client = tokio::select! {
            biased;
            // The program does not start if the operation has ended already.
            () = context.monitor.cancelled() => return Ok(()),
            () = context.ended() => return Ok(()),
            client = calls.connect(&self.address, runtime) => client?,
        };
        let server = MonitorServer::start(&context.monitor, runtime)?;
        let place = place(&context.info)?;
        calls
            .run(client, &context, server, place, cancellation_guard)
            .await
    }

    /// The options of the project setting `runtime: {name: client, options: {address: …}}`.
    fn runtime_options(&self) -> BTreeMap<String, Value> {
        BTreeMap::from([("address".to_owned(), self.address.as_str().into())])
    }
}

/// The calls of one language runtime.
pub(super) struct RuntimeCalls {
    /// What it is called in errors.
    pub(super) label: String,
    /// Whether it serves nothing but the run of one program.
    pub(super) runs_only: bool,
}

impl RuntimeCalls {
    pub(super) fn failed(&self, why: &str) -> Error {
        Error::new(ErrorKind::Plugin, format!("{} failed: {why}", self.label)).with_phase("run")
    }

    /// Connects to a runtime that is starting, or to the server of an inline program, which listens before its address is known.
    pub(super) async fn connect(
        &self,
        address: &str,
        runtime: &Runtime,
    ) -> Result<LanguageRuntimeClient<Channel>> {
        let endpoint = transport::endpoint(address).map_err(|error| {
            Error::invalid(format!(
                "invalid address of a language runtime {address:?}: {error}"
            ))
        })?;
        let connected = match self.runs_only {
            true => transport::connect_within(&endpoint, CONNECT_TIMEOUT, runtime).await,
            false => transport::connect_when_ready(&endpoint, CONNECT_TIMEOUT, || None, runtime).await,
        };
        match connected {
            Ok(channel) => Ok(LanguageRuntimeClient::new(channel)
                .max_decoding_message_size(MESSAGE_LIMIT)
                .max_encoding_message_size(MESSAGE_LIMIT)),
            Err(why) => {
                let text = Text::pair(
                    format!("failed to discover package requirements: connection error: {why}"),
                    format!("{} failed: connection failed: {why}", self.label),
                );
                Err(Error::new(ErrorKind::Plugin, text).with_phase("run"))
            }
        }
    }

    fn outcome(&self, answer: Result<RunResponse, Status>) -> Result<()> {
        let answer = answer.map_err(|status| self.refusal(&status))?;
        if answer.bail {
            return Err(Error::new(ErrorKind::Program, "the program failed").already_reported());
        }
        if answer.error.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Program,
            format!("an unhandled error occurred: {}", answer.error),
        ))
    }

    /// Sends the handshake, which the runtime may refuse; the call is optional for runtimes.
    async fn greet(
        &self,
        client: &mut LanguageRuntimeClient<Channel>,
        place: ProgramInfo,
        engine_address: &str,
    ) -> Result<()> {
        let greeting = LanguageHandshakeRequest {
            engine_address: engine_address.to_owned(),
            root_directory: Some(place.root_directory),
            program_directory: Some(place.program_directory),
        };
        match client.handshake(greeting).await {
            Err(status) if status.code() != Code::Unimplemented => Err(self.refusal(&status)),
            _ => Ok(()),
        }
    }

    fn refusal(&self, status: &Status) -> Error {
        self.failed(match status.message() {
            "" => status.code().description(),
            message => message,
        })
    }

    /// Passes a cancellation on.
    async fn cancel(&self, client: &mut LanguageRuntimeClient<Channel>, runtime: &Runtime) {
        tokio::select! {
            biased;
            answer = client.cancel(()) => match answer {
                Err(status) if status.code() != Code::Unimplemented => {
                    tracing::debug!(runtime = self.label, code = ?status.code(), "a language runtime failed to cancel");
                }
                _ => {}
            },
            () = runtime.clock.wait(CANCEL_TIMEOUT) => {
                tracing::warn!(runtime = self.label, "a language runtime did not respond to a cancellation");
            }
        }
    }

    /// Runs a program, which `server` serves.
    pub(super) async fn run(
        &self,
        mut client: LanguageRuntimeClient<Channel>,
        context: &ProgramContext,
        server: MonitorServer,
        place: ProgramInfo,
        cancellation_guard: impl Send,
    ) -> Result<()> {
        let runtime = context.monitor.runtime();
        let address = server.address();
        let request = request(&context.info, place.clone(), &address);
        // A held session serves requests longer than the program runs.
        let monitor = context.monitor.clone();
        drop(runtime.spawner.spawn(async move {
            monitor.closed().await;
            drop(server);
        }));
        let mut canceller = client.clone();
        let running = async {
            if !self.runs_only {
                self.greet(&mut client, place.clone(), &address).await?;
            }
            let required = required::ask(&mut client, place).await;
            let required = required.map_err(|why| self.failed(&why))?;
            context.monitor.require(required.packages)?;
            if !context.monitor.prepare_plugins(&required.plugins).await {
                return Ok(());
            }
            let answer = client.run(request).await;
            self.outcome(answer.map(tonic::Response::into_inner))
        };
        tokio::pin!(running);
        let cancelled = async {
            context.monitor.cancelled().await;
            if !self.runs_only {
                self.cancel(&mut canceller, runtime).await;
            }
            drop(cancellation_guard);
            std::future::pending::<()>().await;
        };
        let given_up = async {
            context.ended().await;
            runtime.clock.wait(SHUTDOWN_GRACE).await;
        };
        tokio::select! {
            biased;
            verdict = &mut running => verdict,
            // The cause of the end is reported elsewhere.
            () = given_up => Ok(()),
            () = cancelled => Ok(()),
        }
    }
}

impl std::fmt::Debug for LanguageRuntimeProgram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("LanguageRuntimeProgram")
            .field(&self.address)
            .finish()
    }
}

/// Creates the request of a run. The monitor's server also serves the engine, schemas and mappings.
#[expect(deprecated, reason = "runtimes without `info` read the older fields")]
fn request(info: &RunInfo, place: ProgramInfo, address: &str) -> RunRequest {
    RunRequest {
        project: info.project.clone(),
        stack: info.stack.clone(),
        organization: info.organization.clone(),
        pwd: place.program_directory.clone(),
        program: place.entry_point.clone(),
        args: vec![address.to_owned()],
        config: info.config.clone(),
        config_secret_keys: info.config_secret_keys.clone(),
        dry_run: info.dry_run,
        parallel: info.parallel,
        monitor_address: address.to_owned(),
        loader_target: address.to_owned(),
        mapper_target: address.to_owned(),
        info: Some(place),
        ..RunRequest::default()
    }
}

/// Returns the program's entry point and the options of its runtime.
fn place(info: &RunInfo) -> Result<ProgramInfo> {
    let directory = match &info.root_directory {
        Some(directory) => directory.display().to_string(),
        None => CURRENT_DIR.to_owned(),
    };
    Ok(ProgramInfo {
        root_directory: directory.clone(),
        program_directory: directory,
        entry_point: CURRENT_DIR.to_owned(),
        options: Some(options(&info.runtime_options)?),
    })
}

/// Converts the options of a runtime to a message.
pub(super) fn options(options: &BTreeMap<String, Value>) -> Result<Struct> {
    let members = options.iter().map(|(name, value)| (name.clone(), value.clone()));
    let plain: PlainMap = serde_json::from_value(Value::Object(members.collect()))
        .map_err(|error| Error::invalid(format!("invalid runtime options: {error}")))?;
    to_struct(&plain.0, &EncodeOptions::all("runtime options"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stackwright_proto::values::value::Kind;

    use super::*;

    #[test]
    fn nested_options_of_a_runtime_are_values_of_the_message() {
        let info = RunInfo {
            runtime_options: [
                ("virtualenv".to_owned(), json!("venv")),
                ("typescript".to_owned(), json!(true)),
                ("unset".to_owned(), json!(null)),
                ("build".to_owned(), json!({ "flags": ["-v", 2.5, false] })),
            ]
            .into(),
            ..RunInfo::default()
        };
        let place = place(&info).unwrap();
        let sent = request(&info, place.clone(), "127.0.0.1:1").info.unwrap();
        assert_eq!(sent, place);
        let options = sent.options.unwrap();
        let kind = |name: &str| options.fields[name].kind.clone().unwrap();
        assert_eq!(kind("virtualenv"), Kind::StringValue("venv".into()));
        assert_eq!(kind("typescript"), Kind::BoolValue(true));
        assert!(matches!(kind("unset"), Kind::NullValue(_)));
        let Kind::StructValue(build) = kind("build") else {
            panic!("{options:?}");
        };
        let Some(Kind::ListValue(flags)) = build.fields["flags"].kind.clone() else {
            panic!("{build:?}");
        };
        let flags: Vec<_> = flags.values.into_iter().map(|flag| flag.kind.unwrap()).collect();
        let expected = [
            Kind::StringValue("-v".into()),
            Kind::NumberValue(2.5),
            Kind::BoolValue(false),
        ];
        assert_eq!(flags, expected);
    }
}
