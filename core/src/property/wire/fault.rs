//! What was wrong with a value, and where: the path grows on the way out, so that good values pay nothing for it.

use crate::{
    error::Error,
    property::path::{PathElement, PropertyPath},
};

pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// A problem with the elements from the bad value up to the root.
pub(super) struct Fault {
    problem: String,
    /// Whether the problem repeats something of the value.
    quotes: bool,
    upwards: Vec<PathElement>,
}

impl Fault {
    pub(super) fn new(problem: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            problem: problem.into(),
            quotes: false,
            upwards: Vec::new(),
        })
    }

    /// Reports a problem in words that repeat something of the value.
    pub(super) fn quoting(problem: impl Into<String>) -> Box<Self> {
        let mut fault = Self::new(problem);
        fault.quotes = true;
        fault
    }

    /// Takes what was repeated of the value out, on the way out of a secret.
    pub(super) fn hidden(mut self: Box<Self>) -> Box<Self> {
        if self.quotes {
            self.problem = "a secret is malformed".into();
            self.quotes = false;
        }
        self
    }

    pub(super) fn too_deep() -> Box<Self> {
        Self::new(format!(
            "values nest deeper than {} levels",
            crate::property::MAX_DEPTH
        ))
    }

    pub(super) fn below(mut self: Box<Self>, element: impl Into<PathElement>) -> Box<Self> {
        self.upwards.push(element.into());
        self
    }

    /// Names the place as `label.path`; a path of very deep nesting is cut.
    pub(super) fn into_error(self, label: &str) -> Error {
        const SHOWN: usize = 32;
        let cut = self.upwards.len() > SHOWN;
        let mut elements = self.upwards;
        elements.reverse();
        elements.truncate(SHOWN);
        let path = PropertyPath::new(elements).to_string();
        let separator = if label.is_empty() || path.is_empty() || path.starts_with('[') {
            ""
        } else {
            "."
        };
        let ellipsis = if cut { "…" } else { "" };
        let place = format!("{label}{separator}{path}{ellipsis}");
        if place.is_empty() {
            Error::invalid(self.problem)
        } else {
            Error::invalid(format!("{place}: {}", self.problem))
        }
    }
}
