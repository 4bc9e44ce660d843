//! Type tokens, package names and ids as newtypes.

use std::fmt;

use smol_str::SmolStr;

/// The type of references to other stacks.
pub(crate) const STACK_REFERENCE: &str = "pulumi:pulumi:StackReference";

macro_rules! text_newtype {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(SmolStr);

        impl $name {
            /// Creates a value from any text.
            pub fn new(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns whether the text is empty.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, formatter)
            }
        }
    )*};
}

text_newtype! {
    /// A resource's type: `package:module:Member` for resources of providers, any text for local components.
    TypeToken;
    /// A package's name, `aws` for instance.
    PackageName;
    /// A resource's id, assigned by its provider; empty if there is none (yet).
    ResourceId;
}

/// The module of provider resources' types: `pulumi:providers:<package>`.
const PROVIDER_PREFIX: &str = "pulumi:providers:";

impl TypeToken {
    /// Returns the type of the provider resources of `package`.
    #[must_use]
    pub fn provider_of(package: &str) -> Self {
        Self(smol_str::format_smolstr!("{PROVIDER_PREFIX}{package}"))
    }

    /// Returns the package of a provider resource's type; `None` for any other type.
    #[must_use]
    pub fn provided_package(&self) -> Option<&str> {
        self.0
            .strip_prefix(PROVIDER_PREFIX)
            .filter(|package| !package.is_empty())
    }

    /// Returns whether this is the type of a provider resource.
    #[must_use]
    pub fn is_provider(&self) -> bool {
        self.provided_package().is_some()
    }

    /// Returns the text before the first colon: the package of the type.
    #[must_use]
    pub fn package(&self) -> &str {
        self.0.split_once(':').map_or("", |(package, _)| package)
    }

    /// Returns the package whose provider manages resources of the type; for a provider's type, the package that it
    /// provides.
    #[must_use]
    pub(crate) fn asked_package(&self) -> &str {
        self.provided_package().unwrap_or_else(|| self.package())
    }

    /// Returns whether the text has the form `package:module:member` that custom and remote resources require.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let mut parts = self.0.splitn(3, ':');
        matches!(
            (parts.next(), parts.next(), parts.next()),
            (Some(_), Some(_), Some(_))
        )
    }

    /// Returns why no resource can have the type; `None` for one that can be part of a URN, which ends types with `::` and
    /// separates them by `$`.
    #[must_use]
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match &*self.0 {
            "" => Some("it is empty"),
            text if text.contains(|letter: char| letter.is_control() || letter.is_whitespace()) => {
                Some("it contains white space or a control character")
            }
            text if text.contains("::") || text.contains('$') => {
                Some("'::' and '$' separate the parts of a URN")
            }
            text if text.starts_with(':') || text.ends_with(':') => Some(
                "a ':' at its beginning or end is read as a part of a '::', which separates the parts of a URN",
            ),
            _ => None,
        }
    }

    /// Returns the part after the last colon, the short name of the type.
    #[must_use]
    pub fn member(&self) -> &str {
        self.0.rsplit(':').next().unwrap_or_default()
    }
}
