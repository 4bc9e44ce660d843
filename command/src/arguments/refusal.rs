//! Refused arguments, in the reference engine's words.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use stackwright::binding::nearest_names;

/// The flag of operations that run elsewhere; those that belong to it begin with it.
const REMOTE: &str = "--remote";
/// Why such operations are refused.
const NO_REMOTE: &str = "the Pulumi Cloud backend must be used for remote operations; use `pulumi login` without arguments to log into \
                         the Pulumi Cloud backend";

/// Why arguments are refused, or the text of `--help`.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The help, for standard output.
    Help(String),
    /// The error, without `error: `.
    Error(String),
    /// A wrong number of arguments: the help, for standard output, and the error.
    Usage {
        /// The help of the subcommand.
        help: String,
        /// The error, without `error: `.
        text: String,
    },
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => texts.first().cloned(),
            _ => None,
        };
        let argument = context(ContextKind::InvalidArg).unwrap_or_default();
        match error.kind() {
            ErrorKind::DisplayVersion => Self::Help(format!("{}\n", stackwright::COMPATIBLE_VERSION)),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Self::Help(error.render().to_string())
            }
            ErrorKind::UnknownArgument
                if argument
                    .strip_prefix(REMOTE)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '='])) =>
            {
                Self::Error(NO_REMOTE.to_owned())
            }
            ErrorKind::UnknownArgument if argument.starts_with("--") => {
                let flag = argument.split('=').next().unwrap_or(&argument);
                Self::Error(format!("unknown flag: {flag}"))
            }
            ErrorKind::UnknownArgument if argument.starts_with('-') => {
                let flag = argument.trim_start_matches('-');
                Self::Error(format!("unknown shorthand flag: '{flag}' in {argument}"))
            }
            ErrorKind::UnknownArgument => Self::Error(format!("unexpected argument: {argument}")),
            ErrorKind::InvalidSubcommand => {
                let name = context(ContextKind::InvalidSubcommand).unwrap_or_default();
                let parent = parent_command(&error);
                let similar = match error.get(ContextKind::SuggestedSubcommand) {
                    Some(ContextValue::Strings(names)) => names.as_slice(),
                    _ => &[],
                };
                // The parser also finds names that only sound alike: `destroy` for `deploy`.
                let near = nearest_names(&name, similar.iter().map(String::as_str), 1);
                let near = near
                    .iter()
                    .map(|near| format!("\n\nDid you mean this?\n\t{near}"));
                let near: String = near.collect();
                Self::Error(format!("unknown command \"{name}\" for \"pulumi{parent}\"{near}"))
            }
            ErrorKind::MissingRequiredArgument if argument.starts_with("--") => {
                let flag = argument.split_whitespace().next().unwrap_or_default();
                let flag = flag.trim_start_matches('-');
                Self::Error(format!("required flag(s) \"{flag}\" not set"))
            }
            ErrorKind::ArgumentConflict => {
                let other = context(ContextKind::PriorArg).unwrap_or_default();
                let flag = |described: &str| {
                    let positional = described
                        .strip_prefix(['[', '<'])
                        .map(|name| name.trim_end_matches(['.', ']', '>']));
                    let flag = described.split(['[', '=', ' ']).next();
                    positional.or(flag).map(str::to_owned)
                };
                let (flag, other) = (
                    flag(&argument).unwrap_or_default(),
                    flag(&other).unwrap_or_default(),
                );
                Self::Error(format!("{flag} cannot be used together with {other}"))
            }
            _ => {
                let text = error.render().to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                let lines: Vec<&str> = text
                    .lines()
                    .map(str::trim)
                    .take_while(|line| !line.is_empty())
                    .collect();
                Self::Error(lines.join(" "))
            }
        }
    }
}

/// Returns the path of the command that has not the subcommand, without the program: empty, or ` stack`.
fn parent_command(error: &clap::Error) -> String {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else {
        return String::new();
    };
    let usage = usage.to_string();
    let words = usage
        .split_whitespace()
        .skip_while(|word| *word == "Usage:")
        .skip(1);
    let names = words.take_while(|word| word.starts_with(char::is_alphabetic));
    names.fold(String::new(), |path, name| path + " " + name)
}

#[cfg(test)]
mod tests {
    use super::{super::Parsers, *};

    fn refused(line: &str) -> String {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match Parsers::default().parse("pulumi", &arguments) {
            Err(Refusal::Error(text)) => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (line, text) in [
            ("up --nonsense", "unknown flag: --nonsense"),
            (
                "up --suppress-everything=x",
                "unknown flag: --suppress-everything",
            ),
            ("up --remote https://example.com/shop.git", NO_REMOTE),
            ("preview --remote-env=A=b", NO_REMOTE),
            ("preview --remotely", "unknown flag: --remotely"),
            ("config cp", "required flag(s) \"dest\" not set"),
            ("stack ls -q", "unknown shorthand flag: 'q' in -q"),
            ("stack shrink", "unknown command \"shrink\" for \"pulumi stack\""),
            ("deploy", "unknown command \"deploy\" for \"pulumi\""),
            (
                "prevew",
                "unknown command \"prevew\" for \"pulumi\"\n\nDid you mean this?\n\tpreview",
            ),
        ] {
            assert_eq!(refused(line), text);
        }
    }

    #[test]
    fn help_is_no_error() {
        let Err(Refusal::Help(text)) =
            Parsers::default().parse("pulumi", &["preview".into(), "--help".into()])
        else {
            panic!("there is no help");
        };
        assert!(text.contains("--target") && !text.contains("--remote"), "{text}");
    }
}
