//! The types of the core and of the bindings: each is cut by responsibility, so that its `impl` blocks are in few files.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use source::{file_of, folder_of, is_test, parse, repository};
use syn::{Ident, Item, UseTree};

/// How many files the `impl` blocks of one type may be in.
const MAX_FILES: usize = 5;

/// A module by its names below the root.
type Module = Vec<String>;

/// The types of one crate, and the files of their `impl` blocks; tests are left out.
#[derive(Default)]
struct Types {
    /// The modules that define a type of each name.
    definitions: BTreeMap<String, BTreeSet<Module>>,
    /// The `impl` blocks: the module of each, the name of its type, where that is imported from, and the file.
    blocks: Vec<(Module, String, Option<Module>, PathBuf)>,
}

impl Types {
    fn read(root: &Path) -> Self {
        let mut types = Self::default();
        let library = root.join("lib.rs");
        types.read_items(&parse(&library).items, &library, &[]);
        types
    }

    fn read_items(&mut self, items: &[Item], file: &Path, module: &[String]) {
        let mut imports = BTreeMap::new();
        for item in items {
            if let Item::Use(item) = item {
                collect(&item.tree, &mut Vec::new(), &mut imports);
            }
        }
        for item in items {
            match item {
                Item::Struct(item) => self.define(&item.ident, module),
                Item::Enum(item) => self.define(&item.ident, module),
                Item::Impl(block) if !is_test(&block.attrs) => {
                    let syn::Type::Path(of) = &*block.self_ty else {
                        continue;
                    };
                    let names: Vec<String> = of
                        .path
                        .segments
                        .iter()
                        .map(|part| part.ident.to_string())
                        .collect();
                    let Some((name, path)) = names.split_last() else {
                        continue;
                    };
                    let from = match path {
                        [] => imports.get(name).cloned(),
                        path => Some(path.to_vec()),
                    };
                    let from = from.map(|from| from_root(&from, module));
                    self.blocks
                        .push((module.to_vec(), name.clone(), from, file.to_owned()));
                }
                Item::Mod(inner) if !is_test(&inner.attrs) => {
                    let name = inner.ident.to_string();
                    let path = [module, std::slice::from_ref(&name)].concat();
                    match &inner.content {
                        Some((_, items)) => self.read_items(items, file, &path),
                        None => {
                            let file = file_of(&folder_of(file), &name);
                            self.read_items(&parse(&file).items, &file, &path);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn define(&mut self, name: &Ident, module: &[String]) {
        let modules = self.definitions.entry(name.to_string()).or_default();
        modules.insert(module.to_vec());
    }

    /// Returns the files with `impl` blocks of each type.
    fn files(&self) -> BTreeMap<String, BTreeSet<&Path>> {
        let mut files: BTreeMap<String, BTreeSet<&Path>> = BTreeMap::new();
        for (module, name, from, file) in &self.blocks {
            let Some(modules) = self.definitions.get(name) else {
                // A type of another crate, or a parameter.
                continue;
            };
            let below = from.as_ref().unwrap_or(module);
            // An exported type is defined below the module that it is imported from.
            let nearest = modules
                .iter()
                .filter(|path| path.starts_with(below))
                .min_by_key(|path| path.len());
            if let Some(defined) = nearest {
                let type_name = format!("{}::{name}", defined.join("::"));
                files.entry(type_name).or_default().insert(file);
            }
        }
        files
    }
}

/// Collects the imported names with the modules that they come from.
fn collect(tree: &UseTree, above: &mut Module, found: &mut BTreeMap<String, Module>) {
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            collect(&path.tree, above, found);
            above.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, above, found);
            }
        }
        UseTree::Name(name) => drop(found.insert(name.ident.to_string(), above.clone())),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

/// Returns the names of a module from the root on.
fn from_root(path: &[String], module: &[String]) -> Module {
    match path.first().map(String::as_str) {
        Some("crate") => path[1..].to_vec(),
        Some("super" | "self") => {
            let supers = path.iter().take_while(|part| *part == "super").count();
            let rest = path.iter().skip_while(|part| *part == "super" || *part == "self");
            let outer = &module[..module.len().saturating_sub(supers)];
            outer.iter().chain(rest).cloned().collect()
        }
        _ => module.iter().chain(path).cloned().collect(),
    }
}

#[test]
fn impl_blocks_of_a_type_are_in_few_files() {
    let mut scattered = Vec::new();
    for (name, at_least) in [
        ("core", 500),
        ("project", 10),
        ("command", 10),
        ("bindings-c", 10),
        ("bindings-python", 10),
        ("bindings-node", 10),
    ] {
        let types = Types::read(&repository().join(name).join("src"));
        let files = types.files();
        let count = files.len();
        assert!(count > at_least, "{name}: {count} types have impl blocks");
        let wide = files.iter().filter(|(_, files)| files.len() > MAX_FILES);
        scattered.extend(wide.map(|(type_name, files)| {
            let count = files.len();
            format!("{name}: {type_name} has impl blocks in {count} files: {files:#?}")
        }));
    }
    assert!(scattered.is_empty(), "\n{}", scattered.join("\n"));
}

#[test]
fn impl_blocks_are_counted_for_the_type_that_they_name() {
    let mut types = Types::default();
    let module = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Module>();
    let texts = [
        (
            &["a"][..],
            "pub struct T; impl T {} mod deep { use super::T; impl Clone for T {} }",
        ),
        (
            &["a", "b"],
            "use crate::a::T; impl T {} #[cfg(test)] impl Drop for T {}",
        ),
        (&["c"], "struct T; impl T {}"),
        (&["d"], "impl crate::a::T {}"),
    ];
    for (path, text) in texts {
        let file = PathBuf::from(path.join("/"));
        let items = syn::parse_file(text).unwrap().items;
        types.read_items(&items, &file, &module(path));
    }
    let counts = types.files().into_iter();
    let counts: Vec<_> = counts.map(|(name, files)| (name, files.len())).collect();
    assert_eq!(counts, [("a::T".to_owned(), 3), ("c::T".to_owned(), 1)]);
}
