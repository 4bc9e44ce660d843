//! Transforms and hooks: functions of programs in JavaScript, called over the bridge, each as an object of the host.

use std::sync::Arc;

use async_trait::async_trait;
use napi_derive::napi;
use stackwright::{
    Error, ErrorKind, Result,
    callback::{ErrorHook, ErrorHookCall, HookCall, HookOptions, ResourceHook},
    monitor::{InvokeTransform, InvokeTransformArgs, Monitor, ResourceTransform, TransformArgs},
    property::PropertyMap,
    resource::ResourceState,
};

use crate::{
    bridge::{Bridge, Shared},
    errors,
    host::JsHost,
    provider::{Answered, FunctionCall, FunctionResult, Request},
};

/// A hook as the package describes it.
#[napi(object)]
pub struct HookEntry {
    /// The name.
    pub name: String,
    /// The package's number of the hook: the same hook is registered once.
    pub identity: u32,
    /// The package's number of the object that runs it.
    pub number: u32,
    /// Whether it runs after failures, and decides on further attempts.
    pub of_errors: bool,
    /// Whether it runs in previews.
    pub on_dry_run: bool,
    /// Whether its failures are warnings.
    pub ignore_errors: bool,
}

/// A function of a program.
pub(crate) struct JsFunction {
    host: Arc<JsHost>,
}

impl JsFunction {
    /// Wraps the package's object `number`, which is released when this is dropped.
    pub(crate) fn new(shared: &Arc<Shared>, number: u32) -> Self {
        Self {
            host: JsHost::new(shared, number),
        }
    }

    /// Calls the function with facts as JSON, and with values.
    async fn call(
        &self,
        document: &[u8],
        values: Vec<(&'static str, PropertyMap)>,
    ) -> Result<FunctionResult> {
        let request = Request::CallFunction(FunctionCall::new(document, values));
        match self.host.ask(request, ErrorKind::Program).await? {
            Answered::Function(result) => Ok(result),
            _ => Err(Error::internal(
                "the result of a function belongs to another call",
            )),
        }
    }
}

/// Makes the document that contains only changed options.
fn changed_options(options: &str) -> String {
    format!("{{\"options\":{options}}}")
}

#[async_trait]
impl ResourceTransform for JsFunction {
    async fn transform(&self, args: TransformArgs) -> Result<Option<TransformArgs>> {
        let mut facts = args;
        // The values cross as values.
        let inputs = std::mem::take(&mut facts.inputs);
        let result = self
            .call(&facts.to_json()?, vec![("inputs", inputs.clone())])
            .await?;
        if result.values.is_none() && result.options.is_none() {
            return Ok(None);
        }
        let mut changed = match result.options {
            Some(options) => facts.changed_by_json(changed_options(&options).as_bytes())?,
            None => facts,
        };
        changed.inputs = result.values.unwrap_or(inputs);
        Ok(Some(changed))
    }
}

#[async_trait]
impl InvokeTransform for JsFunction {
    async fn transform(&self, args: InvokeTransformArgs) -> Result<Option<InvokeTransformArgs>> {
        let mut facts = args;
        let arguments = std::mem::take(&mut facts.arguments);
        let result = self
            .call(&facts.to_json()?, vec![("arguments", arguments.clone())])
            .await?;
        if result.values.is_none() && result.options.is_none() {
            return Ok(None);
        }
        let mut changed = match result.options {
            Some(options) => facts.changed_by_json(changed_options(&options).as_bytes())?,
            None => facts,
        };
        changed.arguments = result.values.unwrap_or(arguments);
        Ok(Some(changed))
    }
}

/// Takes the values out of a record, so that they cross as values: the inputs and the outputs.
fn without_values(state: &mut Option<Arc<ResourceState>>) -> Option<(PropertyMap, PropertyMap)> {
    let state = Arc::make_mut(state.as_mut()?);
    Some((
        std::mem::take(&mut state.inputs),
        std::mem::take(&mut state.outputs),
    ))
}

#[async_trait]
impl ResourceHook for JsFunction {
    async fn run(&self, mut call: HookCall) -> Result<()> {
        let mut values = Vec::new();
        if let Some((inputs, _)) = without_values(&mut call.new) {
            values.push(("newInputs", inputs));
        }
        if let Some((inputs, outputs)) = without_values(&mut call.old) {
            values.extend([("oldInputs", inputs), ("oldOutputs", outputs)]);
        }
        if let Some(outputs) = call.new_outputs.take() {
            values.push(("newOutputs", outputs));
        }
        self.call(&call.to_json()?, values).await.map(drop)
    }
}

#[async_trait]
impl ErrorHook for JsFunction {
    async fn should_retry(&self, mut call: ErrorHookCall) -> Result<bool> {
        let mut values = Vec::new();
        if let Some((inputs, _)) = without_values(&mut call.new) {
            values.push(("newInputs", inputs));
        }
        if let Some((inputs, outputs)) = without_values(&mut call.old) {
            values.extend([("oldInputs", inputs), ("oldOutputs", outputs)]);
        }
        Ok(self.call(&call.to_json()?, values).await?.retry)
    }
}

impl Bridge {
    /// Returns the monitor of a run, also after the end of its code: transforms that the code of a component has added name hooks.
    fn operation(&self, run: u32) -> napi::Result<Monitor> {
        self.shared.monitor(run).ok_or_else(|| {
            let message = "the operation has ended: no hook can be registered any more";
            errors::to_napi(&Error::new(ErrorKind::Cancelled, message))
        })
    }
}

#[napi]
impl Bridge {
    /// Adds a transform of the stack: of resources, or of calls of functions. `number` is the package's number of the object
    /// that runs it.
    #[napi(catch_unwind)]
    pub fn add_transform(&self, run: u32, number: u32, of_invokes: bool) -> napi::Result<()> {
        // Taken first: the package releases the object when this is dropped, also after an error.
        let function = Arc::new(JsFunction::new(&self.shared, number));
        let run = self.run(run)?;
        if of_invokes {
            run.monitor.add_invoke_transform(function);
        } else {
            run.monitor.add_transform(function);
        }
        Ok(())
    }

    /// Returns the package's number of the hook that has this name in the operation of a run.
    #[napi(catch_unwind)]
    pub fn hook_named(&self, run: u32, name: String) -> napi::Result<Option<u32>> {
        let monitor = self.operation(run)?;
        Ok(self.shared.hooks.find(monitor.run_info(), &name))
    }

    /// Registers a hook for the rest of the operation of a run.
    #[napi(catch_unwind)]
    pub fn register_hook(&self, run: u32, hook: HookEntry) -> napi::Result<()> {
        let function = Arc::new(JsFunction::new(&self.shared, hook.number));
        let monitor = self.operation(run)?;
        let registered = if hook.of_errors {
            monitor.register_error_hook(&hook.name, function)
        } else {
            let options = HookOptions {
                on_dry_run: hook.on_dry_run,
                ignore_errors: hook.ignore_errors,
            };
            monitor.register_resource_hook(&hook.name, function, options)
        };
        registered.map_err(|error| errors::to_napi(&error))?;
        self.shared.keep_hook(&monitor, hook.name, hook.identity);
        Ok(())
    }
}
