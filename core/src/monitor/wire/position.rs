//! Source positions: absolute file URIs of the wire, and the project-relative form of the state.

use std::{
    path::{Component, Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use stackwright_proto::pulumirpc::{SourcePosition as WirePosition, StackTrace};

use crate::resource::SourcePosition;

/// Converts positions; each distinct one is stored once, independent of the number of resources that share its frames.
#[derive(Default)]
pub(in crate::monitor) struct Positions(Mutex<FxHashMap<(String, i32, i32), SourcePosition>>);

impl Positions {
    /// Returns the position in the form of the state; `None` when it cannot be expressed there.
    pub(super) fn position(&self, root: Option<&Path>, position: Option<WirePosition>) -> SourcePosition {
        let position = position?;
        let key = (position.uri, position.line, position.column);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return known.clone();
        }
        let translated = root.and_then(|root| translate(root, &key.0, key.1, key.2));
        known.insert(key, translated.clone());
        translated
    }

    /// Returns the frames of a stack trace.
    pub(super) fn trace(&self, root: Option<&Path>, trace: Option<StackTrace>) -> Vec<SourcePosition> {
        let frames = trace.map(|trace| trace.frames).unwrap_or_default();
        frames
            .into_iter()
            .map(|frame| self.position(root, frame.pc))
            .collect()
    }
}

/// Returns the path of a `file` URI. That of a module of ECMAScript is a path itself for the SDK for Node, which appends it to its folder.
fn path_of(uri: &str) -> Option<PathBuf> {
    let url = url::Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    let path = url.to_file_path().ok()?;
    match path.to_str().and_then(|path| path.split_once("/file:/")) {
        Some((_, module)) => url::Url::parse(&format!("file:///{module}"))
            .ok()?
            .to_file_path()
            .ok(),
        None => Some(path),
    }
}

fn translate(root: &Path, uri: &str, line: i32, column: i32) -> SourcePosition {
    let path = path_of(uri)?;
    let relative = relative_to(root, &path);
    let mut text: SmolStr = format_smolstr!("project:///{}", relative.to_string_lossy().replace('\\', "/"));
    if line > 0 {
        text = if column > 0 {
            format_smolstr!("{text}#{line},{column}")
        } else {
            format_smolstr!("{text}#{line}")
        };
    }
    Some(text)
}

/// Returns the relative path from `root` to `path`, with `..` where necessary.
fn relative_to(root: &Path, path: &Path) -> PathBuf {
    let root: Vec<Component<'_>> = root.components().collect();
    let target: Vec<Component<'_>> = path.components().collect();
    let shared = root
        .iter()
        .zip(&target)
        .take_while(|(left, right)| left == right)
        .count();
    let up = std::iter::repeat_n(Component::ParentDir, root.len() - shared);
    up.chain(target[shared..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_outside_of_the_project_is_reached_through_its_parents() {
        let text = translate(Path::new("/home/me/project"), "file:///opt/lib/stack.py", 235, 0).unwrap();
        assert_eq!(text, "project:///../../../opt/lib/stack.py#235");
        let text = translate(
            Path::new("/home/me/project"),
            "file:///home/me/project/main.py",
            3,
            7,
        )
        .unwrap();
        assert_eq!(text, "project:///main.py#3,7");
    }

    #[test]
    fn the_uri_of_a_module_that_is_appended_to_a_folder_is_found_there() {
        let uri = "file:///home/me/file:/home/me/my%2520project/index.mjs";
        let text = translate(Path::new("/home/me/my project"), uri, 3, 7).unwrap();
        assert_eq!(text, "project:///index.mjs#3,7");
    }

    #[test]
    fn what_is_no_file_has_no_position() {
        assert_eq!(translate(Path::new("/p"), "http://example.com/x", 1, 1), None);
    }
}
