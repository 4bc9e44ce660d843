//! Tests with repositories in folders: references, objects and packs, and what is malformed.

use std::fs;

use proptest::prelude::*;

use super::{
    commit::Person,
    inflate::MAX_COMMIT_SIZE,
    made::{Made, Packed, commit_text, deflated, header},
    *,
};

/// The folder of objects.
const OBJECTS: &str = ".git/objects";

fn person(name: &str, email: &str) -> Person {
    Person {
        name: name.to_owned(),
        email: email.to_owned(),
    }
}

#[test]
fn a_commit_in_a_file_of_its_own_is_read() {
    let made = Made::new();
    let id = made.loose(OBJECTS, &commit_text("The title\n\nThe rest."));
    made.write(".git/refs/heads/main", format!("{id}\n"));
    made.write("deep/deeper/file", "");
    let repository = made.repository("deep/deeper");
    let head = repository.head().unwrap();
    let name = Some("refs/heads/main".to_owned());
    assert_eq!(head, Head { id, name });
    let commit = repository.commit(&head).unwrap();
    assert_eq!(commit.author, person("Ada", "ada@example.com"));
    assert_eq!(commit.committer, person("Bob", "bob@example.com"));
    assert_eq!(commit.title, "The title");
    let path = |name: &str| repository.path_of(&made.path(name));
    assert_eq!(path("deep/deeper"), Some("deep/deeper".to_owned()));
    assert_eq!(repository.path_of(made.folder()).as_deref(), Some("."));
    assert_eq!(repository.path_of(Path::new("/elsewhere")), None);
}

#[test]
fn a_commit_that_is_checked_out_without_a_branch_has_no_name() {
    let made = Made::new();
    let id = made.loose(OBJECTS, &commit_text("a"));
    made.write(".git/HEAD", &id);
    assert_eq!(made.repository("").head(), Some(Head { id, name: None }));
    assert_eq!(made.title().as_deref(), Some("a"));
}

#[test]
fn references_lead_to_others_and_are_lines_of_one_file() {
    let made = Made::new();
    let id = made.loose(OBJECTS, &commit_text("a"));
    let list = format!(
        "# pack-refs with: peeled\n{id} refs/heads/mai\n{id} refs/x/refs/heads/other\n{id} refs/heads/other\n^{id}\n"
    );
    made.write(".git/packed-refs", &list);
    made.write(".git/refs/heads/main", "ref: refs/heads/other\n");
    let head = made.repository("").head().unwrap();
    assert_eq!(head.name.as_deref(), Some("refs/heads/other"));
    assert_eq!(head.id, id);
    // A line without an end has been cut.
    made.write(".git/packed-refs", format!("{id} refs/heads/other"));
    assert_eq!(made.repository("").head(), None);
}

#[test]
fn references_that_lead_nowhere_are_absent() {
    let made = Made::new();
    assert_eq!(made.repository("").head(), None);
    for text in [
        "ref: refs/heads/main\n",
        "ref: refs/../../secret",
        "ref: /etc/passwd",
        "ref: HEAD",
        "ref:",
        "",
        "0123",
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ] {
        made.write(".git/refs/heads/main", text);
        assert_eq!(made.repository("").head(), None, "{text}");
    }
}

#[test]
fn only_the_id_of_a_repository_with_sha_256_is_known() {
    let made = Made::new();
    let id = "0A".repeat(32);
    made.write(".git/refs/heads/main", &id);
    let repository = made.repository("");
    let head = repository.head().unwrap();
    assert_eq!(head.id, "0a".repeat(32));
    assert_eq!(repository.commit(&head), None);
}

#[test]
fn commits_of_packs_are_read() {
    for is_long in [false, true] {
        let made = Made::new();
        let [a, b, c] =
            ["one", "two", "three"].map(|title| commit_text(&format!("{title}\n\n{}", "body ".repeat(99))));
        let objects = [Packed::Whole(a), Packed::ByPlace(b), Packed::ById(c)];
        made.pack("pack-1", &[Packed::Whole(commit_text("another"))], false);
        made.write(".git/objects/pack/pack-0.idx", "malformed");
        let ids = made.pack("pack-2", &objects, is_long);
        for (id, title) in ids.iter().zip(["one", "two", "three"]) {
            made.write(".git/refs/heads/main", id);
            assert_eq!(made.title().as_deref(), Some(title), "{is_long}");
        }
    }
}

#[test]
fn differences_that_lead_to_themselves_have_an_end() {
    let made = Made::new();
    let ids = made.pack("pack-1", &[Packed::Whole(commit_text("a"))], false);
    made.write(".git/refs/heads/main", &ids[0]);
    let id = ObjectId::parse(&ids[0]).unwrap();
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
    let data = [10, 10, 0x90, 10];
    pack.extend(header(7, data.len()));
    pack.extend(id.0);
    pack.extend(deflated(&data));
    made.write(".git/objects/pack/pack-1.pack", pack);
    assert_eq!(made.title(), None);
}

#[test]
fn objects_of_other_folders_are_read() {
    let made = Made::new();
    let id = made.loose("far/objects", &commit_text("far"));
    made.write(".git/refs/heads/main", &id);
    made.write(
        ".git/objects/info/alternates",
        "# a comment\n../../near\n../objects\n",
    );
    made.write(
        "near/info/alternates",
        "../far/objects\n../near\n../.git/objects\n",
    );
    assert_eq!(made.title().as_deref(), Some("far"));
    fs::remove_dir_all(made.path("far")).unwrap();
    assert_eq!(made.title(), None);
}

#[test]
fn a_further_work_tree_has_its_own_head_and_shares_the_rest() {
    let made = Made::new();
    let id = made.loose(OBJECTS, &commit_text("side"));
    let url = "https://example.com/owner/repo";
    made.write(".git/config", format!("[remote \"origin\"]\n\turl = {url}\n"));
    made.write(".git/refs/heads/side", &id);
    made.write(".git/worktrees/side/HEAD", "ref: refs/heads/side\n");
    made.write(".git/worktrees/side/commondir", "../..\n");
    made.write("side/.git", "gitdir: ../.git/worktrees/side\n");
    made.write("side/shop/file", "");
    let repository = made.repository("side/shop");
    let head = repository.head().unwrap();
    assert_eq!(head.name.as_deref(), Some("refs/heads/side"));
    assert_eq!(repository.commit(&head).unwrap().title, "side");
    assert_eq!(repository.origin().as_deref(), Some(url));
    assert_eq!(
        repository.path_of(&made.path("side/shop")).as_deref(),
        Some("shop")
    );
}

#[test]
fn objects_that_are_no_commits_or_too_large_are_not_read() {
    let made = Made::new();
    let id = made.loose(OBJECTS, &commit_text("a"));
    made.write(".git/refs/heads/main", &id);
    let path = format!("{OBJECTS}/{}/{}", &id[..2], &id[2..]);
    let large = vec![b' '; MAX_COMMIT_SIZE + 1];
    let bomb = [format!("commit {}\0", large.len()).into_bytes(), large].concat();
    for object in [
        &b"blob 1\0a"[..],
        b"commit 2\0a",
        b"commit a\0a",
        b"commit 1",
        b"",
        b"commit 00000000000000000000000000000000000001\0a",
        &bomb,
        &vec![0; 64 << 20],
    ] {
        made.write(&path, deflated(object));
        assert_eq!(made.title(), None);
    }
    made.write(&path, "commit 1\0a");
    assert_eq!(made.title(), None);
}

#[test]
fn entries_that_are_too_large_are_not_read() {
    let made = Made::new();
    let ids = made.pack("pack-1", &[Packed::Whole(commit_text("a"))], false);
    made.write(".git/refs/heads/main", &ids[0]);
    let large = vec![b' '; MAX_COMMIT_SIZE + 1];
    for (size, data) in [(large.len(), &*large), (3, &large), (3, b"ab")] {
        let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
        pack.extend(header(1, size));
        pack.extend(deflated(data));
        made.write(".git/objects/pack/pack-1.pack", pack);
        assert_eq!(made.title(), None);
    }
}

/// What a property changes about a file.
#[derive(Clone, Debug)]
enum Damage {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Replaced(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        1 => any::<prop::sample::Index>().prop_map(Damage::Cut),
        1 => any::<Vec<u8>>().prop_map(Damage::Replaced),
    ]
}

/// The files of a repository that are read, beside that of an object.
const FILES: [&str; 8] = [
    ".git/HEAD",
    ".git/config",
    ".git/commondir",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".git/objects/info/alternates",
    ".git/objects/pack/pack-1.idx",
    ".git/objects/pack/pack-1.pack",
];

proptest! {
    #[test]
    fn damaged_files_are_read_without_a_panic(
        file in 0..=FILES.len(),
        damages in prop::collection::vec(damage(), 1..4),
        commit in 0..4_usize,
    ) {
        let made = Made::new();
        let texts = ["one", "two", "three"].map(commit_text);
        let [a, b, c] = texts;
        let mut ids = made.pack("pack-1", &[Packed::Whole(a), Packed::ByPlace(b), Packed::ById(c)], false);
        ids.push(made.loose(OBJECTS, &commit_text("four")));
        let loose = format!("{OBJECTS}/{}/{}", &ids[3][..2], &ids[3][2..]);
        made.write(".git/config", "[remote \"origin\"]\n\turl = \"https://example.com/owner/repo\"\n");
        made.write(".git/commondir", ".");
        made.write(".git/objects/info/alternates", "/elsewhere\n");
        made.write(".git/packed-refs", format!("{} refs/heads/main\n", ids[commit]));
        let file = FILES.get(file).copied().unwrap_or(&loose);
        if file == ".git/refs/heads/main" {
            made.write(file, &ids[commit]);
        }
        let mut content = fs::read(made.path(file)).unwrap();
        for damage in damages {
            match damage {
                Damage::Byte(at, byte) if !content.is_empty() => {
                    let at = at.index(content.len());
                    content[at] = byte;
                }
                Damage::Byte(..) => {}
                Damage::Cut(at) => content.truncate(at.index(content.len() + 1)),
                Damage::Replaced(bytes) => content = bytes,
            }
        }
        made.write(file, content);
        let repository = made.repository("");
        repository.origin().and_then(|url| Hosted::of(&url));
        made.title();
    }
}
