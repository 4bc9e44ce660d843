//! `state protect`, `unprotect`, `taint` and `untaint`.

use stackwright::state::edit::{Selection, StateEdit};

use super::{QUESTION, apply, choice, confirm, opened, parsed};
use crate::{
    arguments::{StateMarks, StateTaint},
    failure::Result,
    printer::Printer,
    session::Session,
};

/// The question before a protection.
const PROTECT_QUESTION: &str = "This will protect by modifying the stack state directly.\n\
     If your program does not also set the 'protect' resource option, Pulumi will unprotect the \n\
     resource the next time your program runs (e.g. as part of a `pulumi up`)\n\
     Confirm?";

/// A mark, as the texts name it, the question before it, and its edit.
struct Mark {
    done: &'static str,
    question: &'static str,
    edit: fn(Selection) -> StateEdit,
}

/// Protects resources.
pub(super) async fn protect(session: &Session<'_>, arguments: &StateMarks) -> Result {
    let mark = Mark {
        done: "protected",
        question: PROTECT_QUESTION,
        edit: StateEdit::Protect,
    };
    set(session, &arguments.some, arguments.all, mark).await
}

/// Removes the protection of resources.
pub(super) async fn unprotect(session: &Session<'_>, arguments: &StateMarks) -> Result {
    let mark = Mark {
        done: "unprotected",
        question: QUESTION,
        edit: StateEdit::Unprotect,
    };
    set(session, &arguments.some, arguments.all, mark).await
}

/// Marks resources for replacement.
pub(super) async fn taint(session: &Session<'_>, arguments: &StateTaint) -> Result {
    let mark = Mark {
        done: "tainted",
        question: QUESTION,
        edit: StateEdit::Taint,
    };
    set(session, arguments, false, mark).await
}

/// Removes the marks for replacement.
pub(super) async fn untaint(session: &Session<'_>, arguments: &StateMarks) -> Result {
    let mark = Mark {
        done: "untainted",
        question: QUESTION,
        edit: StateEdit::Untaint,
    };
    set(session, &arguments.some, arguments.all, mark).await
}

async fn set(session: &Session<'_>, arguments: &StateTaint, all: bool, mark: Mark) -> Result {
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    let selection = match all {
        true => Selection {
            urns: Vec::new(),
            all,
        },
        false => {
            if arguments.urns.is_empty() {
                choice::require_terminal(printer)?;
            }
            Selection::of(parsed(&arguments.urns)?)
        }
    };
    if all && !arguments.urns.is_empty() {
        session
            .invocation
            .warn("--all selects every resource: the URNs have no effect");
    }
    let stack = opened(session, arguments.stack.stack.as_deref()).await?;
    let selection = match !all && arguments.urns.is_empty() {
        true => {
            let question = format!("The resource that is {}:", mark.done);
            Selection::of(parsed(&[
                choice::chosen(session, printer, &stack, &question).await?
            ])?)
        }
        false => selection,
    };
    let count = selection.urns.len();
    confirm(printer, arguments.yes, mark.question).await?;
    let line = match all {
        true => format!("All resources {}", mark.done),
        false => format!("{count} resources {}", mark.done),
    };
    apply(session, printer, &stack, &(mark.edit)(selection), &line).await
}
