//! The URL of a remote: the service, the owner and the name of a repository, cut as the reference engine cuts them.

use std::net::Ipv6Addr;

use super::ssh::{self, SUFFIX};

/// The schemes of services with HTTP, and the one of SSH.
const HTTP: [&str; 2] = ["https", "http"];
const SSH: &str = "ssh";
/// What the user of SSH ends with; of others, the reference engine knows no service.
const SSH_USER: &str = "git";
/// The host of Azure DevOps, and what its former ones end with, after a dot.
const AZURE: &str = "dev.azure.com";
const FORMER_AZURE: &str = "visualstudio.com";
/// The part of paths of Azure DevOps between the project and the name.
const AZURE_REPOSITORY: &str = "_git";

/// A repository of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosted {
    /// A user or an organization: the first part of the path.
    pub(crate) owner: String,
    /// All that follows the owner: also groups and projects.
    pub(crate) name: String,
    /// The host of the service.
    pub(crate) kind: String,
}

impl Hosted {
    /// Parses the URL of a remote; `None` for a folder, and for services that the reference engine does not know. Users and
    /// passwords are dropped, and a URL is refused where it is not certain what they are.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let (kind, path) = match url.split_once("://") {
            Some((scheme, rest)) => of_url(scheme, rest)?,
            None => of_short_form(url)?,
        };
        let path = path.strip_suffix(SUFFIX).unwrap_or(&path);
        if path.is_empty() {
            return None;
        }
        let (owner, name) = match of_former_azure(&kind) {
            Some(organization) => {
                return Some(Self {
                    owner: organization.to_owned(),
                    name: path.to_owned(),
                    kind: AZURE.to_owned(),
                });
            }
            None => path.split_once('/')?,
        };
        let name = match kind == AZURE && !name.contains(AZURE_REPOSITORY) {
            true => {
                let (project, name) = name.split_once('/')?;
                format!("{project}/{AZURE_REPOSITORY}/{name}")
            }
            false => name.to_owned(),
        };
        Some(Self {
            owner: owner.to_owned(),
            name,
            kind,
        })
    }
}

/// Splits what follows the scheme of a URL into host and path.
fn of_url(scheme: &str, rest: &str) -> Option<(String, String)> {
    let (authority, path) = rest.split_once('/')?;
    let (user, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = host_and_port(address)?;
    let path = without_query(path)?;
    let decoded = decoded(path)?;
    if !is_certain(&decoded) {
        return None;
    }
    if HTTP.iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
        return Some((host.to_owned(), decoded));
    }
    let is_known = SSH.eq_ignore_ascii_case(scheme) && user.ends_with(SSH_USER);
    // The reference engine looks for the owner after the first colon, which the port follows: that becomes the owner.
    ssh::recognized(host, &format!("{}/{path}", port.filter(|_| is_known)?))
}

/// Splits `host:port`.
fn host_and_port(address: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = address.strip_prefix('[') {
        let (number, rest) = rest.split_once(']')?;
        let host = address.get(..number.len() + 2)?;
        let port = rest.strip_prefix(':');
        let is_valid = number.parse::<Ipv6Addr>().is_ok() && (rest.is_empty() || port.is_some_and(is_port));
        return is_valid.then_some((host, port));
    }
    let (host, port) = match address.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (address, None),
    };
    (is_host(host) && port.is_none_or(is_port)).then_some((host, port))
}

/// Splits `user@host:path`.
fn of_short_form(url: &str) -> Option<(String, String)> {
    let (address, path) = url.split_once(':')?;
    let (user, host) = address.rsplit_once('@')?;
    let path = without_query(path).filter(|path| is_certain(path))?;
    if !user.ends_with(SSH_USER) || !is_host(host) {
        return None;
    }
    ssh::recognized(host, path)
}

/// Returns the organization that a former host of Azure DevOps begins with.
fn of_former_azure(host: &str) -> Option<&str> {
    let mut characters = host.strip_suffix(FORMER_AZURE)?.chars();
    characters.next_back()?;
    let before = characters.as_str();
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let name = before.trim_end_matches(is_allowed);
    before.get(name.len()..)
}

fn is_host(text: &str) -> bool {
    let is_allowed = |character: char| character.is_alphanumeric() || ".-_".contains(character);
    !text.is_empty() && text.chars().all(is_allowed)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a path without what follows `?` or `#`, which can be a token. An `@`, also there, would end a password that is not
/// escaped.
fn without_query(path: &str) -> Option<&str> {
    let end = path.find(['?', '#']).unwrap_or(path.len());
    path.get(..end).filter(|_| !path.contains('@'))
}

/// Returns whether a path has nothing that separates other parts of URLs: a part with a colon can be a user with its password.
fn is_certain(path: &str) -> bool {
    !path.contains(|character: char| "@:?#\\".contains(character) || character.is_control())
}

/// Replaces `%20` and the like; `None` where `%` is not followed by two digits.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, mut after)) = rest.split_first() {
        let mut byte = *first;
        if byte == b'%' {
            let digits = str::from_utf8(after.get(..2)?).ok()?;
            let digits = (!digits.starts_with('+')).then_some(digits)?;
            byte = u8::from_str_radix(digits, 16).ok()?;
            after = after.get(2..)?;
        }
        bytes.push(byte);
        rest = after;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(url: &str) -> Option<String> {
        Hosted::of(url).map(|hosted| format!("{} {} {}", hosted.kind, hosted.owner, hosted.name))
    }

    #[test]
    fn urls_of_services_have_an_owner_and_a_name() {
        for (url, expected) in [
            ("https://github.com/owner/repo.git", "github.com owner repo"),
            ("https://github.com/owner/repo/", "github.com owner repo/"),
            ("https://github.com//owner/repo", "github.com  owner/repo"),
            ("https://GitHub.com/owner/repo?a=b#c", "GitHub.com owner repo"),
            (
                "http://git.example.com:8080/owner/re.po",
                "git.example.com owner re.po",
            ),
            ("https://github.com/owner/.git", "github.com owner "),
            ("https://[::1]:8080/owner/repo", "[::1] owner repo"),
            ("https://example.com/a%2Fb/c%20d", "example.com a b/c d"),
            ("git@github.com:owner/repo.git", "github.com owner repo"),
            ("git@github.com:owner/repo.git/", "github.com owner repo"),
            (
                "git@git.foo-acme.net:owner/repo.git",
                "git.foo-acme.net owner repo",
            ),
            ("git@github.com:owner/repo", "github.com owner repo"),
            ("git@git.example.com:owner/repo", "example.com owner repo"),
            ("git@github.com:/owner/repo", "github.com  owner/repo"),
            (
                "ssh://git@github.com:22/owner/repo.git",
                "github.com 22 owner/repo",
            ),
            (
                "git@gitlab.com:group/sub/deep/repo.git",
                "gitlab.com group sub/deep/repo",
            ),
            ("https://gitlab.com/group/sub/repo", "gitlab.com group sub/repo"),
        ] {
            assert_eq!(parsed(url).as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn urls_of_azure_have_the_project_in_the_name() {
        for (url, expected) in [
            (
                "https://dev.azure.com/org/project/_git/repo",
                "dev.azure.com org project/_git/repo",
            ),
            (
                "https://org@dev.azure.com/org/My%20Project/_git/repo",
                "dev.azure.com org My Project/_git/repo",
            ),
            (
                "https://dev.azure.com/org/_git/repo",
                "dev.azure.com org _git/repo",
            ),
            (
                "https://dev.azure.com/org/project/repo",
                "dev.azure.com org project/_git/repo",
            ),
            (
                "git@ssh.dev.azure.com:v3/org/project/repo",
                "dev.azure.com org project/_git/repo",
            ),
            (
                "https://org.visualstudio.com/DefaultCollection/project/_git/repo",
                "dev.azure.com org DefaultCollection/project/_git/repo",
            ),
            ("git@myvisualstudio.com:o/r.git", "dev.azure.com m o/r"),
            (
                "https://a.org-1.visualstudio.com/repo",
                "dev.azure.com org-1 repo",
            ),
        ] {
            assert_eq!(parsed(url).as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn folders_and_incomplete_urls_have_none() {
        for url in [
            "",
            "/srv/owner/repo.git",
            "../owner/repo.git",
            "./a:b/c",
            "file:///srv/owner/repo.git",
            "https://github.com",
            "https://github.com/repo",
            "https://github.com/.git",
            "https:///owner/repo",
            "https://[::g]/owner/repo",
            "https://example.com/%zz/owner/repo",
            "https://dev.azure.com/org/repo",
            "git@ssh.dev.azure.com:v3",
            "github.com:owner/repo",
            "git@host:owner/repo.git",
            "git@git.foo-acme.net:group/sub/repo.git",
            "org@vs-ssh.visualstudio.com:v3/org/project/repo",
            "ssh://git@github.com/owner/repo.git",
            "ssh://user@github.com:22/owner/repo.git",
            "git://example.com/owner/repo",
            "C:\\owner\\repo",
            "ext::sh -c x/y",
        ] {
            assert_eq!(parsed(url), None, "{url}");
        }
    }

    #[test]
    fn passwords_reach_no_part() {
        for url in [
            "https://user:hunter2@github.com/owner/repo.git",
            "https://hunter2@github.com/owner/repo.git",
            "https://x:hunter2@a@github.com/owner/repo.git",
            "https://user:hunt/er2@github.com/owner/repo.git",
            "https://user:12/hunter2@github.com/owner/repo.git",
            "https://user:12/hunter2/a?b@github.com/owner/repo.git",
            "https://user:hunter2#@github.com/owner/repo.git",
            "user:hunter2@github.com:owner/repo.git",
            "ssh://user:hunter2@github.com/owner/repo.git",
            "ssh://user:hunter2git@github.com:22/owner/repo.git",
            "https://github.com/owner/repo.git?token=hunter2",
            "git@github.com:owner/repo.git?token=hunter2",
            "git@github.com:owner/repo.git#hunter2",
            "git@github.com:hunter2:x-oauth/owner/repo.git",
            "https://github.com/hunter2:x-oauth/owner/repo",
            "https://github.com/hunter2%3Ax-oauth/owner/repo",
            "https://github.com/user:hunter2%40github.com/owner/repo",
            "file://user:hunter2@host/owner/repo",
        ] {
            assert!(
                !parsed(url).is_some_and(|text| text.contains("hunt") || text.contains("er2")),
                "{url}"
            );
        }
        let url = "https://user:hunter2@github.com/owner/repo.git";
        assert_eq!(parsed(url).as_deref(), Some("github.com owner repo"));
        let url = "git@github.com:owner/repo.git?token=hunter2";
        assert_eq!(parsed(url).as_deref(), Some("github.com owner repo"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text: String, parts in "[a%:/@.?#é2]{0,20}") {
            Hosted::of(&text);
            Hosted::of(&parts);
            Hosted::of(&format!("https://{parts}"));
        }

        #[test]
        fn no_password_reaches_a_part(
            password in "[a-y0-9:/?#@%\\\\]{0,12}",
            form in proptest::sample::select(vec!["https://user:SECRET@host/a/b", "ssh://SECRET@host/a/b", "user:SECRET@host:a/b", "ssh://SECRETgit@host.com:1/a/b", "SECRETgit@host.com:a/b", "git@host.com:a/b.git?SECRET"]),
        ) {
            // Marks, so that every part of the password has one.
            let password: String = password.chars().flat_map(|character| [character, 'Z']).collect();
            let found = parsed(&form.replace("SECRET", &format!("Z{password}")));
            prop_assert!(!found.is_some_and(|text| text.contains(['Z', 'z'])));
        }
    }
}
