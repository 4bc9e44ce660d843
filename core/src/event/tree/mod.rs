//! The tree of steps: resources under their parents, with what happens to each, as text for people.

mod layout;
mod row;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    event::{StepEvent, StepMetadata},
    urn::Urn,
};

use layout::Layout;
use row::Row;

/// Draws the steps of an operation, with the counts of its summary as totals.
#[must_use]
pub fn render(steps: &[Arc<StepEvent>], counts: &BTreeMap<&'static str, u64>) -> String {
    let mut tree = StepTree::of(steps.iter().map(|step| &step.metadata)).with_counts(counts.clone());
    tree.done = steps.first().is_some_and(|step| !step.planning);
    tree.to_string()
}

/// A readable picture of steps: what `print(plan)` shows. It has no colours.
///
/// ```text
///     shop-dev (Stack)
///  +  ├─ index (files:index:File)
///  ~  ├─ about (files:index:File)  [~content, +mode]
///  +- └─ logo (files:index:Image)  [~format!]
///
/// 1 to create, 1 to update, 1 to replace, 12 unchanged
/// ```
///
/// An exclamation mark stands behind properties that force a replacement. Unchanged resources are shown only above
/// changed ones, unless [`StepTree::show_unchanged`] asks for them. Steps of one resource share one row.
#[derive(Clone, Debug, Default)]
pub struct StepTree {
    rows: Vec<Row>,
    places: BTreeMap<Urn, usize>,
    counts: BTreeMap<&'static str, u64>,
    show_unchanged: bool,
    done: bool,
}

impl StepTree {
    /// Creates a tree of no steps.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a tree of `steps`, in the order of their events.
    pub fn of<'a>(steps: impl IntoIterator<Item = &'a StepMetadata>) -> Self {
        let mut tree = Self::new();
        for step in steps {
            tree.add(step);
        }
        tree
    }

    /// Shows unchanged resources too.
    #[must_use]
    pub fn show_unchanged(mut self) -> Self {
        self.show_unchanged = true;
        self
    }

    /// Words the totals as what has happened instead of what would happen.
    #[must_use]
    pub fn done(mut self) -> Self {
        self.done = true;
        self
    }

    /// Adds a step. Steps that people did not ask for should be left out by the caller.
    pub fn add(&mut self, step: &StepMetadata) {
        if let Some(place) = self.places.get(&step.urn) {
            self.rows[*place].merge(step);
        } else {
            self.places.insert(step.urn.clone(), self.rows.len());
            self.rows.push(Row::new(step));
        }
    }

    /// Takes the totals from a summary's counts instead of counting rows.
    #[must_use]
    pub fn with_counts(mut self, counts: BTreeMap<&'static str, u64>) -> Self {
        self.counts = counts;
        self
    }

    fn totals(&self) -> String {
        let mut counts = self.counts.clone();
        if counts.is_empty() {
            for row in &self.rows {
                *counts.entry(row.counted_as()).or_default() += 1;
            }
        }
        let parts: Vec<String> = row::TOTALS
            .iter()
            .filter_map(|(op, planned, done)| {
                let count = counts.get(op)?;
                Some(format!("{count} {}", if self.done { done } else { planned }))
            })
            .collect();
        match parts.is_empty() {
            true => "no resources".to_owned(),
            false => parts.join(", "),
        }
    }
}

impl fmt::Display for StepTree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = Layout::new(&self.rows, &self.places, self.show_unchanged);
        layout.write(formatter)?;
        if !layout.is_empty() {
            writeln!(formatter)?;
        }
        writeln!(formatter, "{}", self.totals())
    }
}
