//! Advice in warnings, in the words of the reference engine's command.

/// The reference engine's flags of options, where they are not the names of the options with hyphens.
const FLAGS: [(&str, &str); 3] = [
    ("targets", "--target"),
    ("excludes", "--exclude"),
    ("replaceTargets", "--replace"),
];

/// Returns the flag of an option whose name has the style of the contract.
pub(crate) fn flag(option: &str) -> &str {
    FLAGS
        .iter()
        .find(|(name, _)| *name == option)
        .map_or(option, |(_, flag)| flag)
}

/// Returns what is known about resources of interrupted operations, and the advice how to go on; with `creations`, some of these are
/// creations that stay pending.
pub(crate) fn interrupted(creations: bool) -> String {
    let mut text = "These resources are in an unknown state because the Pulumi CLI was interrupted while waiting for changes to \
                    these resources to complete. You should confirm whether or not the operations listed completed successfully \
                    by checking the state of the appropriate provider.\n\nOnce you have confirmed the status of the interrupted \
                    operations, you can repair your stack using `pulumi refresh` which will refresh the state from the provider \
                    you are using and clear the pending operations if there are any."
        .to_owned();
    if creations {
        text.push_str(
            "\n\nNote that pending CREATE operations stay: `pulumi refresh --import-pending-creates URN --import-pending-creates \
             ID` records a resource that was created, and `pulumi refresh --clear-pending-creates` drops all creations that have \
             no resource.",
        );
    }
    text
}

/// The advice to remove one of two records of the same thing.
pub(crate) const REMOVE_RECORD: &str =
    "Remove one of the records with `pulumi state delete`, which deletes nothing else.";
