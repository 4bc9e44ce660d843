//! The position of a conversion in a nested value: it detects cycles and too deep values, and names paths in errors.

use pyo3::prelude::*;

/// The maximum nesting of values; the recursion fits the stack.
pub(crate) const MAX_VALUE_DEPTH: usize = 400;

/// How many steps of a long path are shown at each end.
const MAX_STEPS_PER_END: usize = 4;

/// The containers around a value, from the innermost to the outermost.
#[derive(Clone, Copy)]
pub(super) struct Above<'a> {
    container: Option<*mut pyo3::ffi::PyObject>,
    parent: Option<&'a Self>,
    depth: usize,
    /// The length of the path from the root to the container.
    steps: usize,
}

impl<'a> Above<'a> {
    /// No container: the value is the root.
    pub(super) const ROOT: Self = Self {
        container: None,
        parent: None,
        depth: 0,
        steps: 0,
    };

    /// Enters a container whose elements are one path step below it.
    pub(super) fn enter(&'a self, container: &Bound<'_, PyAny>) -> Result<Self, Misfit> {
        self.within(container, 1)
    }

    /// Enters a wrapper, whose content has the same path.
    pub(super) fn unwrap(&'a self, container: &Bound<'_, PyAny>) -> Result<Self, Misfit> {
        self.within(container, 0)
    }

    fn within(&'a self, container: &Bound<'_, PyAny>, steps: usize) -> Result<Self, Misfit> {
        if self.depth >= MAX_VALUE_DEPTH {
            return Err(Misfit::new(format!(
                "is nested more than {MAX_VALUE_DEPTH} levels deep"
            )));
        }
        let entered = container.as_ptr();
        let mut above = Some(self);
        while let Some(outer) = above {
            if outer.container == Some(entered) {
                let mut misfit = Misfit::new(String::new());
                misfit.cycle = Some(outer.parent.map_or(0, |parent| parent.steps));
                return Err(misfit);
            }
            above = outer.parent;
        }
        Ok(Self {
            container: Some(entered),
            parent: Some(self),
            depth: self.depth + 1,
            steps: self.steps + steps,
        })
    }
}

/// Why a value has no form in the engine, and its path.
pub(super) struct Misfit {
    /// The path steps to the value, the last one first.
    path: Vec<String>,
    reason: String,
    /// For a cycle: the path length of the container that the value is identical to.
    cycle: Option<usize>,
}

impl Misfit {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            reason: reason.into(),
            cycle: None,
        }
    }

    pub(super) fn below(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    /// Returns the error message; `what` names the root.
    pub(super) fn describe(&self, what: &str) -> String {
        let steps: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        let place = match steps.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {}", abbreviated(&steps)),
        };
        let Some(outer) = self.cycle else {
            return format!("{place}: {}", self.reason);
        };
        let outer = match steps.get(..outer) {
            Some(steps) if !steps.is_empty() => abbreviated(steps),
            _ => what.to_owned(),
        };
        format!("{place}: leads back to {outer}, and a value cannot contain itself")
    }
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Self::new(error.to_string())
    }
}

/// Joins the steps of a path, without the middle of a long one.
fn abbreviated(steps: &[&str]) -> String {
    let text = match steps.split_first_chunk::<MAX_STEPS_PER_END>() {
        Some((first, rest)) if rest.len() > MAX_STEPS_PER_END + 1 => {
            let last = rest.get(rest.len() - MAX_STEPS_PER_END..).unwrap_or_default();
            format!("{}…{}", first.concat(), last.concat().trim_start_matches('.'))
        }
        _ => steps.concat(),
    };
    text.trim_start_matches('.').to_owned()
}
