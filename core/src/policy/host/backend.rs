//! The backend of policies that are functions of the host.

use std::{
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures::future::try_join_all;

use super::{Policy, PolicyFinding, PolicyPack, PolicyResource, PolicyStack};
use crate::{
    callback::unless_panicked,
    error::{Error, Result},
    event::{EnforcementLevel, PolicyName, PolicyViolation},
    policy::{
        Analysis, PackName, PolicyPackOption, PolicySurroundings, Rewriting, Subject,
        pack::{LoadedPack, PackBackend},
        schema::SettingsSchema,
        settings::{DeclaredPolicy, EnforcedPolicy, reconcile},
        subject::violation_level,
    },
    property::{PropertyMap, PropertyValue},
    provider::{ProviderError, ProviderResult, ProviderStatus},
    runtime::Runtime,
    urn::Urn,
};

/// The functions of a pack, with their levels and settings.
pub(in crate::policy) struct HostFunctions {
    pack: PackName,
    policies: Vec<HostPolicy>,
    runtime: Runtime,
    /// How long one call of a function may take.
    call_timeout: Duration,
    /// The calls in progress.
    running: Mutex<Vec<FunctionCall>>,
}

/// A call of a function in progress: the policy, the request, and the resource, which is the root stack for all resources.
#[derive(Clone, PartialEq)]
struct FunctionCall {
    policy: String,
    request: &'static str,
    urn: Urn,
}

/// Removes a call from those in progress when it is dropped.
struct RunningCall<'a> {
    functions: &'a HostFunctions,
    call: FunctionCall,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut running = self.functions.running();
        if let Some(place) = running.iter().position(|call| *call == self.call) {
            running.swap_remove(place);
        }
    }
}

struct HostPolicy {
    policy: Policy,
    enforced: EnforcedPolicy,
}

impl HostFunctions {
    /// Configures the policies of a pack.
    ///
    /// # Errors
    /// An error in its settings, which names the pack.
    pub(in crate::policy) fn load(
        option: &PolicyPackOption,
        pack: &PolicyPack,
        surroundings: &PolicySurroundings,
    ) -> Result<LoadedPack> {
        let declared = pack.policies.iter().map(|policy| DeclaredPolicy {
            name: policy.name.clone(),
            level: Ok(policy.level),
            is_of_stack: policy.is_of_stack,
            settings: PropertyMap::new(),
            schema: SettingsSchema::default(),
        });
        let enforced = reconcile(option, declared.collect())?;
        let name = PackName {
            name: option.name.clone(),
            version: pack.version.clone(),
        };
        let policies = pack.policies.iter().cloned().zip(enforced.iter().cloned());
        let backend = Self {
            pack: name.clone(),
            policies: policies
                .map(|(policy, enforced)| HostPolicy { policy, enforced })
                .collect(),
            runtime: surroundings.runtime.clone(),
            call_timeout: surroundings.call_timeout,
            running: Mutex::default(),
        };
        Ok(LoadedPack {
            name,
            policies: enforced,
            supports_config: true,
            backend: Box::new(backend),
        })
    }

    fn running(&self) -> MutexGuard<'_, Vec<FunctionCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the policies that run: those over a stack, or those over each resource.
    fn enabled(&self, is_of_stack: bool) -> impl Iterator<Item = &HostPolicy> {
        let policies = self.policies.iter();
        policies
            .filter(move |policy| policy.enforced.is_enabled() && policy.enforced.is_of_stack == is_of_stack)
    }

    async fn check(
        &self,
        policy: &HostPolicy,
        resource: PolicyResource,
    ) -> ProviderResult<Vec<PolicyViolation>> {
        let urn = resource.urn.clone();
        let resource = PolicyResource {
            config: policy.enforced.settings.clone(),
            ..resource
        };
        let work = policy.policy.functions.check(resource);
        let findings = self.limited(policy, "Analyze", &urn, work).await?;
        let of_resource = |finding: PolicyFinding| self.violation(policy, finding.message, urn.clone());
        Ok(findings.into_iter().filter_map(of_resource).collect())
    }

    async fn check_stack(
        &self,
        policy: &HostPolicy,
        resources: Vec<PolicyResource>,
        root: &Urn,
    ) -> ProviderResult<Vec<PolicyViolation>> {
        let urns: Vec<Urn> = resources.iter().map(|resource| resource.urn.clone()).collect();
        let stack = PolicyStack {
            resources,
            config: policy.enforced.settings.clone(),
        };
        let work = policy.policy.functions.check_stack(stack);
        let findings = self.limited(policy, "AnalyzeStack", root, work).await?;
        let placed = |finding: PolicyFinding| {
            let urn = finding.urn.filter(|urn| urns.contains(urn));
            self.violation(policy, finding.message, urn.unwrap_or_else(|| root.clone()))
        };
        Ok(findings.into_iter().filter_map(placed).collect())
    }

    fn violation(&self, policy: &HostPolicy, message: String, urn: Urn) -> Option<PolicyViolation> {
        Some(PolicyViolation {
            urn,
            name: self.name_of(policy),
            message,
            level: violation_level(policy.enforced.level)?,
            severity: policy.policy.severity,
        })
    }

    fn name_of(&self, policy: &HostPolicy) -> PolicyName {
        PolicyName {
            policy: policy.policy.name.clone(),
            pack: self.pack.name.clone(),
            version: self.pack.version.clone(),
        }
    }

    /// Awaits a function within the limit of its duration.
    async fn limited<T>(
        &self,
        policy: &HostPolicy,
        call: &'static str,
        urn: &Urn,
        work: impl Future<Output = Result<T>> + Send,
    ) -> ProviderResult<T> {
        let name = &self.pack.name;
        let policy = &policy.policy.name;
        let running = RunningCall {
            functions: self,
            call: FunctionCall {
                policy: policy.clone(),
                request: call,
                urn: urn.clone(),
            },
        };
        self.running().push(running.call.clone());
        tokio::select! {
            biased;
            result = unless_panicked(work) => result.map_err(|error: Error| {
                let text = format!("policy pack {name}: policy {policy} failed during {call}: {}", error.message());
                ProviderError::new(ProviderStatus::Unknown, text)
            }),
            () = self.runtime.clock.wait(self.call_timeout) => {
                let seconds = self.call_timeout.as_secs_f64();
                let text = format!(
                    "policy pack {name}: policy {policy} did not complete {call} within {seconds} s, which is the callback timeout"
                );
                Err(ProviderError::new(ProviderStatus::DeadlineExceeded, text))
            }
        }
    }
}

#[async_trait]
impl PackBackend for HostFunctions {
    async fn remediate(&self, subject: &Subject<'_>, inputs: &PropertyMap) -> ProviderResult<Rewriting> {
        let mut rewriting = Rewriting::default();
        for policy in self.enabled(false) {
            if policy.enforced.level != EnforcementLevel::Remediate {
                continue;
            }
            let before = rewriting.inputs.clone().unwrap_or_else(|| inputs.clone());
            let resource = PolicyResource {
                config: policy.enforced.settings.clone(),
                ..PolicyResource::of_inputs(subject, &before)
            };
            let work = policy.policy.functions.remediate(resource.clone());
            let Some(after) = self
                .limited(policy, "Remediate", &subject.state.urn, work)
                .await?
            else {
                continue;
            };
            let after = keep_secrets(&resource.inputs, after);
            if after != resource.inputs {
                rewriting.add(&subject.state.urn, self.name_of(policy), inputs, after);
            }
        }
        Ok(rewriting)
    }

    async fn analyze(&self, subject: &Subject<'_>) -> ProviderResult<Analysis> {
        let resource = PolicyResource::of_inputs(subject, &subject.state.inputs);
        let mut checks = Vec::new();
        for policy in self.enabled(false) {
            checks.push(self.check(policy, resource.clone()));
        }
        let found = try_join_all(checks).await?;
        Ok(Analysis {
            violations: found.into_iter().flatten().collect(),
            not_applicable: Vec::new(),
        })
    }

    async fn analyze_stack(&self, subjects: &[Subject<'_>], root: &Urn) -> ProviderResult<Analysis> {
        let resources: Vec<PolicyResource> = subjects.iter().map(PolicyResource::of_outputs).collect();
        let mut checks = Vec::new();
        for policy in self.enabled(true) {
            checks.push(self.check_stack(policy, resources.clone(), root));
        }
        let found = try_join_all(checks).await?;
        Ok(Analysis {
            violations: found.into_iter().flatten().collect(),
            not_applicable: Vec::new(),
        })
    }

    fn unreturned(&self, call: &str, urn: &Urn) -> Vec<String> {
        let name = &self.pack.name;
        let running = self.running();
        let about = running
            .iter()
            .filter(|running| running.request == call && running.urn == *urn);
        about
            .map(|FunctionCall { policy, .. }| {
                format!("policy {policy} of policy pack {name} did not return from {call} of {urn}")
            })
            .collect()
    }

    fn is_given_up_when_cancelled(&self) -> bool {
        true
    }

    async fn cancel(&self) {}

    async fn close(&self) {}

    fn malformed_response(&self, call: &str, why: &str) -> ProviderError {
        let text = format!(
            "malformed {call} result from policy pack {}: {why}",
            self.pack.name
        );
        ProviderError::new(ProviderStatus::Internal, text)
    }
}

/// Returns rewritten inputs in which each input that contained a secret is secret still.
fn keep_secrets(before: &PropertyMap, mut after: PropertyMap) -> PropertyMap {
    for (key, _) in before.iter().filter(|(_, value)| value.survey().secrets) {
        if let Some(value) = after.get(key).filter(|value| !value.survey().secrets).cloned() {
            after.insert(key.clone(), PropertyValue::secret(value));
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_was_secret_is_secret_after_its_remediation() {
        let before: PropertyMap = [
            ("key", PropertyValue::secret("old".into())),
            ("plain", "old".into()),
        ]
        .into_iter()
        .collect();
        let after: PropertyMap = [("key", "new".into()), ("plain", "new".into())]
            .into_iter()
            .collect();
        let kept = keep_secrets(&before, after);
        assert_eq!(kept.get("key"), Some(&PropertyValue::secret("new".into())));
        assert_eq!(kept.get("plain"), Some(&"new".into()));
    }
}
