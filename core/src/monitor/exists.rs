//! Whether a resource exists: its provider reads it, and nothing is recorded.

use std::future::Future;

use crate::{
    executor::AbandonedCall,
    monitor::{Monitor, PackageChoice, WireStatus, defaults::ProviderUse, register::Refused},
    property::PropertyMap,
    provider::{ProviderStatus, ReadRequest, ReadResponse, Views},
    resource::UNKNOWN_ID,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// A resource whose existence is queried.
#[derive(Clone, Debug, Default)]
pub struct Exists {
    /// The type.
    pub resource_type: TypeToken,
    /// The id.
    pub id: ResourceId,
    /// The component whose providers are the defaults.
    pub parent: Option<Urn>,
    /// Known properties.
    pub inputs: PropertyMap,
    /// Options that choose the provider that reads it.
    pub package: PackageChoice,
}

impl Monitor {
    /// Returns whether a resource exists; `None` while that cannot be known, as in a preview in which its id or the
    /// configuration of its provider is unknown. The resource does not become part of the stack.
    ///
    /// The secrets in the properties are registered with the redactor before the future is polled.
    ///
    /// # Errors
    /// `InvalidArgument` for a type that is not complete, and without an id; `Unimplemented` when the provider cannot read
    /// resources; `Unknown` when the read fails; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the read.
    pub fn exists(
        &self,
        exists: Exists,
    ) -> impl Future<Output = Result<Option<bool>, WireStatus>> + Send + use<> {
        self.learn(&exists.inputs);
        let monitor = self.clone();
        async move {
            let flight = match monitor.enter("sending resource registration") {
                Ok(flight) => flight,
                Err(refused) => return Err(monitor.refused(refused).await),
            };
            let found = monitor.find(exists).await;
            drop(flight);
            match found {
                Ok(found) => Ok(found),
                Err(refused) => Err(monitor.refused(refused).await),
            }
        }
    }

    async fn find(&self, exists: Exists) -> Result<Option<bool>, Refused> {
        let Exists {
            resource_type,
            id,
            parent,
            inputs,
            package: mut choice,
        } = exists;
        if !resource_type.is_full() {
            let text = format!("Type '{resource_type}' is not a valid type token (must have format '*:*:*')");
            return Err(WireStatus::invalid(text).into());
        }
        if id.is_empty() {
            let text = format!("a resource of type '{resource_type}' whose existence is queried has no id");
            return Err(WireStatus::invalid(text).into());
        }
        self.inspect("properties", &inputs)?;
        let parent = parent.map(|parent| self.0.generator.registered_urn(&parent));
        let package = resource_type.package();
        if let (true, Some(parent)) = (choice.provider.is_empty(), &parent) {
            let inherited = self.0.parents.provider_for(parent, package);
            choice.provider = inherited.unwrap_or_default();
        }
        let what = ProviderUse::Token(resource_type.as_str());
        let Some(chosen) = self.0.defaults.provider_for(package, &choice, what).await? else {
            let text = format!("the default provider of package '{package}' failed");
            return Err(WireStatus::unknown(text).into());
        };
        let provider = self.configured_provider(&chosen.reference)?;
        if id.as_str() == UNKNOWN_ID || provider.provider.is_unconfigured() {
            return Ok(None);
        }
        let run = self.run_info();
        let parent_type = parent.as_ref().map_or("", Urn::qualified_type);
        // A resource that is not part of the stack has no name: its id takes the place of one.
        let urn = Urn::new(
            &run.stack,
            &run.project,
            parent_type,
            resource_type.as_str(),
            id.as_str(),
        );
        let request = ReadRequest {
            urn: urn.clone(),
            resource_type: resource_type.clone(),
            name: id.as_str().to_owned(),
            id: id.clone(),
            inputs: Some(inputs.clone()),
            properties: Some(inputs),
            timeout: 0.0,
            preview: run.dry_run,
            views: Views::default(),
        };
        let answer = provider.provider.read(request);
        let answer = self
            .unless_ended(answer, || AbandonedCall::on(&urn, "read"))
            .await?;
        let about = format!("whether the resource '{id}' of type '{resource_type}' exists");
        match answer {
            Ok(ReadResponse {
                is_recorded: true, ..
            }) => Err(WireStatus::new(
                ProviderStatus::Unimplemented,
                format!("{about} is not known: provider '{package}' cannot read resources"),
            )
            .into()),
            Ok(ReadResponse { id, outputs, .. }) => Ok(Some(outputs.is_some() && !id.is_empty())),
            // It exists, but is not in working order.
            Err(error) if error.init_failure.is_some() => Ok(Some(true)),
            Err(error) => {
                let text = format!("{about} is not known: {}", error.message);
                Err(WireStatus::unknown(text).into())
            }
        }
    }
}
