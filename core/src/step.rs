//! The kinds of steps; the names are those of events, plans and summaries.

use std::fmt;

macro_rules! step_ops {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// The kind of a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, schemars::JsonSchema, serde::Serialize, serde::Deserialize)]
        pub enum StepOp {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl StepOp {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name of the wire and of the event log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

step_ops! {
    /// Nothing changes.
    Same = "same";
    /// A new resource.
    Create = "create";
    /// A change in place.
    Update = "update";
    /// A removal.
    Delete = "delete";
    /// The marker of a replacement, which has no effect.
    Replace = "replace";
    /// The new half of a replacement.
    CreateReplacement = "create-replacement";
    /// The old half of a replacement.
    DeleteReplaced = "delete-replaced";
    /// Reads a resource that is not managed by the stack.
    Read = "read";
    /// Reads a resource in place of a managed one.
    ReadReplacement = "read-replacement";
    /// Reads a recorded resource.
    Refresh = "refresh";
    /// Removes the record of a resource that was only read.
    Discard = "discard";
    /// Removes the record of the old half of a replacement that was only read.
    DiscardReplaced = "discard-replaced";
    /// Removes a record whose replacement is pending.
    RemovePendingReplace = "remove-pending-replace";
    /// Adopts an existing resource.
    Import = "import";
    /// Adopts an existing resource in place of the recorded one.
    ImportReplacement = "import-replacement";
}

impl StepOp {
    /// The name under which a resource with this step is counted.
    pub(crate) const fn counted_as(self) -> &'static str {
        match self {
            Self::CreateReplacement | Self::DeleteReplaced => Self::Replace.name(),
            Self::ReadReplacement => Self::Read.name(),
            Self::DiscardReplaced => Self::Discard.name(),
            Self::RemovePendingReplace => Self::Same.name(),
            other => other.name(),
        }
    }

    /// The weight of a step: among those of a resource, the step of the highest weight stands for all.
    pub(crate) const fn weight(self) -> u8 {
        match self {
            Self::RemovePendingReplace => 0,
            Self::Refresh => 1,
            Self::Same => 2,
            Self::Read => 3,
            Self::Discard | Self::DiscardReplaced => 4,
            Self::Delete => 5,
            Self::DeleteReplaced => 6,
            Self::Create | Self::Import => 7,
            Self::Update => 8,
            Self::CreateReplacement | Self::ImportReplacement | Self::ReadReplacement => 9,
            Self::Replace => 10,
        }
    }

    /// Returns the provider's method that the step calls; `None` for a step without a call.
    pub(crate) const fn method(self) -> Option<&'static str> {
        match self {
            Self::Create | Self::CreateReplacement => Some("create"),
            Self::Update => Some("update"),
            Self::Delete | Self::DeleteReplaced => Some("delete"),
            Self::Read | Self::ReadReplacement | Self::Refresh | Self::Import | Self::ImportReplacement => {
                Some("read")
            }
            Self::Same
            | Self::Replace
            | Self::Discard
            | Self::DiscardReplaced
            | Self::RemovePendingReplace => None,
        }
    }
}

impl fmt::Display for StepOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
