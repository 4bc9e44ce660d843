//! A board on a terminal: lines that are updated in place, and at the end the whole tree.

use std::fmt::Write as _;

use console::{measure_text_width, truncate_str};

use super::Board;

/// The size of a terminal that reports none.
const DEFAULT_SIZE: ScreenSize = ScreenSize {
    columns: 80,
    rows: 24,
};
/// The least size that is drawn on; smaller terminals show less.
const MIN_SIZE: ScreenSize = ScreenSize { columns: 20, rows: 6 };
/// Lines that are no rows: headline, empty line, titles, counts, and the cursor's.
const FRAME_LINES: usize = 5;
/// Lines of messages below the rows: at most one in this many.
const MESSAGE_SHARE: usize = 4;

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after their values")]
pub struct ScreenSize {
    pub columns: u16,
    pub rows: u16,
}

impl ScreenSize {
    /// Returns a size that can be drawn on.
    pub(in crate::display) fn usable(self) -> (usize, usize) {
        let or_default = |value: u16, default: u16, least: u16| match value {
            0 => usize::from(default),
            value => usize::from(value.max(least)),
        };
        (
            or_default(self.columns, DEFAULT_SIZE.columns, MIN_SIZE.columns),
            or_default(self.rows, DEFAULT_SIZE.rows, MIN_SIZE.rows),
        )
    }
}

/// Writes a board on a terminal whose cursor is at the beginning of a line, and moves only on the lines that it has written.
#[derive(Debug, Default)]
pub struct Screen {
    drawn: Vec<String>,
    size: Option<(usize, usize)>,
}

impl Screen {
    /// Creates a screen on which nothing is drawn.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what updates the terminal; empty when nothing has changed.
    pub fn draw(&mut self, board: &mut Board, size: ScreenSize) -> String {
        let lines = live_lines(board, size.usable());
        let printed = std::mem::take(&mut board.printed);
        self.update(lines, &printed, size)
    }

    /// Returns what replaces the drawn lines, with `printed` above them; empty when nothing has changed.
    pub(in crate::display) fn update(
        &mut self,
        lines: Vec<String>,
        printed: &str,
        size: ScreenSize,
    ) -> String {
        let size = size.usable();
        if lines == self.drawn && printed.is_empty() && self.size == Some(size) {
            return String::new();
        }
        let mut text = self.to_top(size);
        let is_kept = printed.is_empty() && self.size == Some(size);
        if !is_kept {
            text.push_str("\u{1b}[J");
            text.push_str(printed);
        }
        for (index, line) in lines.iter().enumerate() {
            if !(is_kept && self.drawn.get(index) == Some(line)) {
                // Writing to a string does not fail.
                write!(text, "{line}\u{1b}[K").unwrap_or_default();
            }
            text.push('\n');
        }
        text.push_str("\u{1b}[J");
        self.drawn = lines;
        self.size = Some(size);
        text
    }

    /// Returns what replaces the drawn lines by the end of the operation: all rows, messages, outputs and counts.
    pub fn end(&mut self, board: &mut Board, size: ScreenSize) -> String {
        let size = size.usable();
        let mut text = self.to_top(size);
        text.push_str("\u{1b}[J");
        text.push_str(&std::mem::take(&mut board.printed));
        self.drawn.clear();
        for line in final_lines(board, size.0) {
            // Writing to a string does not fail.
            writeln!(text, "{line}").unwrap_or_default();
        }
        text.push_str(&board.end);
        text
    }

    /// Returns what replaces the drawn lines by a text.
    pub(in crate::display) fn replace(&mut self, by: &str, size: ScreenSize) -> String {
        let text = self.to_top(size.usable());
        self.drawn.clear();
        format!("{text}\u{1b}[J{by}")
    }

    /// Returns what moves the cursor to the first drawn line, also where a narrower terminal has wrapped lines.
    fn to_top(&self, (columns, rows): (usize, usize)) -> String {
        let height = |line: &String| measure_text_width(line).max(1).div_ceil(columns);
        let above: usize = self.drawn.iter().map(height).sum();
        match above.min(rows - 1) {
            0 => "\r".to_owned(),
            above => format!("\r\u{1b}[{above}A"),
        }
    }
}

/// Returns the lines of a running operation; there are fewer of them than rows of the terminal.
fn live_lines(board: &Board, (columns, rows): (usize, usize)) -> Vec<String> {
    // A line that ends at the edge of a terminal may move its cursor.
    let width = columns - 1;
    let cut = |line: &str| truncate_str(line, width, "…").into_owned();
    let messages = board
        .ending
        .diagnostics
        .last_lines(rows / MESSAGE_SHARE, board.paint);
    let downloads = board.downloads.values().take(rows / MESSAGE_SHARE);
    let downloads: Vec<String> = downloads.map(|download| cut(download)).collect();
    let free = rows.saturating_sub(FRAME_LINES + messages.len() + downloads.len());
    let mut table = board.table(false, usize::MAX);
    if table.rows.len() > free {
        // One line for what is left out.
        table = board.table(true, free.saturating_sub(1));
    }
    let mut lines = vec![cut(&board.paint.strong(&board.title.headline)), String::new()];
    lines.extend(table.lines(width, board.paint));
    if table.hidden > 0 {
        lines.push(cut(&board.paint.faint(&format!("     … {} more", table.hidden))));
    }
    lines.extend(downloads);
    lines.push(cut(&board.paint.faint(&board.counts(board.clock.now()))));
    lines.extend(messages.iter().map(|message| cut(message)));
    lines.truncate(rows - 1);
    lines
}

/// Returns headline and tree of an operation that has ended.
fn final_lines(board: &Board, columns: usize) -> Vec<String> {
    let mut lines = vec![board.paint.strong(&board.title.headline)];
    let table = board.table(false, usize::MAX);
    if !table.rows.is_empty() {
        lines.push(String::new());
        lines.extend(table.lines(columns - 1, board.paint));
    }
    lines.push(String::new());
    lines
}
