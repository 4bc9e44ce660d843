//! The kinds of steps; the names are those of events, plans and summaries.

use std::fmt;

macro_rules! step_ops {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// What a step does.
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
    /// Marks a replacement; does nothing itself.
    Replace = "replace";
    /// The new half of a replacement.
    CreateReplacement = "create-replacement";
    /// The old half of a replacement.
    DeleteReplaced = "delete-replaced";
    /// Reads something that is not managed here.
    Read = "read";
    /// Reads something in place of what was managed here.
    ReadReplacement = "read-replacement";
    /// Reads a recorded resource.
    Refresh = "refresh";
    /// Forgets something that is not managed here.
    Discard = "discard";
    /// Forgets the old half of a replacement that is not managed here.
    DiscardReplaced = "discard-replaced";
    /// Forgets a record whose replacement is pending.
    RemovePendingReplace = "remove-pending-replace";
    /// Adopts an existing thing.
    Import = "import";
    /// Adopts an existing thing in place of what was recorded.
    ImportReplacement = "import-replacement";
}

impl StepOp {
    /// Returns the provider's method that the step calls; `None` for a step that calls none.
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
