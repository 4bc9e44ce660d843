//! The URL of a remote: the service, the owner and the name of a repository.

/// The schemes of services.
const SCHEMES: [&str; 6] = ["https", "http", "ssh", "git", "git+ssh", "ssh+git"];
/// What the name of a repository can end with.
const SUFFIX: &str = ".git";
/// The host of Azure DevOps, and what those of its former one end with.
const AZURE: &str = "dev.azure.com";
const AZURE_SSH: &str = "ssh.dev.azure.com";
const FORMER_AZURE: &str = ".visualstudio.com";
const FORMER_AZURE_SSH: &str = "vs-ssh.visualstudio.com";
/// The parts of paths of Azure DevOps that belong to no name.
const AZURE_REPOSITORY: &str = "_git";
const AZURE_SSH_VERSION: &str = "v3";
const AZURE_COLLECTION: &str = "DefaultCollection";

/// A repository of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosted {
    /// A user or an organization, with the groups in between.
    pub(crate) owner: String,
    pub(crate) name: String,
    /// The host of the service.
    pub(crate) kind: String,
}

impl Hosted {
    /// Parses the URL of a remote; `None` for a folder. Users and passwords are dropped, and a URL is refused where it is not
    /// certain what they are.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let (host, path) = match url.split_once("://") {
            Some((scheme, rest)) => of_url(scheme, rest)?,
            None => of_short_form(url)?,
        };
        let host = host.to_ascii_lowercase();
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(decoded)
            .collect();
        match azure(&host, &parts) {
            Some(hosted) => Some(hosted),
            None => named(host, &parts),
        }
    }
}

/// Splits what follows the scheme of a URL into host and path.
fn of_url<'a>(scheme: &str, rest: &'a str) -> Option<(&'a str, &'a str)> {
    let is_known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    let (authority, path) = rest.split_once('/').filter(|_| is_known)?;
    let address = authority
        .rsplit_once('@')
        .map_or(authority, |(_, address)| address);
    let host = match address.split_once(':') {
        Some((host, port)) => port.bytes().all(|byte| byte.is_ascii_digit()).then_some(host)?,
        None => address,
    };
    // Elsewhere it would end a password that is not escaped.
    if path.contains('@') || !is_host(host) {
        return None;
    }
    let end = path.find(['?', '#']).unwrap_or(path.len());
    Some((host, path.get(..end)?))
}

/// Splits `user@host:path`. The form `helper::address` has no host.
fn of_short_form(url: &str) -> Option<(&str, &str)> {
    let (address, path) = url.split_once(':').filter(|(_, path)| !path.starts_with(':'))?;
    let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
    (is_host(host) && !path.contains('@')).then_some((host, path))
}

fn is_host(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

/// Replaces `%20` and the like. A text that is not UTF-8 then stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| *first == b'%' && !digits.starts_with('+'));
        let (byte, after) = match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (byte, after.get(2..).unwrap_or_default()),
            None => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns the repository whose path ends with its name.
fn named(kind: String, parts: &[String]) -> Option<Hosted> {
    let (name, owner) = parts.split_last().filter(|(_, owner)| !owner.is_empty())?;
    let name = name.strip_suffix(SUFFIX).unwrap_or(name);
    (!name.is_empty()).then(|| Hosted {
        owner: owner.join("/"),
        name: name.to_owned(),
        kind,
    })
}

/// Returns a repository of Azure DevOps.
fn azure(host: &str, parts: &[String]) -> Option<Hosted> {
    let kind = AZURE.to_owned();
    if [AZURE_SSH, FORMER_AZURE_SSH].contains(&host) {
        let (version, parts) = parts.split_first()?;
        return named(kind, parts).filter(|_| version == AZURE_SSH_VERSION);
    }
    let organization = host.strip_suffix(FORMER_AZURE);
    if host != AZURE && organization.is_none() {
        return None;
    }
    let parts = parts.iter().filter(|part| *part != AZURE_REPOSITORY);
    let parts = parts.skip_while(|part| organization.is_some() && *part == AZURE_COLLECTION);
    let organization = organization.map(str::to_owned);
    let parts: Vec<String> = organization.into_iter().chain(parts.cloned()).collect();
    named(kind, &parts)
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
            ("https://github.com/owner/repo/", "github.com owner repo"),
            ("https://GitHub.com/owner/repo?a=b#c", "github.com owner repo"),
            (
                "http://git.example.com:8080/owner/re.po",
                "git.example.com owner re.po",
            ),
            ("git@github.com:owner/repo.git", "github.com owner repo"),
            ("github.com:/owner/repo", "github.com owner repo"),
            ("ssh://git@github.com:22/owner/repo.git", "github.com owner repo"),
            ("git://example.com/owner/repo", "example.com owner repo"),
            (
                "git@gitlab.com:group/sub/deep/repo.git",
                "gitlab.com group/sub/deep repo",
            ),
            ("https://gitlab.com/group/sub/repo", "gitlab.com group/sub repo"),
            (
                "https://dev.azure.com/org/project/_git/repo",
                "dev.azure.com org/project repo",
            ),
            (
                "https://org@dev.azure.com/org/My%20Project/_git/repo",
                "dev.azure.com org/My Project repo",
            ),
            ("https://dev.azure.com/org/_git/repo", "dev.azure.com org repo"),
            (
                "git@ssh.dev.azure.com:v3/org/project/repo",
                "dev.azure.com org/project repo",
            ),
            (
                "https://org.visualstudio.com/DefaultCollection/project/_git/repo",
                "dev.azure.com org/project repo",
            ),
            (
                "org@vs-ssh.visualstudio.com:v3/org/project/repo",
                "dev.azure.com org/project repo",
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
            "https://github.com/owner/.git",
            "https:///owner/repo",
            "https://[::1]/owner/repo",
            "git@ssh.dev.azure.com:v3",
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
            "https://github.com/owner/repo.git?token=hunter2",
            "file://user:hunter2@host/owner/repo",
        ] {
            assert!(
                !parsed(url).is_some_and(|text| text.contains("hunt") || text.contains("er2")),
                "{url}"
            );
        }
        let url = "https://user:hunter2@github.com/owner/repo.git";
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
            form in proptest::sample::select(vec!["https://user:SECRET@host/a/b", "ssh://SECRET@host/a/b", "user:SECRET@host:a/b"]),
        ) {
            // Marks, so that every part of the password has one.
            let password: String = password.chars().flat_map(|character| [character, 'Z']).collect();
            let found = parsed(&form.replace("SECRET", &format!("Z{password}")));
            prop_assert!(!found.is_some_and(|text| text.contains(['Z', 'z'])));
        }
    }
}
