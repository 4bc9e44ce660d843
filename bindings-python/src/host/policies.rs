//! Policies of the host: Python functions that check resources, or rewrite their inputs.

use std::sync::Arc;

use async_trait::async_trait;
use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    ErrorKind,
    event::{EnforcementLevel, PolicySeverity},
    policy::{
        Policy, PolicyFinding, PolicyFunctions, PolicyPack, PolicyPackOption, PolicyProvider, PolicyResource,
        PolicyStack,
    },
    property::PropertyMap,
    urn::Urn,
};

use crate::{
    completions::Completions,
    convert,
    errors::misuse,
    function::{HostContext, HostFunction, ProviderLoop},
};

/// The name of the functions in errors.
const NAME: &str = "policy";

/// The name and the version of each pack, and the facts of its policies.
type Packs<'py> = Vec<(String, String, Vec<Bound<'py, PyDict>>)>;

/// Reads packs: a list of `(name, version, policies)`, each policy a dictionary of its facts and its described functions, and
/// the queue of the event loop that asynchronous ones run on.
fn read_packs(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Vec<PolicyPack>> {
    let (packs, queue): (Packs<'_>, Bound<'_, Completions>) = described.extract()?;
    let context = HostContext {
        provider_loop: ProviderLoop {
            queue: Arc::clone(&queue.get().queue),
            start: Arc::clone(&context.provider_loop.start),
        },
        ..context.clone()
    };
    let packs = packs.into_iter().map(|(name, version, policies)| {
        let policies = policies.iter().map(|policy| read_policy(policy, &context));
        Ok(PolicyPack {
            version,
            ..PolicyPack::new(name, policies.collect::<PyResult<Vec<_>>>()?)
        })
    });
    packs.collect()
}

/// Reads packs of functions into the options of an operation. An option of the same name without an address and a path gets
/// its functions; the other packs follow the local ones.
pub(crate) fn add_packs(
    described: &Bound<'_, PyAny>,
    context: &HostContext,
    required: &mut [PolicyPackOption],
    local: &mut Vec<PolicyPackOption>,
) -> PyResult<()> {
    for pack in read_packs(described, context)? {
        let mut given = required.iter_mut().chain(&mut *local);
        let named = given.find(|option| {
            option.name == pack.name
                && option.address.is_empty()
                && option.path.is_empty()
                && option.host.is_none()
        });
        match named {
            Some(option) => option.host = Some(pack),
            None => local.push(pack.into()),
        }
    }
    Ok(())
}

fn read_policy(facts: &Bound<'_, PyDict>, context: &HostContext) -> PyResult<Policy> {
    let member = |name: &str| {
        let member = facts.get_item(name)?;
        member.ok_or_else(|| misuse("a fact of a policy is missing"))
    };
    let function = |name: &str| -> PyResult<Option<HostFunction>> {
        let described = member(name)?;
        if described.is_none() {
            return Ok(None);
        }
        HostFunction::read(NAME, &described, context).map(Some)
    };
    let functions = PythonPolicy {
        check: function("check")?,
        remediate: function("remediate")?,
        check_stack: function("check_stack")?,
    };
    Ok(Policy {
        name: member("name")?.extract()?,
        level: serde_json::from_value::<EnforcementLevel>(name(&member("level")?)?).map_err(|_| unknown())?,
        description: member("description")?.extract()?,
        severity: match member("severity")? {
            severity if severity.is_none() => None,
            severity => {
                let severity = serde_json::from_value::<PolicySeverity>(name(&severity)?);
                Some(severity.map_err(|_| unknown())?)
            }
        },
        is_of_stack: functions.check_stack.is_some(),
        functions: Arc::new(functions),
    })
}

fn name(name: &Bound<'_, PyAny>) -> PyResult<serde_json::Value> {
    name.extract::<String>().map(Into::into)
}

/// Returns the error of a level or a severity that the caller should have refused.
fn unknown() -> PyErr {
    misuse("a policy has an unknown level or severity")
}

/// The functions of one policy.
struct PythonPolicy {
    check: Option<HostFunction>,
    remediate: Option<HostFunction>,
    check_stack: Option<HostFunction>,
}

#[async_trait]
impl PolicyFunctions for PythonPolicy {
    async fn check(&self, resource: PolicyResource) -> stackwright::Result<Vec<PolicyFinding>> {
        match &self.check {
            Some(check) => check.call(Checked(resource), findings, ErrorKind::Program).await,
            None => Ok(Vec::new()),
        }
    }

    async fn remediate(&self, resource: PolicyResource) -> stackwright::Result<Option<PropertyMap>> {
        match &self.remediate {
            Some(remediate) => {
                remediate
                    .call(Checked(resource), inputs, ErrorKind::Program)
                    .await
            }
            None => Ok(None),
        }
    }

    async fn check_stack(&self, stack: PolicyStack) -> stackwright::Result<Vec<PolicyFinding>> {
        match &self.check_stack {
            Some(check) => {
                check
                    .call(CheckedStack(stack), findings, ErrorKind::Program)
                    .await
            }
            None => Ok(Vec::new()),
        }
    }
}

/// Reads a list of `(message, URN or None)`.
fn findings(returned: &Bound<'_, PyAny>) -> PyResult<Vec<PolicyFinding>> {
    let found: Vec<(String, Option<String>)> = returned.extract()?;
    let found = found.into_iter().map(|(message, urn)| PolicyFinding {
        message,
        // A text that is no URN belongs to no resource.
        urn: urn.and_then(|urn| Urn::parse(&urn).ok()),
    });
    Ok(found.collect())
}

/// Reads rewritten inputs, or `None`.
fn inputs(returned: &Bound<'_, PyAny>) -> PyResult<Option<PropertyMap>> {
    if returned.is_none() {
        return Ok(None);
    }
    convert::read_map(returned, "what the policy returned").map(Some)
}

/// A resource as the argument of a function: its facts by name.
struct Checked(PolicyResource);

impl<'py> IntoPyObject<'py> for Checked {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = facts(py, &self.0)?;
        facts.set_item("inputs", facts.get_item("props")?)?;
        Ok(facts)
    }
}

/// All resources of a stack as the argument of a function.
struct CheckedStack(PolicyStack);

impl<'py> IntoPyObject<'py> for CheckedStack {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let resources = self.0.resources.iter().map(|resource| {
            let facts = facts(py, resource)?;
            facts.set_item("inputs", convert::dictionary(py, &resource.inputs)?)?;
            Ok(facts)
        });
        let stack = PyDict::new(py);
        stack.set_item("resources", resources.collect::<PyResult<Vec<_>>>()?)?;
        stack.set_item("config", convert::dictionary(py, &self.0.config)?)?;
        Ok(stack)
    }
}

/// Returns the facts of a resource except for its inputs.
fn facts<'py>(py: Python<'py>, resource: &PolicyResource) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("type", resource.resource_type.as_str())?;
    facts.set_item("name", &resource.name)?;
    facts.set_item("urn", resource.urn.as_str())?;
    facts.set_item("props", convert::dictionary(py, &resource.props)?)?;
    facts.set_item("options", options(py, resource)?)?;
    let provider = resource.provider.as_ref();
    facts.set_item(
        "provider",
        provider
            .map(|provider| provider_facts(py, provider))
            .transpose()?,
    )?;
    facts.set_item("parent", resource.parent.as_ref().map(Urn::as_str))?;
    facts.set_item("dependencies", texts(&resource.dependencies))?;
    let dependencies = PyDict::new(py);
    for (name, urns) in resource.property_dependencies.iter() {
        dependencies.set_item(name.as_str(), texts(urns))?;
    }
    facts.set_item("property_dependencies", dependencies)?;
    facts.set_item("config", convert::dictionary(py, &resource.config)?)?;
    Ok(facts)
}

fn texts(urns: &[Urn]) -> Vec<&str> {
    urns.iter().map(Urn::as_str).collect()
}

fn options<'py>(py: Python<'py>, resource: &PolicyResource) -> PyResult<Bound<'py, PyDict>> {
    let options = &resource.options;
    let timeouts = PyDict::new(py);
    let given = &options.custom_timeouts;
    for (name, seconds) in [
        ("create", given.create),
        ("update", given.update),
        ("delete", given.delete),
        ("read", given.read),
    ] {
        if let Some(seconds) = seconds {
            timeouts.set_item(name, seconds)?;
        }
    }
    let facts = PyDict::new(py);
    facts.set_item("protect", options.protect)?;
    facts.set_item("ignore_changes", &options.ignore_changes)?;
    facts.set_item("delete_before_replace", options.delete_before_replace)?;
    facts.set_item("additional_secret_outputs", &options.additional_secret_outputs)?;
    facts.set_item("aliases", &options.aliases)?;
    facts.set_item("custom_timeouts", timeouts)?;
    Ok(facts)
}

fn provider_facts<'py>(py: Python<'py>, provider: &PolicyProvider) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("type", provider.resource_type.as_str())?;
    facts.set_item("name", &provider.name)?;
    facts.set_item("urn", provider.urn.as_str())?;
    facts.set_item("props", convert::dictionary(py, &provider.props)?)?;
    Ok(facts)
}
