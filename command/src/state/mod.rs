//! `state`: edits of the recorded state. The core has their rules.

mod choice;
mod get;
mod marks;
mod relocation;
mod repair;

use stackwright::{
    Error, ErrorKind, Stack,
    binding::edit_report_document,
    state::edit::{Delete, EditReport, Rename, StateEdit},
    urn::Urn,
};

use crate::{
    arguments::{StateCommand, StateDelete, StateRename},
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
};

/// The question before an edit.
const QUESTION: &str = "warning: This command will edit your stack's state directly. Confirm? (y/N)";
/// The error of a command without the URN that it needs.
const NO_URN: &str = "Must supply <resource URN> unless pulumi is run interactively";
/// The advice after the error of a URN that the state does not have.
const HINT: &str = "To list the resource URNs in the stack, run `pulumi stack --show-urns`; to inspect the full state, run \
                    `pulumi stack export`.";
/// What stands around the URN in the core's warning of a protected record that is deleted.
const FORCED: (&str, &str) = ("the record of the protected resource '", "' is deleted by force");

/// Runs a subcommand of `state`.
pub(crate) async fn run(session: &Session<'_>, command: &StateCommand) -> Result {
    match command {
        StateCommand::Delete(arguments) => delete(session, arguments).await,
        StateCommand::Protect(arguments) => marks::protect(session, arguments).await,
        StateCommand::Unprotect(arguments) => marks::unprotect(session, arguments).await,
        StateCommand::Taint(arguments) => marks::taint(session, arguments).await,
        StateCommand::Untaint(arguments) => marks::untaint(session, arguments).await,
        StateCommand::Rename(arguments) => rename(session, arguments).await,
        StateCommand::Move(arguments) => relocation::relocate(session, arguments).await,
        StateCommand::Repair { stack, yes, form } => {
            let printer = Printer::new(session.invocation, form.is_json());
            repair::repair(session, printer, stack, *yes).await
        }
        StateCommand::Get(arguments) => get::get(session, arguments).await,
        StateCommand::Edit { .. } => Err(Failure::new(
            "`state edit` is not supported: write the state into a file with `stack export --file`, edit that, and use \
             `stack import --file`",
        )),
        StateCommand::Promote(_) => Err(Failure::new(
            "`state promote` is not supported: this engine has no snippets, which only a service adds to a stack",
        )),
        StateCommand::Upgrade { .. } => Err(Failure::new(
            "`state upgrade` is not supported: this engine reads no stores without projects",
        )),
    }
}

/// Removes records.
async fn delete(session: &Session<'_>, arguments: &StateDelete) -> Result {
    if arguments.all && !arguments.urns.is_empty() {
        return Err(Failure::new(
            "cannot specify a resource URN when deleting all resources",
        ));
    }
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    let asks = !arguments.all && arguments.urns.is_empty();
    if asks {
        choice::require_terminal(printer)?;
    }
    let urns = parsed(&arguments.urns)?;
    let stack = opened(session, arguments.stack.stack.as_deref()).await?;
    let urns = match asks {
        true => {
            let question = "The resource whose record is deleted:";
            parsed(&[choice::chosen(session, printer, &stack, question).await?])?
        }
        false => urns,
    };
    let count = urns.len();
    let edit = StateEdit::Delete(Delete {
        urns,
        all: arguments.all,
        id: None,
        dependents: arguments.target_dependents,
        force: arguments.force,
    });
    confirm(printer, arguments.yes, QUESTION).await?;
    let line = match (arguments.all, count) {
        (true, _) => "Resources deleted".to_owned(),
        (false, 1) => "Resource deleted".to_owned(),
        (false, count) => format!("{count} resources deleted"),
    };
    apply(session, printer, &stack, &edit, &line).await
}

/// Gives a resource another name.
async fn rename(session: &Session<'_>, arguments: &StateRename) -> Result {
    let missing =
        || Failure::new("Must supply <resource URN> and <new name> unless pulumi is run interactively");
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    if printer.ask().is_none() && (arguments.urn.is_none() || arguments.name.is_none()) {
        return Err(missing());
    }
    let parse = |urn: &str| Urn::parse(urn).map_err(|_| Failure::new("The provided input URN is not valid"));
    let urn = arguments.urn.as_deref().map(parse).transpose()?;
    let stack = opened(session, arguments.stack.stack.as_deref()).await?;
    let urn = match urn {
        Some(urn) => urn,
        None => {
            let question = "The resource that is renamed:";
            parse(&choice::chosen(session, printer, &stack, question).await?)?
        }
    };
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => {
            let ask = printer.ask().ok_or_else(missing)?;
            let answer = session.invocation.answer(ask, "The new name: ").await?;
            answer.unwrap_or_default().trim().to_owned()
        }
    };
    confirm(printer, arguments.yes, QUESTION).await?;
    let edit = StateEdit::Rename(Rename::to_name(urn, &name));
    apply(session, printer, &stack, &edit, "Resource renamed").await
}

/// Opens the named stack, or the selected one.
async fn opened(session: &Session<'_>, given: Option<&str>) -> Result<Stack> {
    let named = session.stack_or_selected(given)?;
    session.stack(&named).await
}

/// Asks the user of a terminal before an edit.
async fn confirm(printer: Printer<'_>, yes: bool, question: &str) -> Result {
    match printer.confirm(yes, question).await? {
        true => Ok(()),
        false => Err(Failure::declined()),
    }
}

/// Makes an edit, writes its warnings, and then the line, or the report in its place.
async fn apply(
    session: &Session<'_>,
    printer: Printer<'_>,
    stack: &Stack,
    edit: &StateEdit,
    line: &str,
) -> Result {
    let report = stack.edit(edit, false).await.map_err(explained)?;
    warn(session, &report);
    printer.end_with_report(line, || edit_report_document(&report))
}

fn warn(session: &Session<'_>, report: &EditReport) {
    for warning in &report.warnings {
        let forced = warning
            .strip_prefix(FORCED.0)
            .and_then(|rest| rest.strip_suffix(FORCED.1));
        match forced {
            Some(urn) => session.invocation.warn(format!(
                "deleting protected resource {urn} due to presence of --force"
            )),
            None => session.invocation.warn(warning),
        }
    }
}

/// Returns the failure of an edit, with advice where the state does not have a URN.
fn explained(error: Error) -> Failure {
    let is_unknown = error.kind() == ErrorKind::NotFound && error.urn().is_some();
    let failure = Failure::from(error);
    match is_unknown {
        true => failure.followed_by(HINT),
        false => failure,
    }
}

/// Parses URNs.
fn parsed(texts: &[String]) -> Result<Vec<Urn>> {
    let urns = texts.iter().map(|text| {
        let invalid = |_| Failure::new(format!("\"{text}\" is not a valid resource URN")).followed_by(HINT);
        Urn::parse(text).map_err(invalid)
    });
    urns.collect()
}
