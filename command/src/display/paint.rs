//! The colours of what is shown, and texts that come from elsewhere made safe for a terminal.

use std::borrow::Cow;

use console::{Color, Style};
use stackwright::{diagnostic::Severity, step::StepOp};

/// Colours texts with sequences of a terminal, or leaves them as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    is_coloured: bool,
}

impl Paint {
    /// Colours nothing.
    pub const PLAIN: Self = Self { is_coloured: false };
    /// Colours texts.
    pub const COLOURED: Self = Self { is_coloured: true };

    fn styled(self, text: &str, style: impl FnOnce(Style) -> Style) -> String {
        match self.is_coloured && !text.is_empty() {
            true => style(Style::new().force_styling(true)).apply_to(text).to_string(),
            false => text.to_owned(),
        }
    }

    /// Emphasizes a text.
    pub(crate) fn strong(self, text: &str) -> String {
        self.styled(text, Style::bold)
    }

    /// Makes a text less prominent.
    pub(crate) fn faint(self, text: &str) -> String {
        self.styled(text, Style::dim)
    }

    /// Gives a text the colour of errors.
    pub(crate) fn error(self, text: &str) -> String {
        self.styled(text, Style::red)
    }

    /// Gives a text the colour of a kind of step.
    pub(crate) fn op(self, op: StepOp, text: &str) -> String {
        match colour(op) {
            Some(colour) => self.styled(text, |style| style.fg(colour)),
            None => text.to_owned(),
        }
    }

    /// Gives a text the colour of a severity.
    pub(crate) fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Error => self.styled(text, Style::red),
            Severity::Warning => self.styled(text, Style::yellow),
            Severity::Debug => self.styled(text, Style::dim),
            Severity::Info | Severity::InfoError => text.to_owned(),
        }
    }

    /// Gives a line the colour of the sign that it begins with.
    pub(crate) fn signed(self, line: &str) -> String {
        match of_sign(line) {
            Some(colour) => self.styled(line, |style| style.fg(colour)),
            None => line.to_owned(),
        }
    }
}

/// Returns the colour of a kind of step; none where nothing changes.
pub(super) const fn colour(op: StepOp) -> Option<Color> {
    Some(match op {
        StepOp::Create | StepOp::CreateReplacement | StepOp::Import => Color::Green,
        StepOp::Update => Color::Yellow,
        StepOp::Delete | StepOp::DeleteReplaced | StepOp::Discard | StepOp::DiscardReplaced => Color::Red,
        StepOp::Replace | StepOp::ImportReplacement | StepOp::ReadReplacement => Color::Magenta,
        StepOp::Read | StepOp::Refresh => Color::Cyan,
        StepOp::Same | StepOp::RemovePendingReplace => return None,
    })
}

fn of_sign(line: &str) -> Option<Color> {
    let mut signs = line.trim_start().chars();
    match (signs.next(), signs.next()) {
        (Some('+'), Some('-')) => Some(Color::Magenta),
        (Some('+'), _) => Some(Color::Green),
        (Some('~'), _) => Some(Color::Yellow),
        (Some('-'), _) => Some(Color::Red),
        (Some('='), _) => Some(Color::Green),
        _ => None,
    }
}

/// Returns a text on one line without sequences that a terminal would act on.
pub(crate) fn plain_line(text: &str) -> Cow<'_, str> {
    let text = console::strip_ansi_codes(text);
    match text.chars().any(char::is_control) {
        true => text
            .chars()
            .map(|character| if character.is_control() { ' ' } else { character })
            .collect::<String>()
            .into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_colour_of_its_sign() {
        assert_eq!(Paint::COLOURED.signed("  + a: 1"), "\u{1b}[32m  + a: 1\u{1b}[0m");
        assert_eq!(
            Paint::COLOURED.signed("    +-3 replaced"),
            "\u{1b}[35m    +-3 replaced\u{1b}[0m"
        );
        assert_eq!(Paint::COLOURED.signed("    a: 1"), "    a: 1");
        assert_eq!(Paint::PLAIN.signed("  + a: 1"), "  + a: 1");
    }

    #[test]
    fn foreign_texts_cannot_control_a_terminal() {
        assert_eq!(plain_line("a\u{1b}[2Jb\r\nc\u{7}"), "ab  c ");
        assert_eq!(plain_line("plain"), "plain");
    }
}
