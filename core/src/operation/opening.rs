//! Opening of stacks: existence rules, and hints for a stack that does not exist.

use crate::{
    config::ConfigSource,
    error::{Error, ErrorKind, Result},
    message::distance,
    store::{Moving, StackName, StackStorage, list_stacks, settle_renaming},
};

/// The rule for opening a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// With a program in the settings as [`Self::CreateOrSelect`]. Without one, opening creates nothing: the first
    /// update or import creates the stack, and reads fail with [`ErrorKind::NotFound`] until then.
    #[default]
    AsNeeded,
    /// Creates the stack; one that exists is an [`ErrorKind::Conflict`].
    Create,
    /// Selects the stack; one that does not exist is an [`ErrorKind::NotFound`].
    Select,
    /// Selects the stack, and creates it when it does not exist.
    CreateOrSelect,
}

/// Maximum number of stacks in a hint.
const MAX_LISTED: usize = 8;

impl Opening {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::AsNeeded, Self::Create, Self::Select, Self::CreateOrSelect];

    /// Returns the rule of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when there is none.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|opening| opening.name() == name);
        found.ok_or_else(|| Error::invalid(format!("there is no way {name:?} of opening a stack")))
    }

    /// Returns the name in the bindings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsNeeded => "as_needed",
            Self::Create => "create",
            Self::Select => "select",
            Self::CreateOrSelect => "create_or_select",
        }
    }

    /// Returns the rule for an option `create`; `has_program` is true for a stack with a program.
    #[must_use]
    pub const fn of_create(create: Option<bool>, has_program: bool) -> Self {
        match create {
            Some(true) => Self::CreateOrSelect,
            Some(false) => Self::Select,
            None if has_program => Self::CreateOrSelect,
            None => Self::AsNeeded,
        }
    }

    /// Creates the stack, or checks that it exists. Returns true when it does not exist and is to be created by the
    /// first operation that writes it. Interrupted renamings and moves are finished or undone first; `source` is that of the
    /// configuration.
    pub(crate) async fn apply(
        self,
        storage: &StackStorage,
        source: Option<&dyn ConfigSource>,
    ) -> Result<bool> {
        settle_renaming(storage, source).await?;
        Moving::settle(storage).await?;
        match self {
            Self::Create => storage.create().await.map(|()| false),
            Self::AsNeeded => Ok(!storage.exists().await?),
            Self::Select if storage.exists().await? => Ok(false),
            Self::Select => Err(explained(storage, missing(storage.name())).await),
            Self::CreateOrSelect => {
                if !storage.exists().await? {
                    create_unless_there(storage).await?;
                }
                Ok(false)
            }
        }
    }
}

/// Creates a stack. Concurrent creation by another process is no error.
pub(crate) async fn create_unless_there(storage: &StackStorage) -> Result<()> {
    match storage.create().await {
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
        created => created,
    }
}

pub(super) fn missing(name: &StackName) -> Error {
    Error::new(ErrorKind::NotFound, format!("no stack named '{name}' found"))
}

/// Adds hints to the error for a stack that does not exist: similar names, and the functions that create one.
pub(crate) async fn explained(storage: &StackStorage, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound || storage.exists().await.unwrap_or(true) {
        return error;
    }
    let names = list_stacks(storage.store(), None).await.unwrap_or_default();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    error
        .with_hint(near_names(&storage.name().to_string(), &names))
        .with_hint("create_stack() creates a stack")
}

fn near_names(name: &str, known: &[String]) -> String {
    let mut near: Vec<_> = known
        .iter()
        .map(|other| (distance(name, other), other))
        .filter(|(distance, other)| distance * 3 <= name.len().max(other.len()))
        .collect();
    near.sort_unstable();
    if let Some((_, best)) = near.first() {
        return format!("did you mean '{best}'?");
    }
    let listed: Vec<_> = known.iter().take(MAX_LISTED).map(String::as_str).collect();
    match known.len() {
        0 => "the store has no stacks".to_owned(),
        count if count > MAX_LISTED => {
            format!("the store has {count} stacks, among them {}", listed.join(", "))
        }
        _ => format!("the store has {}", listed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_proposed_and_otherwise_those_that_there_are() {
        let known = ["shop/dev".to_owned(), "shop/prod".to_owned()];
        assert_eq!(near_names("shop/dve", &known), "did you mean 'shop/dev'?");
        assert_eq!(near_names("other/x", &known), "the store has shop/dev, shop/prod");
        assert_eq!(near_names("shop/dev", &[]), "the store has no stacks");
    }

    #[test]
    fn a_stack_without_a_program_is_created_only_where_that_is_asked_for() {
        assert_eq!(Opening::of_create(None, false), Opening::AsNeeded);
        assert_eq!(Opening::of_create(None, true), Opening::CreateOrSelect);
        assert_eq!(Opening::of_create(Some(true), false), Opening::CreateOrSelect);
        assert_eq!(Opening::of_create(Some(false), true), Opening::Select);
        for opening in Opening::ALL {
            assert_eq!(Opening::named(opening.name()).unwrap(), opening);
        }
        assert!(Opening::named("both").is_err());
    }
}
