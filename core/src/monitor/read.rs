//! Reads of the typed API.

use std::future::Future;

use futures::future::Either;
use tokio_util::sync::CancellationToken;

use crate::{
    generator::{ClaimGuard, RegisterOutcome},
    monitor::{
        Monitor, PackageChoice, Read, Registered, Registration, WireStatus, defaults::ProviderUse,
        goal::goal_of, in_flight::Flight, register::Refused,
    },
    resource::{Goal, PropertyDependencies, ResourceOptions},
};

/// Who chooses the provider of a read that names none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// The parent hands down its own, as to a registration.
    Parent,
    /// The program has chosen the default provider: an SDK knows the providers of the parent.
    Program,
}

impl Monitor {
    /// Reads a resource without managing it. One that names no provider has that of its parent for the package, as a
    /// registration has.
    ///
    /// # Errors
    /// As [`Self::register`].
    ///
    /// # Cancel safety
    /// The read continues when the future is dropped.
    pub fn read(&self, read: Read) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        self.read_by(read, Choice::Parent)
    }

    /// As [`Self::read`], for an SDK: it names the provider of the parent itself.
    pub(super) fn read_as_named(
        &self,
        read: Read,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        self.read_by(read, Choice::Program)
    }

    fn read_by(
        &self,
        read: Read,
        choice: Choice,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        self.learn(&read.inputs);
        let awaited = self
            .0
            .transforms
            .announced(read.parent.iter().chain(&read.dependencies));
        if !awaited.is_empty() {
            return Either::Left(self.spawn_work(self.defer_read(read, choice, awaited)));
        }
        let work = self.enter("sending resource registration");
        Either::Right(self.spawn_work(work.and_then(|flight| self.begin_read(read, choice, flight))))
    }

    /// Claims the URN of a read, and returns its work.
    fn begin_read(
        &self,
        mut read: Read,
        choice: Choice,
        flight: Flight,
    ) -> Result<impl Future<Output = Result<Registered, WireStatus>> + Send + use<>, Refused> {
        self.name_package(&mut read.package)?;
        let (claim, goal, inherited) = self.prepare_read(&read)?;
        if choice == Choice::Parent {
            read.package = inherited;
        }
        let monitor = self.clone();
        Ok(async move {
            let outcome = monitor.read_claimed(read, claim, goal).await;
            monitor.answer(outcome, flight).await
        })
    }

    /// Announces a read that refers to resources whose URNs are not claimed yet; it claims its own after them.
    fn defer_read(
        &self,
        read: Read,
        choice: Choice,
        awaited: Vec<CancellationToken>,
    ) -> Result<impl Future<Output = Result<Registered, WireStatus>> + Send + use<>, Refused> {
        let flight = self.enter("sending resource registration")?;
        let monitor = self.clone();
        let urn = self.urn_below(read.parent.as_ref(), &read.resource_type, &read.name);
        let announcement = self.0.transforms.announce(urn);
        Ok(async move {
            let begun = match monitor.until_claimed(awaited).await {
                Ok(()) => monitor.begin_read(read, choice, flight),
                Err(refused) => {
                    drop(flight);
                    Err(refused)
                }
            };
            drop(announcement);
            match begun {
                Ok(work) => work.await,
                Err(refused) => Err(monitor.refused(refused).await),
            }
        })
    }

    async fn read_claimed(
        &self,
        read: Read,
        claim: ClaimGuard,
        mut goal: Box<Goal>,
    ) -> Result<RegisterOutcome, Refused> {
        let package = read.resource_type.package().to_owned();
        let what = ProviderUse::Read(claim.urn(), read.resource_type.as_str());
        let chosen = self.0.defaults.provider_for(&package, &read.package, what);
        let Some(provider) = chosen.await? else {
            return self.0.generator.skip(claim, &goal).map_err(Refused::Unanswered);
        };
        goal.provider = provider.text;
        goal.extension = self.0.defaults.extension_of(&read.package)?;
        self.inspect("inputs", &goal.inputs)?;
        let outcome = self.0.generator.read(claim, *goal, read.id).await;
        outcome.map_err(Refused::Unanswered)
    }

    /// Claims the URN of a read; returns its goal, and the choice of its provider after that of the parent.
    fn prepare_read(&self, read: &Read) -> Result<(ClaimGuard, Box<Goal>, PackageChoice), Refused> {
        if !read.resource_type.is_full() {
            return Err(Refused::Invalid(WireStatus::invalid(format!(
                "Type '{}' is not a valid type token (must have format '*:*:*')",
                read.resource_type
            ))));
        }
        let mut registration = Registration {
            resource_type: read.resource_type.clone(),
            name: read.name.clone(),
            custom: true,
            inputs: read.inputs.clone(),
            parent: read.parent.clone(),
            no_parent: read.no_parent,
            dependencies: read.dependencies.clone(),
            property_dependencies: Some(PropertyDependencies::new()),
            package: read.package.clone(),
            options: ResourceOptions {
                additional_secret_outputs: read.additional_secret_outputs.clone(),
                ..ResourceOptions::default()
            }
            .into(),
            source_position: read.source_position.clone(),
            stack_trace: read.stack_trace.clone(),
            ..Registration::default()
        };
        self.inherit(&mut registration);
        // Options of managed resources do not apply to a read.
        registration.protect = None;
        registration.retain_on_delete = None;
        registration.options.deleted_with = None;
        let mut goal = Box::new(goal_of(&mut registration));
        goal.property_dependencies = PropertyDependencies::new();
        let generator = &self.0.generator;
        generator.expect_provider(|| self.0.defaults.default_asked_for(&registration));
        let claim = self.claim(&goal)?;
        Ok((claim, goal, registration.package))
    }
}
