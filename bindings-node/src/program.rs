//! Programs that run in JavaScript: the bridge starts them and reports the end of their run.

use std::sync::Arc;

use async_trait::async_trait;
use stackwright::{
    moves::ProgramLanguage,
    program::{LanguageRuntimeProgram, Program, ProgramContext},
};
use tokio::sync::oneshot;

use crate::bridge::{Ended, Facts, Message, OpenRun, Run, Shared, environment_ended};

/// The package's description of a program.
#[napi_derive::napi(object)]
pub struct ProgramEntry {
    /// The package's number of a program in this process.
    pub number: Option<u32>,
    /// Whether it uses this package's own API.
    pub own: Option<bool>,
    /// The address of the language runtime that runs the program.
    pub address: Option<String>,
}

impl ProgramEntry {
    /// Makes the program. The package sets either `number` or `address`.
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

/// A program in JavaScript, by the package's number.
pub(crate) struct JsProgram {
    shared: Arc<Shared>,
    number: u32,
    /// Whether the engine registers the root stack for it, as for programs without an SDK.
    own: bool,
}

impl JsProgram {
    /// Creates a program from the package's number.
    pub(crate) const fn new(shared: Arc<Shared>, number: u32, own: bool) -> Self {
        Self { shared, number, own }
    }
}

impl Drop for JsProgram {
    fn drop(&mut self) {
        self.shared.send(Message::ProgramDropped(self.number));
    }
}

#[async_trait]
impl Program for JsProgram {
    fn language(&self) -> ProgramLanguage {
        if self.own {
            ProgramLanguage::Node
        } else {
            ProgramLanguage::NodeSdk
        }
    }

    async fn run(&self, context: ProgramContext) -> Ended {
        if self.own {
            context.monitor.register_root_stack().await?;
        }
        let (end, mut ended) = oneshot::channel();
        let run = Arc::new(Run::of_program(context.monitor.clone(), end));
        let open = OpenRun::new(&self.shared, Arc::clone(&run));
        self.shared.send(Message::Program {
            run: open.number(),
            program: self.number,
            start: Box::new(Facts(Arc::clone(&context.info))),
        });
        let result = tokio::select! {
            result = &mut ended => result,
            () = run.drained(&context) => {
                self.shared.send(Message::ProgramStop(open.number()));
                ended.await
            }
        };
        drop(open);
        result.unwrap_or_else(|_| Err(environment_ended()))
    }
}
