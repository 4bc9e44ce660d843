//! The service that builds a project (continuous integration), as its variables describe it.

mod address;
mod event;
mod system;
mod complete;
mod systems;
#[cfg(test)]
mod tests;

use systems::SYSTEMS;

use crate::invocation::Invocation;

/// The variable that turns the detection of services off, with any value.
const DISABLED: &str = "PULUMI_DISABLE_CI_DETECTION";

/// A build by a service. What is not known is absent.
pub(super) struct Build {
    system: String,
    id: Option<String>,
    number: Option<String>,
    kind: Option<String>,
    url: Option<String>,
    head: Option<String>,
    request: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) message: Option<String>,
}

impl Build {
    /// Returns the build that an invocation belongs to. Its addresses have no users and passwords.
    pub(super) fn of(invocation: &Invocation) -> Option<Self> {
        if invocation.variable(DISABLED).is_some() {
            return None;
        }
        let build = SYSTEMS.iter().find_map(|system| system.build(invocation))?;
        Some(build.without_users())
    }

    /// Drops the users and passwords of addresses, and addresses in which it is not certain what they are.
    fn without_users(self) -> Self {
        let scrubbed = |value: Option<String>| match value {
            Some(value) if address::is_address(&value) => address::without_user(&value),
            other => other,
        };
        Self {
            system: scrubbed(Some(self.system)).unwrap_or_default(),
            id: scrubbed(self.id),
            number: scrubbed(self.number),
            kind: scrubbed(self.kind),
            url: self.url.and_then(|url| address::without_user(&url)),
            head: scrubbed(self.head),
            request: scrubbed(self.request),
            branch: scrubbed(self.branch),
            // A text can have an address among its words, as that of a commit in a repository can.
            message: match self.message {
                Some(message) if address::is_whole_address(&message) => address::without_user(&message),
                other => other,
            },
        }
    }

    /// Returns the facts by name.
    pub(super) fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let facts = [
            ("ci.system", Some(&self.system)),
            ("ci.build.id", self.id.as_ref()),
            ("ci.build.number", self.number.as_ref()),
            ("ci.build.type", self.kind.as_ref()),
            ("ci.build.url", self.url.as_ref()),
            ("ci.pr.headSHA", self.head.as_ref()),
            ("ci.pr.number", self.request.as_ref()),
        ];
        facts
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value.as_str())))
    }
}
