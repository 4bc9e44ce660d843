//! The reference engine's command line as a function: arguments, folder and environment in; texts and an exit code out.
//!
//! The Automation APIs of the Pulumi SDKs run a command for each of their calls. [`Command`] takes its place in the same
//! process: it starts none, reads no environment but the one of the [`Invocation`], and changes no working directory, so that
//! any number of invocations can run at a time.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use stackwright_command::{Command, Invocation};
//!
//! # #[tokio::main]
//! # async fn main() {
//! let command = Command::new(tokio::runtime::Handle::current());
//! let printed = Arc::new(Mutex::new(String::new()));
//! let sink = Arc::clone(&printed);
//! let invocation = Invocation {
//!     stdout: Arc::new(move |text| sink.lock().unwrap().push_str(text)),
//!     ..Invocation::new(["version"], "/")
//! };
//! assert_eq!(command.run(invocation).await, 0);
//! assert_eq!(*printed.lock().unwrap(), "v3.260.0\n");
//! # }
//! ```
//!
//! The modules are layers: each uses only those above it.

#![forbid(unsafe_code)]

mod failure;
pub mod display;
mod invocation;
mod text;
mod bounded;
mod repository;
mod arguments;
mod printer;
mod home;
mod place;
mod secrets;
mod downloads;
mod running;
mod session;
mod records;
mod account;
mod stack;
mod state;
mod config;
mod project_plugins;
mod about;
mod dependencies;
mod plugins;
mod doctor;
mod completion;
mod operation;
mod command;

pub use command::Command;
pub use invocation::{Ask, Cancellation, Input, Invocation, Output, ProgramRuntime, Terminal};
