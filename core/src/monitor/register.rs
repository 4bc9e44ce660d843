//! Registering and reading resources through our own API.

use std::future::Future;

use smol_str::SmolStr;

use crate::{
    generator::{Claim, RegisterOutcome, Unanswered},
    monitor::{Monitor, Read, Registered, Registration, WireStatus, in_flight::Flight},
    property::{PropertyMap, hash::fill_hashes},
    resource::{Goal, PropertyDependencies},
    token::TypeToken,
    urn::{ROOT_STACK_TYPE, Urn},
};

impl Monitor {
    /// Registers a resource and brings it to its goal.
    ///
    /// The URN is claimed when this is called, not when the future is polled: calls are decided in their order.
    ///
    /// # Errors
    /// `InvalidArgument` for a registration that is wrong in itself; `Unavailable` when the run ended first.
    pub fn register(
        &self,
        registration: Registration,
    ) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        let monitor = self.clone();
        let flight = self.0.in_flight.enter();
        let mut registration = Box::new(registration);
        let prepared = self.prepare(&mut registration);
        // Boxed here, so that hosts hold a pointer to each of their many registrations, and move nothing but that.
        Box::pin(async move {
            let (claim, goal) = match prepared {
                Ok(prepared) => prepared,
                Err(Refused::Invalid(status)) => return Err(status),
                Err(Refused::Unanswered(reason)) => {
                    drop(flight);
                    return Err(monitor.unanswered(reason).await);
                }
            };
            monitor
                .finish_registration(registration, claim, goal, flight)
                .await
        })
    }

    /// All of a registration that must happen in the order of arrival.
    fn prepare(&self, registration: &mut Registration) -> Result<(Claim, Box<Goal>), Refused> {
        if self.is_closed() {
            return Err(Refused::Invalid(WireStatus::shut_down(
                "sending resource registration",
            )));
        }
        if registration.custom && !registration.resource_type.is_full() {
            return Err(Refused::Invalid(WireStatus::invalid(format!(
                "Type '{}' is not a valid type token (must have format '*:*:*')",
                registration.resource_type
            ))));
        }
        self.adopt(registration);
        let goal = Box::new(goal_of(registration));
        let claim = self.0.generator.claim(&goal).map_err(Refused::Unanswered)?;
        if goal.resource_type.as_str() == ROOT_STACK_TYPE && goal.parent.is_none() {
            self.set_root(claim.urn.clone());
        }
        Ok((claim, goal))
    }

    /// Completes a registration with its parent, and with what that hands down.
    fn adopt(&self, registration: &mut Registration) {
        let is_root = registration.resource_type.as_str() == ROOT_STACK_TYPE;
        if registration.parent.is_none() && !registration.no_parent && !is_root {
            registration.parent = self.root_stack();
        }
        self.0.parents.complete(registration);
    }

    pub(super) fn set_root(&self, urn: Urn) {
        let mut root = self
            .0
            .root
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        root.get_or_insert(urn);
    }

    async fn finish_registration(
        &self,
        registration: Box<Registration>,
        claim: Claim,
        mut goal: Box<Goal>,
        flight: Flight,
    ) -> Result<Registered, WireStatus> {
        let urn = claim.urn.clone();
        let mut provider = SmolStr::new(&registration.package.provider);
        if registration.custom && !registration.resource_type.is_provider() {
            let package = registration.resource_type.package().to_owned();
            let reference = self.provider_for(
                &package,
                &registration.package,
                registration.resource_type.as_str(),
            );
            match self.or_stopped(reference).await {
                Some(Ok(serving)) => goal.provider = serving.text,
                Some(Err(status)) => {
                    self.0.generator.abandon(&urn);
                    return Err(status);
                }
                None => {
                    self.0.generator.abandon(&urn);
                    drop(flight);
                    return Err(self.unanswered(Unanswered::Ending).await);
                }
            }
            // Children inherit the provider that was resolved, not only the one that was asked for.
            provider = goal.provider.clone();
        }
        if let Some(package) = registration.resource_type.provided_package() {
            let mut settings = self.settings_of(package, &registration.package)?;
            self.0.defaults.complete_explicit(&mut settings);
            goal.inputs = settings.write(std::mem::take(&mut goal.inputs));
        }
        goal.inputs = self.hashed(std::mem::take(&mut goal.inputs)).await?;
        // Children may arrive as soon as the answer is out, so what they inherit must stand before.
        self.0.parents.record(&urn, &registration, &provider);
        drop(registration);
        let outcome = self.0.generator.register(claim, goal).await;
        drop(flight);
        self.answer(outcome).await
    }

    /// Fills in the hashes of assets and archives, which programs leave out.
    pub(super) async fn hashed(&self, values: PropertyMap) -> Result<PropertyMap, WireStatus> {
        let directory = self.0.run.root_directory.clone().unwrap_or_default();
        let spawner = &self.0.generator.executor().runtime().spawner;
        let hashed = fill_hashes(values, &directory, spawner, None).await;
        hashed.map_err(|error| WireStatus::invalid(error.message().to_owned()))
    }

    /// Awaits something that may itself never be answered; `None` when the run is ending.
    async fn or_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let control = self.0.generator.executor().control();
        tokio::select! {
            biased;
            result = work => Some(result),
            () = control.stopped() => None,
        }
    }

    async fn answer(&self, outcome: Result<RegisterOutcome, Unanswered>) -> Result<Registered, WireStatus> {
        match outcome {
            Ok(outcome) => {
                let state = outcome.state;
                let known = outcome.succeeded && !outcome.unknown;
                Ok(Registered {
                    urn: state.urn.clone(),
                    id: if known {
                        state.id.clone()
                    } else {
                        crate::token::ResourceId::default()
                    },
                    // A component's recorded outputs are not given back: it is about to say them anew.
                    outputs: if known && state.custom {
                        state.outputs.clone()
                    } else {
                        PropertyMap::new()
                    },
                    unknown: outcome.unknown,
                    failed: !outcome.succeeded,
                })
            }
            Err(reason) => Err(self.unanswered(reason).await),
        }
    }

    /// Registers the root stack, as programs without an SDK need it; asking again gives the same one.
    ///
    /// # Errors
    /// As [`Self::register`].
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
    /// `Unavailable` when the run ended first.
    pub async fn register_outputs(&self, urn: &Urn, outputs: PropertyMap) -> Result<(), WireStatus> {
        if self.is_closed() {
            return Err(WireStatus::shut_down("sending resource outputs"));
        }
        let flight = self.0.in_flight.enter();
        let result = self.0.generator.register_outputs(urn, outputs).await;
        drop(flight);
        match result {
            Ok(()) => Ok(()),
            Err(reason) => Err(self.unanswered(reason).await),
        }
    }

    /// Reads something without managing it.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub fn read(&self, read: Read) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
        let monitor = self.clone();
        let flight = self.0.in_flight.enter();
        let prepared = self.prepare_read(&read);
        async move {
            let (claim, mut goal) = match prepared {
                Ok(prepared) => prepared,
                Err(Refused::Invalid(status)) => return Err(status),
                Err(Refused::Unanswered(reason)) => {
                    drop(flight);
                    return Err(monitor.unanswered(reason).await);
                }
            };
            let package = read.resource_type.package().to_owned();
            let reference = monitor.provider_for(&package, &read.package, read.resource_type.as_str());
            match monitor.or_stopped(reference).await {
                Some(Ok(serving)) => goal.provider = serving.text,
                Some(Err(status)) => {
                    monitor.0.generator.abandon(&claim.urn);
                    return Err(status);
                }
                None => {
                    monitor.0.generator.abandon(&claim.urn);
                    drop(flight);
                    return Err(monitor.unanswered(Unanswered::Ending).await);
                }
            }
            let outcome = monitor.0.generator.read(claim, goal, read.id).await;
            drop(flight);
            monitor.answer(outcome).await
        }
    }

    fn prepare_read(&self, read: &Read) -> Result<(Claim, Goal), Refused> {
        if self.is_closed() {
            return Err(Refused::Invalid(WireStatus::shut_down(
                "sending resource registration",
            )));
        }
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
            additional_secret_outputs: read.additional_secret_outputs.clone(),
            source_position: read.source_position.clone(),
            stack_trace: read.stack_trace.clone(),
            ..Registration::default()
        };
        self.adopt(&mut registration);
        // What is read is nobody's to protect or retain.
        registration.protect = None;
        registration.retain_on_delete = None;
        registration.deleted_with = None;
        let mut goal = goal_of(&mut registration);
        goal.property_dependencies = PropertyDependencies::new();
        let claim = self.0.generator.claim(&goal).map_err(Refused::Unanswered)?;
        Ok((claim, goal))
    }
}

/// Why a request is not taken up.
enum Refused {
    /// It is wrong in itself.
    Invalid(WireStatus),
    /// The run is ending.
    Unanswered(Unanswered),
}

/// Builds the goal; big values move out of the registration, which keeps what children inherit.
fn goal_of(registration: &mut Registration) -> Goal {
    let inputs = std::mem::take(&mut registration.inputs);
    let dependencies = std::mem::take(&mut registration.dependencies);
    let property_dependencies = match registration.property_dependencies.take() {
        // One list for each input, also for those that nobody mentioned.
        Some(known) if known.iter().map(|(key, _)| key).eq(inputs.keys()) => known,
        Some(known) => inputs
            .keys()
            .map(|key| (key.clone(), known.get(key).unwrap_or_default().to_vec()))
            .collect(),
        None => PropertyDependencies::sharing(inputs.keys().cloned(), dependencies.clone()),
    };
    Goal {
        resource_type: registration.resource_type.clone(),
        name: registration.name.clone(),
        custom: registration.custom,
        inputs,
        parent: registration.parent.clone(),
        protect: registration.protect,
        dependencies,
        provider: SmolStr::default(),
        property_dependencies,
        delete_before_replace: registration.delete_before_replace,
        ignore_changes: std::mem::take(&mut registration.ignore_changes),
        additional_secret_outputs: std::mem::take(&mut registration.additional_secret_outputs),
        aliases: std::mem::take(&mut registration.aliases),
        import_id: registration.import_id.clone(),
        custom_timeouts: registration.custom_timeouts,
        replace_on_changes: std::mem::take(&mut registration.replace_on_changes),
        retain_on_delete: registration.retain_on_delete,
        deleted_with: registration.deleted_with.clone(),
        replace_with: std::mem::take(&mut registration.replace_with),
        hide_diffs: std::mem::take(&mut registration.hide_diffs),
        replacement_trigger: registration.replacement_trigger.take(),
        resource_hooks: std::mem::take(&mut registration.resource_hooks),
        source_position: registration.source_position.take(),
        stack_trace: std::mem::take(&mut registration.stack_trace),
    }
}
