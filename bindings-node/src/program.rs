//! Programs that run in JavaScript: the bridge starts them and reports the end of their run.

use std::sync::Arc;

use async_trait::async_trait;
use napi::Result;
use stackwright::{
    Error, ErrorKind,
    monitor::RunInfo,
    program::{LanguageRuntimeProgram, Program, ProgramContext},
};
use tokio::sync::oneshot;

use crate::{
    bridge::{Ended, Message, Payload, Run, Shared},
    convert::{Js, Writer},
};

/// The façade's description of a program.
#[napi_derive::napi(object)]
pub struct ProgramEntry {
    /// The façade's number of a program in this process.
    pub number: Option<u32>,
    /// Whether it uses this package's own API.
    pub own: Option<bool>,
    /// The address of the language runtime that runs the program.
    pub address: Option<String>,
}

impl ProgramEntry {
    /// Makes the program. The façade sets either `number` or `address`.
    pub(crate) fn take(self, shared: &Arc<Shared>) -> Arc<dyn Program> {
        match self.address {
            Some(address) => Arc::new(LanguageRuntimeProgram::new(address)),
            None => Arc::new(JsProgram::new(
                Arc::clone(shared),
                self.number.unwrap_or_default(),
                self.own.unwrap_or(true),
            )),
        }
    }
}

/// The start message of a run.
struct Start {
    info: Arc<RunInfo>,
}

impl Payload for Start {
    /// Makes the object with a program's run info.
    fn write(&self, writer: &Writer) -> Result<Js> {
        let scope = writer.scope();
        let info = &*self.info;
        let object = scope.object()?;
        writer.set_text(object, "project", &info.project)?;
        writer.set_text(object, "stack", &info.stack)?;
        writer.set_text(object, "organization", &info.organization)?;
        if let Some(directory) = &info.root_directory {
            writer.set_text(object, "rootDirectory", &directory.to_string_lossy())?;
        }
        let config = scope.object()?;
        for (key, value) in &info.config {
            writer.set_text(config, key, value)?;
        }
        scope.set_named(object, "config", config)?;
        let secret_keys = writer.texts(&info.config_secret_keys)?;
        scope.set_named(object, "configSecretKeys", secret_keys)?;
        writer.set_bool(object, "dryRun", info.dry_run)?;
        let parallel = scope.number(f64::from(info.parallel))?;
        scope.set_named(object, "parallel", parallel)?;
        Ok(object)
    }
}

/// A program in JavaScript, by the façade's number.
pub(crate) struct JsProgram {
    shared: Arc<Shared>,
    number: u32,
    /// Whether the engine registers the root stack for it, as for programs without an SDK.
    own: bool,
}

impl JsProgram {
    /// Creates a program from the façade's number.
    pub(crate) const fn new(shared: Arc<Shared>, number: u32, own: bool) -> Self {
        Self { shared, number, own }
    }
}

impl Drop for JsProgram {
    fn drop(&mut self) {
        self.shared.send(Message::ProgramDropped(self.number));
    }
}

/// Removes the run when it is dropped, also when the engine drops the program.
struct RemoveOnDrop<'program> {
    shared: &'program Shared,
    run: u32,
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        if self.shared.runs.remove(self.run).is_some() {
            self.shared.send(Message::ProgramStop(self.run));
        }
    }
}

#[async_trait]
impl Program for JsProgram {
    async fn run(&self, context: ProgramContext) -> Ended {
        if self.own {
            context.monitor.register_root_stack().await?;
        }
        let (end, mut ended) = oneshot::channel();
        let run = Arc::new(Run::new(context.monitor.clone(), end));
        let number = self.shared.runs.put(Arc::clone(&run));
        let guard = RemoveOnDrop {
            shared: &self.shared,
            run: number,
        };
        let start = Start {
            info: Arc::clone(&context.info),
        };
        self.shared.send(Message::Program {
            run: number,
            program: self.number,
            start: Box::new(start),
        });
        let result = tokio::select! {
            result = &mut ended => result,
            () = run.drained(&context) => {
                self.shared.send(Message::ProgramStop(number));
                ended.await
            }
        };
        drop(guard);
        result.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Program,
                "the JavaScript environment of the program has ended",
            ))
        })
    }
}
