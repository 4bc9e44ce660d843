//! Profiles of AWS: static keys, the region and the endpoint in the files `config` and `credentials` of `~/.aws`.

use std::{fs, io::ErrorKind as IoErrorKind, path::Path};

use configparser::ini::{Ini, IniDefault};
use rustc_hash::FxHashMap;

use crate::{
    error::{Error, Result},
    store::credentials::{Credential, Credentials},
};

/// What a profile with one of these settings needs: a login or another program, which only the host can use.
const UNSUPPORTED: [(&str, &str); 6] = [
    ("sso_session", "single sign-on (SSO)"),
    ("sso_start_url", "single sign-on (SSO)"),
    ("login_session", "a login session"),
    ("role_arn", "the role of a profile"),
    ("credential_process", "a credential process"),
    ("credential_source", "the role of a profile"),
];

type Section = FxHashMap<String, Option<String>>;

/// The settings of a profile that are used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    /// Static keys.
    pub keys: Option<Credential>,
    /// The region.
    pub region: Option<String>,
    /// The address of the service.
    pub endpoint: Option<String>,
    /// The source of credentials that the profile names instead of static keys.
    pub unsupported: Option<String>,
    /// Whether the URL of the store names it, so that it takes precedence over variables.
    pub is_named_by_url: bool,
}

impl Profile {
    /// Reads the profile that the URL or the environment names, or else the default one, which need not exist.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when there is no profile of the name, or a file cannot be read.
    pub(super) fn find(credentials: &Credentials, by_url: Option<&str>) -> Result<Self> {
        let named = by_url.or_else(|| credentials.variable("AWS_PROFILE"));
        let home = credentials.variable("HOME").unwrap_or("");
        let file = |variable: &str, name: &str| match credentials.variable(variable) {
            Some(path) => path.to_owned(),
            None => format!("{home}/.aws/{name}"),
        };
        let paths = [
            file("AWS_CONFIG_FILE", "config"),
            file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        ];
        let name = named.unwrap_or("default");
        let config = read(&paths[0], &[&format!("profile {name}"), name])?;
        let keys = read(&paths[1], &[name])?;
        if named.is_some() && config.is_none() && keys.is_none() {
            return Err(Error::invalid(format!(
                "there is no profile {name:?} in {} or {}",
                paths[0], paths[1]
            )));
        }
        // The file of credentials takes precedence.
        let mut settings = config.unwrap_or_default();
        settings.extend(keys.unwrap_or_default());
        Ok(Self {
            is_named_by_url: by_url.is_some(),
            ..Self::of(name, &settings)
        })
    }

    fn of(name: &str, settings: &Section) -> Self {
        let setting = |key: &str| settings.get(key)?.as_deref().filter(|value| !value.is_empty());
        let keys = || {
            Some(Credential::AwsKeys {
                access_key_id: setting("aws_access_key_id")?.to_owned(),
                secret_access_key: setting("aws_secret_access_key")?.to_owned(),
                session_token: setting("aws_session_token").map(str::to_owned),
            })
        };
        let unsupported = UNSUPPORTED.iter().find(|(key, _)| setting(key).is_some());
        Self {
            // A role is assumed with the keys; they are not those of the role.
            keys: setting("role_arn").is_none().then(keys).flatten(),
            region: setting("region").map(str::to_owned),
            endpoint: setting("endpoint_url").map(str::to_owned),
            unsupported: unsupported
                .map(|(_, what)| format!("{what}, which the profile {name:?} of AWS names,")),
            is_named_by_url: false,
        }
    }
}

/// Returns the first of these sections that a file has; `None` when it has none, or there is no file.
fn read(path: &str, sections: &[&str]) -> Result<Option<Section>> {
    let text = match fs::read_to_string(Path::new(path)) {
        Ok(text) => text,
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let mut defaults = IniDefault::default();
    defaults.delimiters = vec!['='];
    defaults.comment_symbols = vec!['#', ';'];
    defaults.inline_comment_symbols = Some(Vec::new());
    defaults.case_sensitive = true;
    let mut file = Ini::new_from_defaults(defaults);
    let mut all = file.read(text).map_err(|error| unreadable(path, &error))?;
    let found = sections.iter().find_map(|name| all.remove(*name));
    Ok(found.map(|section| section.into_iter().collect()))
}

fn unreadable(path: &str, reason: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!(
        "the file {path} of AWS profiles cannot be read: {reason}"
    ))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n\n[profile work]\nregion=us-west-2\nendpoint_url = http://127.0.0.1:1\n\
                          s3 =\n  max_concurrent_requests = 20\n\n[profile login]\nsso_session = corp\nregion = eu-central-1\n\
                          [profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n";
    const KEYS: &str = "# Keys\n[default]\naws_access_key_id = AKIA1\naws_secret_access_key = a/b+c=#;d\n\n\
                        [work]\naws_access_key_id=AKIA2\naws_secret_access_key=s2\naws_session_token=t2\n";

    fn environment(folder: &Path, more: &[(&str, &str)]) -> Credentials {
        let aws = folder.join(".aws");
        fs::create_dir_all(&aws).unwrap();
        fs::write(aws.join("config"), CONFIG).unwrap();
        fs::write(aws.join("credentials"), KEYS).unwrap();
        let home = ("HOME", folder.to_str().unwrap());
        let pairs = [home].into_iter().chain(more.iter().copied());
        let variables: BTreeMap<String, String> = pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Credentials::Environment(Arc::new(variables))
    }

    fn keys(id: &str, secret: &str, token: Option<&str>) -> Option<Credential> {
        Some(Credential::AwsKeys {
            access_key_id: id.to_owned(),
            secret_access_key: secret.to_owned(),
            session_token: token.map(str::to_owned),
        })
    }

    #[test]
    fn static_keys_are_those_of_the_profile_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let default = Profile::find(&environment(folder.path(), &[]), None).unwrap();
        assert!(default.keys == keys("AKIA1", "a/b+c=#;d", None));
        assert_eq!(default.region.as_deref(), Some("eu-west-1"));
        let by_variable = environment(folder.path(), &[("AWS_PROFILE", "work")]);
        let work = Profile::find(&by_variable, None).unwrap();
        assert!(work.keys == keys("AKIA2", "s2", Some("t2")));
        assert_eq!(work.region.as_deref(), Some("us-west-2"));
        assert_eq!(work.endpoint.as_deref(), Some("http://127.0.0.1:1"));
        assert!(!work.is_named_by_url);
        let by_url = Profile::find(&by_variable, Some("default")).unwrap();
        assert!(by_url.is_named_by_url && by_url.keys == default.keys);
    }

    #[test]
    fn a_profile_that_needs_a_login_or_a_role_has_no_keys_and_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(folder.path(), &[]);
        for (name, what) in [("login", "single sign-on"), ("role", "the role")] {
            let profile = Profile::find(&environment, Some(name)).unwrap();
            assert_eq!(profile.keys, None, "{name}");
            assert!(profile.unsupported.unwrap().contains(what), "{name}");
        }
        let error = Profile::find(&environment, Some("missing")).unwrap_err();
        assert!(error.message().contains("no profile \"missing\""), "{error}");
    }
}
