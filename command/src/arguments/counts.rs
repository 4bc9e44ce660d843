//! Wrong numbers of arguments: the help of the subcommand, and the reference engine's text of what it accepts.

use clap::{
    Arg, ArgMatches, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::Refusal;

/// The name of the argument that receives those which a subcommand does not have.
const SURPLUS: &str = "surplus";

/// Returns the refusal of a line whose subcommand has too few arguments, or too many; `None` for a line that is refused for something
/// else.
pub(super) fn refusal(parser: &Command, words: &[String], error: &clap::Error) -> Option<Refusal> {
    if !is_of_arguments(error) {
        return None;
    }
    let matches = counting(super::command()).try_get_matches_from(words).ok()?;
    let (mut matches, mut command, mut path) = (&matches, parser, vec![parser.get_name().to_owned()]);
    while let Some((name, inner)) = matches.subcommand() {
        command = command.find_subcommand(name)?;
        path.push(command.get_name().to_owned());
        matches = inner;
    }
    let text = fault(command, matches, &path.join(" "))?;
    if let (Some(first), Some(name)) = (path.first_mut(), words.first()) {
        name.clone_into(first);
    }
    let help = command.clone().bin_name(path.join(" ")).render_help().to_string();
    Some(Refusal::Usage { help, text })
}

/// Returns whether an error is about arguments that are no flags.
fn is_of_arguments(error: &clap::Error) -> bool {
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => Some(name),
        Some(ContextValue::Strings(names)) => names.first(),
        _ => None,
    };
    let is_kind = matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument | ErrorKind::TooManyValues
    );
    is_kind && named.is_some_and(|name| !name.starts_with('-'))
}

/// Returns a parser that accepts any number of arguments.
fn counting(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.is_positional() {
        true => argument.required(false),
        false => argument,
    });
    let has_list = command.get_positionals().any(is_list);
    let command = match has_list || command.has_subcommands() {
        true => command,
        false => command.arg(Arg::new(SURPLUS).num_args(0..)),
    };
    command.mut_subcommands(counting)
}

fn is_list(argument: &Arg) -> bool {
    argument
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1)
        || matches!(argument.get_action(), clap::ArgAction::Append)
}

/// Returns what a subcommand accepts, beside what it has received.
fn fault(command: &Command, matches: &ArgMatches, path: &str) -> Option<String> {
    let ids = command
        .get_positionals()
        .map(|argument| argument.get_id().as_str());
    let received: Vec<String> = ids
        .chain([SURPLUS])
        .filter_map(|id| matches.try_get_raw(id).ok().flatten())
        .flatten()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let count = received.len();
    let required = command
        .get_positionals()
        .filter(|argument| argument.is_required_set());
    let (required, most) = (required.count(), command.get_positionals().count());
    if command.get_positionals().any(is_list) {
        return (count < required)
            .then(|| format!("requires at least {required} arg(s), only received {count}"));
    }
    if (required..=most).contains(&count) {
        return None;
    }
    Some(match (required, most) {
        (_, 0) => format!("unknown command \"{}\" for \"{path}\"", received.first()?),
        (0, most) => format!("accepts at most {most} arg(s), received {count}"),
        (required, most) if required == most => format!("accepts {most} arg(s), received {count}"),
        (required, most) => format!("accepts between {required} and {most} arg(s), received {count}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::Parsers, *};

    fn refused(line: &str) -> (String, String) {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match Parsers::default().parse("pulumi", &arguments) {
            Err(Refusal::Usage { help, text }) => (help, text),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn too_few_and_too_many_arguments_are_counted() {
        for (line, text) in [
            ("stack rename", "accepts 1 arg(s), received 0"),
            ("stack rename one two --stack dev", "accepts 1 arg(s), received 2"),
            ("config set", "accepts between 1 and 2 arg(s), received 0"),
            (
                "config set --path a b c",
                "accepts between 1 and 2 arg(s), received 3",
            ),
            ("stack init one two", "accepts at most 1 arg(s), received 2"),
            ("stack tag set -s dev key", "accepts 2 arg(s), received 1"),
            ("whoami you", "unknown command \"you\" for \"pulumi whoami\""),
            (
                "up --yes --target a extra",
                "unknown command \"extra\" for \"pulumi up\"",
            ),
        ] {
            assert_eq!(refused(line).1, text, "{line}");
        }
    }

    #[test]
    fn the_help_is_that_of_the_subcommand() {
        let (help, _) = refused("stack rename");
        assert!(
            help.contains("Usage: pulumi stack rename [OPTIONS] <NAME>"),
            "{help}"
        );
        assert!(!help.contains("SURPLUS") && !help.contains(SURPLUS), "{help}");
    }
}
