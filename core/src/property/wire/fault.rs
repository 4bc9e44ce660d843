//! Errors of values with their path. The path is built while the error is returned, so valid values have no overhead.

use crate::{
    error::Error,
    property::path::{PathElement, PropertyPath},
};

pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// A problem with the path elements from the malformed value to the root.
pub(super) struct Fault {
    problem: String,
    /// Whether the problem quotes the value.
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

    /// Creates a problem whose text quotes the value.
    pub(super) fn quoting(problem: impl Into<String>) -> Box<Self> {
        let mut fault = Self::new(problem);
        fault.quotes = true;
        fault
    }

    /// Removes a quoted value from the problem, for values inside secrets.
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

    /// Prefixes the path as `label.path`; a very long path is truncated.
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
