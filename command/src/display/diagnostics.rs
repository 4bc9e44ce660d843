//! The messages of an operation, by the resource that they are about.

use std::collections::BTreeSet;

use stackwright::{
    diagnostic::{Diagnostic, Severity},
    urn::Urn,
};

use super::Paint;

/// Collects messages in the order in which resources have their first one.
#[derive(Default)]
pub(super) struct Diagnostics {
    groups: Vec<(Urn, Vec<(Severity, String)>)>,
    failed: BTreeSet<Urn>,
}

impl Diagnostics {
    /// Adds a message about a resource, unless it is only of interest while the operation runs. `text` is that of the event
    /// log, without its newline.
    pub(super) fn add(&mut self, urn: &Urn, diagnostic: &Diagnostic, text: &str) {
        if diagnostic.ephemeral {
            return;
        }
        if diagnostic.severity == Severity::Error {
            self.failed.insert(urn.clone());
        }
        let text = (
            diagnostic.severity,
            format!("{}{text}", prefix(diagnostic.severity)),
        );
        match self.groups.iter_mut().find(|(known, _)| known == urn) {
            Some((_, texts)) => texts.push(text),
            None => self.groups.push((urn.clone(), vec![text])),
        }
    }

    /// Returns the number of resources with errors.
    pub(super) fn errored(&self) -> usize {
        self.failed.len()
    }

    /// Returns the lines of the messages since the last call; none without a message.
    pub(super) fn take_lines(&mut self, paint: Paint) -> Vec<String> {
        let lines = self.lines(paint);
        self.groups.clear();
        lines
    }

    /// Returns the lines of the messages, which stay.
    pub(super) fn lines(&self, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        if self.groups.is_empty() {
            return lines;
        }
        lines.push(paint.strong("Diagnostics:"));
        for (urn, texts) in &self.groups {
            lines.push(format!("  {} ({}):", urn.resource_type(), urn.name()));
            for (severity, text) in texts {
                lines.extend(
                    text.lines()
                        .map(|line| format!("    {}", paint.severity(*severity, line))),
                );
            }
            lines.push(String::new());
        }
        lines
    }

    /// Returns at most the last `limit` lines, with a note in the first one where some are left out.
    pub(super) fn last_lines(&self, limit: usize, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        let of_groups = self.groups.iter().rev().flat_map(|(urn, texts)| {
            let texts = texts.iter().rev().flat_map(move |(severity, text)| {
                let lines = text.lines().rev();
                lines.map(move |line| format!("    {}", paint.severity(*severity, line)))
            });
            let title = format!("  {} ({}):", urn.resource_type(), urn.name());
            std::iter::once(String::new())
                .chain(texts)
                .chain(std::iter::once(title))
        });
        // The first line is that of the title, and the empty one at the end is left out.
        let mut of_groups = of_groups.skip(1);
        lines.extend(of_groups.by_ref().take(limit.saturating_sub(1)));
        if !lines.is_empty() {
            let is_cut = of_groups.next().is_some();
            lines.push(paint.strong(if is_cut {
                "Diagnostics: …"
            } else {
                "Diagnostics:"
            }));
        }
        lines.reverse();
        lines
    }
}

/// Returns what precedes a message.
pub(crate) const fn prefix(severity: Severity) -> &'static str {
    match severity {
        Severity::Debug => "debug: ",
        Severity::Warning => "warning: ",
        Severity::Error => "error: ",
        Severity::Info | Severity::InfoError => "",
    }
}
