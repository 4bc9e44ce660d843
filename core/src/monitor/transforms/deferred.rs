//! Registrations that are claimed after their transforms, and after the resources that they refer to.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use tokio_util::sync::CancellationToken;

use super::{
    Announcement, Lineage, Place, ResourceTransform, TransformArgs, TransformList, Transforms, dependencies,
    is_local_component, references,
};
use crate::{
    callback::{overdue, unless_panicked},
    error::{Error, ErrorKind, Result as LibraryResult},
    executor::AbandonedCall,
    generator::RunEnded,
    monitor::{
        Monitor, Registered, Registration, WireStatus,
        check::{check, check_type},
        in_flight::Flight,
        register::Refused,
    },
    provider::ProviderStatus,
    urn::Urn,
};

/// A registration that is claimed later: its place among others, and its transforms at the time of its arrival.
pub(in crate::monitor) struct Deferred {
    announcement: Announcement,
    /// Its own transforms.
    own: TransformList,
    /// The request itself has transforms.
    given: bool,
    /// Those of the stack.
    stack: Arc<TransformList>,
}

impl Transforms {
    /// Announces a registration with its URN, and takes its transforms.
    fn defer(&self, registration: &mut Registration, urn: Urn) -> Deferred {
        self.in_use.store(true, Ordering::Release);
        let mut own = std::mem::take(&mut registration.transforms);
        let given = !own.is_empty();
        let mut state = self.state();
        if is_local_component(registration)
            && let Some(pending) = state.pending.remove(&Place::of(registration))
        {
            own = pending;
        }
        Deferred {
            // A remote component is claimed by the registration of its provider.
            announcement: self.announced.announce((!registration.remote).then_some(urn)),
            own,
            given,
            stack: Arc::clone(&state.stack),
        }
    }
}

impl Monitor {
    /// Returns whether a registration is claimed later: because of transforms, or because it refers to another one that
    /// is. Its parent is completed for that.
    pub(in crate::monitor) fn is_deferred(&self, registration: &mut Registration) -> bool {
        let transforms = &self.0.transforms;
        if registration.transforms.is_empty() && !transforms.in_use() {
            return false;
        }
        self.place(registration);
        transforms.concern(registration)
    }

    /// The part of a deferred registration that must happen in the order of arrival.
    pub(in crate::monitor) fn defer(
        &self,
        registration: &mut Registration,
    ) -> Result<(Flight, Deferred), Refused> {
        let flight = self.enter("sending resource registration")?;
        check_type(registration)?;
        let urn = self.urn_of(registration);
        Ok((flight, self.0.transforms.defer(registration, urn)))
    }

    /// Transforms and claims a deferred registration, and brings the resource to its goal.
    pub(in crate::monitor) async fn register_deferred(
        &self,
        mut registration: Box<Registration>,
        deferred: Deferred,
        flight: Flight,
    ) -> Result<Registered, WireStatus> {
        let claimed = match self.transform(&mut registration, &deferred).await {
            Ok(_) if registration.remote => Ok(None),
            Ok(lineage) => self.claim_registration(&mut registration, lineage).map(Some),
            Err(refused) => Err(refused),
        };
        // Those that wait for the claim can continue, also when it failed.
        drop(deferred);
        match claimed {
            Ok(Some((claim, goal))) => self.apply(registration, flight, claim, goal).await,
            Ok(None) => self.construct(registration, flight).await,
            Err(refused) => {
                drop(flight);
                Err(self.refused(refused).await)
            }
        }
    }

    /// Waits for the ends of announcements.
    pub(in crate::monitor) async fn until_claimed(
        &self,
        ends: Vec<CancellationToken>,
    ) -> Result<(), Refused> {
        for end in ends {
            tokio::select! {
                biased;
                () = end.cancelled() => {}
                () = self.0.generator.executor().control().stopped() => {
                    return Err(Refused::Unanswered(RunEnded));
                }
            }
        }
        Ok(())
    }

    /// Runs the transforms of a registration, and waits for the claims of all that it refers to then. Returns the
    /// lineage of its children.
    async fn transform(
        &self,
        registration: &mut Registration,
        deferred: &Deferred,
    ) -> Result<Option<Arc<Lineage>>, Refused> {
        self.until_claimed(deferred.announcement.earlier(registration.parent.iter()))
            .await?;
        let parents = &self.0.parents;
        self.inheriting(registration, |registration| {
            parents.complete_options(registration);
        });
        let transforms = &self.0.transforms;
        let above = transforms.lineage(registration.parent.as_ref());
        if !deferred.own.is_empty() || above.is_some() || !deferred.stack.is_empty() {
            let above = above.as_deref();
            Box::pin(self.run_transforms(registration, deferred, above)).await?;
        }
        self.0.parents.complete_providers(registration);
        if registration.remote && deferred.given {
            transforms.hand_over(registration, deferred.own.clone());
        }
        // Transforms may have added references.
        self.refer(registration);
        self.until_claimed(deferred.announcement.earlier(references(registration)))
            .await?;
        check(registration)?;
        Ok(Lineage::below(above, &registration.name, deferred.own.clone()))
    }

    /// Runs the transforms: the resource's own, those of the resources above it from the nearest to the furthest, and
    /// those of the stack.
    async fn run_transforms(
        &self,
        registration: &mut Registration,
        deferred: &Deferred,
        above: Option<&Lineage>,
    ) -> Result<(), Refused> {
        let listed = dependencies::listed(registration);
        if deferred.given {
            let inputs = std::mem::take(&mut registration.inputs);
            registration.inputs = dependencies::embed(inputs, &listed);
        }
        let mut args = TransformArgs::take_from(registration, !deferred.given);
        for (index, transform) in deferred.own.iter().enumerate() {
            self.run_transform(transform, &mut args, Source::Own(index))
                .await?;
        }
        for (name, transforms) in above.into_iter().flat_map(Lineage::iter) {
            for (index, transform) in transforms.iter().enumerate() {
                let source = Source::Above(index, name);
                self.run_transform(transform, &mut args, source).await?;
            }
        }
        for (index, transform) in deferred.stack.iter().enumerate() {
            self.run_transform(transform, &mut args, Source::Stack(index))
                .await?;
        }
        let inputs = args.put_into(registration);
        self.learn(&inputs);
        if let Some(trigger) = &registration.options.replacement_trigger {
            self.redactor().learn_value(trigger);
        }
        dependencies::rebuild(registration, inputs, listed, deferred.given);
        Ok(())
    }

    async fn run_transform(
        &self,
        transform: &Arc<dyn ResourceTransform>,
        args: &mut TransformArgs,
        source: Source<'_>,
    ) -> Result<(), Refused> {
        let what = || format!("{source} resource '{}'", args.name);
        let urn = self.urn_below(args.parent.as_ref(), &args.resource_type, &args.name);
        let changed = self
            .call_transform(transform.transform(args.clone()), Some(&urn), what)
            .await?;
        if let Some(changed) = changed {
            // Before the next transform, whose failure may quote them.
            self.learn(&changed.inputs);
            args.change(changed);
        }
        Ok(())
    }

    /// Awaits a transform, until the run is stopped; `what` names it in errors, and `urn` is the resource that it changes. It may wait for other resources: the time in
    /// which the run works on these does not count towards its limit.
    pub(super) async fn call_transform<T>(
        &self,
        call: impl Future<Output = LibraryResult<T>>,
        urn: Option<&Urn>,
        what: impl Fn() -> String,
    ) -> Result<T, Refused> {
        let executor = self.0.generator.executor();
        let limit = executor.options().callback_timeout;
        let result = tokio::select! {
            biased;
            result = executor.activity().within(limit, unless_panicked(call)) => {
                result.unwrap_or_else(|| Err(overdue(limit)))
            }
            () = executor.control().stopped() => {
                let text = format!("{} did not return", what());
                executor.control().abandon(AbandonedCall::of_function(text, "transform", urn));
                return Err(Refused::Unanswered(RunEnded));
            }
            () = self.0.closed.cancelled() => {
                return Err(WireStatus::shut_down("waiting on step's done channel").into());
            }
        };
        result.map_err(|error| {
            let code = match error.kind() {
                ErrorKind::InvalidInput => ProviderStatus::InvalidArgument,
                _ => ProviderStatus::Unknown,
            };
            let text = format!("invoke transform: {}: {}", what(), error.text().reference());
            let refusal = Error::new(error.kind(), text.as_str())
                .with_phase("transform")
                .with_source(error);
            self.0.transforms.keep_refusal(match urn {
                Some(urn) => refusal.with_urn(urn.clone()),
                None => refusal,
            });
            WireStatus::new(code, text).into()
        })
    }
}

/// A transform as errors name it: its position, and whose it is.
#[derive(Clone, Copy)]
enum Source<'a> {
    Own(usize),
    /// Of the resource of this name above.
    Above(usize, &'a str),
    Stack(usize),
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(index) => write!(formatter, "transform {} of", index + 1),
            Self::Above(index, name) => write!(formatter, "transform {} of '{name}' for", index + 1),
            Self::Stack(index) => write!(formatter, "transform {} of the stack for", index + 1),
        }
    }
}
