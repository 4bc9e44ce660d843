//! Extensions of providers, as requests of programs need them.

use crate::{
    executor::AbandonedCall,
    monitor::{Monitor, PackageChoice, Registration, WireStatus, register::Refused},
    resource::ProviderReference,
};

impl Monitor {
    /// Gives a provider the extension of a request, if it has one; `user` is what the request is about. Nothing is recorded:
    /// no record refers to the extension.
    pub(super) async fn add_extension(
        &self,
        choice: &PackageChoice,
        provider: &ProviderReference,
        user: &str,
    ) -> Result<(), Refused> {
        let Some(extension) = self.0.defaults.extension_of(choice)? else {
            return Ok(());
        };
        let provider = provider.to_string();
        let adding = self.0.generator.registry().extend(&provider, &extension, user);
        let added = self
            .unless_ended(adding, || AbandonedCall::of(user, "parameterize"))
            .await?;
        added.map_err(|error| WireStatus::unknown(error.message()).into())
    }

    /// Completes a registration with what its parent hands down. An extension that the registration names itself stays:
    /// children inherit providers, and another version of an extension may be one of the parent's.
    pub(super) fn inheriting(
        &self,
        registration: &mut Registration,
        complete: impl FnOnce(&mut Registration),
    ) {
        let own = registration.package.package_ref.clone();
        complete(registration);
        if registration.package.package_ref != own && self.0.defaults.is_extension(&own) {
            registration.package.package_ref = own;
        }
    }

    /// Refuses a provider resource of a package that is an extension: a provider of the package `base` serves it.
    pub(super) fn refuse_provider_of_extension(
        &self,
        registration: &Registration,
        package: &str,
        base: &str,
    ) -> Result<(), Refused> {
        if package == base {
            return Ok(());
        }
        let Some(extension) = self.0.defaults.extension_of(&registration.package)? else {
            return Ok(());
        };
        Err(Refused::Invalid(WireStatus::invalid(format!(
            "there is no provider of the package '{package}': a provider of '{base}' serves it, with the extension \
             '{extension}'"
        ))))
    }
}

impl Refused {
    /// Prefixes the message of an invalid request.
    pub(super) fn within(self, head: &str) -> Self {
        match self {
            Self::Invalid(mut status) => {
                status.message.insert_str(0, head);
                Self::Invalid(status)
            }
            refused => refused,
        }
    }
}
