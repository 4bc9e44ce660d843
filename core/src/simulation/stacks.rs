//! The other stacks of a simulation, as stack references read them.

use std::sync::Arc;

use async_trait::async_trait;

use super::Simulation;
use crate::{
    error::{Error, Result},
    message::nearest_names,
    property::PropertyMap,
    provider::builtin::StackReader,
    urn::{ROOT_STACK_TYPE, Urn},
};

/// Reads the stacks of the settings, and all others from the store.
struct SimulatedStacks {
    simulation: Simulation,
    /// The project of the stack that refers to others.
    project: String,
    store: Arc<dyn StackReader>,
}

/// The parts of a name: the organization, where it has one, the project and the stack.
fn parts<'a>(name: &'a str, own_project: &'a str) -> Option<(Option<&'a str>, &'a str, &'a str)> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        [stack] => Some((None, own_project, stack)),
        [project, stack] => Some((None, project, stack)),
        [organization, project, stack] => Some((Some(organization), project, stack)),
        _ => None,
    }
}

impl SimulatedStacks {
    /// Returns whether a name of the settings and the name in a reference are those of the same stack. A name without an organization
    /// is that of any.
    fn is_same(&self, given: &str, asked: &str) -> bool {
        let of = |name| parts(name, &self.project);
        match (of(given), of(asked)) {
            (Some(given), Some(asked)) => {
                let same_organization = given.0.is_none() || asked.0.is_none() || given.0 == asked.0;
                same_organization && (given.1, given.2) == (asked.1, asked.2)
            }
            _ => false,
        }
    }

    fn outputs(&self, asked: &str) -> Option<&PropertyMap> {
        let stacks = &self.simulation.0.settings.stacks;
        let exact = stacks.get(asked);
        exact.or_else(|| {
            let same = stacks.iter().find(|(given, _)| self.is_same(given, asked));
            same.map(|(_, outputs)| outputs)
        })
    }

    /// Adds to the error of a stack that cannot be read how a test supplies its outputs.
    fn explained<T>(&self, stack: &str, read: Result<T>) -> Result<T> {
        read.map_err(|error| {
            let names = self.simulation.0.settings.stacks.keys().map(String::as_str);
            let near = match nearest_names(stack, names, 1).first() {
                Some(near) => format!("; did you mean {near:?}, which the option has?"),
                None => String::new(),
            };
            // The provider of references passes on the message alone.
            let text = format!(
                "{}; a test supplies the outputs of another stack in the option `stacks`{near}",
                error.message()
            );
            Error::new(error.kind(), text)
        })
    }
}

#[async_trait]
impl StackReader for SimulatedStacks {
    async fn stack_outputs(&self, stack: &str) -> Result<PropertyMap> {
        match self.outputs(stack) {
            Some(outputs) => Ok(outputs.clone()),
            None => self.explained(stack, self.store.stack_outputs(stack).await),
        }
    }

    async fn stack_resource_outputs(&self, stack: &str) -> Result<PropertyMap> {
        let (Some(outputs), Some((_, project, name))) = (self.outputs(stack), parts(stack, &self.project))
        else {
            let read = self.store.stack_resource_outputs(stack).await;
            return self.explained(stack, read);
        };
        let facts: PropertyMap = [
            ("type", ROOT_STACK_TYPE.into()),
            ("outputs", outputs.clone().into()),
        ]
        .into_iter()
        .collect();
        let urn = Urn::root_stack(name, project);
        Ok([(urn.as_str(), facts.into())].into_iter().collect())
    }
}

/// Returns the reader of other stacks for a stack of a project; `store` reads those that the settings do not have.
pub(super) fn reader(
    simulation: &Simulation,
    project: &str,
    store: Arc<dyn StackReader>,
) -> Arc<dyn StackReader> {
    Arc::new(SimulatedStacks {
        simulation: simulation.clone(),
        project: project.to_owned(),
        store,
    })
}
