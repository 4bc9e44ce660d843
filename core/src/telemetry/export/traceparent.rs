//! The context of a caller's span, in the form of W3C Trace Context.

use crate::error::{Error, Result};

/// The span that an operation is within, from the header `traceparent`: `00-<32 digits>-<16 digits>-<2 digits>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    /// Whether the caller records its spans. Those within one that is not recorded are not exported.
    pub(crate) is_sampled: bool,
}

impl TraceParent {
    /// Parses the text of a header.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a text of another form.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| {
            let form = "the header traceparent of W3C Trace Context, as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            Error::invalid(format!("traceparent takes {form}, not {text:?}"))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version: [u8; 1] = bytes_of(parts.next()?)?;
        let (trace, span) = (bytes_of(parts.next()?)?, bytes_of(parts.next()?)?);
        let [flags] = bytes_of(parts.next()?)?;
        // Later versions can have more parts.
        let is_whole = version != [0] || parts.next().is_none();
        let is_valid = version != [0xff] && trace != [0; 16] && span != [0; 8];
        (is_whole && is_valid).then_some(Self {
            trace,
            span,
            is_sampled: flags & 1 == 1,
        })
    }
}

fn bytes_of<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != N * 2 || !digits.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_ids_and_the_flag_of_the_caller() {
        let parent = TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        assert_eq!((parent.trace[0], parent.trace[15]), (0x0a, 0x9c));
        assert_eq!((parent.span[0], parent.is_sampled), (0xb7, true));
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more";
        assert!(!TraceParent::parse(later).unwrap().is_sampled);
    }

    #[test]
    fn texts_of_another_form_are_refused() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            let error = TraceParent::parse(text).unwrap_err();
            assert!(
                error.message().starts_with("traceparent takes"),
                "{text}: {error}"
            );
        }
    }
}
