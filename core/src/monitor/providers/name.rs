//! The names of default providers.

use crate::provider::settings::ProviderSettings;

/// Returns the name of a default provider: `default`, its version and its download address, without invalid characters.
pub(super) fn default_name(settings: &ProviderSettings) -> String {
    let mut name = "default".to_owned();
    if let Some(version) = &settings.version {
        name.push_str(&format!("_{}_{}_{}", version.major, version.minor, version.patch));
        for part in [version.pre.as_str(), version.build.as_str()] {
            if !part.is_empty() {
                name.push('_');
                name.push_str(&part.replace('.', "_"));
            }
        }
    }
    if !settings.download_url.is_empty() {
        let parts: Vec<String> = settings
            .download_url
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| {
                part.replace(
                    |letter: char| !(letter.is_ascii_alphanumeric() || "_.-".contains(letter)),
                    "_",
                )
            })
            .collect();
        name.push('_');
        name.push_str(&parts.join("/"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(version: &str, url: &str) -> String {
        default_name(&ProviderSettings {
            version: semver::Version::parse(version).ok(),
            download_url: url.to_owned(),
            ..ProviderSettings::default()
        })
    }

    #[test]
    fn names_are_those_of_the_reference_engine() {
        assert_eq!(name("", ""), "default");
        assert_eq!(name("1.0.0-beta.1+b.2", ""), "default_1_0_0_beta_1_b_2");
        assert_eq!(name("1.0.0-alpha-3.x", ""), "default_1_0_0_alpha-3_x");
        assert_eq!(
            name("1.0.0", "https://ex.com/p/q:1"),
            "default_1_0_0_https_/ex.com/p/q_1"
        );
        assert_eq!(name("", "http://ex.com"), "default_http_/ex.com");
    }
}
