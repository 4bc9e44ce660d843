//! A board as HTML, for notebooks: one element with its own style, every text escaped.

use std::fmt::Write as _;

use console::Color;
use stackwright::diagnostic::Severity;

use super::{
    super::{Paint, paint::colour},
    Board,
    table::{Cells, TITLES},
};

/// How many rows a page has while the operation runs: all of it is sent at each change.
const MAX_LIVE_ROWS: usize = 200;
/// How many rows a page has at the end.
const MAX_ROWS: usize = 5_000;

/// How many lines of messages a page has while the operation runs.
const MAX_LIVE_LINES: usize = 40;

const CELL: &str = "text-align:left;padding:0 1.2em 0 0;white-space:pre;border:0;background:none";
const RED: &str = "#cf222e";
const YELLOW: &str = "#9a6700";

impl Board {
    /// Returns the board as an HTML element. Secrets are masked, and texts are escaped.
    #[must_use]
    pub fn html(&self) -> String {
        let limit = if self.has_ended { MAX_ROWS } else { MAX_LIVE_ROWS };
        let mut table = self.table(false, usize::MAX);
        if table.rows.len() > limit {
            table = self.table(true, limit);
        }
        let mut text = "<div style=\"font-family:monospace;line-height:1.35\">".to_owned();
        element(&mut text, "b", "", &self.title.headline);
        if !table.rows.is_empty() {
            text.push_str("<table style=\"border-collapse:collapse;margin:0.5em 0\"><tr><th></th>");
            for title in TITLES {
                element(&mut text, "th", CELL, title);
            }
            text.push_str("</tr>");
            for row in &table.rows {
                write_row(&mut text, row);
            }
            text.push_str("</table>");
        }
        if table.hidden > 0 {
            element(&mut text, "div", "", &format!("… {} more", table.hidden));
        }
        let below = match self.has_ended {
            true => self.end.clone(),
            false => {
                let counts = self.counts(self.clock.now());
                let mut lines = vec![counts.trim_start().to_owned()];
                lines.extend(
                    self.downloads
                        .values()
                        .map(|download| download.trim_start().to_owned()),
                );
                let diagnostics = &self.ending.diagnostics;
                lines.extend(diagnostics.last_lines(MAX_LIVE_LINES, Paint::PLAIN));
                lines.join("\n")
            }
        };
        if !below.is_empty() {
            let below = console::strip_ansi_codes(below.trim_end()).into_owned();
            element(&mut text, "pre", "margin:0.5em 0;background:none", &below);
        }
        text.push_str("</div>");
        text
    }
}

fn write_row(text: &mut String, row: &Cells) {
    let colour = match (row.has_failed, colour(row.op)) {
        (true, _) => RED,
        (false, None | Some(Color::Black)) => "inherit",
        (false, Some(Color::Green)) => "#1a7f37",
        (false, Some(Color::Yellow)) => YELLOW,
        (false, Some(Color::Red)) => RED,
        (false, Some(Color::Magenta)) => "#8250df",
        (false, Some(_)) => "#0969da",
    };
    let info = match row.severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        _ => "gray",
    };
    let tinted = format!("{CELL};color:{colour}");
    text.push_str("<tr>");
    element(text, "td", &tinted, row.sign);
    element(text, "td", CELL, &row.columns[0]);
    element(text, "td", CELL, &row.columns[1]);
    element(text, "td", &tinted, &row.columns[2]);
    element(text, "td", &format!("{CELL};color:{info}"), &row.info);
    text.push_str("</tr>");
}

/// Writes an element with an escaped text.
fn element(text: &mut String, name: &str, style: &str, content: &str) {
    // Writing to a string does not fail.
    match style.is_empty() {
        true => write!(text, "<{name}>").unwrap_or_default(),
        false => write!(text, "<{name} style=\"{style}\">").unwrap_or_default(),
    }
    for character in content.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            '\n' | '\t' => text.push(character),
            control if control.is_control() => text.push(' '),
            other => text.push(other),
        }
    }
    write!(text, "</{name}>").unwrap_or_default();
}
