//! Tests of unpacking: what is kept of an archive, and what is refused.

use std::os::unix::fs::PermissionsExt as _;

use flate2::{Compression, write::GzEncoder};

use super::*;

/// An entry: its kind, its name, and its content or target.
type Given<'a> = (EntryType, &'a str, &'a str);

/// Packs entries, names that lead out of the archive included.
fn packed(entries: &[Given<'_>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (kind, name, text) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o4755);
        let field = &mut header.as_old_mut().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        let content = if is_link { "" } else { text };
        if is_link {
            let field = &mut header.as_old_mut().linkname;
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

struct Unpacked(tempfile::TempDir, io::Result<()>);

impl Unpacked {
    fn of(packed: &[u8], limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let result = unpack(packed, &folder.path().join("plugin"), limits);
        Self(folder, result)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("plugin").join(name)
    }
}

fn refusal(entries: &[Given<'_>]) -> String {
    let unpacked = Unpacked::of(&packed(entries), Limits::default());
    unpacked.1.unwrap_err().to_string()
}

const FILE: EntryType = EntryType::Regular;

#[test]
fn files_folders_and_links_are_unpacked_without_special_permissions() {
    let archive = packed(&[
        (EntryType::Directory, "./bin/", ""),
        (FILE, "./bin/tool", "#!/bin/sh\n"),
        (FILE, "pulumi-resource-shop", "former"),
        (FILE, "pulumi-resource-shop", "shelf"),
        (EntryType::Symlink, "bin/link", "../pulumi-resource-shop"),
        (EntryType::Link, "copy", "bin/tool"),
    ]);
    let unpacked = Unpacked::of(&archive, Limits::default());
    unpacked.1.as_ref().unwrap();
    let text = |name: &str| fs::read_to_string(unpacked.path(name)).unwrap();
    assert_eq!(text("pulumi-resource-shop"), "shelf");
    assert_eq!(text("bin/link"), "shelf");
    assert_eq!(text("copy"), "#!/bin/sh\n");
    let mode = fs::metadata(unpacked.path("bin/tool"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7700, 0o700);
}

#[test]
fn entries_and_links_that_lead_out_are_refused_by_name() {
    for (entries, named) in [
        (&[(FILE, "../shop", "")][..], "its entry ../shop is outside of it"),
        (
            &[(FILE, "a/../../shop", "")],
            "its entry a/../../shop is outside of it",
        ),
        (&[(FILE, "/shop", "")], "its entry /shop is outside of it"),
        (
            &[(EntryType::Symlink, "a", "/etc")],
            "its link a leads out of it, to /etc",
        ),
        (
            &[(EntryType::Symlink, "b/a", "../../etc")],
            "its link b/a leads out of it, to ../../etc",
        ),
        (
            &[(EntryType::Link, "a", "../etc/passwd")],
            "its link a leads out of it, to ../etc/passwd",
        ),
        (
            &[(EntryType::Symlink, "a", "."), (FILE, "a/shop", "")],
            "its entry a is no folder",
        ),
        (
            &[(EntryType::Symlink, "a", "b"), (EntryType::Link, "c", "a")],
            "the target a of a link is no file",
        ),
        (&[(EntryType::Fifo, "pipe", "")], "of the kind Fifo"),
    ] {
        let message = refusal(entries);
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn archives_beyond_the_limits_are_refused() {
    let zeros = "0".repeat(4000);
    let archive = packed(&[(FILE, "a", &zeros), (FILE, "b", &zeros)]);
    let unpacked = |bytes: u64, entries: u64| Unpacked::of(&archive, Limits { bytes, entries }).1;
    unpacked(8000, 2).unwrap();
    let error = unpacked(7999, 2).unwrap_err();
    assert_eq!(error.to_string(), "it unpacks to more than 7999 bytes");
    let error = unpacked(8000, 1).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 1 entries");
}

#[test]
fn archives_that_are_cut_or_damaged_are_refused_at_every_byte() {
    let archive = packed(&[(FILE, "pulumi-resource-shop", "shelf")]);
    for end in 0..archive.len() {
        assert!(
            Unpacked::of(&archive[..end], Limits::default()).1.is_err(),
            "{end} of {} bytes",
            archive.len()
        );
    }
    let mut damaged = archive.clone();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    assert!(Unpacked::of(&damaged, Limits::default()).1.is_err());
}
