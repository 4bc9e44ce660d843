//! A service: how it is recognized, and the variables that it sets.

use super::Build;
use crate::invocation::Invocation;

/// How a service is recognized.
pub(super) enum Sign {
    /// One of these variables is set.
    Set(&'static [&'static str]),
    /// The variable has this value.
    Value(&'static str, &'static str),
    /// The variable is set, and its value is the name of the service.
    Name(&'static str),
}

/// The variables that have the values of a build. Those that a service does not set have no name.
pub(super) struct Variables {
    pub(super) id: &'static str,
    pub(super) number: &'static str,
    pub(super) kind: &'static str,
    pub(super) url: &'static str,
    /// The last commit of what is built.
    pub(super) head: &'static str,
    /// The number of a pull request.
    pub(super) request: &'static str,
    pub(super) branch: &'static str,
    /// The message of the commit.
    pub(super) message: &'static str,
}

/// The variables of a service that sets none.
pub(super) const NONE: Variables = Variables {
    id: "",
    number: "",
    kind: "",
    url: "",
    head: "",
    request: "",
    branch: "",
    message: "",
};

/// A service.
pub(super) struct System {
    pub(super) name: &'static str,
    pub(super) sign: Sign,
    pub(super) variables: Variables,
    /// Sets what depends on several variables.
    pub(super) complete: fn(&mut Build, &Invocation),
}

impl System {
    /// Describes a service with variables that are recognized by one that is set.
    pub(super) const fn new(name: &'static str, sign: &'static [&'static str], variables: Variables) -> Self {
        Self {
            name,
            sign: Sign::Set(sign),
            variables,
            complete: |_, _| {},
        }
    }

    /// Describes a service of which only the name is known.
    pub(super) const fn named(name: &'static str, sign: &'static [&'static str]) -> Self {
        Self::new(name, sign, NONE)
    }

    /// Returns the build of the service when it runs the invocation.
    pub(super) fn build(&self, invocation: &Invocation) -> Option<Build> {
        let system = self.detected(invocation)?;
        let value = |name: &str| invocation.variable(name).map(str::to_owned);
        let variables = &self.variables;
        let mut build = Build {
            system,
            id: value(variables.id),
            number: value(variables.number),
            kind: value(variables.kind),
            url: value(variables.url),
            head: value(variables.head),
            request: value(variables.request),
            branch: value(variables.branch),
            message: value(variables.message),
        };
        (self.complete)(&mut build, invocation);
        Some(build)
    }

    /// Returns the name of the service when it runs the invocation.
    fn detected(&self, invocation: &Invocation) -> Option<String> {
        let is_set = |name: &&str| invocation.variable(name).is_some();
        match self.sign {
            Sign::Name(variable) => invocation.variable(variable).map(str::to_owned),
            Sign::Set(variables) => variables.iter().any(is_set).then(|| self.name.to_owned()),
            Sign::Value(variable, wanted) => {
                let is_wanted = invocation.variable(variable) == Some(wanted);
                is_wanted.then(|| self.name.to_owned())
            }
        }
    }
}
