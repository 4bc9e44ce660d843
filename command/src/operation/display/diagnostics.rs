//! The messages of an operation, by the resource that they are about.

use std::collections::BTreeSet;

use stackwright::{
    diagnostic::{Diagnostic, Severity},
    urn::Urn,
};

/// Collects messages in the order in which resources have their first one.
#[derive(Default)]
pub(super) struct Diagnostics {
    groups: Vec<(Urn, Vec<String>)>,
    failed: BTreeSet<Urn>,
}

impl Diagnostics {
    /// Adds a message about a resource. `text` is that of the event log, without its newline.
    pub(super) fn add(&mut self, urn: Urn, diagnostic: &Diagnostic, text: &str) {
        if diagnostic.severity == Severity::Error {
            self.failed.insert(urn.clone());
        }
        let text = format!("{}{text}", prefix(diagnostic.severity));
        match self.groups.iter_mut().find(|(known, _)| *known == urn) {
            Some((_, texts)) => texts.push(text),
            None => self.groups.push((urn, vec![text])),
        }
    }

    /// Returns the number of resources with errors.
    pub(super) fn errored(&self) -> usize {
        self.failed.len()
    }

    /// Returns the lines of the messages since the last call; none without a message.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let groups = std::mem::take(&mut self.groups);
        if groups.is_empty() {
            return lines;
        }
        lines.push("Diagnostics:".to_owned());
        for (urn, texts) in &groups {
            lines.push(format!("  {} ({}):", urn.resource_type(), urn.name()));
            let texts = texts.iter().flat_map(|text| text.lines());
            lines.extend(texts.map(|line| format!("    {line}")));
            lines.push(String::new());
        }
        lines
    }
}

/// Returns what precedes a message.
pub(super) const fn prefix(severity: Severity) -> &'static str {
    match severity {
        Severity::Debug => "debug: ",
        Severity::Warning => "warning: ",
        Severity::Error => "error: ",
        Severity::Info | Severity::InfoError => "",
    }
}
