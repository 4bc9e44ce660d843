//! Registrations that are claimed after their transforms, and after the resources that they refer to.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use super::{
    Announcement, Lineage, Place, ResourceTransform, TransformArgs, TransformList,
    call::{call_transform, check_provider},
    dependencies, is_local_component, references,
};
use crate::monitor::{
    Registration,
    check::{check, check_type},
    in_flight::Flight,
    request_error::RequestError,
    shared::Shared,
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

impl Deferred {
    /// Accepts a registration, announces its URN, and takes its transforms: what must happen in the order of arrival.
    pub(in crate::monitor) fn announce(
        shared: &Shared,
        registration: &mut Registration,
    ) -> Result<(Flight, Self), RequestError> {
        let flight = shared.admission.enter("sending resource registration")?;
        check_type(registration)?;
        let urn = shared.placement.urn_of(registration);
        let transforms = &shared.transforms;
        transforms.in_use.store(true, Ordering::Release);
        let mut own = std::mem::take(&mut registration.transforms);
        let given = !own.is_empty();
        let mut state = transforms.state();
        if is_local_component(registration)
            && let Some(pending) = state.pending.remove(&Place::of(registration))
        {
            own = pending;
        }
        let deferred = Self {
            // A remote component is claimed by the registration of its provider.
            announcement: transforms
                .announced
                .announce((!registration.remote).then_some(urn)),
            own,
            given,
            stack: Arc::clone(&state.stack),
        };
        Ok((flight, deferred))
    }

    /// Runs the transforms of the registration, and waits for the claims of all that it refers to then. Returns the
    /// lineage of its children.
    pub(in crate::monitor) async fn transform(
        &self,
        shared: &Shared,
        registration: &mut Registration,
    ) -> Result<Option<Arc<Lineage>>, RequestError> {
        let Shared {
            admission,
            placement,
            transforms,
            ..
        } = shared;
        let parent = self.announcement.earlier(registration.parent.iter());
        admission.until_all(parent).await?;
        placement.inherit_options(registration);
        let above = transforms.lineage(registration.parent.as_ref());
        if !self.own.is_empty() || above.is_some() || !self.stack.is_empty() {
            let above = above.as_deref();
            Box::pin(self.run_all(shared, registration, above)).await?;
        }
        placement.parents.complete_providers(registration);
        if registration.remote && self.given {
            transforms.hand_over(registration, self.own.clone());
        }
        // Transforms may have added references.
        placement.refer(registration);
        let referred = self.announcement.earlier(references(registration));
        admission.until_all(referred).await?;
        check(registration)?;
        Ok(Lineage::below(above, &registration.name, self.own.clone()))
    }

    /// Runs the transforms: the resource's own, those of the resources above it from the nearest to the furthest, and
    /// those of the stack.
    async fn run_all(
        &self,
        shared: &Shared,
        registration: &mut Registration,
        above: Option<&Lineage>,
    ) -> Result<(), RequestError> {
        let listed = dependencies::listed(registration);
        if self.given {
            let inputs = std::mem::take(&mut registration.inputs);
            registration.inputs = dependencies::embed(inputs, &listed);
        }
        let mut args = TransformArgs::take_from(registration, !self.given);
        for (index, transform) in self.own.iter().enumerate() {
            Source::Own(index).run(shared, transform, &mut args).await?;
        }
        for (name, transforms) in above.into_iter().flat_map(Lineage::iter) {
            for (index, transform) in transforms.iter().enumerate() {
                let source = Source::Above(index, name);
                source.run(shared, transform, &mut args).await?;
            }
        }
        for (index, transform) in self.stack.iter().enumerate() {
            Source::Stack(index).run(shared, transform, &mut args).await?;
        }
        let inputs = args.put_into(registration);
        shared.values.learn(&inputs);
        if let Some(trigger) = &registration.options.replacement_trigger {
            shared.values.redactor().learn_value(trigger);
        }
        dependencies::rebuild(registration, inputs, listed, self.given);
        Ok(())
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

impl Source<'_> {
    /// Runs one transform.
    async fn run(
        self,
        shared: &Shared,
        transform: &Arc<dyn ResourceTransform>,
        args: &mut TransformArgs,
    ) -> Result<(), RequestError> {
        let what = || format!("{self} resource '{}'", args.name);
        let placement = &shared.placement;
        let urn = placement.urn_below(args.parent.as_ref(), &args.resource_type, &args.name);
        let given: &TransformArgs = args;
        let transforming = async {
            let changed = transform.transform(given.clone()).await?;
            if let Some(changed) = changed.as_ref().filter(|_| given.custom) {
                let (former, package) = (&given.options.package, &changed.options.package);
                check_provider(given.resource_type.as_str(), former, package)?;
            }
            Ok(changed)
        };
        let changed = call_transform(shared, transforming, Some(&urn), what).await?;
        if let Some(changed) = changed {
            // Before the next transform, whose failure may quote them.
            shared.values.learn(&changed.inputs);
            args.change(changed);
        }
        Ok(())
    }
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
