//! URNs: the identity of a resource within a stack, as `urn:pulumi:<stack>::<project>::<qualified type>::<name>`.

use std::{fmt, sync::Arc};

const PREFIX: &str = "urn:pulumi:";
const SEPARATOR: &str = "::";

/// The type of the component that represents a whole stack.
pub const ROOT_STACK_TYPE: &str = "pulumi:pulumi:Stack";

/// Returns why no resource can be given a name.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("is empty"),
        _ if name.chars().all(char::is_whitespace) => Some("is blank"),
        _ if name.chars().any(char::is_control) => Some("contains a control character, such as a line break"),
        _ => None,
    }
}

/// The error of a text that is not a URN. Converts into [`crate::Error`] with [`crate::ErrorKind::InvalidInput`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidUrn(String);

impl fmt::Display for InvalidUrn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "invalid URN {:?}", self.0)
    }
}

impl std::error::Error for InvalidUrn {}

/// A valid URN. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Urn(Arc<str>);

impl Urn {
    /// Parses `text`.
    ///
    /// # Errors
    /// [`InvalidUrn`] if the prefix or one of the three `::` separators is missing.
    pub fn parse(text: &str) -> Result<Self, InvalidUrn> {
        let parts = text.strip_prefix(PREFIX);
        if parts.is_some_and(|rest| separators(rest).nth(2).is_some()) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidUrn(text.to_owned()))
        }
    }

    /// Creates the URN of a resource; the parent's qualified type precedes its own, except that of a root stack.
    #[must_use]
    pub fn new(
        stack: &str,
        project: &str,
        parent_qualified_type: &str,
        resource_type: &str,
        name: &str,
    ) -> Self {
        let text = if parent_qualified_type.is_empty() || parent_qualified_type == ROOT_STACK_TYPE {
            format!("{PREFIX}{stack}::{project}::{resource_type}::{name}")
        } else {
            format!("{PREFIX}{stack}::{project}::{parent_qualified_type}${resource_type}::{name}")
        };
        Self(text.into())
    }

    /// Returns the URN of a stack's root component.
    #[must_use]
    pub fn root_stack(stack: &str, project: &str) -> Self {
        Self::new(stack, project, "", ROOT_STACK_TYPE, &format!("{project}-{stack}"))
    }

    /// Returns the whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn part(&self, index: usize) -> &str {
        let parts = &self.0[PREFIX.len()..];
        let mut bounds = separators(parts).take(3);
        let start = match index.checked_sub(1) {
            Some(before) => bounds.nth(before).map_or(parts.len(), |at| at + SEPARATOR.len()),
            None => 0,
        };
        &parts[start..bounds.next().unwrap_or(parts.len())]
    }

    /// Returns the stack's name.
    #[must_use]
    pub fn stack(&self) -> &str {
        self.part(0)
    }

    /// Returns the project's name.
    #[must_use]
    pub fn project(&self) -> &str {
        self.part(1)
    }

    /// Returns the types of the parents and of the resource, joined by `$`.
    #[must_use]
    pub fn qualified_type(&self) -> &str {
        self.part(2)
    }

    /// Returns the resource's own type.
    #[must_use]
    pub fn resource_type(&self) -> &str {
        let qualified = self.qualified_type();
        qualified.rsplit_once('$').map_or(qualified, |(_, own)| own)
    }

    /// Returns the name: the text after the third `::`, which may contain `::` itself.
    #[must_use]
    pub fn name(&self) -> &str {
        self.part(3)
    }

    /// Returns whether this is a stack's root component.
    #[must_use]
    pub fn is_root_stack(&self) -> bool {
        self.qualified_type() == ROOT_STACK_TYPE
    }

    /// Returns whether this is a default provider, by the names that the engine gives these.
    #[must_use]
    pub(crate) fn is_default_provider(&self) -> bool {
        let name = self.name();
        self.resource_type().starts_with("pulumi:providers:")
            && (name == "default" || name.starts_with("default_"))
    }

    /// Returns the same URN with another name.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Self {
        Self::new(self.stack(), self.project(), "", self.qualified_type(), name)
    }
}

/// Returns the positions of the separators. A search for the text would first prepare tables, at each call.
fn separators(parts: &str) -> impl Iterator<Item = usize> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let bytes = parts.as_bytes();
        loop {
            let at = rest + memchr::memchr(b':', &bytes[rest..])?;
            rest = at + 1;
            if bytes.get(rest) == Some(&b':') {
                rest += 1;
                return Some(at);
            }
        }
    })
}

impl fmt::Display for Urn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Urn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AsRef<str> for Urn {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Urn {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Urn {
    type Err = InvalidUrn;

    fn from_str(text: &str) -> Result<Self, InvalidUrn> {
        Self::parse(text)
    }
}

impl serde::Serialize for Urn {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Urn {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The error of an invalid name. Converts into [`crate::Error`] with [`crate::ErrorKind::InvalidInput`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName(String);

impl fmt::Display for InvalidName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidName {}

/// Returns whether a text can be the name of a project or a stack: letters, digits, `_`, `-` and `.`.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Checks that a text can be a project's name: at most 100 letters, digits, `_`, `-` and `.`.
///
/// # Errors
/// [`InvalidName`] with the reason.
pub fn check_project_name(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName("project is missing a 'name' attribute".to_owned()));
    }
    if name.len() > 100 {
        return Err(InvalidName(
            "a project name must be 100 characters or less".to_owned(),
        ));
    }
    if !is_plain_name(name) {
        return Err(InvalidName(format!(
            "the project name {name:?} may only contain alphanumeric, hyphens, underscores, and periods"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_separators() {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a::b");
        assert_eq!(urn.name(), "a::b");
        assert_eq!(urn.resource_type(), "pkg:index:Type");
        assert_eq!(Urn::parse(urn.as_str()).unwrap(), urn);
    }

    #[test]
    fn a_parent_qualifies_the_type_unless_it_is_the_root_stack() {
        let under_stack = Urn::new("dev", "shop", ROOT_STACK_TYPE, "pkg:index:Parent", "p");
        assert_eq!(under_stack.qualified_type(), "pkg:index:Parent");
        let child = Urn::new(
            "dev",
            "shop",
            under_stack.qualified_type(),
            "pkg:index:Child",
            "c",
        );
        assert_eq!(
            child.as_str(),
            "urn:pulumi:dev::shop::pkg:index:Parent$pkg:index:Child::c"
        );
        assert_eq!(child.resource_type(), "pkg:index:Child");
    }

    #[test]
    fn a_text_without_three_separators_is_refused() {
        assert!(Urn::parse("urn:pulumi:dev::shop::type").is_err());
        assert!(Urn::parse("dev::shop::type::name").is_err());
    }
}
