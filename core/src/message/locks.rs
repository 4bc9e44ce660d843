//! The text of a stack that is locked.

use super::Text;

/// Returns the text of a stack with `count` locks; `lines` has a line for each.
pub(crate) fn stack_locked(count: usize, lines: &str) -> Text {
    let begin = format!(
        "the stack is currently locked by {count} lock(s). Either wait for the other process(es) to end or"
    );
    Text::pair(
        format!("{begin} delete the lock file with `pulumi cancel`.{lines}"),
        format!("{begin}, when they are dead, remove their lock files with the stack's `unlock`.{lines}"),
    )
}
