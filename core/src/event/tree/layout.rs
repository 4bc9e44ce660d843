//! The layout of the tree: the visible rows with their order and depth.

use std::{collections::BTreeMap, fmt};

use super::row::Row;
use crate::urn::Urn;

/// Rows in display order.
pub(super) struct Layout<'a> {
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    row: &'a Row,
    depth: usize,
    /// True when no sibling follows.
    last: bool,
    has_children: bool,
}

impl<'a> Layout<'a> {
    /// Places `rows` under their parents; rows whose parent has no row are at the left margin.
    pub(super) fn new(rows: &'a [Row], places: &BTreeMap<Urn, usize>, show_unchanged: bool) -> Self {
        let parents: Vec<Option<usize>> = rows
            .iter()
            .map(|row| row.parent.as_ref().and_then(|urn| places.get(urn)).copied())
            .collect();
        let shown = shown(rows, &parents, show_unchanged);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
        let mut roots = Vec::new();
        for (index, parent) in parents.iter().enumerate().filter(|(index, _)| shown[*index]) {
            match parent {
                Some(parent) if *parent != index => children[*parent].push(index),
                _ => roots.push(index),
            }
        }
        // Iterative: chains of parents can be long.
        let mut lines = Vec::new();
        let mut waiting = Vec::new();
        push_siblings(&mut waiting, &roots, 0);
        while let Some((index, depth, last)) = waiting.pop() {
            let row = &rows[index];
            lines.push(Line {
                row,
                depth,
                last,
                has_children: !children[index].is_empty(),
            });
            push_siblings(&mut waiting, &children[index], depth + 1);
        }
        Self { lines }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn write(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // For each depth, whether the vertical line continues to a later sibling.
        let mut open: Vec<bool> = Vec::new();
        for line in &self.lines {
            open.truncate(line.depth);
            write!(formatter, " {} ", line.row.sign())?;
            for has_more in open.iter().skip(1) {
                formatter.write_str(if *has_more { "│  " } else { "   " })?;
            }
            if line.depth > 0 {
                formatter.write_str(if line.last { "└─ " } else { "├─ " })?;
            }
            writeln!(formatter, "{}", line.row)?;
            open.push(!line.last);
            for detail in line.row.details() {
                formatter.write_str("     ")?;
                for has_more in open.iter().skip(1) {
                    formatter.write_str(if *has_more { "│  " } else { "   " })?;
                }
                formatter.write_str(if line.has_children { "│    " } else { "     " })?;
                writeln!(formatter, "{detail}")?;
            }
        }
        Ok(())
    }
}

fn push_siblings(waiting: &mut Vec<(usize, usize, bool)>, siblings: &[usize], depth: usize) {
    let count = siblings.len();
    let entries = siblings.iter().enumerate();
    waiting.extend(
        entries
            .rev()
            .map(|(position, index)| (*index, depth, position + 1 == count)),
    );
}

/// Marks the changed rows and their ancestors.
fn shown(rows: &[Row], parents: &[Option<usize>], show_unchanged: bool) -> Vec<bool> {
    if show_unchanged {
        return vec![true; rows.len()];
    }
    let mut shown = vec![false; rows.len()];
    for (index, _) in rows.iter().enumerate().filter(|(_, row)| !row.is_unchanged()) {
        let mut next = Some(index);
        while let Some(index) = next.filter(|index| !shown[*index]) {
            shown[index] = true;
            next = parents[index];
        }
    }
    shown
}
