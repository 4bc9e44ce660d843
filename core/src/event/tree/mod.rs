//! The tree of steps: a text that shows resources under their parents with their changes.

mod layout;
mod moves;
mod row;
mod value;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use crate::{
    event::{StepMetadata, StepResult},
    secrets::Redactor,
    token::TypeToken,
    urn::Urn,
};

use layout::Layout;
use row::Row;

pub(crate) use moves::render_moves;
pub(crate) use value::value_text;

/// The type and the parent of a resource without a step.
pub(crate) type Ancestor = (TypeToken, Option<Urn>);

/// Renders the steps of an operation, with the counts of its summary as totals. `find_ancestor` finds ancestors without
/// a step; secrets that `redactor` knows are masked.
pub(crate) fn render(
    steps: &[StepResult],
    counts: &BTreeMap<&'static str, u64>,
    redactor: &Redactor,
    find_ancestor: impl Fn(&Urn) -> Option<Ancestor>,
) -> String {
    let mut tree = StepTree {
        redactor: redactor.clone(),
        ..StepTree::default()
    };
    for result in steps {
        let place = tree.add(&result.step.metadata);
        tree.rows[place].end(result);
    }
    // An operation without a successful step has no counts.
    let counts = match counts.is_empty() {
        true => tree.counted(),
        false => counts.clone(),
    };
    tree.add_ancestors(find_ancestor);
    tree.done = steps.first().is_some_and(|result| !result.step.planning);
    tree.with_counts(counts).to_string()
}

/// The text form of steps that `print(plan)` shows. It has no colours.
///
/// ```text
///     shop-dev (Stack)
///  +  ├─ index (files:index:File)
///  ~  ├─ about (files:index:File)  1.2 s
///     │       ~ content: "old" → "new"
///     │       + tags.mode: 5
///  !  ├─ data (files:index:File)
///     │       ! create failed: the disk is full
///  +- └─ logo (files:index:Image)  [~id!]
///             ~ format: "png" → "svg" (replaces)
///
/// 1 to create, 1 to update, 1 to replace, 12 unchanged
/// ```
///
/// Properties with unknown values are listed after the resource's name; an exclamation mark means that they force a
/// replacement. Durations are shown from one second on. Unchanged resources are shown only above changed ones, unless
/// [`StepTree::show_unchanged`] is called. The steps of one resource share one row.
#[derive(Clone, Debug, Default)]
pub struct StepTree {
    rows: Vec<Row>,
    places: BTreeMap<Urn, usize>,
    counts: Option<BTreeMap<&'static str, u64>>,
    show_unchanged: bool,
    done: bool,
    redactor: Redactor,
}

impl StepTree {
    /// Creates an empty tree.
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

    /// Shows unchanged resources as well.
    #[must_use]
    pub fn show_unchanged(mut self) -> Self {
        self.show_unchanged = true;
        self
    }

    /// Labels the totals as completed changes instead of planned ones.
    #[must_use]
    pub fn done(mut self) -> Self {
        self.done = true;
        self
    }

    /// Adds a step. The caller leaves out internal steps.
    ///
    /// Returns the index of its row.
    pub fn add(&mut self, step: &StepMetadata) -> usize {
        if let Some(place) = self.places.get(&step.urn) {
            self.rows[*place].merge(step, &self.redactor);
            return *place;
        }
        let place = self.rows.len();
        self.places.insert(step.urn.clone(), place);
        self.rows.push(Row::new(step, &self.redactor));
        place
    }

    /// Adds rows for the ancestors of existing rows; `find_ancestor` finds them.
    fn add_ancestors(&mut self, find_ancestor: impl Fn(&Urn) -> Option<Ancestor>) {
        let mut next = 0;
        while let Some(row) = self.rows.get(next) {
            next += 1;
            let Some(parent) = row.parent.clone().filter(|urn| !self.places.contains_key(urn)) else {
                continue;
            };
            let found = find_ancestor(&parent);
            let (resource_type, above) =
                found.unwrap_or_else(|| (TypeToken::from(parent.resource_type()), None));
            self.places.insert(parent.clone(), self.rows.len());
            self.rows
                .push(Row::unchanged(&parent, &resource_type, above, &self.redactor));
        }
    }

    /// Uses a summary's counts as totals instead of counting rows.
    #[must_use]
    pub fn with_counts(mut self, counts: BTreeMap<&'static str, u64>) -> Self {
        self.counts = Some(counts);
        self
    }

    /// Counts the rows without a failed step.
    fn counted(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for row in self.rows.iter().filter(|row| !row.has_failed()) {
            *counts.entry(row.counted_as()).or_default() += 1;
        }
        counts
    }

    fn totals(&self) -> String {
        let counts = self.counts.clone().unwrap_or_else(|| self.counted());
        let succeeded = row::TOTALS.iter().filter_map(|(op, planned, done)| {
            let count = counts.get(op)?;
            Some(format!("{count} {}", if self.done { done } else { planned }))
        });
        // The counts contain successful steps only.
        let failed = self.rows.iter().filter(|row| row.has_failed()).count();
        let failed = (failed > 0).then(|| format!("{failed} failed"));
        let parts: Vec<String> = succeeded.chain(failed).collect();
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
