//! Addresses in the variables of services, without users and passwords.

/// Returns an address without its user and password; `None` where it is not certain what they are.
pub(super) fn without_user(address: &str) -> Option<String> {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, address),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // Elsewhere it would end a password that is not escaped.
    if path.contains('@') {
        return None;
    }
    Some(match scheme {
        Some(scheme) => format!("{scheme}://{host}{path}"),
        None => format!("{host}{path}"),
    })
}

/// Returns whether a value has an address.
pub(super) fn is_address(value: &str) -> bool {
    value.contains("://")
}

/// Returns whether a text is an address as a whole.
pub(super) fn is_whole_address(text: &str) -> bool {
    is_address(text) && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn users_and_passwords_are_dropped() {
        for (address, expected) in [
            ("https://example.com/a?b=c#d", Some("https://example.com/a?b=c#d")),
            (
                "https://user@example.com:8080/a",
                Some("https://example.com:8080/a"),
            ),
            ("https://user:hunter2@example.com", Some("https://example.com")),
            (
                "https://user:hunt@er2@example.com/a",
                Some("https://example.com/a"),
            ),
            ("user:hunter2@example.com/a", Some("example.com/a")),
            ("/shop/_build", Some("/shop/_build")),
            ("https://user:hunt/er2@example.com/a", None),
            ("https://user:hunt?er2@example.com/a", None),
            ("https://hunt#er2@example.com/a", None),
        ] {
            assert_eq!(without_user(address).as_deref(), expected, "{address}");
        }
        assert!(is_whole_address("https://example.com"));
        assert!(!is_whole_address("see https://example.com"));
    }

    proptest! {
        #[test]
        fn no_password_stays(password in "[Z:/?#@%\\\\]{0,12}") {
            let found = without_user(&format!("https://user:Z{password}@host/a"));
            prop_assert!(!found.is_some_and(|text| text.contains('Z')));
        }
    }
}
