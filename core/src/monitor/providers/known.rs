//! Package settings that are known before a run, for requests that do not set them.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::{
    error::{Error, Result},
    provider::settings::ProviderSettings,
    state::PriorState,
};

/// The settings of each package: those of the newest version that is known.
#[derive(Default)]
pub(super) struct Known(BTreeMap<String, ProviderSettings>);

impl Known {
    /// Returns the settings of the last run.
    pub(super) fn of_base(base: &PriorState) -> Self {
        recorded_packages(base).collect()
    }

    /// Returns the settings of the plugins in a state's manifest.
    pub(super) fn of_plugins(plugins: &[serde_json::Value]) -> Self {
        plugins.iter().filter_map(manifest_plugin).collect()
    }

    /// Returns the settings of the packages that a program requires.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when one version of a package has two sources.
    pub(super) fn of_required(packages: Vec<ProviderSettings>) -> Result<Self> {
        let mut sources: BTreeMap<_, &ProviderSettings> = BTreeMap::new();
        for settings in &packages {
            match sources.entry((&settings.package, &settings.version)) {
                Entry::Vacant(entry) => drop(entry.insert(settings)),
                Entry::Occupied(entry) => refuse_conflict(entry.get(), settings)?,
            }
        }
        Ok(packages.into_iter().collect())
    }

    /// Returns the known packages.
    pub(super) fn packages(&self) -> impl Iterator<Item = ProviderSettings> {
        self.0.values().cloned()
    }

    /// Fills in missing settings.
    pub(super) fn complete(&self, settings: &mut ProviderSettings) {
        let Some(known) = self.0.get(&settings.package) else {
            return;
        };
        if settings.version.is_none() {
            settings.version.clone_from(&known.version);
        }
        if settings.download_url.is_empty() {
            settings.download_url.clone_from(&known.download_url);
        }
        if settings.checksums.is_empty() {
            settings.checksums.clone_from(&known.checksums);
        }
        self.parameterize(settings);
    }

    /// Adds the base plugin that is known to provide this version of the package by a parameter; a plugin of the
    /// package's own name would be searched otherwise. Another version may have another base plugin and is unchanged.
    pub(super) fn parameterize(&self, settings: &mut ProviderSettings) {
        if settings.base.is_none()
            && let Some(known) = self.0.get(&settings.package)
            && known.version == settings.version
        {
            settings.base.clone_from(&known.base);
            if settings.base.is_some() && settings.download_url.is_empty() {
                settings.download_url.clone_from(&known.download_url);
            }
        }
    }
}

impl FromIterator<ProviderSettings> for Known {
    /// Keeps the newest settings of each package; of equal versions the first. Empty ones are ignored.
    fn from_iter<I: IntoIterator<Item = ProviderSettings>>(named: I) -> Self {
        let mut newest: BTreeMap<String, ProviderSettings> = BTreeMap::new();
        for settings in named {
            if settings.version.is_none() && settings.download_url.is_empty() && settings.base.is_none() {
                continue;
            }
            let known = newest.get(&settings.package);
            if known.is_none_or(|known| known.version < settings.version) {
                newest.insert(settings.package.clone(), settings);
            }
        }
        Self(newest)
    }
}

/// Refuses two sources of one version of a package: addresses, plugins that are given a parameter, parameters, or checksums.
/// What one of them leaves out agrees with the other.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the package and both sources.
pub(super) fn refuse_conflict(one: &ProviderSettings, other: &ProviderSettings) -> Result<()> {
    let version = one.version.as_ref().map(|version| format!(" {version}"));
    let (package, version) = (&one.package, version.unwrap_or_default());
    let Some(conflict) = conflict(one, other) else {
        return Ok(());
    };
    Err(Error::invalid(format!(
        "the program requires the package '{package}'{version} {conflict}"
    )))
}

/// Describes what two sources of one package differ in; `None` when they agree.
fn conflict(one: &ProviderSettings, other: &ProviderSettings) -> Option<String> {
    let from = |left: &str, right: &str| Some(format!("from '{left}' and from '{right}'"));
    let (left, right) = (&one.download_url, &other.download_url);
    if left != right && !left.is_empty() && !right.is_empty() {
        return from(left, right);
    }
    match (&one.base, &other.base) {
        (Some(left), Some(right)) if left.name != right.name => return from(&left.name, &right.name),
        (Some(left), Some(right)) if left != right => {
            let name = &left.name;
            return Some(format!("twice, made of '{name}' by different parameters"));
        }
        _ => {}
    }
    let differs = |(platform, sum): &(&String, &String)| {
        let known = other.checksums.get(*platform);
        known.is_some_and(|known| !known.eq_ignore_ascii_case(sum))
    };
    let (platform, _) = one.checksums.iter().find(differs)?;
    Some(format!(
        "twice, with different checksums of its plugin for {platform}"
    ))
}

/// Returns what the last run used: its providers, and the plugins that older engines listed.
pub(crate) fn recorded_packages(base: &PriorState) -> impl Iterator<Item = ProviderSettings> {
    let providers = base.records().iter().filter_map(|record| {
        let package = record.state.resource_type.provided_package()?;
        ProviderSettings::read(package, &record.state.inputs).ok()
    });
    providers.chain(base.plugins().iter().filter_map(manifest_plugin))
}

/// Parses a plugin of a state's manifest; `None` for other kinds and malformed entries.
fn manifest_plugin(plugin: &serde_json::Value) -> Option<ProviderSettings> {
    let text = |name: &str| plugin.get(name).and_then(serde_json::Value::as_str);
    (text("type") == Some("resource")).then_some(())?;
    Some(ProviderSettings {
        package: text("name")?.to_owned(),
        version: Some(semver::Version::parse(text("version")?.trim_start_matches('v')).ok()?),
        ..ProviderSettings::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::BasePlugin;

    /// The settings of the package `made`, which a parameter derives from `base`.
    fn made() -> ProviderSettings {
        ProviderSettings {
            package: "made".into(),
            version: semver::Version::parse("2.0.0").ok(),
            download_url: "https://example.com/base".into(),
            base: Some(BasePlugin {
                name: "base".into(),
                version: semver::Version::parse("0.1.0").ok(),
                value: b"made of base".to_vec(),
            }),
            ..ProviderSettings::default()
        }
    }

    fn wanted(version: &str) -> ProviderSettings {
        ProviderSettings {
            package: "made".into(),
            version: semver::Version::parse(version).ok(),
            ..ProviderSettings::default()
        }
    }

    #[test]
    fn a_parameterized_package_keeps_its_parameter_unless_another_version_is_requested() {
        let known: Known = [made()].into_iter().collect();
        for version in ["", "2.0.0"] {
            let mut settings = wanted(version);
            known.complete(&mut settings);
            assert_eq!(settings, made(), "{version:?}");
        }
        let mut settings = wanted("3.0.0");
        known.complete(&mut settings);
        assert_eq!((settings.base, settings.version), (None, wanted("3.0.0").version));
    }

    #[test]
    fn two_sources_of_one_version_of_a_package_are_refused() {
        let from = |version: &str, url: &str| ProviderSettings {
            download_url: url.into(),
            ..wanted(version)
        };
        let refusal = |packages| {
            Known::of_required(packages)
                .err()
                .map(|error| error.message().to_owned())
        };
        let (first, second) = ("https://example.com/1", "https://example.com/2");
        assert_eq!(
            refusal(vec![
                from("1.0.0", first),
                from("1.0.0", first),
                from("1.0.0", "")
            ]),
            None
        );
        assert_eq!(
            refusal(vec![from("1.0.0", first), from("2.0.0", second)]),
            None,
            "other versions"
        );
        assert_eq!(
            refusal(vec![from("1.0.0", first), from("1.0.0", second)]).as_deref(),
            Some(
                "the program requires the package 'made' 1.0.0 from 'https://example.com/1' and from \
                 'https://example.com/2'"
            )
        );
        let summed = |sum: &str| ProviderSettings {
            checksums: BTreeMap::from([("linux-amd64".to_owned(), sum.to_owned())]),
            ..wanted("1.0.0")
        };
        let agreeing = vec![summed("00ff"), summed("00FF"), wanted("1.0.0")];
        assert_eq!(refusal(agreeing), None);
        assert_eq!(
            refusal(vec![summed("00ff"), summed("00fe")]).as_deref(),
            Some(
                "the program requires the package 'made' 1.0.0 twice, with different checksums of its plugin for linux-amd64"
            )
        );
        let mut parameterized = made();
        parameterized.base.as_mut().unwrap().value = b"made otherwise".to_vec();
        assert_eq!(
            refusal(vec![made(), parameterized]).as_deref(),
            Some(
                "the program requires the package 'made' 2.0.0 twice, made of 'base' by different parameters"
            )
        );
        let mut other = made();
        other.base.as_mut().unwrap().name = "another".into();
        assert_eq!(
            refusal(vec![made(), other]).as_deref(),
            Some("the program requires the package 'made' 2.0.0 from 'base' and from 'another'")
        );
    }

    #[test]
    fn the_plugin_of_a_made_package_comes_with_its_address() {
        let known: Known = [made()].into_iter().collect();
        let mut settings = wanted("2.0.0");
        known.parameterize(&mut settings);
        assert_eq!(settings, made());
        let unversioned = ProviderSettings {
            version: None,
            download_url: String::new(),
            ..made()
        };
        let known: Known = [unversioned.clone()].into_iter().collect();
        let mut settings = wanted("");
        known.complete(&mut settings);
        assert_eq!(settings, unversioned);
    }

    #[test]
    fn the_newest_version_is_known_of_providers_that_manifests_name() {
        let plugin = |name: &str, kind: &str, version: &str| serde_json::json!({"name": name, "type": kind, "version": version});
        let plugins = [
            plugin("files", "resource", "v1.2.0"),
            plugin("files", "resource", "1.10.0"),
            plugin("files", "resource", "1.9.0"),
            plugin("files", "resource", ""),
            plugin("nodejs", "language", "3.0.0"),
        ];
        let base = PriorState::default().with_plugins(&plugins);
        let known = Known::of_base(&base);
        let keys: Vec<_> = known.0.values().map(ProviderSettings::key).collect();
        assert_eq!(keys, ["files-1.10.0"]);
    }
}
