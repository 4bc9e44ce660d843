//! Type tokens, package names and ids: newtypes, so that no bare string is mistaken for another.

use std::fmt;

use smol_str::SmolStr;

macro_rules! text_newtype {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(SmolStr);

        impl $name {
            /// Keeps `text` as it is.
            pub fn new(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Tells whether the text is empty.
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
    /// A resource's type: `package:module:Member` for those that a provider manages, any text for local components.
    TypeToken;
    /// A package's name, `aws` for instance.
    PackageName;
    /// The id that a provider gave to a resource; empty when there is none (yet).
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

    /// Returns the package whose provider this type is, when it is a provider's type.
    #[must_use]
    pub fn provided_package(&self) -> Option<&str> {
        self.0
            .strip_prefix(PROVIDER_PREFIX)
            .filter(|package| !package.is_empty())
    }

    /// Tells whether this is a provider's type.
    #[must_use]
    pub fn is_provider(&self) -> bool {
        self.provided_package().is_some()
    }

    /// Returns the text before the first colon: the package that serves the type.
    #[must_use]
    pub fn package(&self) -> &str {
        self.0.split_once(':').map_or("", |(package, _)| package)
    }

    /// Returns the package that is asked about resources of the type; of a provider's type, the package that it provides.
    #[must_use]
    pub(crate) fn asked_package(&self) -> &str {
        self.provided_package().unwrap_or_else(|| self.package())
    }

    /// Tells whether the text has the form `package:module:member` that custom and remote resources need.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let mut parts = self.0.splitn(3, ':');
        matches!(
            (parts.next(), parts.next(), parts.next()),
            (Some(_), Some(_), Some(_))
        )
    }

    /// Returns the part after the last colon, which people read as the type's name.
    #[must_use]
    pub fn member(&self) -> &str {
        self.0.rsplit(':').next().unwrap_or_default()
    }
}
