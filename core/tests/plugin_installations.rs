//! Installations of plugins: from files and servers, by several processes, interrupted, and refused.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod archive_server;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use archive_server::{Answer, ArchiveServer, archive, sha256};
use semver::Version;
use stackwright::{
    Error, ErrorKind,
    plugin::{
        InstallProgress, InstalledPlugin, PluginArchive, PluginCache, PluginInstallation, PluginKind,
        PluginSelection, ProgressSink,
    },
    runtime::Runtime,
};
use stackwright_testkit::wait::{Within as _, blocking};
use tokio::runtime::Handle;

/// The variables of the process that installs beside a test.
const CACHE: &str = "PLUGIN_INSTALLATION_CACHE";
const URL: &str = "PLUGIN_INSTALLATION_URL";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("plugins")
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join("shop.tar.gz");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the names in the cache, apart from the lock file.
    fn entries(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.cache()) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.ends_with(".lock")).collect();
        names.sort();
        names
    }

    async fn install(&self, installation: PluginInstallation) -> Result<InstalledPlugin, Error> {
        let cache = PluginCache::new(self.cache(), Runtime::system(Handle::current()));
        cache.install(installation, None).within("an installation").await
    }
}

fn shop(archive: PluginArchive) -> PluginInstallation {
    PluginInstallation {
        kind: PluginKind::Resource,
        name: "shop".to_owned(),
        version: Version::new(1, 0, 0),
        archive,
        checksum: None,
        reinstall: false,
    }
}

fn packed(text: &str) -> Vec<u8> {
    archive(&[("pulumi-resource-shop", text)])
}

fn content(plugin: &InstalledPlugin) -> String {
    fs::read_to_string(plugin.path.join("pulumi-resource-shop")).unwrap()
}

/// Not a separate test: the process that installs beside other tests.
#[tokio::test]
#[ignore = "the process that installs beside other tests"]
#[expect(clippy::disallowed_methods, reason = "the environment carries the arguments")]
async fn installer() {
    let (cache, url) = (std::env::var(CACHE).unwrap(), std::env::var(URL).unwrap());
    let cache = PluginCache::new(cache, Runtime::system(Handle::current()));
    cache.install(shop(PluginArchive::Url(url)), None).await.unwrap();
}

fn installer_process(cache: &Path, url: &str) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "installer", "--ignored", "--nocapture"])
        .env(CACHE, cache)
        .env(URL, url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_plugin_is_installed_from_a_file_listed_and_removed() {
    let folder = Folder::new();
    let file = folder.file(&packed("shelf"));
    let installed = folder
        .install(shop(PluginArchive::File(file.clone())))
        .await
        .unwrap();
    assert_eq!(installed.path, folder.cache().join("resource-shop-v1.0.0"));
    assert_eq!((installed.size, content(&installed).as_str()), (5, "shelf"));
    assert!(installed.installed.is_some() && installed.last_used.is_some());

    let cache = PluginCache::new(folder.cache(), Runtime::system(Handle::current()));
    let other = PluginSelection {
        versions: Some(PluginSelection::parse_versions(">=1.1.0").unwrap()),
        ..PluginSelection::default()
    };
    assert_eq!(cache.list(other.clone()).await.unwrap(), []);
    let all = cache.list(PluginSelection::default()).await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].kind, all[0].name.as_str()),
        (PluginKind::Resource, "shop")
    );
    assert_eq!(cache.remove(other).await.unwrap(), []);
    let only = PluginSelection {
        kind: Some(PluginKind::Resource),
        name: Some("shop".to_owned()),
        versions: Some(PluginSelection::parse_versions("v1.0.0").unwrap()),
    };
    assert_eq!(cache.remove(only).await.unwrap().len(), 1);
    assert_eq!(
        fs::read_dir(folder.cache()).unwrap().count(),
        0,
        "the lock file is removed, too"
    );
}

#[tokio::test]
async fn an_installed_plugin_stays_unless_it_is_installed_again() {
    let folder = Folder::new();
    let file = folder.file(&packed("shelf"));
    folder
        .install(shop(PluginArchive::File(file.clone())))
        .await
        .unwrap();
    folder.file(&packed("counter"));
    let kept = folder
        .install(shop(PluginArchive::File(file.clone())))
        .await
        .unwrap();
    assert_eq!(content(&kept), "shelf");
    let again = PluginInstallation {
        reinstall: true,
        ..shop(PluginArchive::File(file.clone()))
    };
    let replaced = folder.install(again.clone()).await.unwrap();
    assert_eq!(content(&replaced), "counter");
    folder.file(b"no archive");
    folder.install(again).await.unwrap_err();
    assert_eq!(content(&replaced), "counter");
    assert_eq!(folder.entries(), ["resource-shop-v1.0.0"]);
}

#[tokio::test]
async fn an_unfinished_installation_of_the_reference_engine_is_replaced() {
    let folder = Folder::new();
    fs::create_dir_all(folder.cache().join("resource-shop-v1.0.0")).unwrap();
    fs::write(folder.cache().join("resource-shop-v1.0.0.partial"), "").unwrap();
    fs::create_dir(folder.cache().join("resource-shop-v1.0.0.tmp123")).unwrap();
    let file = folder.file(&packed("shelf"));
    let installed = folder.install(shop(PluginArchive::File(file))).await.unwrap();
    assert_eq!(content(&installed), "shelf");
    assert_eq!(folder.entries(), ["resource-shop-v1.0.0"]);
}

#[tokio::test]
async fn a_download_reports_its_progress_and_is_tried_again() {
    let folder = Folder::new();
    let noise: String = (0..400_000_u32)
        .map(|number| format!("{:x}", number.wrapping_mul(2_654_435_761)))
        .collect();
    let bytes = packed(&noise);
    let size = bytes.len() as u64;
    assert!(
        size > 1 << 20,
        "the archive of {size} bytes has no progress in between"
    );
    let cut = Answer {
        declared: Some(bytes.len()),
        ..Answer::ok(bytes[..1000].to_vec())
    };
    let server = ArchiveServer::new(vec![Answer::status(503), cut, Answer::ok(bytes.clone())]).await;
    let seen: Arc<Mutex<Vec<InstallProgress>>> = Arc::default();
    let sink: ProgressSink = {
        let seen = Arc::clone(&seen);
        Arc::new(move |progress| seen.lock().unwrap().push(progress))
    };
    let cache = PluginCache::new(folder.cache(), Runtime::system(Handle::current()));
    let installation = PluginInstallation {
        checksum: Some(sha256(&bytes).to_uppercase()),
        ..shop(PluginArchive::Server(server.url()))
    };
    let installing = cache.install(installation, Some(sink));
    let installed = installing.within("the installation").await.unwrap();
    assert_eq!(content(&installed), noise);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].starts_with("/pulumi-resource-shop-v1.0.0-linux-") && asked[0].ends_with(".tar.gz"));

    let seen = seen.lock().unwrap();
    let retried: Vec<_> = seen
        .iter()
        .filter_map(|progress| match progress {
            InstallProgress::Retrying {
                attempt,
                attempts,
                pause,
                reason,
            } => Some((*attempt, *attempts, pause.as_millis(), reason.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(retried.len(), 2, "{retried:?}");
    assert!(retried[0].3.contains("503"), "{retried:?}");
    assert_eq!((retried[0].0, retried[0].1, retried[0].2), (1, 5, 80));
    assert_eq!((retried[1].0, retried[1].2), (2, 160));
    let received: Vec<u64> = seen
        .iter()
        .filter_map(|progress| match progress {
            InstallProgress::Downloading { received, total } if *total == Some(size) => Some(*received),
            _ => None,
        })
        .collect();
    assert!(
        received.contains(&0) && received.ends_with(&[size]),
        "{received:?}"
    );
    assert!(
        received.iter().any(|bytes| (1 << 20..size).contains(bytes)),
        "{received:?}"
    );
    assert!(seen.contains(&InstallProgress::Unpacking {
        unpacked: size,
        total: Some(size)
    }));
    assert_eq!(seen.last(), Some(&InstallProgress::Installed));
}

#[tokio::test]
async fn a_server_that_never_has_the_archive_is_named() {
    let folder = Folder::new();
    let server = ArchiveServer::new(vec![Answer::status(404); 5]).await;
    let refused = folder.install(shop(PluginArchive::Server(server.url()))).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.message().contains(&server.url()) && error.message().contains("404"),
        "{error}"
    );
    assert_eq!(server.asked().len(), 5);
    assert_eq!(folder.entries(), [""; 0]);
}

#[tokio::test]
async fn archives_that_are_wrong_leave_nothing_and_the_error_has_the_reason() {
    let folder = Folder::new();
    let good = packed("shelf");
    let wrong = "0".repeat(64);
    let outside = archive(&[("../shop", "x")]);
    let other = archive(&[("pulumi-resource-other", "x")]);
    for (bytes, checksum, texts) in [
        (
            &good[..],
            Some(wrong.as_str()),
            &[sha256(&good).as_str(), &wrong][..],
        ),
        (&good[..good.len() - 20], None, &["cannot be unpacked"]),
        (b"no archive", None, &["cannot be unpacked"]),
        (&outside, None, &["its entry ../shop is outside of it"]),
        (&other, None, &["it has no file pulumi-resource-shop"]),
    ] {
        let file = folder.file(bytes);
        let installation = PluginInstallation {
            checksum: checksum.map(str::to_owned),
            ..shop(PluginArchive::File(file.clone()))
        };
        let error = folder.install(installation).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Plugin, "{error}");
        for text in texts {
            assert!(error.message().contains(text), "{text}: {error}");
        }
        assert!(error.message().contains(&file.display().to_string()), "{error}");
        assert_eq!(folder.entries(), [""; 0], "{error}");
    }
    let absent = folder
        .install(shop(PluginArchive::File("/nowhere/shop.tar.gz".into())))
        .await;
    assert_eq!(absent.unwrap_err().kind(), ErrorKind::NotFound);
    let short = PluginInstallation {
        checksum: Some("abc".to_owned()),
        ..shop(PluginArchive::File("/nowhere".into()))
    };
    let error = folder.install(short).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_processes_that_install_a_plugin_one_downloads_it() {
    let folder = Folder::new();
    let server = ArchiveServer::held(vec![Answer::ok(packed("shelf"))]).await;
    let mut other = installer_process(&folder.cache(), &server.url());
    server
        .wait_for_request()
        .within("the request of the other process")
        .await;
    let url = PluginArchive::Url(server.url());
    let installing = folder.install(shop(url));
    let (installed, ()) = tokio::join!(installing, async { server.release() });
    assert_eq!(content(&installed.unwrap()), "shelf");
    let ended = blocking("the end of the other process", move || other.wait().unwrap());
    assert!(ended.success());
    assert_eq!(
        server.asked().len(),
        1,
        "the second one finds the plugin of the first"
    );
    assert_eq!(folder.entries(), ["resource-shop-v1.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_installation_leaves_is_no_plugin_and_is_removed_by_the_next() {
    let folder = Folder::new();
    let server = ArchiveServer::held(vec![Answer::ok(packed("shelf")), Answer::ok(packed("shelf"))]).await;
    let mut killed = installer_process(&folder.cache(), &server.url());
    server
        .wait_for_request()
        .within("the request of the process")
        .await;
    killed.kill().unwrap();
    blocking("the end of the process", move || killed.wait().unwrap());
    assert_eq!(folder.entries().len(), 1, "the temporary folder stays");
    let cache = PluginCache::new(folder.cache(), Runtime::system(Handle::current()));
    assert_eq!(cache.list(PluginSelection::default()).await.unwrap(), []);
    server.release();
    let installed = folder
        .install(shop(PluginArchive::Url(server.url())))
        .await
        .unwrap();
    assert_eq!(content(&installed), "shelf");
    assert_eq!(folder.entries(), ["resource-shop-v1.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_installation_ends_and_releases_its_lock() {
    let folder = Folder::new();
    let server = ArchiveServer::held(vec![Answer::ok(packed("shelf")); 2]).await;
    let cache = PluginCache::new(folder.cache(), Runtime::system(Handle::current()));
    let url = PluginArchive::Url(server.url());
    tokio::select! {
        _ = cache.install(shop(url.clone()), None) => panic!("the server answers nothing yet"),
        () = server.wait_for_request().within("the request") => {}
    }
    server.release();
    let installed = folder.install(shop(url)).await.unwrap();
    assert_eq!(content(&installed), "shelf");
    assert_eq!(folder.entries(), ["resource-shop-v1.0.0"]);
}
