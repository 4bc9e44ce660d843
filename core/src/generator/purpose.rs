//! What the registrations of a run are for, and what becomes of one in a run that only reads or only removes.

use std::ops::ControlFlow;

use crate::{
    generator::{Generator, RegisterOutcome, Unanswered, planned::done, register::dependencies_of},
    resource::Goal,
    state::StateRef,
    urn::Urn,
};

/// What the registrations of a run are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Every resource is brought to what the program says.
    #[default]
    Update,
    /// Every resource is read. Components and providers are brought to what the program says, since others need them.
    Refresh,
    /// Every resource is deleted at the end, providers and components included, which the program has just completed.
    Destroy,
}

/// What a registration goes on with: its record as it is now, unless it is answered already.
pub(super) type Approached = ControlFlow<RegisterOutcome, Option<StateRef>>;

impl Generator {
    /// Tells whether registrations are more than goals to be reached.
    pub(super) fn deviates(&self) -> bool {
        self.options.refreshes || self.options.purpose != Purpose::Update
    }

    /// Tells whether registrations may be answered without a record of their own.
    pub(super) fn may_leave_out(&self) -> bool {
        self.deviates() || self.options.targeting.is_some()
    }

    /// Reads a registered record where the run asks for that, and answers the registrations that are no goals.
    pub(super) async fn approach(
        &self,
        urn: &Urn,
        mut old: Option<StateRef>,
        goal: &Goal,
    ) -> Result<Approached, Unanswered> {
        if self.options.purpose == Purpose::Refresh {
            self.keep_needs(urn, old.as_ref(), goal).await?;
        }
        if self.options.refreshes
            && let Some(record) = old
        {
            old = match self.refresh_registered(urn, record, goal).await? {
                ControlFlow::Continue(record) => record,
                answered => return Ok(answered),
            };
        }
        match self.options.purpose {
            Purpose::Update => Ok(ControlFlow::Continue(old)),
            Purpose::Refresh => self.answer_with_refreshed(urn, old, goal).await,
            Purpose::Destroy => self.keep_until_the_end(urn, old, goal).await,
        }
    }

    /// Sees to it that no component or provider comes to need what is only read, and so needs it as it was recorded.
    async fn keep_needs(&self, urn: &Urn, old: Option<&StateRef>, goal: &Goal) -> Result<(), Unanswered> {
        match old {
            Some(old) if is_managed(goal) => {
                self.claims.leave_out(urn, old, &self.base);
                Ok(())
            }
            _ => self.refuse_circles(urn, old, &dependencies_of(goal)).await,
        }
    }

    /// Answers what a provider manages, or what needs something that does not exist, with the record as it was read.
    async fn answer_with_refreshed(
        &self,
        urn: &Urn,
        old: Option<StateRef>,
        goal: &Goal,
    ) -> Result<Approached, Unanswered> {
        if !is_managed(goal) && !self.needs_skipped(goal) {
            return Ok(ControlFlow::Continue(old));
        }
        let outcome = match old {
            Some(old) => {
                self.claims.leave_unrecorded(urn);
                done(old.state)
            }
            None => self.skip_create(urn, goal, None).await?,
        };
        Ok(ControlFlow::Break(outcome))
    }
}

/// Tells whether a package's provider manages what the goal asks for.
pub(super) fn is_managed(goal: &Goal) -> bool {
    goal.custom && !goal.resource_type.is_provider()
}
