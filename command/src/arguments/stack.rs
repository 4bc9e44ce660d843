//! The arguments of `stack`.

use clap::{Args, Subcommand};

use super::{OutputForm, StackOption};

/// The arguments of `stack`, which shows the stack when it has no subcommand.
#[derive(Args, Debug)]
pub(crate) struct StackArguments {
    #[command(subcommand)]
    pub(crate) command: Option<StackCommand>,
    /// The name of the stack, also for a subcommand; the selected one when left out.
    #[arg(long, short, id = "stack_before_command")]
    pub(crate) stack: Option<String>,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    /// Shows the ids of resources.
    #[arg(long, short = 'i')]
    pub(crate) show_ids: bool,
    /// Shows the URNs of resources.
    #[arg(long, short = 'u')]
    pub(crate) show_urns: bool,
    /// Prints the name of the stack alone.
    #[arg(long)]
    pub(crate) show_name: bool,
    /// Shows secrets.
    #[arg(long)]
    pub(crate) show_secrets: bool,
}

/// The subcommands of `stack`.
#[derive(Debug, Subcommand)]
pub(crate) enum StackCommand {
    /// Creates a stack.
    Init(StackInit),
    /// Selects a stack.
    Select {
        /// The name.
        name: Option<String>,
        #[command(flatten)]
        stack: StackOption,
        /// Creates it if it does not exist.
        #[arg(long, short)]
        create: bool,
        /// The secrets provider of a new stack.
        #[arg(long)]
        secrets_provider: Option<String>,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Lists stacks.
    Ls {
        #[command(flatten)]
        form: OutputForm,
        /// The stacks of all projects.
        #[arg(long, short, conflicts_with = "project")]
        all: bool,
        /// The stacks of one project.
        #[arg(long, short)]
        project: Option<String>,
    },
    /// Removes a stack.
    Rm(StackRemove),
    /// Prints outputs.
    Output(StackOutput),
    /// Prints the history.
    History(StackHistory),
    /// Prints the state.
    Export(StackExport),
    /// Replaces the state.
    Import {
        #[command(flatten)]
        stack: StackOption,
        /// The file of the state; standard input when left out.
        #[arg(long)]
        file: Option<String>,
        /// Accepts an invalid state.
        #[arg(long, short)]
        force: bool,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Renames a stack.
    Rename {
        /// The new name.
        name: String,
        #[command(flatten)]
        stack: StackOption,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Forgets the selected stack.
    Unselect(OutputForm),
    /// Writes the dependencies of the resources into a file, in the language of Graphviz.
    Graph(StackGraph),
    /// Encrypts the secrets anew.
    ChangeSecretsProvider {
        /// What encrypts them: `default` or `passphrase`.
        provider: String,
        #[command(flatten)]
        stack: StackOption,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Manages tags.
    Tag {
        #[command(subcommand)]
        command: TagCommand,
    },
}

/// The arguments of `stack init`.
#[derive(Args, Debug)]
pub(crate) struct StackInit {
    /// The name.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// What encrypts the secrets.
    #[arg(long)]
    pub(crate) secrets_provider: Option<String>,
    /// Does not select the stack.
    #[arg(long)]
    pub(crate) no_select: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `stack rm`.
#[derive(Args, Debug)]
pub(crate) struct StackRemove {
    /// The name.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Removes a stack that has resources.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Keeps the settings file.
    #[arg(long)]
    pub(crate) preserve_config: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `stack output`.
#[derive(Args, Debug)]
pub(crate) struct StackOutput {
    /// The name of one output.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    /// Prints assignments for a shell.
    #[arg(long)]
    pub(crate) shell: bool,
    /// Shows secrets.
    #[arg(long)]
    pub(crate) show_secrets: bool,
}

/// The arguments of `stack graph`.
#[derive(Args, Debug)]
pub(crate) struct StackGraph {
    /// The file.
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// Shows the names of resources in place of their URNs.
    #[arg(long)]
    pub(crate) short_node_name: bool,
    /// Leaves out what is the parent of what.
    #[arg(long)]
    pub(crate) ignore_parent_edges: bool,
    /// Leaves out dependencies.
    #[arg(long)]
    pub(crate) ignore_dependency_edges: bool,
    /// The colour of edges to parents.
    #[arg(long, default_value = "#AA6639")]
    pub(crate) parent_edge_color: String,
    /// The colour of edges to dependents.
    #[arg(long, default_value = "#246C60")]
    pub(crate) dependency_edge_color: String,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `stack history`.
#[derive(Args, Debug)]
pub(crate) struct StackHistory {
    #[command(flatten)]
    pub(crate) stack: StackOption,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    /// Shows secrets.
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// The number of rows of a page; all when 0.
    #[arg(long, default_value_t = 10, hide_default_value = true)]
    pub(crate) page_size: i64,
    /// Prints times as they are, and not how long ago they were.
    #[arg(long)]
    pub(crate) full_dates: bool,
    /// The page, from 1 on.
    #[arg(long, default_value_t = 1, hide_default_value = true)]
    pub(crate) page: i64,
}

/// The arguments of `stack export`.
#[derive(Args, Debug)]
pub(crate) struct StackExport {
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// Shows secrets.
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// The file; standard output when left out.
    #[arg(long)]
    pub(crate) file: Option<String>,
    /// A former state.
    #[arg(long)]
    pub(crate) version: Option<String>,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The subcommands of `stack tag`.
#[derive(Debug, Subcommand)]
pub(crate) enum TagCommand {
    /// Prints the value of a tag.
    Get {
        /// The name.
        name: String,
        #[command(flatten)]
        stack: StackOption,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Sets a tag.
    Set {
        /// The name.
        name: String,
        /// The value.
        value: String,
        #[command(flatten)]
        stack: StackOption,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Removes a tag.
    Rm {
        /// The name.
        name: String,
        #[command(flatten)]
        stack: StackOption,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Lists tags.
    Ls {
        #[command(flatten)]
        form: OutputForm,
        #[command(flatten)]
        stack: StackOption,
    },
}
