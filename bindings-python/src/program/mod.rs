//! Programs written in Python: starting one, and the run object through which it calls the engine.

mod callbacks;
pub(crate) mod facts;
mod functions;
mod hooks;
mod options;
mod registered;
mod run;
mod secrets;
mod transforms;

use std::sync::Arc;

use async_trait::async_trait;
use pyo3::{prelude::*, types::PyString};
use stackwright::{
    Error, ErrorKind,
    moves::ProgramLanguage,
    program::{LanguageRuntimeProgram, Program, ProgramContext},
};
use tokio::sync::oneshot;

use crate::{
    completions::{Completions, Queue},
    function::HostContext,
    gate,
};

pub(crate) use options::{check_options, property_dependencies};
pub(crate) use registered::Registered;
pub(crate) use run::Run;

/// How long a program may take to unwind after its run has ended. A slower one keeps running, detached from the engine.
const UNWIND_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The same after a second cancellation. A thread that computes or sleeps cannot be stopped.
const FORCED_UNWIND_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(500);

/// A program written in Python. `start(run)` starts it on a thread or an event loop of its choice and returns;
/// the program reports its end to the run object.
pub(crate) struct PythonProgram {
    start: Arc<Py<PyAny>>,
    /// The queue of the event loop that `start` must be called on; `None` for any thread.
    queue: Option<Arc<Queue>>,
    /// Whether the root stack is registered for the program, as the package's own API needs.
    own_root: bool,
    host: HostContext,
    runtime: stackwright::runtime::Runtime,
}

impl PythonProgram {
    pub(crate) fn shared(
        start: Py<PyAny>,
        completions: Option<&Completions>,
        own_root: bool,
        host: &HostContext,
    ) -> Arc<dyn Program> {
        Arc::new(Self {
            start: Arc::new(start),
            queue: completions.map(|completions| Arc::clone(&completions.queue)),
            own_root,
            runtime: stackwright::runtime::Runtime::system(host.handle.clone()),
            host: host.clone(),
        })
    }
}

impl PythonProgram {
    /// Resolves when the timeout for a program whose run has ended expires.
    async fn given_up(&self, context: &ProgramContext) {
        let clock = &self.runtime.clock;
        let forced = async {
            context.monitor.terminated().await;
            clock.wait(FORCED_UNWIND_TIMEOUT).await;
        };
        tokio::select! {
            () = forced => {}
            () = clock.wait(UNWIND_TIMEOUT) => {}
        }
    }
}

#[async_trait]
impl Program for PythonProgram {
    fn language(&self) -> ProgramLanguage {
        if self.own_root {
            ProgramLanguage::Python
        } else {
            ProgramLanguage::PythonSdk
        }
    }

    async fn run(&self, context: ProgramContext) -> stackwright::Result<()> {
        if self.own_root {
            context.monitor.register_root_stack().await?;
        }
        let (sender, mut outcome) = oneshot::channel();
        let run = Run::new(context.clone(), self.host.clone(), sender);
        let start = Arc::clone(&self.start);
        let call = move |py: Python<'_>| {
            let run = Bound::new(py, run)?;
            if let Err(error) = start.call1(py, (&run,)) {
                run.get()
                    .fail(&format!("the program could not be started: {error}"), false);
            }
            Ok(())
        };
        match &self.queue {
            Some(queue) => queue.push(call),
            // No thread of the engine may wait for the interpreter's lock.
            None => drop(
                self.host
                    .handle
                    .spawn_blocking(move || gate::attach(|py| -> PyResult<()> { call(py) })),
            ),
        }
        let ended = tokio::select! {
            ended = &mut outcome => Some(ended),
            () = context.ended() => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => tokio::select! {
                ended = outcome => ended,
                () = self.given_up(&context) => {
                    return Err(Error::new(
                        ErrorKind::Program,
                        "the program was still running after its run had ended; it was left behind",
                    ));
                }
            },
        };
        match ended {
            Ok(None) => Ok(()),
            Ok(Some(failure)) => {
                let error = Error::new(ErrorKind::Program, failure.message);
                Err(if failure.is_reported {
                    error.already_reported()
                } else {
                    error
                })
            }
            Err(_) => Err(Error::new(
                ErrorKind::Program,
                "the program ended without reporting an outcome",
            )),
        }
    }
}

/// Reads a program from `stackwright`: `(start, queue or None, own_root)`, or a language runtime's address.
pub(crate) fn read_program(program: &Bound<'_, PyAny>, host: &HostContext) -> PyResult<Arc<dyn Program>> {
    if let Ok(address) = program.cast::<PyString>() {
        return Ok(Arc::new(LanguageRuntimeProgram::new(address.to_str()?)));
    }
    let (start, queue, own_root): (Py<PyAny>, Bound<'_, PyAny>, bool) = program.extract()?;
    let completions = if queue.is_none() {
        None
    } else {
        Some(queue.cast_into::<Completions>()?)
    };
    let completions = completions.as_ref().map(Bound::get);
    Ok(PythonProgram::shared(start, completions, own_root, host))
}
