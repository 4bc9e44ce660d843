//! Calls of programs in JavaScript to the monitor of their run; answers are sent over the bridge, by number.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use napi::{Env, JsValue as _, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use stackwright::{
    Error, ErrorKind,
    diagnostic::{Diagnostic, Severity},
    monitor::{ResourceTransform, RunInfo},
    property::PropertyMap,
    urn::Urn,
};

use crate::{
    bridge::{Answer, Bridge, Message, Run, Shared},
    convert::{self, Scope},
    errors,
    functions::JsFunction,
    registration,
};

/// Methods that wait for nothing: they are answered without a task of their own.
const AT_ONCE: [&str; 3] = [
    "ResourceMonitor/SupportsFeature",
    "ResourceMonitor/GetDeploymentInfo",
    "ResourceMonitor/RegisterPackage",
];

/// The severities, by the package's numbers.
const SEVERITIES: [Severity; 4] = [
    Severity::Debug,
    Severity::Info,
    Severity::Warning,
    Severity::Error,
];

impl Bridge {
    fn answer_later(&self, run: &Run, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        let reply = Reply {
            shared: Arc::clone(&self.shared),
            call: Some(call),
        };
        self.shared.spawn(run.calls.track_future(async move {
            let answer = AssertUnwindSafe(work).catch_unwind().await;
            reply.send(answer.unwrap_or_else(|_| Answer::Failed(Error::internal("the engine panicked"))));
        }));
    }

    /// Answers at once where that is possible, and otherwise as [`Self::answer_later`] does.
    fn answer_soon(
        &self,
        run: &Run,
        call: u32,
        mut work: impl Future<Output = Answer> + Send + Unpin + 'static,
    ) {
        let at_once = {
            let _entered = self.shared.handle().enter();
            (&mut work).now_or_never()
        };
        match at_once {
            Some(answer) => self.shared.send(Message::Answer { call, answer }),
            None => self.answer_later(run, call, work),
        }
    }
}

/// A call of JavaScript that is not answered yet; dropping it answers with an error.
struct Reply {
    shared: Arc<Shared>,
    call: Option<u32>,
}

impl Reply {
    fn send(mut self, answer: Answer) {
        if let Some(call) = self.call.take() {
            self.shared.send(Message::Answer { call, answer });
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            let answer = Answer::Failed(Error::new(ErrorKind::Cancelled, "the engine was shut down"));
            self.shared.send(Message::Answer { call, answer });
        }
    }
}

#[napi]
#[allow(
    clippy::too_many_arguments,
    clippy::allow_attributes,
    reason = "one crossing for all that a registration is; an expectation is not seen through the macro"
)]
impl Bridge {
    /// Passes a protocol message to the monitor: `Service/Method` and its bytes.
    #[napi(catch_unwind)]
    pub fn monitor_call(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        method: String,
        #[napi(ts_arg_type = "Uint8Array")] request: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let request = Scope::new(env.raw()).as_bytes(request.raw())?.ok_or_else(|| {
            errors::to_napi(&Error::invalid(format!(
                "the request of {method} is not made of bytes"
            )))
        })?;
        if method.starts_with("Engine/") || AT_ONCE.contains(&method.as_str()) {
            let answer = Answer::of_protocol(run.monitor.call_at_once(&method, request));
            self.shared.send(Message::Answer { call, answer });
            return Ok(());
        }
        // Claims are decided here, in the order of the calls; the rest runs in a task.
        let answer = run.monitor.call(&method, request);
        self.answer_soon(&run, call, answer.map(Answer::of_protocol));
        Ok(())
    }

    /// Emits diagnostics: a flat list of `severity, message, urn, stream, ephemeral`.
    #[napi(catch_unwind)]
    pub fn log(
        &self,
        env: &Env,
        run: u32,
        #[napi(ts_arg_type = "unknown[]")] messages: Unknown<'_>,
    ) -> Result<()> {
        // Hooks run after the program's end, too. Messages after the operation's end are ignored.
        let Some(monitor) = self.shared.monitor(run) else {
            return Ok(());
        };
        let scope = Scope::new(env.raw());
        let list = messages.raw();
        for start in (0..scope.length(list)?).step_by(5) {
            let at = |place: u32| scope.element(list, start + place);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the package's numbers are small; others are taken as debug messages"
            )]
            let (severity, stream) = (scope.as_number(at(0)?)? as usize, scope.as_number(at(3)?)? as i32);
            let severity = SEVERITIES.get(severity).copied().unwrap_or(Severity::Debug);
            let mut diagnostic = Diagnostic::new(severity, scope.as_text(at(1)?)?);
            diagnostic.urn = scope.with_text(at(2)?, |urn| Urn::parse(urn).ok())?;
            diagnostic.stream_id = stream;
            diagnostic.ephemeral = scope.as_bool(at(4)?)?;
            monitor.log_diagnostic(diagnostic);
        }
        Ok(())
    }

    /// Registers a resource; the document is all but its inputs and transforms, and absent when there are no options.
    #[napi(catch_unwind)]
    pub fn register(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        resource_type: String,
        name: String,
        custom: bool,
        #[napi(ts_arg_type = "unknown")] inputs: Unknown<'_>,
        document: Option<String>,
        transforms: Option<Vec<u32>>,
    ) -> Result<()> {
        // Taken first: the package releases the functions when these are dropped, also after an error.
        let transforms: Vec<Arc<dyn ResourceTransform>> = transforms
            .unwrap_or_default()
            .into_iter()
            .map(|number| Arc::new(JsFunction::new(&self.shared, number)) as _)
            .collect();
        let run = self.run(run)?;
        let inputs = convert::map_of(env, &inputs, &name)?;
        let mut registration =
            registration::registration(resource_type, name, custom, inputs, document.as_deref())
                .map_err(|error| errors::to_napi(&error))?;
        registration.transforms = transforms;
        let registered = run.monitor.register(registration);
        self.answer_later(&run, call, async move { Answer::of_resource(registered.await) });
        Ok(())
    }

    /// Registers a component's outputs.
    #[napi(catch_unwind)]
    pub fn register_outputs(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        urn: String,
        #[napi(ts_arg_type = "unknown")] outputs: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let urn = Urn::parse(&urn).map_err(|error| errors::to_napi(&error.into()))?;
        let outputs = convert::map_of(env, &outputs, "outputs")?;
        let registering = run.monitor.register_outputs(&urn, outputs);
        self.answer_later(&run, call, async move {
            match registering.await {
                Ok(()) => Answer::Nothing,
                Err(status) => Answer::Failed(status.into()),
            }
        });
        Ok(())
    }

    /// Reads a resource that is not managed here; the document is all but its inputs.
    #[napi(catch_unwind)]
    pub fn read(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        document: String,
        #[napi(ts_arg_type = "unknown")] inputs: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let inputs = convert::map_of(env, &inputs, "inputs")?;
        let read = registration::read(&document, inputs).map_err(|error| errors::to_napi(&error))?;
        let read = run.monitor.read(read);
        self.answer_later(&run, call, async move { Answer::of_resource(read.await) });
        Ok(())
    }

    /// Calls a function of a package; the document is all but its arguments. The answer is nothing while a resource that it depends
    /// on is only planned.
    #[napi(catch_unwind)]
    pub fn invoke(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        document: String,
        #[napi(ts_arg_type = "unknown")] inputs: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let inputs = convert::map_of(env, &inputs, "arguments")?;
        let invoke = registration::invoke(&document, inputs).map_err(|error| errors::to_napi(&error))?;
        let invoking = run.monitor.invoke_known(invoke);
        self.answer_later(&run, call, async move {
            match invoking.await {
                Ok(Some(result)) => Answer::Values(result),
                Ok(None) => Answer::Nothing,
                Err(status) => Answer::Failed(status.into()),
            }
        });
        Ok(())
    }

    /// Queries whether a resource exists; the document is all but its inputs. The answer has the member `exists`, and is nothing while
    /// it cannot be known.
    #[napi(catch_unwind)]
    pub fn exists(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        document: String,
        #[napi(ts_arg_type = "unknown")] inputs: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let inputs = convert::map_of(env, &inputs, "inputs")?;
        let exists = registration::exists(&document, inputs).map_err(|error| errors::to_napi(&error))?;
        let finding = run.monitor.exists(exists);
        self.answer_later(&run, call, async move {
            match finding.await {
                Ok(Some(exists)) => Answer::Values([("exists", exists.into())].into_iter().collect()),
                Ok(None) => Answer::Nothing,
                Err(status) => Answer::Failed(status.into()),
            }
        });
        Ok(())
    }

    /// Calls a method of a resource, or of none; the document is all but its arguments.
    #[napi(catch_unwind)]
    pub fn call_method(
        &self,
        env: &Env,
        run: u32,
        call: u32,
        document: String,
        #[napi(ts_arg_type = "unknown")] inputs: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let inputs = convert::map_of(env, &inputs, "arguments")?;
        let method = registration::method(&document, inputs).map_err(|error| errors::to_napi(&error))?;
        let token = method.token.clone();
        let calling = run.monitor.call_method(method);
        self.answer_later(
            &run,
            call,
            async move { Answer::of_method(calling.await, &token) },
        );
        Ok(())
    }

    /// Sets an output of the stack.
    #[napi(catch_unwind)]
    pub fn export(
        &self,
        env: &Env,
        run: u32,
        name: String,
        #[napi(ts_arg_type = "unknown")] value: Unknown<'_>,
    ) -> Result<()> {
        let run = self.run(run)?;
        let value = convert::value_of(env, &value, &name)?;
        run.monitor.export(&name, value);
        Ok(())
    }

    /// Returns the key of the configuration that a name stands for in a program of `project`.
    #[napi(catch_unwind)]
    pub fn config_key(&self, project: String, name: String) -> String {
        let info = RunInfo {
            project,
            ..RunInfo::default()
        };
        info.config_key(&name)
    }

    /// Reports a declaration that could not be read: the run fails with it, also where the program catches the error.
    #[napi(catch_unwind)]
    pub fn declaration_unreadable(&self, run: u32, message: String, hints: Vec<String>) {
        if let Some(run) = self.shared.runs.get(run) {
            let error = hints.into_iter().fold(Error::invalid(message), Error::with_hint);
            run.monitor.declaration_unreadable(&error);
        }
    }

    /// Reports a resource that the program does not register or read, because something that it needs has failed: where it is recorded,
    /// the run fails with the error, also where the program catches it. The document has its parent and its aliases.
    #[napi(catch_unwind)]
    pub fn give_up(
        &self,
        run: u32,
        resource_type: String,
        name: String,
        custom: bool,
        document: String,
        message: String,
        hints: Vec<String>,
    ) -> Result<()> {
        let Some(run) = self.shared.runs.get(run) else {
            return Ok(());
        };
        let registration =
            registration::registration(resource_type, name, custom, PropertyMap::new(), Some(&document))
                .map_err(|error| errors::to_napi(&error))?;
        let error = Error::new(ErrorKind::Program, message);
        let error = hints.into_iter().fold(error, Error::with_hint);
        run.monitor.registration_given_up(registration, &error);
        Ok(())
    }

    /// Registers secret texts, and texts of secret numbers and booleans, with the redactor.
    #[napi(catch_unwind)]
    pub fn learn(&self, run: u32, texts: Vec<String>, scalars: Vec<String>) {
        if let Some(monitor) = self.shared.monitor(run) {
            let redactor = monitor.redactor();
            redactor.learn(texts);
            scalars.iter().for_each(|text| redactor.learn_text(text, true));
        }
    }

    /// Fails the operation of a run whose program does something after its end; false when that is over as well.
    #[napi(catch_unwind)]
    pub fn fail_late(&self, run: u32, message: String) -> bool {
        let monitor = self.shared.ended().get(&run).cloned();
        monitor.is_some_and(|monitor| monitor.fail_late(message))
    }

    /// Ends a run, with the error that the program ended with. `reported` is true when the diagnostics contain it.
    #[napi(catch_unwind)]
    pub fn finish_run(&self, run: u32, error: Option<String>, reported: Option<bool>) {
        let kind = if reported == Some(true) {
            ErrorKind::Failed
        } else {
            ErrorKind::Program
        };
        let number = run;
        if let Some(run) = self.shared.runs.get(number) {
            if error.is_none() {
                self.shared.keep_ended(number, &run.monitor);
            }
            run.finish(match error {
                None => Ok(()),
                Some(message) => Err(Error::new(kind, message)),
            });
        }
    }
}
