//! Runs of the program: execute the director's statements.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::Either;
use serde_json::{Value, json};
use stackwright::{
    Error, ErrorKind,
    callback::HookOptions,
    diagnostic::Severity,
    monitor::{Component, Exists, Invoke, MethodCall, Monitor, Read, Registered, Registration, WireStatus},
    property::{
        PropertyValue,
        json::{PlainMap, PlainValue},
    },
    urn::Urn,
};
use tokio::sync::oneshot;

use super::{hook::ForwardedHook, transform::ForwardedTransform, wire::Wire};
use crate::provider::plain;

/// The answer to a request: a result, or an error with its kind.
pub(super) type Answer = Result<Value, Value>;

/// One run of the program, until it is finished.
pub(super) struct Run {
    monitor: Monitor,
    /// The component whose code runs.
    component: Option<Component>,
    wire: Arc<Wire>,
    finish: Mutex<Option<oneshot::Sender<End>>>,
}

/// How a run ended: with the `finish` request, or with an error of its own.
pub(super) type End = Result<Value, Error>;

impl Run {
    pub(super) fn new(
        monitor: Monitor,
        wire: Arc<Wire>,
        component: Option<Component>,
    ) -> (Self, oneshot::Receiver<End>) {
        let (sender, receiver) = oneshot::channel();
        let run = Self {
            monitor,
            wire,
            component,
            finish: Mutex::new(Some(sender)),
        };
        (run, receiver)
    }

    /// Starts a request before it returns; the future resolves to the answer.
    pub(super) fn start(
        &self,
        verb: &str,
        message: &Value,
    ) -> Box<dyn Future<Output = Answer> + Send + Unpin> {
        let goal = message["goal"].to_string();
        match verb {
            "register" => match self.registration(&message["goal"]) {
                Ok(registration) => {
                    let answer = match &self.component {
                        Some(component) => Either::Left(component.register_child(registration)),
                        None => Either::Right(self.monitor.register(registration)),
                    };
                    later(async move { answer.await.map(registered).map_err(|status| refused(&status)) })
                }
                Err(it) => now(Err(error(&it))),
            },
            "read" => match Read::from_json(goal.as_bytes()) {
                Ok(read) => {
                    let answer = match &self.component {
                        Some(component) => Either::Left(component.read_child(read)),
                        None => Either::Right(self.monitor.read(read)),
                    };
                    later(async move { answer.await.map(registered).map_err(|status| refused(&status)) })
                }
                Err(it) => now(Err(error(&it))),
            },
            "registerOutputs" => self.outputs(message),
            "exists" => match Exists::from_json(goal.as_bytes()) {
                Ok(exists) => {
                    let found = match &self.component {
                        Some(component) => Either::Left(component.exists(exists)),
                        None => Either::Right(self.monitor.exists(exists)),
                    };
                    later(async move {
                        let exists = found.await.map_err(|status| refused(&status))?;
                        let exists = exists.map_or_else(PropertyValue::unknown, PropertyValue::from);
                        Ok(json!({ "result": { "exists": PlainValue(exists) } }))
                    })
                }
                Err(it) => now(Err(error(&it))),
            },
            "invoke" => match Invoke::from_json(goal.as_bytes()) {
                Ok(invoke) => {
                    let result = match &self.component {
                        Some(component) => Either::Left(component.invoke(invoke)),
                        None => Either::Right(self.monitor.invoke_known(invoke)),
                    };
                    later(async move {
                        let result = result.await.map_err(|status| refused(&status))?;
                        let unknown = || json!(PlainValue(PropertyValue::unknown()));
                        Ok(json!({ "result": result.map_or_else(unknown, plain) }))
                    })
                }
                Err(it) => now(Err(error(&it))),
            },
            "call" => match MethodCall::from_json(goal.as_bytes()) {
                Ok(call) => {
                    let (token, result) = (call.token.clone(), self.monitor.call_method(call));
                    later(async move {
                        let result = result.await.map_err(|status| refused(&status))?;
                        let dependencies = json!(result.result_dependencies);
                        let values = result.into_values(&token).map_err(|status| refused(&status))?;
                        Ok(json!({ "result": plain(values), "resultDependencies": dependencies }))
                    })
                }
                Err(it) => now(Err(error(&it))),
            },
            "export" => now(self.export(message)),
            "log" => now(self.log(message)),
            "transform" => now(self.transform(message)),
            "registerHook" => now(self.register_hook(message)),
            "finish" => now(Ok(self.finish(message))),
            other => now(Err(broken(format!("a program cannot {other}")))),
        }
    }

    /// Reads a goal with its transforms.
    fn registration(&self, goal: &Value) -> Result<Registration, Error> {
        let mut goal = goal.clone();
        let names = goal
            .as_object_mut()
            .and_then(|members| members.remove("transforms"));
        let mut registration = Registration::from_json(goal.to_string().as_bytes())?;
        for name in names.iter().filter_map(Value::as_array).flatten() {
            let transform = self.forwarded(name.as_str().unwrap_or_default());
            registration.transforms.push(Arc::new(transform));
        }
        Ok(registration)
    }

    fn forwarded(&self, name: &str) -> ForwardedTransform {
        ForwardedTransform {
            wire: Arc::clone(&self.wire),
            name: name.to_owned(),
        }
    }

    fn transform(&self, message: &Value) -> Answer {
        let transform = Arc::new(self.forwarded(message["name"].as_str().unwrap_or_default()));
        match message["of"].as_str() {
            Some("resources") => self.monitor.add_transform(transform),
            Some("invokes") => self.monitor.add_invoke_transform(transform),
            other => return Err(broken(format!("there are no transforms of {other:?}"))),
        }
        Ok(json!({}))
    }

    fn outputs(&self, message: &Value) -> Box<dyn Future<Output = Answer> + Send + Unpin> {
        let urn = Urn::parse(message["of"].as_str().unwrap_or_default());
        let outputs = serde_json::from_value::<PlainMap>(message["outputs"].clone());
        match (urn, outputs) {
            (Ok(urn), Ok(outputs)) => {
                let monitor = self.monitor.clone();
                later(async move {
                    monitor
                        .register_outputs(&urn, outputs.0)
                        .await
                        .map_err(|status| refused(&status))?;
                    Ok(json!({}))
                })
            }
            _ => now(Err(broken(format!("these are no outputs: {message}")))),
        }
    }

    fn export(&self, message: &Value) -> Answer {
        let value: PlainValue =
            serde_json::from_value(message["value"].clone()).map_err(|error| broken(error.to_string()))?;
        self.monitor
            .export(message["name"].as_str().unwrap_or_default(), value.0);
        Ok(json!({}))
    }

    fn log(&self, message: &Value) -> Answer {
        let severity: Severity =
            serde_json::from_value(message["severity"].clone()).map_err(|error| broken(error.to_string()))?;
        self.monitor
            .log(severity, message["message"].as_str().unwrap_or_default(), None);
        Ok(json!({}))
    }

    fn register_hook(&self, message: &Value) -> Answer {
        let name = message["name"].as_str().unwrap_or_default();
        let flag = |name: &str| message[name] == json!(true);
        let preview = self.monitor.run_info().dry_run;
        let hook = Arc::new(ForwardedHook::new(name, preview, &self.wire));
        let registered = if flag("error") {
            self.monitor.register_error_hook(name, hook)
        } else {
            let options = HookOptions {
                on_dry_run: flag("onDryRun"),
                ignore_errors: flag("ignoreErrors"),
            };
            self.monitor.register_resource_hook(name, hook, options)
        };
        registered
            .map(|()| json!({}))
            .map_err(|error| json!({ "kind": "program", "message": error.message() }))
    }

    fn finish(&self, message: &Value) -> Value {
        let sender = self.finish.lock().unwrap_or_else(PoisonError::into_inner).take();
        let error = message["error"].as_str();
        let end = error.map_or_else(
            || Ok(message.clone()),
            |text| Err(Error::new(ErrorKind::Program, text)),
        );
        if let Some(sender) = sender {
            // The engine may have ended the run already.
            drop(sender.send(end));
        }
        json!({})
    }
}

fn later(
    future: impl Future<Output = Answer> + Send + 'static,
) -> Box<dyn Future<Output = Answer> + Send + Unpin> {
    Box::new(Box::pin(future))
}

fn now(answer: Answer) -> Box<dyn Future<Output = Answer> + Send + Unpin> {
    Box::new(std::future::ready(answer))
}

fn registered(registered: Registered) -> Value {
    json!({
        "urn": registered.urn, "id": registered.id, "outputs": plain(registered.outputs),
        "outputDependencies": registered.output_dependencies,
        "unknown": registered.unknown, "failed": registered.failed,
    })
}

fn refused(status: &WireStatus) -> Value {
    json!({ "kind": "program", "message": status.message, "code": status.code })
}

/// An error of the actor itself.
pub(super) fn broken(message: impl Into<String>) -> Value {
    json!({ "kind": "actor", "message": message.into() })
}

/// An error of the binding.
pub(super) fn error(error: &Error) -> Value {
    json!({
        "kind": error.kind().name(), "message": error.message(), "urn": error.urn(),
        "provider": error.provider(), "phase": error.phase(), "referenceMessage": error.reference_message(),
        "hints": error.hints(),
    })
}
