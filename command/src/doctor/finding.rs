//! What `doctor` found, and its two forms: lines and a document.

use serde::Serialize;

/// How a finding is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// Nothing is to be done.
    Ok,
    /// Something that some work needs is missing.
    Warning,
    /// Commands in this folder fail.
    Problem,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at: `store`, `python`…
    pub(super) area: &'static str,
    pub(super) status: Status,
    pub(super) found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(area: &'static str, found: impl Into<String>) -> Self {
        Self {
            area,
            status: Status::Ok,
            found: found.into(),
            advice: None,
        }
    }

    pub(super) fn warning(area: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status: Status::Warning,
            advice: Some(advice.into()),
            ..Self::ok(area, found)
        }
    }

    pub(super) fn problem(area: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status: Status::Problem,
            ..Self::warning(area, found, advice)
        }
    }
}

/// The document.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) problems: usize,
    pub(super) warnings: usize,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(version: &'static str, findings: Vec<Finding>) -> Self {
        let count = |status| findings.iter().filter(|finding| finding.status == status).count();
        Self {
            version,
            problems: count(Status::Problem),
            warnings: count(Status::Warning),
            findings,
        }
    }

    /// Returns a line for each finding, with what to do below it.
    pub(super) fn lines(&self) -> String {
        let areas = self.findings.iter().map(|finding| finding.area.len());
        let width = areas.max().unwrap_or(0);
        let mut text = String::new();
        for Finding {
            area,
            status,
            found,
            advice,
        } in &self.findings
        {
            let status = status.name();
            let found = found.replace('\n', &format!("\n{:7}  {:width$}  ", "", ""));
            text.push_str(&format!("{status:7}  {area:width$}  {found}\n"));
            if let Some(advice) = advice {
                text.push_str(&format!("{:7}  {:width$}  -> {advice}\n", "", ""));
            }
        }
        text.push_str(&format!(
            "\n{}, {}\n",
            counted(self.problems, "problem"),
            counted(self.warnings, "warning")
        ));
        text
    }
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_and_advice_is_below_its_finding() {
        let findings = vec![
            Finding::ok("version", "1"),
            Finding::problem("store", "none is selected:\nnot one", "select one"),
        ];
        let report = Report::new("1", findings);
        let expected = "ok       version  1\n\
                        problem  store    none is selected:\n                  not one\n                  -> select one\n\n\
                        1 problem, 0 warnings\n";
        assert_eq!(report.lines(), expected);
    }
}
