//! The parts of the URL of a remote store. Every parameter must be known.

use std::collections::BTreeMap;

use url::Url;

use super::check_key;
use crate::error::{Error, Result};

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
        let shown = without_user(text);
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
            url: text.to_owned(),
            name,
            prefix,
            parameters,
        })
    }

    /// Returns the URL as it was given.
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

/// Returns a URL without the user and the password before its host.
pub(super) fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

/// The error of a parameter that no store of this kind has.
pub(super) fn unknown_parameter(url: &str, name: &str, known: &[&str]) -> Error {
    Error::invalid(format!(
        "the store URL {url:?} has the unknown parameter {name:?}"
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
