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
