//! Policy packs of the host: policies as functions.

mod backend;
mod closure;
mod json;
mod resource;

use std::{collections::BTreeSet, fmt, sync::Arc};

use async_trait::async_trait;

use crate::{
    error::{Error, Result},
    event::{EnforcementLevel, PolicySeverity},
    property::PropertyMap,
    urn::Urn,
};

pub(super) use backend::HostFunctions;
pub use json::PolicyHost;
pub use resource::{PolicyProvider, PolicyResource, PolicyResourceOptions, PolicyStack};

/// A violation that a policy has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFinding {
    /// The text for users.
    pub message: String,
    /// The resource that it is about, in checks of a stack; `None` is the root stack. Checks of a resource find violations
    /// of that resource only.
    pub urn: Option<Urn>,
}

impl From<String> for PolicyFinding {
    fn from(message: String) -> Self {
        Self { message, urn: None }
    }
}

impl From<&str> for PolicyFinding {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

/// The functions of a policy. Those that a policy does not need keep their default.
///
/// Calls are CONCURRENT, from any thread. Dropping a call's future cancels the call; a call that takes longer than five
/// minutes is dropped. An error fails the operation: a violation is no error, but a finding.
///
/// Values are those of the program: secrets are marked, and unknown in previews where they depend on resources that do
/// not exist yet.
#[async_trait]
pub trait PolicyFunctions: Send + Sync + 'static {
    /// Checks a resource after its inputs have been checked by the provider and remediated; returns the violations.
    ///
    /// # Errors
    /// When the check cannot be made.
    async fn check(&self, _resource: PolicyResource) -> Result<Vec<PolicyFinding>> {
        Ok(Vec::new())
    }

    /// Returns the inputs of a resource that conform to the policy; `None` leaves them as they are. Called for policies of
    /// the level [`EnforcementLevel::Remediate`] only. An input that was secret remains secret.
    ///
    /// # Errors
    /// When the inputs cannot be rewritten.
    async fn remediate(&self, _resource: PolicyResource) -> Result<Option<PropertyMap>> {
        Ok(None)
    }

    /// Checks all resources of a stack together, at the end of an operation; returns the violations.
    ///
    /// # Errors
    /// When the check cannot be made.
    async fn check_stack(&self, _stack: PolicyStack) -> Result<Vec<PolicyFinding>> {
        Ok(Vec::new())
    }
}

/// A policy of the host.
#[derive(Clone)]
pub struct Policy {
    /// The name, unique in its pack.
    pub name: String,
    /// How strictly it is enforced, unless the options set another level.
    pub level: EnforcementLevel,
    /// What it demands, for users.
    pub description: String,
    /// The severity of its violations.
    pub severity: Option<PolicySeverity>,
    /// True if it checks all resources of a stack together, false if it checks or remediates each.
    pub is_of_stack: bool,
    /// Its functions.
    pub functions: Arc<dyn PolicyFunctions>,
}

impl Policy {
    /// Creates an advisory policy that checks or remediates each resource.
    pub fn of_resources(name: impl Into<String>, functions: Arc<dyn PolicyFunctions>) -> Self {
        Self {
            name: name.into(),
            level: EnforcementLevel::Advisory,
            description: String::new(),
            severity: None,
            is_of_stack: false,
            functions,
        }
    }

    /// Creates an advisory policy that checks all resources of a stack together.
    pub fn of_stack(name: impl Into<String>, functions: Arc<dyn PolicyFunctions>) -> Self {
        Self {
            is_of_stack: true,
            ..Self::of_resources(name, functions)
        }
    }

    /// Returns the policy with another level.
    #[must_use]
    pub fn with_level(self, level: EnforcementLevel) -> Self {
        Self { level, ..self }
    }

    /// Returns the policy with a severity.
    #[must_use]
    pub fn with_severity(self, severity: PolicySeverity) -> Self {
        Self {
            severity: Some(severity),
            ..self
        }
    }

    /// Returns the policy with a description.
    #[must_use]
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            ..self
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Policy")
            .field("name", &self.name)
            .field("level", &self.level)
            .field("is_of_stack", &self.is_of_stack)
            .finish_non_exhaustive()
    }
}

/// A policy pack of the host. Cloning is cheap.
///
/// # Examples
/// ```
/// use stackwright::{
///     event::EnforcementLevel,
///     operation::OperationOptions,
///     policy::{Policy, PolicyPack},
/// };
///
/// let private = Policy::from_check("no-public-buckets", |bucket| async move {
///     let is_public = bucket.props.get("acl") == Some(&"public-read".into());
///     Ok(is_public.then(|| "the bucket is public".into()).into_iter().collect())
/// });
/// let pack = PolicyPack::new("guard", [private.with_level(EnforcementLevel::Mandatory)]);
/// let options = OperationOptions {
///     local_policy_packs: vec![pack.into()],
///     ..OperationOptions::default()
/// };
/// # assert_eq!(options.local_policy_packs[0].name, "guard");
/// ```
#[derive(Clone, Debug)]
pub struct PolicyPack {
    /// The name.
    pub name: String,
    /// The version; empty for none.
    pub version: String,
    /// The policies. Their remediations run in this order.
    pub policies: Arc<[Policy]>,
}

impl PolicyPack {
    /// Creates a pack without a version.
    pub fn new(name: impl Into<String>, policies: impl IntoIterator<Item = Policy>) -> Self {
        Self {
            name: name.into(),
            version: String::new(),
            policies: policies.into_iter().collect(),
        }
    }

    /// Refuses policies without a name, or with the same one.
    pub(super) fn check(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for policy in &*self.policies {
            let pack = &self.name;
            if policy.name.is_empty() {
                let text = format!("a policy of the policy pack {pack:?} has no name");
                return Err(Error::invalid(text));
            }
            if !names.insert(&policy.name) {
                let text = format!("the policy pack {pack:?} has two policies {:?}", policy.name);
                return Err(Error::invalid(text));
            }
        }
        Ok(())
    }
}

/// Packs are compared by name, version and identity of their policies.
impl PartialEq for PolicyPack {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.version) == (&other.name, &other.version)
            && Arc::ptr_eq(&self.policies, &other.policies)
    }
}

impl Eq for PolicyPack {}
