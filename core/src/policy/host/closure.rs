//! Policies from closures of the host.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;

use super::{Policy, PolicyFinding, PolicyFunctions, PolicyResource, PolicyStack};
use crate::{error::Result, event::EnforcementLevel, property::PropertyMap};

struct Check<F>(F);

#[async_trait]
impl<F, R> PolicyFunctions for Check<F>
where
    F: Fn(PolicyResource) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Vec<PolicyFinding>>> + Send,
{
    async fn check(&self, resource: PolicyResource) -> Result<Vec<PolicyFinding>> {
        (self.0)(resource).await
    }
}

struct Remediation<F>(F);

#[async_trait]
impl<F, R> PolicyFunctions for Remediation<F>
where
    F: Fn(PolicyResource) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<PropertyMap>>> + Send,
{
    async fn remediate(&self, resource: PolicyResource) -> Result<Option<PropertyMap>> {
        (self.0)(resource).await
    }
}

struct StackCheck<F>(F);

#[async_trait]
impl<F, R> PolicyFunctions for StackCheck<F>
where
    F: Fn(PolicyStack) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Vec<PolicyFinding>>> + Send,
{
    async fn check_stack(&self, stack: PolicyStack) -> Result<Vec<PolicyFinding>> {
        (self.0)(stack).await
    }
}

impl Policy {
    /// Creates an advisory policy whose async closure checks each resource.
    /// # Examples
    /// ```
    /// use stackwright::policy::{Policy, PolicyResource};
    ///
    /// let owned = Policy::from_check("owned", |resource: PolicyResource| async move {
    ///     let has_owner = resource.inputs.contains_key("owner");
    ///     Ok(if has_owner { vec![] } else { vec!["it has no owner".into()] })
    /// });
    /// # drop(owned);
    /// ```
    pub fn from_check<F, R>(name: impl Into<String>, check: F) -> Self
    where
        F: Fn(PolicyResource) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<PolicyFinding>>> + Send + 'static,
    {
        Self::of_resources(name, Arc::new(Check(check)))
    }

    /// Creates a policy of the level [`EnforcementLevel::Remediate`] whose async closure rewrites the inputs of each
    /// resource.
    pub fn from_remediation<F, R>(name: impl Into<String>, remediate: F) -> Self
    where
        F: Fn(PolicyResource) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Option<PropertyMap>>> + Send + 'static,
    {
        Self::of_resources(name, Arc::new(Remediation(remediate))).with_level(EnforcementLevel::Remediate)
    }

    /// Creates an advisory policy whose async closure checks all resources of a stack together.
    pub fn from_stack_check<F, R>(name: impl Into<String>, check: F) -> Self
    where
        F: Fn(PolicyStack) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<PolicyFinding>>> + Send + 'static,
    {
        Self::of_stack(name, Arc::new(StackCheck(check)))
    }
}
