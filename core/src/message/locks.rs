//! The text of a stack that is locked.

use super::Text;

/// Returns the text of a stack with `count` locks; `lines` has a line for each.
pub(crate) fn stack_locked(count: usize, lines: &str) -> Text {
    let begin = format!(
        "the stack is currently locked by {count} lock(s). Either wait for the other process(es) to end or"
    );
    // The reference engine's addresses of files have this option.
    let listed: Vec<String> = lines
        .lines()
        .map(|line| match line.trim_start().starts_with("file://") {
            true => line.replacen(": created by ", "?no_tmp_dir=true: created by ", 1),
            false => line.to_owned(),
        })
        .collect();
    let listed = listed.join("\n");
    Text::pair(
        format!("{begin} delete the lock file with `pulumi cancel`.{listed}"),
        format!("{begin}, when they are dead, remove their lock files with the stack's `unlock`.{lines}"),
    )
}
