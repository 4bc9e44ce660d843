//! The question before an operation: yes, no, or the details of its preview.

use stackwright::operation::{OperationKind, OperationResult};

use super::run::Runner;
use crate::{
    display::differences,
    failure::{Failure, Result},
    invocation::Ask,
};

/// An answer to the question.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Details,
    Other,
}

impl Answer {
    /// Reads an answer; the end of the input and an empty line are refusals.
    fn of(line: Option<&str>) -> Self {
        match line.unwrap_or_default().trim().to_lowercase().as_str() {
            "yes" | "y" => Self::Yes,
            "no" | "n" | "" => Self::No,
            "details" | "d" => Self::Details,
            _ => Self::Other,
        }
    }
}

/// Asks whether an operation is to run, and shows the changes of its preview on request.
///
/// # Errors
/// The operation is declined, or the invocation is cancelled.
pub(super) async fn ask(
    runner: &Runner<'_>,
    ask: &Ask,
    kind: OperationKind,
    previewed: &OperationResult,
) -> Result {
    let noun = match kind {
        OperationKind::Adopt => OperationKind::Import.name(),
        kind => kind.name(),
    };
    let note = match kind {
        OperationKind::Refresh => "A refresh changes the state of the stack, and no resources.\n",
        _ => "",
    };
    let question = runner
        .paint
        .strong(&format!("Do you want to perform this {noun}? [yes/no/details]"));
    let question = format!("{note}{question} ");
    loop {
        let line = runner.invocation.answer(ask, &question).await?;
        match Answer::of(line.as_deref()) {
            Answer::Yes => return Ok(()),
            Answer::No => {
                runner
                    .invocation
                    .print(format!("confirmation declined, not proceeding with the {noun}"));
                return Err(Failure::reported());
            }
            Answer::Details => {
                let details = runner
                    .json
                    .as_ref()
                    .map(|json| differences(previewed, json, runner.paint, runner.display.show_secrets))
                    .unwrap_or_default();
                match details.is_empty() {
                    true => runner.invocation.print("No resource changes."),
                    false => runner.invocation.print(&details),
                }
            }
            Answer::Other => runner.invocation.print("The answers are: yes, no, details."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_an_approval() {
        let answers = ["yes\n", " Y ", "no", "", "d\n", "DETAILS", "yep"].map(|line| Answer::of(Some(line)));
        assert_eq!(
            answers,
            [
                Answer::Yes,
                Answer::Yes,
                Answer::No,
                Answer::No,
                Answer::Details,
                Answer::Details,
                Answer::Other
            ]
        );
        assert_eq!(Answer::of(None), Answer::No, "the input has ended");
    }
}
