//! The rows of a board as a table: in the form of a tree, or only the most important ones.

use std::collections::HashMap;

use console::{measure_text_width, truncate_str};
use stackwright::{diagnostic::Severity, runtime::Timestamp, step::StepOp, urn::Urn};

use super::{super::Paint, row::Row};

/// The titles of the columns.
pub(super) const TITLES: [&str; 4] = ["Type", "Name", "Status", "Info"];
/// The space between columns.
const GAP: usize = 2;

/// A row whose texts are known.
pub(super) struct Cells {
    pub(super) op: StepOp,
    pub(super) has_failed: bool,
    pub(super) sign: &'static str,
    /// The type below its ancestors, the name, the status.
    pub(super) columns: [String; 3],
    pub(super) severity: Severity,
    pub(super) info: String,
}

/// The shown rows of a board.
pub(super) struct Table {
    pub(super) rows: Vec<Cells>,
    /// How many rows are left out.
    pub(super) hidden: usize,
}

impl Table {
    /// Makes the table. A flat one has no ancestors that are unchanged, and at most `limit` rows: failed and running ones, then
    /// those that ended last.
    pub(super) fn new(
        rows: &[Row],
        places: &HashMap<Urn, usize>,
        now: Timestamp,
        is_flat: bool,
        limit: usize,
    ) -> Self {
        let lines = match is_flat {
            true => flat(rows, limit),
            false => tree(rows, places),
        };
        let shown = rows.iter().filter(|row| row.is_listed()).count();
        let rows: Vec<Cells> = lines
            .into_iter()
            .map(|(index, branches)| cells(&rows[index], &branches, now))
            .collect();
        Self {
            hidden: if is_flat {
                shown.saturating_sub(rows.len())
            } else {
                0
            },
            rows,
        }
    }

    /// Returns the lines, titles first, each at most `width` columns wide.
    pub(super) fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let mut widths = [0, 1, 2].map(|column| measure_text_width(TITLES[column]));
        for row in &self.rows {
            for (width, text) in widths.iter_mut().zip(&row.columns) {
                *width = (*width).max(measure_text_width(text));
            }
        }
        let padding = |column: usize, text: &str| {
            let missing = widths[column].saturating_sub(measure_text_width(text));
            " ".repeat(missing + GAP)
        };
        let padded = |column: usize, text: &str| format!("{text}{}", padding(column, text));
        let has_info = self.rows.iter().any(|row| !row.info.is_empty());
        let titles: String = (0..3).map(|column| padded(column, TITLES[column])).collect();
        let titles = format!("     {titles}{}", if has_info { TITLES[3] } else { "" });
        let cut = |line: &str| truncate_str(line.trim_end(), width, "…").into_owned();
        let mut lines = vec![paint.strong(&cut(&titles))];
        for row in &self.rows {
            let tint = |text: &str| match row.has_failed {
                true => paint.error(text),
                false => paint.op(row.op, text),
            };
            let info = match row.severity {
                Severity::Error | Severity::Warning => paint.severity(row.severity, &row.info),
                _ => paint.faint(&row.info),
            };
            let [resource_type, name, status] = &row.columns;
            let line = format!(
                " {}  {}{}{}{}{info}",
                tint(row.sign),
                padded(0, resource_type),
                padded(1, name),
                tint(status),
                padding(2, status),
            );
            lines.push(cut(&line));
        }
        lines
    }
}

fn cells(row: &Row, branches: &str, now: Timestamp) -> Cells {
    let (severity, info) = row.info();
    Cells {
        op: row.op,
        has_failed: row.has_failed(),
        sign: row.sign(),
        columns: [
            format!("{branches}{}", row.resource_type),
            row.name.clone(),
            row.status(now),
        ],
        severity,
        info: info.to_owned(),
    }
}

/// Returns failed and running rows, then those that ended last, in the order of their first step.
fn flat(rows: &[Row], limit: usize) -> Vec<(usize, String)> {
    let mut chosen: Vec<usize> = Vec::new();
    let is_urgent = |row: &Row| row.is_running() || row.has_failed();
    chosen.extend(
        (0..rows.len())
            .filter(|index| is_urgent(&rows[*index]))
            .take(limit),
    );
    let others = (0..rows.len()).rev();
    let others = others.filter(|index| rows[*index].is_listed() && !is_urgent(&rows[*index]));
    let mut others: Vec<usize> = others.collect();
    others.sort_by_key(|index| std::cmp::Reverse(rows[*index].ended()));
    chosen.extend(others.into_iter().take(limit.saturating_sub(chosen.len())));
    chosen.sort_unstable();
    chosen.into_iter().map(|index| (index, String::new())).collect()
}

/// Returns the shown rows and their ancestors, each after its parent, with the branches before its type.
fn tree(rows: &[Row], places: &HashMap<Urn, usize>) -> Vec<(usize, String)> {
    let parent = |index: usize| {
        let urn = rows[index].parent.as_ref()?;
        places.get(urn).copied().filter(|parent| *parent != index)
    };
    let mut shown = vec![false; rows.len()];
    for index in (0..rows.len()).filter(|index| rows[*index].is_listed()) {
        let mut next = Some(index);
        while let Some(index) = next.filter(|index| !shown[*index]) {
            shown[index] = true;
            next = parent(index);
        }
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut roots = Vec::new();
    for index in (0..rows.len()).filter(|index| shown[*index]) {
        match parent(index) {
            Some(parent) => children[parent].push(index),
            None => roots.push(index),
        }
    }
    let mut lines = Vec::new();
    // Iterative: chains of parents can be long. Rows with their branches, and those below them.
    let mut waiting: Vec<(usize, String, String)> = roots
        .iter()
        .rev()
        .map(|root| (*root, String::new(), String::new()))
        .collect();
    while let Some((index, branches, below)) = waiting.pop() {
        lines.push((index, branches));
        let siblings = &children[index];
        for (place, child) in siblings.iter().enumerate().rev() {
            let (branch, under) = match place + 1 == siblings.len() {
                true => ("└─ ", "   "),
                false => ("├─ ", "│  "),
            };
            waiting.push((*child, format!("{below}{branch}"), format!("{below}{under}")));
        }
    }
    lines
}
