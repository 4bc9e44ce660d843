//! Messages from Rust to JavaScript, and their layout in the flat list that JavaScript takes.

use napi::Result;
use stackwright::{
    Error,
    monitor::{MethodResult, Registered, WireStatus},
    property::PropertyMap,
    resource::PropertyDependencies,
    urn::Urn,
};

use crate::{
    convert::{Js, Writer},
    errors,
};

/// The number of list elements of one message: tag, number, a, b.
pub(super) const STRIDE: usize = 4;

/// The tags; the package has the same.
mod tag {
    pub(super) const ANSWERED: f64 = 0.0;
    pub(super) const FAILED: f64 = 1.0;
    pub(super) const STATUS: f64 = 2.0;
    pub(super) const PROVIDER_CALL: f64 = 3.0;
    pub(super) const PROVIDER_GIVEN_UP: f64 = 4.0;
    pub(super) const PROGRAM: f64 = 5.0;
    pub(super) const PROGRAM_STOP: f64 = 6.0;
    pub(super) const PROGRAM_DROPPED: f64 = 7.0;
    pub(super) const HOST_DROPPED: f64 = 8.0;
    pub(super) const FUNCTION_CALL: f64 = 9.0;
    pub(super) const FUNCTIONS_DROPPED: f64 = 10.0;
}

/// The contents of a message, which become a JavaScript value on the JavaScript thread.
pub(crate) trait Payload: Send {
    /// Makes the value.
    fn write(&self, writer: &Writer) -> Result<Js>;
}

/// A message to JavaScript.
pub(crate) enum Message {
    /// The answer to a call that JavaScript numbered.
    Answer { call: u32, answer: Answer },
    /// Calls a method of a provider object.
    ProviderCall {
        call: u32,
        provider: u32,
        method: u32,
        request: Box<dyn Payload>,
    },
    /// A provider call was abandoned; its answer is ignored.
    ProviderGivenUp(u32),
    /// Runs a program.
    Program {
        run: u32,
        program: u32,
        start: Box<dyn Payload>,
    },
    /// Ends a program: its operation has failed or was cancelled.
    ProgramStop(u32),
    /// The engine has dropped a program.
    ProgramDropped(u32),
    /// The engine has dropped an object of the host.
    HostDropped(u32),
    /// Calls one of the functions of an SDK program.
    FunctionCall {
        call: u32,
        functions: u32,
        token: String,
        request: Vec<u8>,
    },
    /// The engine calls none of these functions any more.
    FunctionsDropped(u32),
}

/// An answer to JavaScript.
pub(crate) enum Answer {
    /// A protocol message.
    Bytes(Vec<u8>),
    /// A protocol error.
    Status { code: i32, message: String },
    /// A registered or read resource.
    Registered {
        urn: String,
        id: String,
        outputs: PropertyMap,
        /// What each output of a remote component depends on.
        dependencies: PropertyDependencies,
        unknown: bool,
        failed: bool,
        skipped: bool,
    },
    /// Values by name.
    Values(PropertyMap),
    /// The result of a method, with what it depends on.
    Result {
        values: PropertyMap,
        dependencies: Vec<String>,
    },
    /// What an invocation of the command has written.
    Outputs(Vec<CommandOutput>),
    /// Success without a value.
    Nothing,
    /// Failure.
    Failed(Error),
}

/// What a running invocation writes, or its end.
pub(crate) enum CommandOutput {
    /// Whole lines of `stdout`, `stderr`, or the log of `event`s.
    Text { stream: &'static str, text: String },
    /// The exit code.
    End(i32),
}

impl Message {
    /// Writes the message into the list from place `at` on.
    pub(super) fn write(self, writer: &Writer, list: Js, at: usize) -> Result<()> {
        let scope = writer.scope();
        let (tag, number, a, b) = match self {
            Self::Answer { call, answer } => {
                let (tag, a, b) = answer.write(writer)?;
                (tag, call, a, b)
            }
            Self::ProviderCall {
                call,
                provider,
                method,
                request,
            } => {
                // One number for object and method, which the package splits.
                let target = scope.number(f64::from(provider * 32 + method))?;
                (tag::PROVIDER_CALL, call, target, request.write(writer)?)
            }
            Self::ProviderGivenUp(call) => (
                tag::PROVIDER_GIVEN_UP,
                call,
                scope.undefined()?,
                scope.undefined()?,
            ),
            Self::Program { run, program, start } => {
                let program = scope.number(f64::from(program))?;
                (tag::PROGRAM, run, program, start.write(writer)?)
            }
            Self::ProgramStop(run) => (tag::PROGRAM_STOP, run, scope.undefined()?, scope.undefined()?),
            Self::ProgramDropped(program) => (
                tag::PROGRAM_DROPPED,
                program,
                scope.undefined()?,
                scope.undefined()?,
            ),
            Self::HostDropped(host) => (tag::HOST_DROPPED, host, scope.undefined()?, scope.undefined()?),
            Self::FunctionCall {
                call,
                functions,
                token,
                request,
            } => {
                let asked = scope.object()?;
                writer.set_text(asked, "token", &token)?;
                scope.set_named(asked, "request", scope.bytes(&request)?)?;
                (
                    tag::FUNCTION_CALL,
                    call,
                    scope.number(f64::from(functions))?,
                    asked,
                )
            }
            Self::FunctionsDropped(functions) => {
                let nothing = scope.undefined()?;
                (tag::FUNCTIONS_DROPPED, functions, nothing, nothing)
            }
        };
        scope.set_element(list, at, scope.number(tag)?)?;
        scope.set_element(list, at + 1, scope.number(f64::from(number))?)?;
        scope.set_element(list, at + 2, a)?;
        scope.set_element(list, at + 3, b)
    }
}

impl Answer {
    /// Returns the answer to a protocol message.
    pub(crate) fn of_protocol(result: std::result::Result<Vec<u8>, WireStatus>) -> Self {
        match result {
            Ok(content) => Self::Bytes(content),
            Err(WireStatus { code, message }) => Self::Status { code, message },
        }
    }

    /// Returns the answer to a registration or a read.
    pub(crate) fn of_resource(result: std::result::Result<Registered, WireStatus>) -> Self {
        match result {
            Ok(registered) => Self::Registered {
                urn: registered.urn.to_string(),
                id: registered.id.to_string(),
                outputs: registered.outputs,
                dependencies: registered.output_dependencies,
                unknown: registered.unknown,
                failed: registered.failed,
                skipped: registered.skipped,
            },
            Err(status) => Self::Failed(status.into()),
        }
    }

    /// Returns the answer to a method's call.
    pub(crate) fn of_method(result: std::result::Result<MethodResult, WireStatus>, token: &str) -> Self {
        let result = result.and_then(|result| {
            let dependencies = urns(&result.result_dependencies);
            result.into_values(token).map(|values| (values, dependencies))
        });
        match result {
            Ok((values, dependencies)) => Self::Result { values, dependencies },
            Err(status) => Self::Failed(status.into()),
        }
    }

    fn write(self, writer: &Writer) -> Result<(f64, Js, Js)> {
        let scope = writer.scope();
        let nothing = scope.undefined()?;
        Ok(match self {
            Self::Bytes(content) => (tag::ANSWERED, scope.bytes(&content)?, nothing),
            Self::Status { code, message } => {
                let code = scope.number(f64::from(code))?;
                (tag::STATUS, code, scope.text(&message)?)
            }
            Self::Registered {
                urn,
                id,
                outputs,
                dependencies,
                unknown,
                failed,
                skipped,
            } => {
                let object = scope.object()?;
                writer.set_text(object, "urn", &urn)?;
                if !id.is_empty() {
                    writer.set_text(object, "id", &id)?;
                }
                writer.set_map(object, "outputs", &outputs)?;
                if !dependencies.is_empty() {
                    let by_output = scope.object()?;
                    for (output, urns) in dependencies.iter() {
                        scope.set_named(by_output, output, writer.texts(urns)?)?;
                    }
                    scope.set_named(object, "dependencies", by_output)?;
                }
                writer.set_bool(object, "unknown", unknown)?;
                writer.set_bool(object, "failed", failed)?;
                writer.set_bool(object, "skipped", skipped)?;
                (tag::ANSWERED, object, nothing)
            }
            Self::Result { values, dependencies } => {
                let dependencies = writer.texts(&dependencies)?;
                let object = scope.object()?;
                writer.set_map(object, "value", &values)?;
                scope.set_named(object, "dependencies", dependencies)?;
                (tag::ANSWERED, object, nothing)
            }
            Self::Values(values) => (tag::ANSWERED, writer.map(&values)?, nothing),
            Self::Outputs(outputs) => {
                let list = scope.array(2 * outputs.len())?;
                for (index, output) in outputs.iter().enumerate() {
                    let (stream, value) = match output {
                        CommandOutput::Text { stream, text } => (*stream, scope.text(text)?),
                        CommandOutput::End(code) => ("end", scope.number(f64::from(*code))?),
                    };
                    scope.set_element(list, 2 * index, scope.text(stream)?)?;
                    scope.set_element(list, 2 * index + 1, value)?;
                }
                (tag::ANSWERED, list, nothing)
            }
            Self::Nothing => (tag::ANSWERED, nothing, nothing),
            Self::Failed(error) => (tag::FAILED, scope.text(&errors::to_json(&error))?, nothing),
        })
    }
}

/// Returns all URNs in dependencies.
fn urns(dependencies: &PropertyDependencies) -> Vec<String> {
    dependencies.lists().flatten().map(Urn::to_string).collect()
}
