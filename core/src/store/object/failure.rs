//! Errors of bucket stores: which object and which store, what the server answered, and never a credential.

use std::error::Error as StdError;

use object_store::Error as ObjectError;

use crate::error::{Error, ErrorKind};

/// The longest part of a server's answer that is shown.
const MAX_ANSWER: usize = 400;

/// Returns whether an error means that the condition of a write did not hold.
pub(super) const fn is_conflict(error: &ObjectError) -> bool {
    matches!(
        error,
        ObjectError::AlreadyExists { .. }
            | ObjectError::Precondition { .. }
            | ObjectError::NotModified { .. }
    )
}

/// Returns whether an error means that there is no such object.
pub(super) const fn is_missing(error: &ObjectError) -> bool {
    matches!(error, ObjectError::NotFound { .. })
}

/// Converts an error of a request. `action` names it: "read the object" for instance.
pub(super) fn convert(error: &ObjectError, url: &str, action: &str) -> Error {
    if let Some(own) = own(error) {
        return own.clone();
    }
    let text = format!("cannot {action} in {url}: {}", reason(error));
    match error {
        ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
            Error::new(ErrorKind::Unavailable, text).with_hint(
                "the credentials of the store do not allow this request; check them and their rights",
            )
        }
        ObjectError::NotFound { .. } => Error::new(ErrorKind::NotFound, text)
            .with_hint("check that the bucket or container exists, and its region and endpoint"),
        ObjectError::UnknownConfigurationKey { .. } | ObjectError::InvalidPath { .. } => Error::invalid(text),
        _ => match connection_hint(&text) {
            Some(hint) => Error::new(ErrorKind::Unavailable, text).with_hint(hint),
            None => Error::new(ErrorKind::Unavailable, text),
        },
    }
}

/// Returns what is to be checked after a connection that could not be made.
fn connection_hint(text: &str) -> Option<&'static str> {
    // What rustls and the resolver report.
    if text.contains("InvalidContentType") {
        return Some(
            "the server answers without TLS: the parameter `disableSSL=true` of an s3:// URL or `protocol=http` of an azblob:// URL is for \
             such servers",
        );
    }
    let is_unresolved = text.contains("failed to lookup address") || text.contains("dns error");
    is_unresolved.then_some(
        "the server's name has no address: check the parameter `endpoint` of an s3:// URL; `storage_account`, `domain` and, for an \
         emulator on this host, `localemu=true` of an azblob:// URL",
    )
}

/// Returns the error of a credential callback, which the client has wrapped.
fn own(error: &ObjectError) -> Option<&Error> {
    causes(error).find_map(|cause| cause.downcast_ref::<Error>())
}

fn causes<'error>(
    error: &'error (dyn StdError + 'static),
) -> impl Iterator<Item = &'error (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// Describes an error without the URL of the request, which may contain a signature.
fn reason(error: &ObjectError) -> String {
    let texts: Vec<String> = causes(error).map(ToString::to_string).collect();
    let last = texts.last().map_or("", String::as_str);
    match texts.iter().find(|text| text.starts_with("Server returned")) {
        Some(answer) => shortened(answer),
        // The innermost cause has the most detail.
        None => shortened(last),
    }
}

/// Returns the status of an answer, with code and message of its XML where there are some.
fn shortened(answer: &str) -> String {
    let (status, body) = answer.split_once(['<', '{']).unwrap_or((answer, ""));
    let status = status
        .trim()
        .trim_end_matches(':')
        .trim_start_matches("Server returned non-2xx status code: ");
    let element = |name: &str| {
        let rest = body.split_once(&format!("<{name}>"))?.1;
        Some(rest.split_once("</")?.0.trim().to_owned())
    };
    let parts = [Some(status.to_owned()), element("Code"), element("Message")];
    let text = parts.into_iter().flatten().filter(|part| !part.is_empty());
    let text = text.collect::<Vec<_>>().join(": ");
    text.chars().take(MAX_ANSWER).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_as_status_code_and_message_without_its_other_elements() {
        let answer = "Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch\
                      </Code><Message>no match</Message><StringToSign>private</StringToSign></Error>";
        assert_eq!(
            shortened(answer),
            "403 Forbidden: SignatureDoesNotMatch: no match"
        );
        assert_eq!(
            shortened("Server returned non-2xx status code: 503 Service Unavailable: "),
            "503 Service Unavailable"
        );
    }

    #[test]
    fn a_server_without_tls_and_a_name_without_an_address_have_hints() {
        for (cause, hint) in [
            (
                "received corrupt message of type InvalidContentType",
                Some("disableSSL=true"),
            ),
            (
                "failed to lookup address information: Name or service not known",
                Some("localemu=true"),
            ),
            ("connection refused", None),
        ] {
            let refused = ObjectError::Generic {
                store: "S3",
                source: cause.into(),
            };
            let hints = convert(&refused, "s3://bucket", "read an object")
                .hints()
                .concat();
            assert_eq!(hints.is_empty(), hint.is_none(), "{hints}");
            assert!(hints.contains(hint.unwrap_or_default()), "{hints}");
        }
    }

    #[test]
    fn the_error_of_a_callback_stays_what_it_was() {
        let own = Error::new(ErrorKind::Secrets, "the vault is sealed");
        let wrapped = ObjectError::Generic {
            store: "S3",
            source: Box::new(own),
        };
        let error = convert(&wrapped, "s3://bucket", "read an object");
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Secrets, "the vault is sealed")
        );
    }
}
