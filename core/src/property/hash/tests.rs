//! Tests of the hashes of assets and archives against those of the reference engine.

use std::{
    fs,
    io::{Cursor, Write as _},
    path::Path,
    time::Duration,
};

use super::*;
use crate::{
    property::AssetSource,
    runtime::{Clock as _, SystemClock},
};

fn text(text: &str) -> PropertyValue {
    PropertyValue::Asset(Arc::new(Asset {
        source: AssetSource::Text(text.into()),
        ..Asset::default()
    }))
}

fn file(path: &str) -> PropertyValue {
    PropertyValue::Asset(Arc::new(Asset {
        source: AssetSource::Path(path.into()),
        ..Asset::default()
    }))
}

fn packed(path: &str) -> PropertyValue {
    PropertyValue::Archive(Arc::new(Archive {
        source: ArchiveSource::Path(path.into()),
        ..Archive::default()
    }))
}

fn assets(entries: &[(&str, PropertyValue)]) -> PropertyValue {
    PropertyValue::Archive(Arc::new(Archive {
        source: ArchiveSource::Assets(
            entries
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        ),
        ..Archive::default()
    }))
}

fn hashed(value: PropertyValue, directory: &Path) -> Result<PropertyMap> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let map: PropertyMap = [("k", value)].into_iter().collect();
    runtime.block_on(fill_hashes(
        map,
        directory,
        &Spawner::new(runtime.handle().clone()),
        None,
    ))
}

#[track_caller]
fn hash(value: PropertyValue, directory: &Path) -> String {
    match hashed(value, directory).unwrap().get("k") {
        Some(PropertyValue::Asset(asset)) => asset.hash.to_string(),
        Some(PropertyValue::Archive(archive)) => archive.hash.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The data directory of the program that created the reference engine's state.
fn data() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("data/dir/sub")).unwrap();
    for (path, content) in [
        ("data/file.txt", "file content\n"),
        ("data/dir/one.txt", "one\n"),
        ("data/dir/sub/two.txt", "two\n"),
    ] {
        fs::write(directory.path().join(path), content).unwrap();
    }
    directory
}

const DATA_DIRECTORY: &str = "ba76ada568b3081ad316319542a564a90207093930fc6a077e4a4cfca73cf731";

#[test]
fn hashes_are_those_of_the_reference_engine() {
    let directory = data();
    let here = directory.path();
    for (value, expected) in [
        (text(""), crate::property::value::EMPTY_ASSET_HASH),
        (
            text("some text"),
            "b94f6f125c79e3a5ffaa826f584c10d52ada669e6762051b826b55776d05aed2",
        ),
        (
            file("./data/file.txt"),
            "694b27f021c4861b3373cd5ddbc42695c056d0a4297d2d85e2dae040a84e61df",
        ),
        (packed("./data/dir"), DATA_DIRECTORY),
        (
            assets(&[("a.txt", text("a")), ("sub", packed("./data/dir"))]),
            "9eb786708267a283c648ed26e0ebd2995f749ae9b168bb863061c711cfc1e2d5",
        ),
        (assets(&[]), crate::property::value::EMPTY_ARCHIVE_HASH),
        (
            assets(&[("foo", text(""))]),
            "d2587a875f82cdf3d3e6cfe9f8c6e6032be5dde8c344466e664e628da15757b0",
        ),
        (
            assets(&[("foo", text("a test asset"))]),
            "27ab4a14a617df10cff3e1cf4e30cf510302afe56bf4cc91f84041c9f7b62fd8",
        ),
    ] {
        assert_eq!(hash(value.clone(), here), expected, "{value:?}");
    }
}

#[test]
fn long_names_are_packed_like_the_reference_engine() {
    for (name, expected) in [
        (
            "short".to_owned(),
            "44fd7c02d062d1db4de16f4cab87bd94b0b39f10d7bc320d2299a96a8767308b",
        ),
        (
            format!("d/{}", "x".repeat(99)),
            "a5670e7f009e4319bca32f3c07ba96e13aa761911651f04366e57793bad1f2ed",
        ),
        (
            format!("{}f", "d/".repeat(60)),
            "39f16feab18860248e73169acbba114c8e387a92610a8d56434ed21d4ed99f56",
        ),
        (
            "x".repeat(101),
            "cf95d16e49f5e68f82b9fa4aec3b1e4a6f31862463e1911a340e4a45adcb86ab",
        ),
        (
            format!("{}two.txt", "d/".repeat(120)),
            "424ad97cc52f3e83c94a262612e57df7baf9214ac289e14b51a7d77abbe552de",
        ),
        (
            "é.txt".to_owned(),
            "c6e31d4d364d8d9675d3590c868bb6c2e9c92c6480738f8471bebdb602079289",
        ),
        (
            format!("sub/é/{}.txt", "y".repeat(100)),
            "062a9a03ff951b6ebb7e83105356caa86be3f34fc22fe801109a2195eac4f058",
        ),
        (
            format!("{}/{}", "p".repeat(155), "q".repeat(100)),
            "41e39a71d6a4b583f456cb47febe3b22cef7137924bd5808248bee2776556c64",
        ),
        (
            format!("{}/q", "p".repeat(156)),
            "58ba2de20b2c265d5f2154a447bc92f2aab3eb1d46235c1d411cf0703d3b9dac",
        ),
    ] {
        let archive = assets(&[(name.as_str(), text("c"))]);
        assert_eq!(hash(archive, Path::new("/")), expected, "{name}");
    }
}

#[test]
fn nested_values_are_hashed_and_given_hashes_kept() {
    let directory = data();
    let given = PropertyValue::Asset(Arc::new(Asset {
        hash: "given".into(),
        source: AssetSource::Path("missing".into()),
    }));
    let value = PropertyValue::array(vec![
        PropertyValue::secret(assets(&[("a.txt", text("a"))])),
        given.clone(),
    ]);
    let map = hashed(value, directory.path()).unwrap();
    let Some(PropertyValue::Array(values)) = map.get("k") else {
        panic!("{map:?}")
    };
    let PropertyValue::Archive(archive) = values[0].unwrapped() else {
        panic!("{values:?}")
    };
    let ArchiveSource::Assets(inner) = &archive.source else {
        panic!("{archive:?}")
    };
    assert_eq!(archive.hash.len(), 64);
    assert!(matches!(&inner["a.txt"], PropertyValue::Asset(asset)
        if asset.hash == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"));
    assert_eq!(values[1], given);
}

#[test]
fn a_map_without_assets_is_not_touched() {
    let map = hashed(1.0.into(), Path::new("/nowhere")).unwrap();
    assert_eq!(map.get("k"), Some(&1.0.into()));
}

#[test]
fn bookkeeping_and_links_to_directories_are_excluded() {
    let directory = data();
    let inside = directory.path().join("data/dir");
    fs::create_dir(inside.join(".pulumi")).unwrap();
    fs::write(inside.join(".pulumi/x"), "x").unwrap();
    std::os::unix::fs::symlink("sub", inside.join("link")).unwrap();
    assert_eq!(hash(packed("data/dir"), directory.path()), DATA_DIRECTORY);
}

#[test]
fn a_directory_is_not_an_asset_and_a_file_not_an_archive() {
    let directory = data();
    let error = hashed(file("./data/dir"), directory.path()).unwrap_err();
    assert_eq!(
        error.message(),
        "asset path './data/dir' is a directory; try using an archive"
    );
    assert!(hashed(packed("./data/file.txt"), directory.path()).is_err());
    assert!(
        hashed(file("missing"), directory.path())
            .unwrap_err()
            .message()
            .contains("'missing'")
    );
}

#[test]
fn a_packed_archive_is_hashed_as_it_is_and_unpacked_inside_another() {
    let directory = data();
    let here = directory.path();
    let mut bytes = Vec::new();
    let mut tar = tar::Writer::new(|block: &[u8]| bytes.extend_from_slice(block));
    let long = format!("{}/two.txt", "d/".repeat(120));
    for (name, content) in [
        ("one.txt", "one\n"),
        ("sub/two.txt", "two\n"),
        (&long, "long"),
        ("é.txt", "é"),
    ] {
        tar.file(name, &Content::Bytes(content.into())).unwrap();
    }
    tar.finish();
    fs::write(here.join("files.tar"), &bytes).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&bytes).unwrap();
    fs::write(here.join("files.tgz"), gzip.finish().unwrap()).unwrap();

    let raw = hexadecimal(&Sha256::digest(&bytes));
    assert_eq!(hash(packed("files.tar"), here), raw.as_str());
    // Unpacking and repacking without a prefix results in the same tar.
    let repacked = |name| {
        let inner = packed(name);
        hash(assets(&[("", inner)]), here)
    };
    let names = unpack::files("files.tar", &bytes.clone().into()).unwrap();
    assert_eq!(names.len(), 4);
    assert_eq!(names[3], ("é.txt".to_owned(), Bytes::from("é")));
    assert_eq!(repacked("files.tgz"), repacked("files.tar"));
}

/// Creates a zip of one stored and one deflated file; `long` uses the fields of large files.
fn zip(long: bool) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content, method) in [
        ("one.txt", "one\n", zip::CompressionMethod::Stored),
        ("sub/two.txt", "two\n", zip::CompressionMethod::Deflated),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        let options = options.compression_method(method).large_file(long);
        writer.start_file(name, options).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_zip_in_an_archive_is_unpacked() {
    let directory = data();
    fs::write(directory.path().join("files.zip"), zip(false)).unwrap();
    let unpacked = hash(assets(&[("x", packed("data/dir"))]), directory.path());
    assert_eq!(
        hash(assets(&[("x", packed("files.zip"))]), directory.path()),
        unpacked
    );
}

#[test]
fn a_zip_with_long_fields_has_the_same_files() {
    let plain = unpack::files("x.zip", &zip(false).into()).unwrap();
    assert_eq!(plain.len(), 2);
    assert_eq!(unpack::files("x.zip", &zip(true).into()).unwrap(), plain);
}

#[test]
fn a_truncated_zip_is_an_error_and_no_panic() {
    for whole in [zip(false), zip(true)] {
        // Only the signature of the final record is always needed.
        for length in 0..whole.len() - 18 {
            assert!(
                unpack::files("x.zip", &Bytes::copy_from_slice(&whole[..length])).is_err(),
                "{length}"
            );
        }
    }
}

#[test]
fn a_compressed_tar_is_unpacked_up_to_a_limit_only() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&[0; 10_000]).unwrap();
    let packed = gzip.finish().unwrap();
    assert_eq!(unpack::gunzip(&packed, 10_000).unwrap().len(), 10_000);
    assert_eq!(
        unpack::gunzip(&packed, 9_999),
        Err("it unpacks to more than 1 GiB")
    );
}

/// Returns the error of hashing; fails after a timeout, as endless files must not be read.
fn refusal(value: PropertyValue, directory: &Path) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let map: PropertyMap = [("k", value)].into_iter().collect();
    let spawner = Spawner::new(runtime.handle().clone());
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            filled = fill_hashes(map, directory, &spawner, None) => Some(filled),
            () = SystemClock.wait(Duration::from_secs(60)) => None,
        }
    });
    // A thread that is still reading must not block the test.
    runtime.shutdown_background();
    let refused = outcome.expect("hashing ends").unwrap_err();
    refused.message().to_owned()
}

#[test]
fn other_than_regular_files_are_refused_by_name_and_not_read() {
    let directory = data();
    let pipe = directory.path().join("data/dir/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let here = directory.path();
    for (value, expected) in [
        (
            file("data/dir/pipe"),
            "'data/dir/pipe' is a named pipe, not a regular file".to_owned(),
        ),
        (
            file("/dev/zero"),
            "'/dev/zero' is a device, not a regular file".to_owned(),
        ),
        (
            packed("data/dir"),
            format!("'{}' is a named pipe, not a regular file", pipe.display()),
        ),
        (
            assets(&[("a", file("data/dir/pipe"))]),
            "'data/dir/pipe' is a named pipe, not a regular file".to_owned(),
        ),
    ] {
        assert_eq!(refusal(value, here), expected);
    }
    // A pipe under the name of a packed archive.
    fs::rename(&pipe, here.join("pipe.zip")).unwrap();
    assert_eq!(
        refusal(packed("pipe.zip"), here),
        "'pipe.zip' is a named pipe, not a regular file"
    );
    // A pipe that replaces a file between its inspection and its reading.
    fs::write(here.join("late"), "x").unwrap();
    let content = Content::file(&here.join("late"), "late").unwrap();
    fs::rename(here.join("pipe.zip"), here.join("late")).unwrap();
    let error = content.write_to(&mut |_| {}).unwrap_err();
    assert_eq!(error.message(), "'late' is a named pipe, not a regular file");
}

#[test]
fn contents_beyond_the_size_limit_are_refused_before_they_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let sparse = |name: &str, length: u64| {
        let made = fs::File::create(directory.path().join(name)).unwrap();
        made.set_len(length).unwrap();
    };
    sparse("huge", (16 << 30) + 1);
    sparse("packed.zip", (1 << 30) + 1);
    assert_eq!(
        refusal(file("huge"), directory.path()),
        "'huge' has 17179869185 bytes, more than the limit of 16 GiB"
    );
    assert_eq!(
        refusal(assets(&[("a", packed("packed.zip"))]), directory.path()),
        "'packed.zip' has 1073741825 bytes, more than the limit of 1 GiB"
    );
}

#[test]
fn a_damaged_archive_is_an_error() {
    let mut bytes = zip(false);
    bytes[38] ^= 1;
    assert!(unpack::files("x.zip", &bytes.into()).is_err());
    assert!(unpack::files("x.zip", &Bytes::from("no zip")).is_err());
    assert!(unpack::files("x.tgz", &Bytes::from("no gzip")).is_err());
    assert!(unpack::files("x.tar", &Bytes::from(vec![b'7'; 512])).is_err());
}

#[test]
fn a_remote_asset_requires_a_fetcher() {
    struct Fixed;

    #[async_trait]
    impl Fetch for Fixed {
        async fn fetch(&self, uri: &str) -> Result<Bytes> {
            Ok(if uri.ends_with("a") {
                "some text".into()
            } else {
                Bytes::new()
            })
        }
    }

    let asset = PropertyValue::Asset(Arc::new(Asset {
        source: AssetSource::Uri("https://example.com/a".into()),
        ..Asset::default()
    }));
    assert!(
        hashed(asset.clone(), Path::new("/"))
            .unwrap_err()
            .message()
            .contains("https://example.com/a")
    );
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let map: PropertyMap = [("k", asset)].into_iter().collect();
    let spawner = Spawner::new(runtime.handle().clone());
    let map = runtime
        .block_on(fill_hashes(map, Path::new("/"), &spawner, Some(&Fixed)))
        .unwrap();
    assert!(matches!(map.get("k"), Some(PropertyValue::Asset(asset))
        if asset.hash == "b94f6f125c79e3a5ffaa826f584c10d52ada669e6762051b826b55776d05aed2"));
}
