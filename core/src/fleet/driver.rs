//! Runs a set: takes the turns of the schedule, and answers the stacks that read others.

use std::{sync::Arc, time::Duration};

use futures::{
    StreamExt as _,
    future::BoxFuture,
    stream::{FuturesOrdered, FuturesUnordered},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    FleetResult, StackEnd,
    peers::{Answer, Message, Places, Request},
    references::recorded_references,
    schedule::{Cycle, Need, Place, Reason, Schedule, Turn, Wait},
    wording::{cycle_error, outside, skip_error},
};
use crate::{
    error::{Error, ErrorKind, Result},
    event::OperationOutcome,
    operation::{Operation, OperationKind, OperationResult, StackContext, Unstarted},
    property::PropertyMap,
    runtime::Runtime,
    store::StackName,
};

/// How many states are read at a time.
const READS: usize = 16;

/// A stack of the set.
pub(super) struct Member {
    context: Arc<StackContext>,
    depends_on: Vec<String>,
    is_preview: bool,
    unstarted: Option<Unstarted>,
    operation: Operation,
    ended: Option<Arc<OperationResult>>,
    is_skipped: bool,
}

impl Member {
    pub(super) fn new(
        context: Arc<StackContext>,
        depends_on: Vec<String>,
        is_preview: bool,
        unstarted: Unstarted,
        operation: Operation,
    ) -> Self {
        Self {
            context,
            depends_on,
            is_preview,
            unstarted: Some(unstarted),
            operation,
            ended: None,
            is_skipped: false,
        }
    }

    fn name(&self) -> &StackName {
        self.context.storage.name()
    }

    /// Ends the operation, which does not begin.
    fn skip(&mut self, error: Error) {
        if let Some(unstarted) = self.unstarted.take() {
            unstarted.skip(error);
            self.is_skipped = true;
            self.ended = self.operation.result();
        }
    }
}

/// The operations that run.
type Running = FuturesUnordered<BoxFuture<'static, (Place, Arc<OperationResult>)>>;

/// Runs a set.
pub(super) struct Driver {
    pub(super) kind: OperationKind,
    pub(super) runtime: Runtime,
    pub(super) max_stacks: usize,
    pub(super) places: Arc<Places>,
    pub(super) members: Vec<Member>,
    /// The requests that are not answered.
    pub(super) requests: Vec<Request>,
    pub(super) inbox: mpsc::UnboundedReceiver<Message>,
    pub(super) cancelled: CancellationToken,
}

impl Driver {
    /// Runs the set to its end, unless it is refused.
    pub(super) async fn run(mut self, accepted: Result<()>) -> FleetResult {
        let began = self.runtime.clock.elapsed();
        let refusal = match self.schedule(accepted).await {
            Ok(schedule) => {
                self.run_schedule(schedule).await;
                None
            }
            Err(refusal) => {
                for member in &mut self.members {
                    member.skip(refusal.clone());
                }
                Some(refusal)
            }
        };
        self.conclude(refusal, began)
    }

    /// Orders the stacks.
    async fn schedule(&self, accepted: Result<()>) -> Result<Schedule> {
        accepted?;
        let mut needs = self.stated()?;
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => {}
            recorded = self.recorded() => needs.extend(recorded?),
        }
        if self.kind == OperationKind::Destroy {
            for need in &mut needs {
                (need.stack, need.before) = (need.before, need.stack);
            }
        }
        Schedule::new(self.members.len(), &needs, self.max_stacks).map_err(|cycle| self.cycle_error(&cycle))
    }

    /// Returns the needs that the caller states.
    fn stated(&self) -> Result<Vec<Need>> {
        let mut needs = Vec::new();
        for (stack, member) in self.members.iter().enumerate() {
            for text in &member.depends_on {
                let name = member.context.referred_stack(text)?;
                let Some(before) = self.places.get(&name).copied() else {
                    return Err(outside(member.name(), &name));
                };
                let reason = Reason::Stated;
                needs.push(Need {
                    stack,
                    before,
                    reason,
                });
            }
        }
        Ok(needs)
    }

    /// Returns the needs that the recorded states have.
    async fn recorded(&self) -> Result<Vec<Need>> {
        let tasks = self.members.iter().map(|member| {
            let context = Arc::clone(&member.context);
            let spawner = &self.runtime.spawner;
            async move {
                spawner
                    .spawn(async move { recorded_references(&context).await })
                    .await
                    .flatten()
            }
        });
        let mut waiting = tasks.enumerate();
        let mut reading: FuturesOrdered<_> = waiting.by_ref().take(READS).map(tagged).collect();
        let mut needs = Vec::new();
        while let Some((stack, read)) = reading.next().await {
            reading.extend(waiting.next().map(tagged));
            let names = match read {
                Ok(names) => names,
                // Its own operation reports the error.
                Err(_) if self.kind != OperationKind::Destroy => continue,
                Err(error) => {
                    let error = error.of_stack(self.members[stack].name());
                    return Err(error.with_hint(
                        "nothing was destroyed: the order is not known without the references of each stack",
                    ));
                }
            };
            let others = names.iter().filter_map(|name| self.places.get(name));
            needs.extend(others.filter(|other| **other != stack).map(|before| Need {
                stack,
                before: *before,
                reason: Reason::Recorded,
            }));
        }
        Ok(needs)
    }

    async fn run_schedule(&mut self, mut schedule: Schedule) {
        let mut running = Running::new();
        let mut was_cancelled = false;
        loop {
            if self.cancelled.is_cancelled() && !was_cancelled {
                was_cancelled = true;
                schedule.cancel();
            }
            while let Some(turn) = schedule.next() {
                self.take(turn, &schedule, &running);
            }
            if schedule.is_over() {
                return;
            }
            tokio::select! {
                biased;
                () = self.cancelled.cancelled(), if !was_cancelled => {}
                Some(message) = self.inbox.recv() => self.receive(message, &mut schedule),
                Some((stack, result)) = running.next() => {
                    schedule.ended(stack, result.error.is_none());
                    self.members[stack].ended = Some(result);
                }
            }
        }
    }

    fn take(&mut self, turn: Turn, schedule: &Schedule, running: &Running) {
        match turn {
            Turn::Start(stack) => {
                let member = &mut self.members[stack];
                if let Some(unstarted) = member.unstarted.take() {
                    unstarted.start();
                    let operation = member.operation.clone();
                    running.push(Box::pin(async move { (stack, operation.wait().await) }));
                }
            }
            Turn::Resume(stack) => {
                let requests = std::mem::take(&mut self.requests);
                for request in requests {
                    match schedule.ended_wait(request.other) {
                        Some(wait) if request.stack == stack => {
                            let answer = self.answer(&wait, request.other);
                            // The stack may wait no longer.
                            drop(request.answer.send(answer));
                        }
                        _ => self.requests.push(request),
                    }
                }
            }
            Turn::Skip { stack, because } => {
                let error = self.skip_error(stack, because);
                self.members[stack].skip(error);
            }
        }
    }

    fn receive(&mut self, message: Message, schedule: &mut Schedule) {
        match message {
            Message::Requested(request) => match schedule.wait(request.stack, request.other) {
                Wait::Begun => {
                    request.report(self.members[request.other].name());
                    self.requests.push(request);
                }
                over => {
                    let answer = self.answer(&over, request.other);
                    drop(request.answer.send(answer));
                }
            },
            Message::GivenUp { stack, other } => {
                schedule.give_up(stack, other);
                self.requests.retain(|request| !request.answer.is_closed());
            }
        }
    }

    /// Returns the answer to a stack that reads `other`.
    fn answer(&self, wait: &Wait, other: Place) -> Answer {
        let name = self.members[other].name();
        match wait {
            Wait::Over | Wait::Begun => Ok(self.unrecorded_outputs(other)),
            Wait::Failed(failed) if *failed == other => {
                Err(Error::new(ErrorKind::Failed, self.failure(other)))
            }
            Wait::Failed(failed) => {
                let text = format!("the stack '{name}' did not begin: {}", self.failure(*failed));
                Err(Error::new(ErrorKind::Failed, text))
            }
            Wait::Cancelled => {
                let text = format!("the stack '{name}' did not begin: the set was cancelled");
                Err(Error::new(ErrorKind::Cancelled, text))
            }
            Wait::Cycle(cycle) => Err(self.cycle_error(cycle)),
        }
    }

    /// Returns the outputs of a stack that the store does not have.
    fn unrecorded_outputs(&self, stack: Place) -> Option<PropertyMap> {
        let member = &self.members[stack];
        let is_unrecorded = member.is_preview || member.context.is_supplied;
        let ended = member.ended.as_ref().filter(|_| is_unrecorded)?;
        Some(ended.outputs.clone())
    }

    /// States that a stack has not succeeded.
    fn failure(&self, stack: Place) -> String {
        let member = &self.members[stack];
        let name = member.name();
        match member.ended.as_ref().map(|result| result.outcome) {
            Some(OperationOutcome::Canceled) => format!("the stack '{name}' was cancelled"),
            _ => format!("the stack '{name}' has failed"),
        }
    }

    fn skip_error(&self, stack: Place, because: Option<Place>) -> Error {
        let member = &self.members[stack];
        let reason = match because {
            None => "the set was cancelled".to_owned(),
            Some(failed) => self.failure(failed),
        };
        skip_error(self.kind, member.is_preview, member.name(), &reason)
    }

    fn cycle_error(&self, cycle: &Cycle) -> Error {
        cycle_error(self.kind, cycle, |place| self.members[place].name())
    }

    fn conclude(self, refusal: Option<Error>, began: Duration) -> FleetResult {
        let duration = self.runtime.clock.elapsed().saturating_sub(began);
        let was_cancelled = self.cancelled.is_cancelled();
        let stacks = self.members.into_iter().filter_map(|member| {
            Some(StackEnd {
                name: member.context.storage.name().clone(),
                result: member.ended?,
                is_skipped: member.is_skipped,
            })
        });
        FleetResult::new(stacks.collect(), refusal, was_cancelled, duration)
    }
}

/// Returns a future with its number.
async fn tagged<T>((number, future): (usize, impl Future<Output = T>)) -> (usize, T) {
    (number, future.await)
}
