//! Scalars: resolution of plain text to null, booleans, numbers and dates.

/// The form of a scalar in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes; its text determines its type.
    Plain,
    /// In single quotes: a text.
    Single,
    /// In double quotes: a text.
    Double,
    /// As a block scalar: a text.
    Block,
}

/// A single value, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    text: String,
    style: Style,
}

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A date without time.
    Date(jiff::civil::Date),
    /// A text.
    String(String),
}

impl Scalar {
    /// Creates a scalar of a text and its form.
    #[must_use]
    pub fn new(text: String, style: Style) -> Self {
        Self { text, style }
    }

    /// Creates a text, quoted where it would be read as another type.
    pub fn string(text: impl Into<String>) -> Self {
        let text = text.into();
        // Empty lines at the end of a block scalar depend on what follows.
        let style = if text.contains('\n') && !text.ends_with("\n\n") && block_can_hold(&text) {
            Style::Block
        } else if plain_can_hold(&text) {
            Style::Plain
        } else if needs_escapes(&text) || resolve(&text).is_some() {
            Style::Double
        } else {
            Style::Single
        };
        Self { text, style }
    }

    /// Creates a text, as a block scalar where possible.
    pub(super) fn string_block(text: &str) -> Self {
        let style = if text.contains('\n') && block_can_hold(text) {
            Style::Block
        } else {
            Style::Double
        };
        Self {
            text: text.to_owned(),
            style,
        }
    }

    /// Returns the text as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the form in the file.
    #[must_use]
    pub fn style(&self) -> Style {
        self.style
    }

    /// Returns the value.
    #[must_use]
    pub fn resolve(&self) -> Resolved {
        match self.style {
            Style::Plain => resolve(&self.text).unwrap_or_else(|| Resolved::String(self.text.clone())),
            Style::Single | Style::Double | Style::Block => Resolved::String(self.text.clone()),
        }
    }
}

/// Returns the value of a plain text; `None` when it is a text.
fn resolve(text: &str) -> Option<Resolved> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Resolved::Null),
        "true" | "True" | "TRUE" => return Some(Resolved::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Resolved::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => return Some(Resolved::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Some(Resolved::Float(f64::INFINITY));
        }
        "-.inf" | "-.Inf" | "-.INF" => return Some(Resolved::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    integer(text)
        .map(Resolved::Integer)
        .or_else(|| float(text).map(Resolved::Float))
        .or_else(|| date(text).map(Resolved::Date))
}

/// Reads decimal, `0x`, `0o`, `0b` and old octal (`017`) whole numbers, with `_` between digits.
fn integer(text: &str) -> Option<i128> {
    let digits = text.replace('_', "");
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(&digits)),
    };
    let (radix, digits) = if let Some(hex) = digits.strip_prefix("0x") {
        (16, hex)
    } else if let Some(octal) = digits.strip_prefix("0o") {
        (8, octal)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        (2, binary)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, &digits[1..])
    } else {
        (10, digits)
    };
    // A second sign is not allowed.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    let value = if negative { -value } else { value };
    // The reference engine reads larger ones as floats.
    (i128::from(i64::MIN)..=i128::from(u64::MAX))
        .contains(&value)
        .then_some(value)
}

/// Reads numbers such as `1.50`, `.5`, `1e6`. `inf` and `nan` without a dot are texts.
fn float(text: &str) -> Option<f64> {
    let valid = text.contains(|any: char| any.is_ascii_digit())
        && text
            .chars()
            .all(|any| any.is_ascii_digit() || matches!(any, '+' | '-' | '.' | 'e' | 'E'));
    valid.then(|| text.parse().ok()).flatten()
}

fn date(text: &str) -> Option<jiff::civil::Date> {
    let form = text.as_bytes();
    let valid = form.len() == 10 && form[4] == b'-' && form[7] == b'-';
    valid.then(|| text.parse().ok()).flatten()
}

/// Returns whether a text is read as the same text without quotes.
fn plain_can_hold(text: &str) -> bool {
    const FIRST: &[char] = &[
        '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' ',
        '=',
    ];
    let indicator = match text.as_bytes() {
        // These begin a plain text unless a blank follows.
        [b'-' | b'?' | b':', next, ..] => *next == b' ',
        _ => text.starts_with(FIRST),
    };
    // Older readers read these as booleans.
    let ambiguous = matches!(
        text.to_ascii_lowercase().as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "<<"
    );
    !text.is_empty()
        && !indicator
        && !ambiguous
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !needs_escapes(text)
        && resolve(text).is_none()
}

/// Returns whether a text requires double quotes.
fn needs_escapes(text: &str) -> bool {
    text.chars().any(|any| {
        any.is_control()
            || matches!(
                any,
                '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
            )
    })
}

/// Returns whether a text of several lines can be a block scalar.
fn block_can_hold(text: &str) -> bool {
    let clean = |line: &str| !needs_escapes(&line.replace('\t', "")) && !line.ends_with([' ', '\t']);
    !text.starts_with([' ', '\n', '\t']) && text.trim_end_matches('\n').split('\n').all(clean)
}
