//! The order of a set of stacks that run on an executor.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use stackwright::{
    Error, ErrorKind, Result, StackName,
    fleet::{FleetTurn, OrderedStack},
    operation::OperationKind,
};

use crate::errors::{OrRaise as _, to_exception};

/// The order of a set; see [`stackwright::fleet::FleetOrder`].
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct FleetOrder(Mutex<stackwright::fleet::FleetOrder>);

impl FleetOrder {
    fn order(&self) -> MutexGuard<'_, stackwright::fleet::FleetOrder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn names(names: &[String]) -> Result<Vec<StackName>> {
    names.iter().map(|name| StackName::parse(name)).collect()
}

/// The names of a stack, of those that it depends on, and of those that its state refers to.
type Described = (String, Vec<String>, Vec<String>);

fn ordered((name, depends_on, references): &Described) -> Result<OrderedStack> {
    Ok(OrderedStack {
        name: StackName::parse(name)?,
        depends_on: names(depends_on)?,
        references: names(references)?,
    })
}

#[pymethods]
impl FleetOrder {
    /// Orders stacks, each with those that it depends on and those that its state refers to, for an operation: `up`, `preview`, `refresh`
    /// or `destroy`.
    #[new]
    fn new(py: Python<'_>, verb: &str, stacks: Vec<Described>, max_stacks: u32) -> PyResult<Self> {
        let kind = match verb {
            "refresh" => OperationKind::Refresh,
            "destroy" => OperationKind::Destroy,
            _ => OperationKind::Update,
        };
        let stacks = stacks
            .iter()
            .map(ordered)
            .collect::<Result<Vec<_>>>()
            .or_raise(py)?;
        let order = stackwright::fleet::FleetOrder::new(kind, verb == "preview", stacks, max_stacks);
        Ok(Self(Mutex::new(order.or_raise(py)?)))
    }

    /// Returns the place of the next stack, with an error for one that does not run; `None` until a stack ends.
    fn next_turn(&self, py: Python<'_>) -> Option<(usize, Option<PyErr>)> {
        let turn = self.order().next_turn()?;
        Some(match turn {
            FleetTurn::Start(place) => (place, None),
            FleetTurn::Skip(place, error) => (place, Some(to_exception(py, &error))),
        })
    }

    /// Records the end of a stack: none or an error, by the name of its kind and its message; whether the end is not known.
    #[pyo3(signature = (place, error=None, is_unknown=false))]
    fn ended(&self, place: usize, error: Option<(String, String)>, is_unknown: bool) {
        let error = error.map(|(kind, message)| {
            let kind = ErrorKind::ALL.iter().find(|known| known.name() == kind);
            Error::new(kind.copied().unwrap_or(ErrorKind::Failed), message)
        });
        self.order().ended(place, error, is_unknown);
    }

    /// Returns a stack to those that have not begun: it runs again after these.
    fn run_again(&self, py: Python<'_>, place: usize, after: Vec<String>) -> PyResult<()> {
        let after = names(&after).or_raise(py)?;
        self.order().run_again(place, &after).or_raise(py)
    }

    /// Starts no further stack.
    fn cancel(&self) {
        self.order().cancel();
    }

    /// Returns the places of the stacks that have not ended.
    fn unfinished(&self) -> Vec<usize> {
        self.order().unfinished().collect()
    }

    /// Returns whether every stack has ended.
    fn is_over(&self) -> bool {
        self.order().is_over()
    }

    /// Returns the error of the set.
    fn error(&self, py: Python<'_>) -> Option<PyErr> {
        let error = self.order().error()?;
        Some(to_exception(py, &error))
    }
}
