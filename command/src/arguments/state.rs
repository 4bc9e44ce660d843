//! The arguments of `state`.

use clap::{Args, Subcommand};

use super::{OutputForm, StackOption, UnsupportedArguments};

/// The subcommands of `state`.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Removes records from the state. The resources stay.
    #[command(visible_aliases = ["remove", "rm"])]
    Delete(StateDelete),
    /// Protects resources from deletion.
    Protect(StateMarks),
    /// Removes the protection.
    Unprotect(StateMarks),
    /// Marks resources for replacement by the next update.
    Taint(StateTaint),
    /// Removes these marks.
    Untaint(StateMarks),
    /// Gives a resource another name.
    Rename(StateRename),
    /// Moves resources to another stack.
    Move(StateMove),
    /// Sorts the records, and removes references to records that do not exist.
    Repair {
        #[command(flatten)]
        stack: StackOption,
        /// Asks nothing.
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Prints the record of a resource.
    #[command(visible_alias = "show")]
    Get(StateGet),
    /// Edits the state in a text editor; not supported.
    Edit {
        #[command(flatten)]
        stack: StackOption,
    },
    /// Moves resources from a snippet into the program; not supported.
    #[command(hide = true)]
    Promote(UnsupportedArguments),
    /// Moves a store to the layout with projects; not supported.
    Upgrade {
        /// Asks nothing.
        #[arg(long, short)]
        yes: bool,
    },
}

/// The arguments of `state delete`.
#[derive(Args, Debug)]
pub(crate) struct StateDelete {
    /// The URNs of the resources.
    pub(crate) urns: Vec<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// All records, in place of URNs.
    #[arg(long)]
    pub(crate) all: bool,
    /// Removes protected records, too.
    #[arg(long)]
    pub(crate) force: bool,
    /// Removes the records of all that depends on them, too.
    #[arg(long)]
    pub(crate) target_dependents: bool,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of commands that set a mark of all resources, or of some.
#[derive(Args, Debug)]
pub(crate) struct StateMarks {
    #[command(flatten)]
    pub(crate) some: StateTaint,
    /// All resources, in place of URNs.
    #[arg(long)]
    pub(crate) all: bool,
}

/// The arguments of commands that set a mark of some resources.
#[derive(Args, Debug)]
pub(crate) struct StateTaint {
    /// The URNs of the resources.
    pub(crate) urns: Vec<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `state rename`.
#[derive(Args, Debug)]
pub(crate) struct StateRename {
    /// The URN of the resource.
    pub(crate) urn: Option<String>,
    /// The new name.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `state move`.
#[derive(Args, Debug)]
pub(crate) struct StateMove {
    /// The URNs of the resources.
    pub(crate) urns: Vec<String>,
    /// The stack that has the resources; the selected one when left out.
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// The stack that gets them; the selected one when left out.
    #[arg(long)]
    pub(crate) dest: Option<String>,
    /// Moves the parents of the resources, too, and everything below them.
    #[arg(long)]
    pub(crate) include_parents: bool,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `state get`.
#[derive(Args, Debug)]
pub(crate) struct StateGet {
    /// The URN of the resource.
    pub(crate) urn: Option<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    /// Shows secrets.
    #[arg(long)]
    pub(crate) show_secrets: bool,
}
