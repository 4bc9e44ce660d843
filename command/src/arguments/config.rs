//! The arguments of `config`.

use clap::{Args, Subcommand};

use super::{OutputForm, UnsupportedArguments};

/// The arguments of `config`, which lists the configuration when it has no subcommand.
#[derive(Args, Debug)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    /// The name of the stack.
    #[arg(long, short, global = true)]
    pub(crate) stack: Option<String>,
    /// The settings file of the stack.
    #[arg(long, global = true)]
    pub(crate) config_file: Option<String>,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    /// Shows secrets.
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Resolves the imported environments. There are none.
    #[arg(long, hide = true)]
    pub(crate) open: bool,
}

/// Flags of the list that its subcommands take as well, where they change nothing: there are no environments.
#[derive(Args, Debug)]
pub(crate) struct ListFlags {
    /// Shows secrets.
    #[arg(long, hide = true)]
    show_secrets: bool,
    /// Resolves the imported environments.
    #[arg(long, hide = true)]
    open: bool,
}

/// The same, with that of the form.
#[derive(Args, Debug)]
pub(crate) struct FormFlags {
    #[command(flatten)]
    pub(crate) form: OutputForm,
    #[command(flatten)]
    list: ListFlags,
}

/// The subcommands of `config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Prints a value.
    Get(ConfigGet),
    /// Sets a value.
    Set(ConfigSet),
    /// Sets values.
    SetAll(ConfigSetAll),
    /// Removes a value.
    #[command(visible_alias = "remove")]
    Rm {
        /// The key.
        key: String,
        /// The key is a path.
        #[arg(long)]
        path: bool,
        #[command(flatten)]
        flags: FormFlags,
    },
    /// Removes values.
    #[command(visible_alias = "remove-all")]
    RmAll {
        /// The keys.
        keys: Vec<String>,
        /// The keys are paths.
        #[arg(long)]
        path: bool,
        #[command(flatten)]
        flags: FormFlags,
    },
    /// Copies one value, or all, to another stack.
    #[command(visible_alias = "copy")]
    Cp {
        /// The key; all values when left out.
        key: Option<String>,
        /// The key is a path.
        #[arg(long)]
        path: bool,
        /// The other stack.
        #[arg(long, short)]
        dest: String,
        #[command(flatten)]
        flags: FormFlags,
    },
    /// Takes the configuration of the last operation.
    Refresh {
        /// Replaces what there is, without a copy.
        #[arg(long, short)]
        force: bool,
        #[command(flatten)]
        flags: FormFlags,
    },
    /// Manages imported environments; not supported.
    Env(UnsupportedArguments),
}

/// The arguments of `config get`.
#[derive(Args, Debug)]
pub(crate) struct ConfigGet {
    /// The key.
    pub(crate) key: String,
    /// The key is a path.
    #[arg(long)]
    pub(crate) path: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
    #[command(flatten)]
    flags: ListFlags,
}

/// The arguments of `config set`.
#[derive(Args, Debug)]
pub(crate) struct ConfigSet {
    /// The key.
    pub(crate) key: String,
    /// The value; standard input when left out.
    pub(crate) value: Option<String>,
    /// The key is a path.
    #[arg(long)]
    pub(crate) path: bool,
    /// Encrypts the value.
    #[arg(long)]
    pub(crate) secret: bool,
    /// Does not encrypt the value.
    #[arg(long, conflicts_with = "secret")]
    pub(crate) plaintext: bool,
    /// Keeps the newline at the end of a value that is read from the standard input.
    #[arg(long)]
    pub(crate) raw: bool,
    /// The type of the value.
    #[arg(long = "type", value_parser = ["string", "int", "float", "bool"])]
    pub(crate) value_type: Option<String>,
    #[command(flatten)]
    pub(crate) flags: FormFlags,
}

/// The arguments of `config set-all`.
#[derive(Args, Debug)]
pub(crate) struct ConfigSetAll {
    /// A pair `key=value`.
    #[arg(long)]
    pub(crate) plaintext: Vec<String>,
    /// A pair `key=value`, which is encrypted.
    #[arg(long)]
    pub(crate) secret: Vec<String>,
    /// The keys are paths.
    #[arg(long)]
    pub(crate) path: bool,
    /// Values as `config --json` prints them.
    #[arg(long)]
    pub(crate) json: Option<String>,
    /// The form: `default` or `json`.
    #[arg(long, value_parser = ["default", "json"])]
    output: Option<String>,
    #[command(flatten)]
    flags: ListFlags,
}

impl ConfigSetAll {
    /// Returns whether JSON is printed: here, `--json` has the values.
    pub(crate) fn is_json(&self) -> bool {
        self.output.as_deref() == Some("json")
    }
}
