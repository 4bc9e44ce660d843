//! The parts of the URL of a remote store. Every parameter must be known.

use std::collections::BTreeMap;

use url::Url;

use super::check_key;
use crate::{
    error::{Error, Result},
    secrets::PLACEHOLDER,
};

/// The URL of a bucket or container. Parameters are taken one by one; [`Self::finish`] refuses those that are left.
#[derive(Debug)]
pub(super) struct Location {
    url: String,
    /// The bucket or container.
    pub name: String,
    /// The prefix of all keys: empty, or with a slash at its end.
    pub prefix: String,
    parameters: BTreeMap<String, String>,
}

impl Location {
    /// Parses `scheme://name/prefix?parameters`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let shown = shown(text);
        let invalid = |reason: &str| Error::invalid(format!("the store URL {shown:?} {reason}"));
        let url = Url::parse(text).map_err(|error| invalid(&format!("is malformed: {error}")))?;
        let name = match url.host_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => return Err(invalid("names no bucket")),
        };
        if !url.username().is_empty() || url.password().is_some() || url.port().is_some() {
            return Err(invalid("has a user or a port before the path")
                .with_hint("the part between the slashes is the name of the bucket or container"));
        }
        let path = super::open::percent_decode(url.path())
            .ok_or_else(|| invalid("has an invalid percent escape"))?;
        let path = path.trim_start_matches('/');
        let prefix = match path.strip_suffix('/').unwrap_or(path) {
            "" => String::new(),
            path => {
                check_key(path).map_err(|_| invalid("has a path that cannot be the prefix of keys"))?;
                format!("{path}/")
            }
        };
        let mut parameters = BTreeMap::new();
        for (name, value) in url.query_pairs() {
            if parameters.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(invalid(&format!("has the parameter {name:?} twice")));
            }
        }
        Ok(Self {
            url: shown,
            name,
            prefix,
            parameters,
        })
    }

    /// Returns the URL for messages, without credentials.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Takes a parameter.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.parameters.remove(name)
    }

    /// Takes a parameter that is true or false; `None` when it is not given.
    pub(super) fn take_flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(name).as_deref() {
            None => Ok(None),
            Some("true" | "TRUE" | "True" | "t" | "T" | "1") => Ok(Some(true)),
            Some("false" | "FALSE" | "False" | "f" | "F" | "0") => Ok(Some(false)),
            Some(value) => Err(Error::invalid(format!(
                "the parameter {name:?} of the store URL {:?} is {value:?}, neither true nor false",
                self.url
            ))),
        }
    }

    /// Takes a flag that has two names.
    pub(super) fn take_either_flag(&mut self, one: &str, other: &str) -> Result<bool> {
        let (first, second) = (self.take_flag(one)?, self.take_flag(other)?);
        match (first, second) {
            (Some(first), Some(second)) if first != second => Err(Error::invalid(format!(
                "the parameters {one:?} and {other:?} of the store URL {:?} contradict each other",
                self.url
            ))),
            (first, second) => Ok(first.or(second).unwrap_or(false)),
        }
    }

    /// Refuses the parameters that were not taken.
    pub(super) fn finish(&self, known: &[&str]) -> Result<()> {
        match self.parameters.keys().next() {
            None => Ok(()),
            Some(name) => Err(unknown_parameter(&self.url, name, known)),
        }
    }
}

/// Parts of the names of parameters whose values are credentials, which belong to no URL.
const CREDENTIALS: [&str; 7] = [
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "sas",
    "signature",
];

/// Returns a URL for messages: without the user and the password before its host, also where they have characters that need an escape, and
/// without credentials among its parameters.
pub(super) fn shown(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + 3),
        None => ("", url),
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    if let Some(host) = query.and_then(|query| after_torn_password(place, query)) {
        return format!("{scheme}{}", shown(host));
    }
    let host = match place.rsplit_once('@') {
        // A prefix of keys may have one, too.
        Some((user, host)) if user.contains(':') || !user.contains('/') => host,
        _ => place,
    };
    let parameters = query.map(|query| {
        let parameters: Vec<String> = query.split('&').map(shown_parameter).collect();
        format!("?{}", parameters.join("&"))
    });
    format!("{scheme}{host}{}", parameters.unwrap_or_default())
}

/// Returns what follows a password in which a question mark is not escaped: what seems to be the query contains the rest of the password.
fn after_torn_password<'a>(place: &str, query: &'a str) -> Option<&'a str> {
    let (torn, host) = query.rsplit_once('@')?;
    let has_password = place.contains(':') && !place.contains('@');
    (has_password && (!torn.contains('=') || !place.contains('/'))).then_some(host)
}

fn shown_parameter(parameter: &str) -> String {
    let Some((name, value)) = parameter.split_once('=') else {
        return parameter.to_owned();
    };
    let lower = name.to_ascii_lowercase();
    if CREDENTIALS.iter().any(|part| lower.contains(part)) {
        return format!("{name}={PLACEHOLDER}");
    }
    match value.contains('@') {
        true => format!("{name}={}", shown(value)),
        false => parameter.to_owned(),
    }
}

/// The error of a parameter that no store of this kind has.
pub(super) fn unknown_parameter(url: &str, name: &str, known: &[&str]) -> Error {
    if name.contains('@') {
        let text = "has a user or a password with characters that need an escape";
        return Error::invalid(format!("the store URL {:?} {text}", shown(url)))
            .with_hint("write `?` as %3F, `/` as %2F and `@` as %40 in them");
    }
    Error::invalid(format!(
        "the store URL {:?} has the unknown parameter {name:?}",
        shown(url)
    ))
    .with_hint(format!("known parameters: {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_prefix_of_the_keys() {
        for (url, name, prefix) in [
            ("s3://bucket", "bucket", ""),
            ("s3://bucket/", "bucket", ""),
            ("s3://bucket/team/infra", "bucket", "team/infra/"),
            ("gs://my_Bucket.dev/a%20b/?x=y", "my_Bucket.dev", "a b/"),
        ] {
            let location = Location::parse(url).unwrap();
            assert_eq!(
                (location.name.as_str(), location.prefix.as_str()),
                (name, prefix),
                "{url}"
            );
        }
    }

    #[test]
    fn a_malformed_url_is_refused_with_the_reason() {
        for (url, reason) in [
            ("s3://", "names no bucket"),
            ("s3:///prefix", "names no bucket"),
            ("s3://key:secret@bucket", "user or a port"),
            ("s3://bucket:80", "user or a port"),
            ("s3://bucket/a//b", "prefix of keys"),
            ("s3://bucket/a%5Cb", "prefix of keys"),
            ("s3://bucket?region=a&region=b", "\"region\" twice"),
        ] {
            let error = Location::parse(url).unwrap_err();
            assert!(error.message().contains(reason), "{url}: {error}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn a_url_is_shown_without_credentials() {
        for (url, expected) in [
            ("postgres://host/db?table=t", "postgres://host/db?table=t"),
            ("postgres://me:PW@host:5432/db", "postgres://host:5432/db"),
            ("postgres://me@host/db", "postgres://host/db"),
            (
                "postgres://me:P/W@host/db?sslmode=disable",
                "postgres://host/db?sslmode=disable",
            ),
            ("postgres://me:P@W@host/db", "postgres://host/db"),
            (
                "postgres://me:P?W@host/db?sslmode=disable",
                "postgres://host/db?sslmode=disable",
            ),
            ("postgres://me:P?W=W@host/db", "postgres://host/db"),
            (
                "postgres://host/db?user=me&password=PW",
                "postgres://host/db?user=me&password=[secret]",
            ),
            ("postgres//me:PW@host/db", "host/db"),
            ("postgres:me:PW@host/db", "host/db"),
            ("s3://KEY:PW/x@bucket", "s3://bucket"),
            (
                "s3://bucket/team@corp?region=eu",
                "s3://bucket/team@corp?region=eu",
            ),
            (
                "s3://bucket?endpoint=http://me:PW@host&region=eu",
                "s3://bucket?endpoint=http://host&region=eu",
            ),
            (
                "s3://bucket?secret_access_key=PW&sas_token=PW&access_key=PW",
                "s3://bucket?secret_access_key=[secret]&sas_token=[secret]&access_key=[secret]",
            ),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
        let error = unknown_parameter("postgres://me:P?W@host/db", "W@host/db", &["table"]);
        assert!(!format!("{error:?}").contains('W'), "{error:?}");
    }

    #[test]
    fn parameters_that_are_not_taken_are_refused_by_name() {
        let mut location = Location::parse("s3://bucket?region=eu&regoin=eu&disableSSL=yes").unwrap();
        assert_eq!(location.take("region").as_deref(), Some("eu"));
        assert!(
            location
                .take_flag("disableSSL")
                .unwrap_err()
                .message()
                .contains("\"yes\"")
        );
        let error = location.finish(&["region"]).unwrap_err();
        assert!(error.message().contains("\"regoin\""), "{error}");
        assert!(error.hints()[0].contains("region"), "{error:?}");
    }
}
