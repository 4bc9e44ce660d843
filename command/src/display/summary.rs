//! The end of an operation's progress: how many resources changed, and how long it took.

use std::collections::BTreeMap;

use stackwright::step::StepOp;

use super::rows;

/// Returns the lines of `Resources:`; none when nothing is counted.
pub(super) fn resources(
    changes: &BTreeMap<&'static str, u64>,
    is_preview: bool,
    errored: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut total = 0;
    let mut kinds = 0;
    for op in StepOp::ALL {
        let count = changes.get(op.name()).copied().unwrap_or(0);
        if count == 0 || *op == StepOp::Same || *op == StepOp::Read {
            continue;
        }
        total += count;
        kinds += 1;
        let plan = if is_preview { "to " } else { "" };
        let verb = rows::summary_verb(*op, is_preview);
        let sign = rows::sign(*op);
        lines.push(format!("    {sign}{count} {plan}{verb}"));
    }
    let mut pieces = Vec::new();
    if kinds >= 2 {
        pieces.push(format!("{total} changes"));
    }
    if let Some(same) = changes.get(StepOp::Same.name()).filter(|count| **count > 0) {
        pieces.push(format!("{same} unchanged"));
    }
    if !pieces.is_empty() {
        lines.push(format!("    {}", pieces.join(". ")));
    }
    if errored > 0 {
        lines.push(format!("    {errored} errored"));
    }
    if !lines.is_empty() {
        lines.insert(0, "Resources:".to_owned());
        lines.push(String::new());
    }
    lines
}

/// Returns a duration in whole seconds: `1h2m3s`.
pub(super) fn duration(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(changes: &[(&'static str, u64)], is_preview: bool, errored: usize) -> String {
        resources(&changes.iter().copied().collect(), is_preview, errored).join("\n")
    }

    #[test]
    fn the_summary_counts_changes_and_what_stays() {
        assert_eq!(shown(&[], false, 0), "");
        assert_eq!(
            shown(&[("create", 5)], true, 0),
            "Resources:\n    + 5 to create\n"
        );
        assert_eq!(
            shown(
                &[("create", 1), ("delete", 2), ("update", 1), ("same", 1)],
                false,
                2
            ),
            "Resources:\n    + 1 created\n    ~ 1 updated\n    - 2 deleted\n    4 changes. 1 unchanged\n    2 errored\n"
        );
        assert_eq!(shown(&[("same", 3)], false, 0), "Resources:\n    3 unchanged\n");
    }

    #[test]
    fn durations_have_the_units_that_they_need() {
        assert_eq!([0, 61, 3723].map(duration), ["0s", "1m1s", "1h2m3s"]);
    }
}
