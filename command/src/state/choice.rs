//! The question for a resource, where a command line names none.

use stackwright::Stack;

use super::NO_URN;
use crate::{
    failure::{Failure, Result},
    printer::Printer,
    records::Deployment,
    session::Session,
};

/// Refuses a command line without a URN where no user can be asked for one.
pub(super) fn require_terminal(printer: Printer<'_>) -> Result {
    match printer.ask() {
        Some(_) => Ok(()),
        None => Err(Failure::new(NO_URN)),
    }
}

/// Lists the resources of a stack with numbers, and asks for the number of one, or for its URN. Copies that are pending deletion are left
/// out.
pub(super) async fn chosen(
    session: &Session<'_>,
    printer: Printer<'_>,
    stack: &Stack,
    question: &str,
) -> Result<String> {
    let ask = printer.ask().ok_or_else(|| Failure::new(NO_URN))?;
    let records = Deployment::read(session, stack, false).await?.resources;
    let urns: Vec<String> = records
        .into_iter()
        .filter(|record| !record.delete)
        .map(|record| record.urn)
        .collect();
    if urns.is_empty() {
        return Err(Failure::new("the stack has no resources"));
    }
    let width = urns.len().to_string().len();
    for (index, urn) in urns.iter().enumerate() {
        session
            .invocation
            .print(format!("  {:>width$}  {urn}", index + 1));
    }
    let answer = session.invocation.answer(ask, &format!("{question} ")).await?;
    let answer = answer.unwrap_or_default().trim().to_owned();
    if answer.is_empty() {
        return Err(Failure::declined());
    }
    let Ok(number) = answer.parse::<usize>() else {
        return Ok(answer);
    };
    let urn = number
        .checked_sub(1)
        .and_then(|index| urns.into_iter().nth(index));
    urn.ok_or_else(|| Failure::new(format!("there is no resource with the number {number}")))
}
