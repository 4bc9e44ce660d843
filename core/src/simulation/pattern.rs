//! Patterns of names, types and methods, in which `*` is any text.

use crate::{message::nearest_names, urn::Urn};

/// Returns whether a text matches a pattern, in which each `*` is any text, also an empty one.
#[must_use]
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(place) = rest.find(part) else {
            return false;
        };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns whether a type token matches a pattern. A token whose module names its member (`aws:s3/bucket:Bucket`) is
/// matched by its short form (`aws:s3:Bucket`), too.
#[must_use]
pub(crate) fn matches_type(pattern: &str, token: &str) -> bool {
    matches(pattern, token) || short_form(token).is_some_and(|short| matches(pattern, &short))
}

/// Returns `aws:s3:Bucket` for `aws:s3/bucket:Bucket`.
fn short_form(token: &str) -> Option<String> {
    let (package, rest) = token.split_once(':')?;
    let (module, member) = rest.rsplit_once(':')?;
    let (module, file) = module.rsplit_once('/')?;
    file.eq_ignore_ascii_case(member.split('/').next().unwrap_or(member))
        .then(|| format!("{package}:{module}:{member}"))
}

/// Returns whether a resource matches a pattern: one of URNs (`urn:…`), of a type and a name (`type::name`), of types (with a
/// `:`), or of names.
#[must_use]
pub(crate) fn matches_resource(pattern: &str, urn: &Urn) -> bool {
    if pattern.starts_with("urn:") {
        return matches(pattern, urn.as_str());
    }
    if let Some((types, name)) = pattern.split_once("::") {
        return matches_type(types, urn.resource_type()) && matches(name, urn.name());
    }
    match pattern.contains(':') {
        true => matches_type(pattern, urn.resource_type()),
        false => matches(pattern, urn.name()),
    }
}

/// Returns the resources that a misspelt pattern may stand for, in the form of the pattern.
pub(crate) fn nearest_resources<'a>(
    pattern: &str,
    urns: impl Iterator<Item = &'a Urn> + Clone,
) -> Vec<String> {
    const COUNT: usize = 3;
    let near = |names: Vec<&str>| {
        nearest_names(pattern, names, COUNT)
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    if pattern.starts_with("urn:") {
        return near(urns.map(Urn::as_str).collect());
    }
    if pattern.contains("::") {
        let pairs: Vec<String> = urns
            .map(|urn| format!("{}::{}", urn.resource_type(), urn.name()))
            .collect();
        return near(pairs.iter().map(String::as_str).collect());
    }
    match pattern.contains(':') {
        true => near(urns.map(Urn::resource_type).collect()),
        false => near(urns.map(Urn::name).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_everything_else_is_itself() {
        for (pattern, text, expected) in [
            ("web", "web", true),
            ("web", "web1", false),
            ("", "", true),
            ("*", "", true),
            ("*", "anything", true),
            ("web*", "web-1", true),
            ("*-1", "web-1", true),
            ("w*-*1", "web-a-1", true),
            ("a*a", "a", false),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_type_is_found_by_its_token_and_by_the_form_of_programs() {
        assert!(matches_type("aws:s3/bucket:*", "aws:s3/bucket:Bucket"));
        assert!(matches_type("aws:s3:Bucket", "aws:s3/bucket:Bucket"));
        assert!(matches_type("aws:*", "aws:s3/bucket:Bucket"));
        assert!(!matches_type("aws:s3:Bucket", "aws:s3/bucketV2:BucketV2"));
        assert!(matches_type("aws:ec2:getVpc", "aws:ec2/getVpc:getVpc"));
    }

    #[test]
    fn a_resource_is_found_by_its_name_type_both_or_urn() {
        let urn = Urn::new("dev", "shop", "", "cloud:index:Machine", "web");
        for pattern in [
            "web",
            "w*",
            "cloud:index:*",
            "cloud:index:Machine::web",
            "*::web",
            urn.as_str(),
        ] {
            assert!(matches_resource(pattern, &urn), "{pattern}");
        }
        for pattern in ["db", "cloud:index:Record", "cloud:index:Machine::db", "urn:*::db"] {
            assert!(!matches_resource(pattern, &urn), "{pattern}");
        }
        assert_eq!(nearest_resources("wep", [&urn].into_iter()), ["web"]);
        assert_eq!(
            nearest_resources("cloud:index:Machne", [&urn].into_iter()),
            ["cloud:index:Machine"]
        );
    }
}
