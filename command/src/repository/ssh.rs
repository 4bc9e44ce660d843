//! Remotes with SSH: the forms of hosts and paths that the reference engine recognizes.

/// What the name of a repository can end with.
pub(super) const SUFFIX: &str = ".git";

/// Returns the host and the path of a remote with SSH, of those that the reference engine recognizes.
pub(super) fn recognized(host: &str, path: &str) -> Option<(String, String)> {
    if let Some(path) = owner_and_file(path).filter(|_| has_letters_and_hyphens(host)) {
        return Some((host.to_owned(), path.to_owned()));
    }
    let labels: Vec<&str> = host.split('.').collect();
    let are_letters =
        |label: &&str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    if labels.len() < 2 || !labels.iter().all(are_letters) {
        return None;
    }
    // Azure DevOps has `ssh.` before the name of its service, and the reference engine drops the same part of any other host.
    let kind = match &*labels {
        [_, rest @ ..] if rest.len() > 1 => rest.join("."),
        _ => host.to_owned(),
    };
    Some((kind, without_version(path).to_owned()))
}

/// Returns a path of the form `owner/name.git`, without the one character that can follow it.
fn owner_and_file(path: &str) -> Option<&str> {
    let is_whole = |path: &&str| {
        path.split_once('/').is_some_and(|(owner, file)| {
            let name = file.strip_suffix(SUFFIX).unwrap_or_default();
            !owner.is_empty() && !name.is_empty() && !name.contains('/')
        })
    };
    let shorter = path
        .char_indices()
        .next_back()
        .and_then(|(end, _)| path.get(..end));
    [Some(path), shorter].into_iter().flatten().find(is_whole)
}

/// Returns a path without the version that it begins with at Azure DevOps, such as `v3/`.
fn without_version(path: &str) -> &str {
    let rest = path.strip_prefix('v').and_then(|rest| {
        rest.strip_prefix(|digit: char| digit.is_ascii_digit())
            .and_then(|rest| rest.strip_prefix('/'))
    });
    rest.unwrap_or(path)
}

fn has_letters_and_hyphens(host: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphabetic() || b".-".contains(&byte);
    let last = host.rsplit_once('.').map_or("", |(_, last)| last);
    host.bytes().all(is_allowed) && !last.is_empty() && !last.contains('-')
}
