//! The subcommands that have no subcommands themselves: each has a form for programs.

use super::{Parsers, described};

/// What has no document: refused commands.
const WITHOUT: [&str; 10] = [
    "new",
    "convert",
    "policy",
    "env",
    "about env",
    "org search",
    "config env",
    "state edit",
    "state promote",
    "state upgrade",
];
/// The command whose flag `--json` has values.
const SET_ALL: &str = "config set-all";

/// Appends the paths of subcommands that can run: those without subcommands, and those that do not require one.
fn collect(command: &clap::Command, path: &str, paths: &mut Vec<String>) {
    for subcommand in command.get_subcommands() {
        let path = format!("{path} {}", subcommand.get_name())
            .trim_start()
            .to_owned();
        collect(subcommand, &path, paths);
        if !subcommand.has_subcommands() || !subcommand.is_subcommand_required_set() {
            paths.push(path);
        }
    }
}

/// Returns the subcommand of a path.
fn found<'a>(command: &'a clap::Command, path: &str) -> &'a clap::Command {
    path.split(' ')
        .fold(command, |command, name| command.find_subcommand(name).unwrap())
}

/// Returns the words of a line with all that a subcommand requires.
fn line(command: &clap::Command, path: &str, flags: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = path.split(' ').map(str::to_owned).collect();
    words.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let arguments = found(command, path).get_arguments();
    for argument in arguments.filter(|argument| argument.is_required_set()) {
        words.extend(argument.get_long().map(|name| format!("--{name}")));
        let possible = argument.get_possible_values();
        let value = possible.first().map_or("value", |value| value.get_name());
        words.push(value.to_owned());
    }
    words
}

#[test]
fn every_command_has_a_form_for_programs_in_both_spellings() {
    let command = described();
    let mut paths = Vec::new();
    collect(&command, "", &mut paths);
    assert!(paths.len() > 50, "{paths:?}");
    for without in WITHOUT {
        assert!(paths.iter().any(|path| path == without), "there is no {without}");
    }
    let parsers = Parsers::default();
    let mut refused = Vec::new();
    for path in paths.iter().filter(|path| !WITHOUT.contains(&path.as_str())) {
        let forms: &[&[&str]] = match path.as_str() {
            SET_ALL => &[&["--output", "json"], &["--json", "{}", "--output", "json"]],
            _ => &[&["--json"], &["-j"], &["--json=true"], &["--output", "json"]],
        };
        for form in forms {
            let words = line(&command, path, form);
            if let Err(refusal) = parsers.parse("pulumi", &words) {
                refused.push(format!("{words:?}: {refusal:?}"));
            }
        }
    }
    assert!(refused.is_empty(), "\n{}", refused.join("\n"));
}

#[test]
fn the_form_of_a_command_is_shown_in_its_help() {
    let command = described();
    let mut paths = Vec::new();
    collect(&command, "", &mut paths);
    for path in paths.iter().filter(|path| !WITHOUT.contains(&path.as_str())) {
        let mut arguments = found(&command, path).get_arguments();
        let is_shown =
            arguments.any(|argument| argument.get_long() == Some("json") && !argument.is_hide_set());
        assert!(is_shown, "{path}");
    }
}
