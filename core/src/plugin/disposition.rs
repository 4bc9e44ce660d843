//! The disposition of SIGINT in this process: child processes inherit it when it is "ignore".

use std::fs;

/// The bit of SIGINT in the sets of signals that Linux prints.
const INTERRUPT: u64 = 1 << 1;

/// Returns whether this process ignores SIGINT, like processes that a shell script starts in the background.
///
/// A plugin of such a host ignores the signal as well, unless it installs a handler. Detected on Linux only; elsewhere
/// `false`, and a plugin that ignores the signal is killed after its time to end.
pub(super) fn ignores_interrupts() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status))
}

fn is_ignored(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set & INTERRUPT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_of_ignored_signals_is_read() {
        assert!(is_ignored(
            "Name:\tsh\nSigIgn:\t0000000000000006\nSigCgt:\t0000000000000000\n"
        ));
        assert!(!is_ignored(
            "Name:\tsh\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000002\n"
        ));
        assert!(!is_ignored("Name:\tsh\n"));
        assert!(!is_ignored("SigIgn:\tnone\n"));
    }
}
