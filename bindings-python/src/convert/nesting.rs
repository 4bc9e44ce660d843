//! Where in a nested value a conversion is: what keeps it from circles and from depths, and what tells people the place.

use pyo3::prelude::*;

/// How deep values may be nested: deeper than any sane program, shallower than the stack.
const DEEPEST: usize = 400;

/// How many steps of a path are told at each end.
const TOLD: usize = 4;

/// The containers that a value lies in, from the innermost to the outermost.
#[derive(Clone, Copy)]
pub(super) struct Above<'a> {
    container: Option<*mut pyo3::ffi::PyObject>,
    parent: Option<&'a Self>,
    depth: usize,
    /// How many steps lead from the whole to the container.
    steps: usize,
}

impl<'a> Above<'a> {
    /// Nothing: for the whole.
    pub(super) const NOTHING: Self = Self {
        container: None,
        parent: None,
        depth: 0,
        steps: 0,
    };

    /// Enters a container whose elements are each one step below it.
    pub(super) fn enter(&'a self, container: &Bound<'_, PyAny>) -> Result<Self, Misfit> {
        self.within(container, 1)
    }

    /// Enters a container that only wraps a value, so that no step leads into it.
    pub(super) fn unwrap(&'a self, container: &Bound<'_, PyAny>) -> Result<Self, Misfit> {
        self.within(container, 0)
    }

    fn within(&'a self, container: &Bound<'_, PyAny>, steps: usize) -> Result<Self, Misfit> {
        if self.depth >= DEEPEST {
            return Err(Misfit::new(format!("is nested more than {DEEPEST} levels deep")));
        }
        let entered = container.as_ptr();
        let mut above = Some(self);
        while let Some(outer) = above {
            if outer.container == Some(entered) {
                let mut misfit = Misfit::new(String::new());
                misfit.circle = Some(outer.parent.map_or(0, |parent| parent.steps));
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

/// Why a value can not be one of the engine's, and where it is.
pub(super) struct Misfit {
    /// The steps to the value, the last one first.
    path: Vec<String>,
    reason: String,
    /// That it is a value in which it lies: after so many steps.
    circle: Option<usize>,
}

impl Misfit {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            reason: reason.into(),
            circle: None,
        }
    }

    pub(super) fn below(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    /// Returns the text for people; `what` names the whole.
    pub(super) fn describe(&self, what: &str) -> String {
        let steps: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        let place = match steps.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {}", told(&steps)),
        };
        let Some(outer) = self.circle else {
            return format!("{place}: {}", self.reason);
        };
        let outer = match steps.get(..outer) {
            Some(steps) if !steps.is_empty() => told(steps),
            _ => what.to_owned(),
        };
        format!("{place}: leads back to {outer}, and a value can not contain itself")
    }
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Self::new(error.to_string())
    }
}

/// Returns the steps of a path as people read it, the middle of a long one left out.
fn told(steps: &[&str]) -> String {
    let text = match steps.split_first_chunk::<TOLD>() {
        Some((first, rest)) if rest.len() > TOLD + 1 => {
            let last = rest.get(rest.len() - TOLD..).unwrap_or_default();
            format!("{}…{}", first.concat(), last.concat().trim_start_matches('.'))
        }
        _ => steps.concat(),
    };
    text.trim_start_matches('.').to_owned()
}
