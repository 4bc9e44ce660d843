//! The flags that every subcommand has.

use clap::{ArgAction, Args};

/// The flags that every subcommand has.
#[derive(Args, Debug)]
pub(crate) struct GlobalArguments {
    /// The working directory.
    #[arg(long, short = 'C', global = true)]
    pub(crate) cwd: Option<String>,
    /// Asks nothing, and updates no lines in place.
    #[arg(long, global = true)]
    pub(crate) non_interactive: bool,
    /// Whether the output is coloured; `auto` is on a terminal without `NO_COLOR`.
    #[arg(long, global = true, value_parser = ["always", "auto", "never", "raw"])]
    pub(crate) color: Option<String>,
    /// Shows the names of stacks with organization and project.
    #[arg(long, global = true)]
    pub(crate) fully_qualify_stack_names: bool,
    /// Works on states that are damaged; not supported.
    #[arg(long, global = true, hide = true)]
    pub(crate) disable_integrity_checking: bool,
    /// Receives spans. None are written.
    #[arg(long, global = true)]
    pub(crate) tracing: Option<String>,
    /// A header of requests for spans. None are sent.
    #[arg(long, global = true, hide = true)]
    pub(crate) tracing_header: Option<String>,
    /// Receives spans. None are written.
    #[arg(long, global = true, hide = true)]
    pub(crate) otel_traces: Option<String>,
    /// The begin of the names of profiles. None are written.
    #[arg(long, global = true, hide = true)]
    pub(crate) profiling: Option<String>,
    /// How detailed profiles of memory are. None are written.
    #[arg(long, global = true, hide = true)]
    pub(crate) memprofilerate: Option<i64>,
    /// Passes the settings of logs to plugins.
    #[arg(long, global = true)]
    pub(crate) logflow: bool,
    /// Writes logs to standard error.
    #[arg(long, global = true)]
    pub(crate) logtostderr: bool,
    /// Prints the version of the reference engine that this one is compatible with.
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
    /// How detailed logs are. Without a number, `whoami` shows more.
    #[arg(long, short = 'v', global = true, num_args = 0..=1, default_missing_value = "1")]
    pub(crate) verbose: Option<u8>,
}
