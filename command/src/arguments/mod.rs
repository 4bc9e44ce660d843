//! The arguments of the command: every subcommand and flag that it knows. Others are refused by name.

mod config;
mod counts;
mod global;
#[cfg(test)]
mod leaves;
mod operation;
mod plugin;
mod refusal;
mod stack;
mod state;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use clap::{
    ArgAction, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    parser::ValueSource,
};

pub(crate) use config::{ConfigArguments, ConfigCommand, ConfigGet, ConfigSet, ConfigSetAll};
pub(crate) use global::GlobalArguments;
pub(crate) use operation::{
    Confirmation, DestroyArguments, Display, ImportArguments, OperationArguments, PreviewArguments,
    ProgramArguments, RefreshArguments, Selection, UpdateArguments,
};
pub(crate) use plugin::{InstallArguments, PluginCommand, PluginInstall, PluginRemove};
pub(crate) use refusal::Refusal;
pub(crate) use stack::{
    StackArguments, StackCommand, StackExport, StackGraph, StackHistory, StackInit, StackOutput, StackRemove,
    TagCommand,
};
pub(crate) use state::{StateCommand, StateDelete, StateGet, StateMarks, StateMove, StateRename, StateTaint};

/// A flag that was given: its name and, for booleans, its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenFlag {
    pub(crate) name: String,
    pub(crate) boolean: Option<bool>,
}

/// The arguments of one invocation.
#[derive(Debug, Parser)]
#[command(
    name = "pulumi",
    about = "Works on stacks of resources.",
    long_about = None,
    version = stackwright::COMPATIBLE_VERSION,
    disable_version_flag = true,
    args_override_self = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The stack that a command works on.
#[derive(Args, Debug)]
pub(crate) struct StackOption {
    /// The name of the stack; the selected one when left out.
    #[arg(long, short)]
    pub(crate) stack: Option<String>,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Prints the version of the reference engine that this one is compatible with.
    Version(OutputForm),
    /// Prints the user and the store.
    Whoami(OutputForm),
    /// Prints what the engine works with.
    About(AboutArguments),
    /// Prints what is there and what is missing for the work in this folder.
    Doctor(OutputForm),
    /// Prints the script that completes the command's arguments in a shell.
    #[command(visible_alias = "gen-completion")]
    Completion {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Selects the store of states.
    Login(LoginArguments),
    /// Forgets the selected store of states.
    Logout(LogoutArguments),
    /// Prints or sets the organization.
    #[command(subcommand)]
    Org(OrgCommand),
    /// Manages stacks.
    Stack(Box<StackArguments>),
    /// Edits the recorded state of a stack.
    #[command(subcommand)]
    State(Box<StateCommand>),
    /// Manages the configuration of a stack.
    Config(Box<ConfigArguments>),
    /// Shows what an update would do.
    #[command(visible_alias = "pre")]
    Preview(Box<PreviewArguments>),
    /// Creates or updates the resources of a stack.
    #[command(visible_alias = "update")]
    Up(Box<UpdateArguments>),
    /// Reads the resources of a stack.
    Refresh(Box<RefreshArguments>),
    /// Deletes the resources of a stack.
    #[command(visible_aliases = ["down", "dn"])]
    Destroy(Box<DestroyArguments>),
    /// Imports existing resources.
    Import(Box<ImportArguments>),
    /// Removes the locks of a stack.
    Cancel(CancelArguments),
    /// Manages plugins.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Installs what a program needs.
    Install(InstallArguments),
    /// Creates a project; not supported.
    New(UnsupportedArguments),
    /// Converts programs between languages; not supported.
    #[command(hide = true)]
    Convert(UnsupportedArguments),
    /// Manages the policies of an organization; not supported.
    #[command(hide = true)]
    Policy(UnsupportedArguments),
    /// Manages environments; not supported.
    #[command(hide = true)]
    Env(UnsupportedArguments),
}

/// The form of a list, of a record, or of what a command has done.
#[derive(Args, Debug)]
pub(crate) struct OutputForm {
    /// Prints JSON.
    #[arg(long, short, conflicts_with = "output")]
    json: bool,
    /// The form: `default` or `json`.
    #[arg(long, value_parser = ["default", "json"])]
    output: Option<String>,
}

impl OutputForm {
    /// Returns whether JSON is printed.
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.output.as_deref() == Some("json")
    }
}

/// The arguments of `about`.
#[derive(Args, Debug)]
pub(crate) struct AboutArguments {
    #[command(subcommand)]
    pub(crate) command: Option<AboutCommand>,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    #[command(flatten)]
    pub(crate) stack: StackOption,
}

/// The subcommands of `about`.
#[derive(Debug, Subcommand)]
pub(crate) enum AboutCommand {
    /// Lists the variables of the environment; not supported.
    Env(UnsupportedArguments),
}

/// The arguments of `login`.
#[derive(Args, Debug)]
pub(crate) struct LoginArguments {
    /// The URL of the store.
    pub(crate) url: Option<String>,
    /// The URL of the store, as a flag.
    #[arg(long, short, conflicts_with = "url")]
    pub(crate) cloud_url: Option<String>,
    /// The store in the user's home.
    #[arg(long, short, conflicts_with_all = ["url", "cloud_url"])]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `logout`.
#[derive(Args, Debug)]
pub(crate) struct LogoutArguments {
    /// The URL of the store; the selected one when left out.
    pub(crate) url: Option<String>,
    /// The URL of the store, as a flag.
    #[arg(long, short, conflicts_with = "url")]
    pub(crate) cloud_url: Option<String>,
    /// All stores. One is selected at a time.
    #[arg(long, conflicts_with_all = ["url", "cloud_url"])]
    pub(crate) all: bool,
    /// The store in the user's home.
    #[arg(long, short, conflicts_with_all = ["url", "cloud_url", "all"])]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The subcommands of `org`.
#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// Prints the default organization.
    GetDefault(OutputForm),
    /// Sets the default organization.
    SetDefault {
        /// The name.
        name: String,
        #[command(flatten)]
        form: OutputForm,
    },
    /// Searches resources of an organization; not supported.
    #[command(hide = true)]
    Search(UnsupportedArguments),
}

/// The arguments of `cancel`.
#[derive(Args, Debug)]
pub(crate) struct CancelArguments {
    /// The name of the stack.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) stack: StackOption,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of a subcommand that is refused.
#[derive(Args, Debug)]
pub(crate) struct UnsupportedArguments {
    /// All that follows.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<String>,
}

/// Returns the flags of the command line, those of the subcommand included.
fn given_flags(command: &clap::Command, matches: &ArgMatches) -> Vec<GivenFlag> {
    let mut flags: Vec<GivenFlag> = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let Some(name) = argument.get_long() else { continue };
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let boolean = argument
            .is_require_equals_set()
            .then(|| matches.try_get_one::<bool>(id).ok().flatten().copied())
            .flatten();
        flags.push(GivenFlag {
            name: name.to_owned(),
            boolean,
        });
    }
    if let Some((name, inner)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        for flag in given_flags(subcommand, inner) {
            if flags.iter().all(|known| known.name != flag.name) {
                flags.push(flag);
            }
        }
    }
    flags
}

/// The parsers of invocations, by the name under which these run: the text of `--help` has it. Making one takes longer than most
/// invocations, and it keeps the subcommands that it has built.
#[derive(Default)]
pub(crate) struct Parsers(Mutex<HashMap<String, clap::Command>>);

impl Parsers {
    /// Returns the parsers that all commands of the process have in common. An invocation cannot see what another one has parsed.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Parsers>> = LazyLock::new(Arc::default);
        Arc::clone(&SHARED)
    }

    /// Parses the arguments of an invocation.
    ///
    /// # Errors
    /// [`Refusal`], which is also the text of `--help`.
    pub(crate) fn parse(
        &self,
        name: &str,
        arguments: &[String],
    ) -> Result<(Arguments, Vec<GivenFlag>), Refusal> {
        // A panic while parsing leaves a parser as it is between two lines: only what it has built changes.
        let mut parsers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parser = parsers.entry(name.to_owned()).or_insert_with(command);
        let words: Vec<String> = std::iter::once(name.to_owned())
            .chain(arguments.iter().cloned())
            .collect();
        let matches = match parser.try_get_matches_from_mut(&words) {
            Ok(matches) => matches,
            Err(error) => return Err(counts::refusal(parser, &words, &error).unwrap_or_else(|| error.into())),
        };
        Ok((
            Arguments::from_arg_matches(&matches)?,
            given_flags(parser, &matches),
        ))
    }

    /// Returns the help of a subcommand.
    pub(crate) fn help(&self, name: &str, subcommand: &str) -> String {
        match self.parse(name, &[subcommand.to_owned(), "--help".to_owned()]) {
            Err(Refusal::Help(text)) => text,
            _ => String::new(),
        }
    }
}

/// Returns a description of the arguments. Unlike a parser, its flags of booleans have no values.
pub(crate) fn described() -> clap::Command {
    Arguments::command()
}

/// Returns a parser. Flags of booleans take values after `=`, and those of texts any text, also one that begins with a hyphen.
fn command() -> clap::Command {
    lenient(Arguments::command())
}

/// Returns whether an option has a value each time: one that does not is followed by other options.
fn needs_value(argument: &clap::Arg) -> bool {
    argument.get_num_args().is_none_or(|range| range.min_values() > 0)
}

fn lenient(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| match argument.get_action() {
        ArgAction::SetTrue => argument
            .action(ArgAction::Set)
            .value_parser(clap::value_parser!(bool))
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .default_value("false")
            .hide_default_value(true),
        ArgAction::Set | ArgAction::Append
            if !argument.is_positional() && !argument.is_require_equals_set() && needs_value(&argument) =>
        {
            argument.allow_hyphen_values(true)
        }
        _ => argument,
    });
    command.mut_subcommands(|subcommand| {
        lenient(subcommand.args_override_self(true).disable_help_subcommand(true))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_line_does_not_depend_on_those_before() {
        let lines = [
            "up --yes --target a --message first",
            "config set key value --stack dev",
            "up --unknown",
            "config set",
            "--help",
            "up --yes",
            "stack output --help",
            "config --json --color never",
            "unknown",
            "stack output --json",
        ];
        let parsed = |parsers: &Parsers, line: &str| {
            let list: Vec<String> = line.split(' ').map(str::to_owned).collect();
            format!("{:?}", parsers.parse("pulumi", &list))
        };
        let alone: Vec<String> = lines
            .iter()
            .map(|line| parsed(&Parsers::default(), line))
            .collect();
        let parsers = Parsers::default();
        // In an order in which each follows each of the others once or more.
        for first in &lines {
            for (line, alone) in lines.iter().zip(&alone) {
                parsed(&parsers, first);
                assert_eq!(&parsed(&parsers, line), alone, "{line} after {first}");
            }
        }
    }

    #[test]
    fn help_has_the_name_under_which_the_command_runs() {
        let parsers = Parsers::default();
        for name in ["pulumi", "stackwright", "pulumi"] {
            let Err(Refusal::Help(text)) = parsers.parse(name, &["up".into(), "--help".into()]) else {
                panic!("there is no help");
            };
            assert!(text.contains(&format!("Usage: {name} up")), "{text}");
        }
    }

    #[test]
    fn given_flags_are_those_of_the_command_line() {
        let line =
            "--non-interactive up --yes --run-program=false --target a --target -b -m hello --stack dev";
        let list: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (arguments, flags) = Parsers::default().parse("pulumi", &list).unwrap();
        let Verb::Up(up) = arguments.verb else {
            panic!("{arguments:?}");
        };
        assert_eq!(up.selection.target, ["a", "-b"]);
        assert_eq!(up.program.run_program, Some(false));
        let mut shown: Vec<String> = flags
            .iter()
            .map(|flag| format!("{}={:?}", flag.name, flag.boolean))
            .collect();
        shown.sort();
        assert_eq!(
            shown,
            [
                "message=None",
                "non-interactive=Some(true)",
                "run-program=Some(false)",
                "stack=None",
                "target=None",
                "yes=Some(true)"
            ]
        );
    }
}
