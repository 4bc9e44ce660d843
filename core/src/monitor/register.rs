//! Registrations of the typed API.

use std::{future::Future, sync::Arc};

use futures::future::Either;

use crate::{
    error::Error,
    generator::{ClaimGuard, References, RegisterOutcome, RunEnded},
    monitor::{
        Monitor, Registered, Registration, Start, WireStatus, check::check, defaults::ProviderUse,
        goal::goal_of, in_flight::Flight, transforms::Lineage,
    },
    property::{PropertyMap, Survey, hash::fill_hashes},
    resource::{Goal, PropertyDependencies},
    token::TypeToken,
    urn::{ROOT_STACK_TYPE, Urn},
};

impl Monitor {
    /// Registers a resource and brings it to its goal.
    ///
    /// The URN is claimed in this call, not when the future is polled: the order of calls decides. The work is a
    /// separate task, which continues when the future is dropped, because its effects must be recorded.
    ///
    /// A registration with transforms claims its URN after these. Later calls can refer to it all the same, by the URN
    /// that it will have: they wait until it is claimed.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid registration; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// The registration continues when the future is dropped.
    pub fn register(
        &self,
        registration: Registration,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        self.learn(&registration.inputs);
        if let Some(trigger) = &registration.options.replacement_trigger {
            self.redactor().learn_value(trigger);
        }
        let mut registration = Box::new(registration);
        let named = self
            .name_package(&mut registration.package)
            .map_err(Refused::Invalid);
        if self.is_deferred(&mut registration) {
            let work = named
                .and_then(|()| self.defer(&mut registration))
                .map(|(flight, deferred)| {
                    let monitor = self.clone();
                    async move { monitor.register_deferred(registration, deferred, flight).await }
                });
            // Not on the calling thread: transforms may need the thread of the program.
            let spawning = Self(Arc::clone(&self.0), Start::Spawned);
            return Either::Left(Either::Left(spawning.spawn_work(work)));
        }
        if registration.remote {
            let work = named
                .and_then(|()| self.prepare_remote(&mut registration))
                .map(|flight| {
                    let monitor = self.clone();
                    async move { monitor.construct(registration, flight).await }
                });
            return Either::Left(Either::Right(self.spawn_work(work)));
        }
        let work = named.and_then(|()| self.prepare(&mut registration));
        let work = work.map(|(flight, claim, goal)| self.apply(registration, flight, claim, goal));
        Either::Right(self.spawn_work(work))
    }

    /// Brings a claimed resource to its goal, and returns the answer.
    pub(super) fn apply(
        &self,
        registration: Box<Registration>,
        flight: Flight,
        claim: ClaimGuard,
        goal: Box<Goal>,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        let monitor = self.clone();
        async move {
            // Very many run concurrently: the generator's future must not contain the memory of the completion.
            let (claim, goal) = match monitor.complete(registration, claim, goal).await {
                Ok(Completed::Ready(claim, goal)) => (claim, goal),
                Ok(Completed::Skipped(outcome)) => return monitor.answer(Ok(outcome), flight).await,
                Err(refused) => return monitor.answer(Err(refused), flight).await,
            };
            let outcome = monitor.0.generator.register(claim, goal).await;
            monitor.answer(outcome.map_err(Refused::Unanswered), flight).await
        }
    }

    /// Starts the work of an accepted request, and returns its result.
    pub(super) fn spawn_work<T, W>(
        &self,
        work: Result<W, Refused>,
    ) -> impl Future<Output = Result<T, WireStatus>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, WireStatus>> + Send + 'static,
    {
        let monitor = self.clone();
        let spawner = &self.runtime().spawner;
        let work = work.map(|work| match self.1 {
            Start::Spawned => spawner.spawn(work),
            Start::Inline => spawner.begin(work),
        });
        async move {
            match work {
                Ok(task) => task
                    .await
                    .unwrap_or_else(|error| Err(WireStatus::internal(&error))),
                Err(refused) => Err(monitor.refused(refused).await),
            }
        }
    }

    /// Returns the status of a request that failed.
    pub(super) async fn refused(&self, refused: Refused) -> WireStatus {
        match refused {
            Refused::Invalid(status) => status,
            Refused::Unanswered(RunEnded) => self.unanswered("waiting on step's done channel").await,
            Refused::OutputsAfterRunEnded => self.unanswered("waiting on output step's done channel").await,
        }
    }

    /// Accepts a request that is `doing` something, unless no more are accepted.
    pub(super) fn enter(&self, doing: &str) -> Result<Flight, Refused> {
        if self.is_closed() {
            return Err(Refused::Invalid(WireStatus::shut_down(doing)));
        }
        let executor = self.0.generator.executor();
        executor.activity().touch();
        let ending = executor.control().is_stopped();
        self.0.in_flight.enter().ok_or_else(|| {
            if ending {
                Refused::Unanswered(RunEnded)
            } else {
                Refused::Invalid(WireStatus::shut_down(doing))
            }
        })
    }

    /// The part of a registration that must happen in the order of arrival.
    fn prepare(&self, registration: &mut Registration) -> Result<(Flight, ClaimGuard, Box<Goal>), Refused> {
        let flight = self.enter("sending resource registration")?;
        check(registration)?;
        self.inherit(registration);
        let (claim, goal) = self.claim_registration(registration, None)?;
        Ok((flight, claim, goal))
    }

    /// Claims the URN of a complete registration; `lineage` has the transforms of everything below it.
    pub(super) fn claim_registration(
        &self,
        registration: &mut Registration,
        lineage: Option<Arc<Lineage>>,
    ) -> Result<(ClaimGuard, Box<Goal>), Refused> {
        let transforms = &self.0.transforms;
        if transforms.in_use() {
            // Output values are kept for transforms only.
            registration.inputs = std::mem::take(&mut registration.inputs).collapse_outputs();
        }
        let goal = Box::new(goal_of(registration));
        self.0
            .generator
            .expect_provider(|| self.0.defaults.default_asked_for(registration));
        let claim = self.claim(&goal)?;
        if !goal.custom {
            self.0.generator.executor().component_registered(claim.urn());
        }
        // A child whose parent's URN was computed can be registered next.
        self.0.parents.record(claim.urn(), registration, &goal);
        if transforms.in_use() {
            transforms.record(claim.urn(), lineage);
        }
        if goal.resource_type.as_str() == ROOT_STACK_TYPE && goal.parent.is_none() {
            self.set_root(claim.urn().clone());
        }
        Ok((claim, goal))
    }

    /// The same for a remote component, which claims no URN: its provider registers it.
    fn prepare_remote(&self, registration: &mut Registration) -> Result<Flight, Refused> {
        let flight = self.enter("sending resource registration")?;
        check(registration)?;
        self.inherit(registration);
        Ok(flight)
    }

    pub(super) fn claim(&self, goal: &Goal) -> Result<ClaimGuard, Refused> {
        self.0.generator.claim(goal).map_err(Refused::Unanswered)
    }

    /// Completes a registration with its parent, and with the options that it inherits from that.
    pub(super) fn inherit(&self, registration: &mut Registration) {
        self.place(registration);
        self.inheriting(registration, |registration| {
            self.0.parents.complete(registration);
        });
    }

    /// Completes a registration with its parent.
    pub(super) fn place(&self, registration: &mut Registration) {
        self.refer(registration);
        let is_root = registration.resource_type.as_str() == ROOT_STACK_TYPE;
        if registration.parent.is_none() && !registration.no_parent && !is_root {
            registration.parent = self.root_stack();
        }
    }

    /// Makes the references of a registration those of the program.
    pub(super) fn refer(&self, registration: &mut Registration) {
        self.0.generator.refer_to_registered(References {
            parent: &mut registration.parent,
            dependencies: &mut registration.dependencies,
            property_dependencies: registration.property_dependencies.as_mut(),
            options: &mut registration.options,
        });
    }

    pub(super) fn set_root(&self, urn: Urn) {
        self.0.root.get_or_init(|| urn);
    }

    /// Completes a goal with its provider and the hashes of its assets.
    async fn complete(
        &self,
        registration: Box<Registration>,
        claim: ClaimGuard,
        mut goal: Box<Goal>,
    ) -> Result<Completed, Refused> {
        if registration.custom && !registration.resource_type.is_provider() {
            let package = registration.resource_type.package().to_owned();
            let what = ProviderUse::Resource(claim.urn());
            let chosen = self
                .0
                .defaults
                .provider_for(&package, &registration.package, what);
            let Some(provider) = chosen.await? else {
                let skipped = self.0.generator.skip(claim, &goal).map_err(Refused::Unanswered)?;
                return Ok(Completed::Skipped(skipped));
            };
            goal.provider = provider.text;
            goal.extension = self.0.defaults.extension_of(&registration.package)?;
            if registration.package.provider.is_empty() {
                // Children inherit this provider.
                self.0.parents.record_found(claim.urn(), &goal.provider);
            }
        }
        if let Some(package) = registration.resource_type.provided_package() {
            let mut settings = self.0.defaults.settings_of(package, &registration.package)?;
            self.refuse_provider_of_extension(&registration, package, &settings.package)?;
            self.0.defaults.complete_explicit(&mut settings);
            settings.environment.clone_from(&registration.env_var_mappings);
            goal.inputs = settings.write(std::mem::take(&mut goal.inputs));
        }
        goal.inputs = self
            .inspect_assets("inputs", std::mem::take(&mut goal.inputs), claim.urn())
            .await?;
        if let Some(trigger) = &goal.options.replacement_trigger {
            let inspected = self
                .0
                .generator
                .executor()
                .sanitizer()
                .inspect_value("replacementTrigger", trigger);
            inspected.map_err(WireStatus::invalid)?;
        }
        Ok(Completed::Ready(claim, goal))
    }

    /// Registers the secrets in values of the program with the redactor.
    pub(super) fn learn(&self, values: &PropertyMap) {
        if values.contains_secrets() {
            values
                .values()
                .for_each(|value| self.redactor().learn_value(value));
        }
    }

    /// Inspects values of the program; returns which special values they hold.
    pub(super) fn inspect(&self, label: &str, values: &PropertyMap) -> Result<Survey, Refused> {
        let inspected = self.0.generator.executor().sanitizer().inspect(label, values);
        inspected.map_err(|fault| Refused::Invalid(WireStatus::invalid(fault)))
    }

    /// Inspects values of the program, and adds the missing hashes of assets and archives.
    /// Errors name the resource.
    pub(super) async fn inspect_assets(
        &self,
        label: &str,
        values: PropertyMap,
        urn: &Urn,
    ) -> Result<PropertyMap, Refused> {
        if !self.inspect(label, &values)?.assets {
            return Ok(values);
        }
        // Boxed: rare, and would otherwise enlarge the future of every registration.
        let hashed = Box::pin(self.with_hashes(values)).await?;
        hashed.map_err(|error| {
            let text = format!("{label} of {urn}: {}", error.message());
            Refused::Invalid(WireStatus::invalid(text))
        })
    }

    async fn with_hashes(&self, values: PropertyMap) -> Result<Result<PropertyMap, Error>, Refused> {
        let directory = self.0.run.root_directory.clone().unwrap_or_default();
        let spawner = &self.0.generator.executor().runtime().spawner;
        tokio::select! {
            biased;
            hashed = fill_hashes(values, &directory, spawner, Some(&*self.0.fetch)) => Ok(hashed),
            // A file system can hang.
            () = self.0.generator.executor().terminated() => Err(Refused::Unanswered(RunEnded)),
        }
    }

    /// Ends a request, and converts its outcome to its answer.
    pub(super) async fn answer(
        &self,
        outcome: Result<RegisterOutcome, Refused>,
        flight: Flight,
    ) -> Result<Registered, WireStatus> {
        drop(flight);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(refused) => return Err(self.refused(refused).await),
        };
        let state = outcome.state;
        let known = outcome.succeeded && !outcome.unknown;
        Ok(Registered {
            urn: state.urn.clone(),
            id: if known {
                state.id.clone()
            } else {
                crate::token::ResourceId::default()
            },
            // A component's recorded outputs are not returned: it registers them again.
            outputs: if known && state.custom {
                state.outputs.clone()
            } else {
                PropertyMap::new()
            },
            output_dependencies: PropertyDependencies::new(),
            unknown: outcome.unknown,
            failed: !outcome.succeeded,
            skipped: outcome.skipped,
        })
    }

    /// Registers the root stack, for programs without an SDK; further calls return the same one.
    ///
    /// # Errors
    /// As [`Self::register`].
    ///
    /// # Cancel safety
    /// The registration continues when the future is dropped.
    pub async fn register_root_stack(&self) -> Result<Urn, WireStatus> {
        if let Some(urn) = self.root_stack() {
            return Ok(urn);
        }
        let run = &self.0.run;
        let registration = Registration {
            resource_type: TypeToken::from(ROOT_STACK_TYPE),
            name: format!("{}-{}", run.project, run.stack),
            ..Registration::default()
        };
        let urn = self.register(registration).await?.urn;
        drop(self.0.own_root.set(urn.clone()));
        Ok(urn)
    }

    /// Publishes the outputs of a component, or of the root stack.
    ///
    /// # Errors
    /// `InvalidArgument` for an asset that cannot be read; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// The outputs are published also when the future is dropped.
    pub fn register_outputs(
        &self,
        urn: &Urn,
        outputs: PropertyMap,
    ) -> impl Future<Output = Result<(), WireStatus>> + Send + use<> {
        self.learn(&outputs);
        let work = self.enter("sending resource outputs").map(|flight| {
            let (monitor, urn) = (self.clone(), urn.clone());
            async move {
                let published = async {
                    let outputs = monitor.inspect_assets("outputs", outputs, &urn).await?;
                    let published = monitor.0.generator.register_outputs(&urn, outputs).await;
                    published.map_err(Refused::Unanswered)
                };
                let published = published.await;
                drop(flight);
                match published {
                    Ok(()) => Ok(()),
                    Err(refused) => Err(monitor.refused(refused.of_outputs()).await),
                }
            }
        });
        self.spawn_work(work.map_err(Refused::of_outputs))
    }
}

/// A completed registration.
enum Completed {
    /// It has its provider.
    Ready(ClaimGuard, Box<Goal>),
    /// Its provider failed, and the run continues without it.
    Skipped(RegisterOutcome),
}

/// Why a request fails.
pub(super) enum Refused {
    /// It is invalid.
    Invalid(WireStatus),
    /// The run is ending.
    Unanswered(RunEnded),
    /// The run is ending, and the request was to publish outputs.
    OutputsAfterRunEnded,
}

impl Refused {
    /// Marks the request as one that publishes outputs.
    fn of_outputs(self) -> Self {
        match self {
            Self::Unanswered(RunEnded) => Self::OutputsAfterRunEnded,
            refused => refused,
        }
    }
}

impl From<WireStatus> for Refused {
    fn from(status: WireStatus) -> Self {
        Self::Invalid(status)
    }
}
