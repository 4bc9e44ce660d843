//! The addresses of plugins' archives, and their download.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use ureq::Agent;
use url::{Url, form_urlencoded::byte_serialize};

use super::{
    job::{Job, Watch},
    name::PluginId,
};
use crate::error::{Error, ErrorKind, Result};

/// The most bytes of an archive.
pub(super) const MAX_ARCHIVE_SIZE: u64 = 4 << 30;
/// How long a connection, and each read of a response, may take.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(60);
/// The size of the buffer of downloads, in bytes.
const BUFFER_SIZE: usize = 64 << 10;

/// Returns the name of this platform in the names of archives: `linux-amd64`.
#[must_use]
pub fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{system}-{}", architecture())
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the address of an archive below that of a server, which can have `${NAME}`, `${VERSION}`, `${OS}` and `${ARCH}`.
pub(super) fn archive_url(server: &str, plugin: &PluginId) -> String {
    let quoted = |text: &str| -> String { byte_serialize(text.as_bytes()).collect() };
    let platform = platform();
    let system = platform.split('-').next().unwrap_or_default();
    let server = server
        .trim_end_matches('/')
        .replace("${NAME}", &quoted(&plugin.name))
        .replace("${VERSION}", &quoted(&plugin.version.to_string()))
        .replace("${OS}", system)
        .replace("${ARCH}", architecture());
    let file = format!("{}-v{}-{platform}.tar.gz", plugin.executable(), plugin.version);
    format!("{server}/{}", quoted(&file))
}

/// Checks an address of archives: this library downloads over HTTP.
pub(super) fn check_url(url: &str, plugin: &PluginId) -> Result<()> {
    let problem = match Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => return Ok(()),
        Ok(parsed) => format!("its scheme {} is not supported", parsed.scheme()),
        Err(error) => error.to_string(),
    };
    Err(Error::invalid(format!(
        "{} cannot be downloaded from {url:?}: {problem}",
        plugin.shown()
    ))
    .with_hint("give an address that begins with https://, or an archive that is a local file"))
}

/// Downloads an archive into a new file. Blocks.
///
/// # Errors
/// [`ErrorKind::Unavailable`] when the server does not answer, or not with the whole archive.
pub(super) fn download(url: &str, place: &Path, job: &Job) -> Result<()> {
    let config = Agent::config_builder()
        .proxy(None)
        .timeout_connect(Some(NETWORK_TIMEOUT))
        .timeout_recv_response(Some(NETWORK_TIMEOUT))
        .timeout_per_read(Some(NETWORK_TIMEOUT))
        .build();
    let agent: Agent = config.into();
    let failed = |reason: String| {
        Error::new(
            ErrorKind::Unavailable,
            format!("{} cannot be downloaded from {url}: {reason}", job.plugin.shown()),
        )
    };
    let response = agent.get(url).call().map_err(|error| failed(error.to_string()))?;
    let body = response.into_body();
    let total = body.content_length();
    let mut watch = Watch::downloading(job, total);
    let mut content = body.into_with_config().limit(MAX_ARCHIVE_SIZE).reader();
    let mut file = File::create(place).map_err(|error| job.cannot_write(place, &error))?;
    let mut buffer = vec![0; BUFFER_SIZE];
    loop {
        let read = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error.to_string())),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        file.write_all(bytes)
            .map_err(|error| job.cannot_write(place, &error))?;
        watch.advance(read as u64)?;
    }
    let received = watch.finish()?;
    match total {
        Some(total) if total != received => Err(failed(format!(
            "the answer ended after {received} of {total} bytes"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use semver::Version;

    use super::*;
    use crate::plugin::PluginKind;

    #[test]
    fn addresses_have_the_layout_of_the_reference_engine() {
        let version = Version::parse("1.2.3+b").unwrap();
        let plugin = PluginId::new(PluginKind::Resource, "acme/shop", version).unwrap();
        let platform = platform();
        let file = format!("pulumi-resource-acme_shop-v1.2.3%2Bb-{platform}.tar.gz");
        assert_eq!(
            archive_url("https://example.com/plugins/", &plugin),
            format!("https://example.com/plugins/{file}")
        );
        let (system, architecture) = platform.split_once('-').unwrap();
        assert_eq!(
            archive_url("https://example.com/${NAME}/${VERSION}/${OS}/${ARCH}", &plugin),
            format!("https://example.com/acme_shop/1.2.3%2Bb/{system}/{architecture}/{file}")
        );
    }

    #[test]
    fn addresses_of_other_schemes_are_refused_by_name() {
        let plugin = PluginId::new(PluginKind::Resource, "shop", Version::new(1, 0, 0)).unwrap();
        check_url("http://127.0.0.1:80/a", &plugin).unwrap();
        for (url, named) in [
            (
                "github://api.example.com/acme",
                "its scheme github is not supported",
            ),
            ("example.com", "relative URL"),
        ] {
            let error = check_url(url, &plugin).unwrap_err();
            assert!(error.message().contains(named), "{error}");
        }
    }
}
