//! The ids of objects.

/// The length of an id in bytes.
pub(super) const LENGTH: usize = 20;

/// The SHA-1 of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectId(pub(super) [u8; LENGTH]);

impl ObjectId {
    /// Parses 40 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits: &[u8; 2 * LENGTH] = text.as_bytes().try_into().ok()?;
        let mut id = [0; LENGTH];
        for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        is_hexadecimal(text).then_some(Self(id))
    }

    /// Returns the folder and the name of the file that has the object alone.
    pub(super) fn loose_path(&self) -> String {
        let digits = self.0.iter().map(|byte| format!("{byte:02x}"));
        let mut path: String = digits.collect();
        path.insert(2, '/');
        path
    }
}

/// Returns whether a text has only hexadecimal digits.
pub(super) fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_forty_digits() {
        let text = "00ff102030405060708090a0b0c0d0e0f0123456";
        let id = ObjectId::parse(text).unwrap();
        assert_eq!(id.0[..3], [0, 255, 16]);
        assert_eq!(id.loose_path(), format!("00/{}", &text[2..]));
        assert_eq!(ObjectId::parse(&text[1..]), None);
        assert_eq!(ObjectId::parse(&text.replace('f', "+")), None);
        assert_eq!(ObjectId::parse(&text.replace("ff", "é")), None);
    }
}
