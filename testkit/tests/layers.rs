//! The layers: each module of the core and of the bindings imports only modules that are listed before it.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it found"
)]

mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use source::{file_of, folder_of, is_test, parse, repository};
use syn::{
    Item, ItemMod, UseTree,
    visit::{self, Visit},
};

/// The sources of one crate, from its `lib.rs` on.
struct Crate {
    /// Its modules in the order in which `lib.rs` lists them.
    modules: Vec<String>,
    /// The module behind each name that `lib.rs` exports.
    exports: BTreeMap<String, String>,
    /// What each module imports, with the files that do.
    imports: BTreeMap<(String, String), BTreeSet<PathBuf>>,
}

impl Crate {
    fn read(root: &Path) -> Self {
        let library = parse(&root.join("lib.rs"));
        let mut found = Self {
            modules: Vec::new(),
            exports: BTreeMap::new(),
            imports: BTreeMap::new(),
        };
        for item in &library.items {
            match item {
                Item::Mod(module) if module.content.is_none() && !is_test(&module.attrs) => {
                    found.modules.push(module.ident.to_string());
                }
                Item::Use(exported) => {
                    let mut paths = Vec::new();
                    flatten(&exported.tree, &mut Vec::new(), &mut paths);
                    for path in paths.iter().filter(|path| path.len() > 1) {
                        if let (Some(module), Some(name)) = (path.first(), path.last()) {
                            found.exports.insert(name.clone(), module.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        for module in found.modules.clone() {
            let file = file_of(root, &module);
            found.read_module(&file, &[module]);
        }
        found
    }

    fn read_module(&mut self, file: &Path, path: &[String]) {
        let mut reader = Reader {
            depth: path.len(),
            paths: Vec::new(),
            submodules: Vec::new(),
        };
        reader.visit_file(&parse(file));
        for imported in reader.paths {
            let imported = self.exports.get(&imported).unwrap_or(&imported).clone();
            // What is no module is an item of `lib.rs` itself.
            if imported != path[0] && self.modules.contains(&imported) {
                let importers = self.imports.entry((path[0].clone(), imported)).or_default();
                importers.insert(file.to_owned());
            }
        }
        for submodule in reader.submodules {
            let mut inner = path.to_vec();
            inner.push(submodule.clone());
            self.read_module(&file_of(&folder_of(file), &submodule), &inner);
        }
    }

    /// Returns the imports of modules that are listed later, a line each.
    fn upward(&self) -> Vec<String> {
        let place = |module: &String| self.modules.iter().position(|known| known == module);
        let upward = self
            .imports
            .iter()
            .filter(|((from, to), _)| place(to) > place(from));
        upward
            .map(|((from, to), files)| format!("{from} imports {to}, which is listed later: {files:?}"))
            .collect()
    }

    /// Returns the table of the modules with what each imports.
    fn table(&self) -> String {
        let rows = self.modules.iter().map(|module| {
            let imported = self.imports.keys().filter(|(from, _)| from == module);
            let imported: Vec<&str> = imported.map(|(_, to)| to.as_str()).collect();
            format!("| `{module}` | {} |\n", imported.join(", "))
        });
        format!(
            "| module | imports |\n| --- | --- |\n{}",
            rows.collect::<String>()
        )
    }
}

/// Collects the first names of all paths that begin at the crate's root, tests left out.
struct Reader {
    /// How many modules the file is below the root.
    depth: usize,
    paths: Vec<String>,
    submodules: Vec<String>,
}

impl Reader {
    fn note(&mut self, path: &[String]) {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let from_root = match path.first().map(String::as_str) {
            Some("crate") => path.get(1),
            Some("super") if supers >= self.depth => path.get(supers),
            _ => None,
        };
        self.paths.extend(from_root.cloned());
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        match module.content {
            None => self.submodules.push(module.ident.to_string()),
            Some(_) => {
                self.depth += 1;
                visit::visit_item_mod(self, module);
                self.depth -= 1;
            }
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        for path in paths {
            self.note(&path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.note(&parts);
        visit::visit_path(self, path);
    }
}

fn flatten(tree: &UseTree, above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            flatten(&path.tree, above, found);
            above.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, above, found);
            }
        }
        UseTree::Name(name) => found.push([above.clone(), vec![name.ident.to_string()]].concat()),
        UseTree::Rename(name) => found.push([above.clone(), vec![name.ident.to_string()]].concat()),
        UseTree::Glob(_) => found.push(above.clone()),
    }
}

#[test]
fn modules_import_only_modules_that_are_listed_before_them() {
    let mut upward = Vec::new();
    for name in [
        "core",
        "project",
        "command",
        "bindings-c",
        "bindings-python",
        "bindings-node",
    ] {
        let found = Crate::read(&repository().join(name).join("src"));
        assert!(
            !found.imports.is_empty(),
            "{name} has modules that import each other"
        );
        println!("{name}\n\n{}", found.table());
        let lines = found.upward().into_iter();
        upward.extend(lines.map(|line| format!("{name}: {line}")));
    }
    assert!(upward.is_empty(), "\n{}", upward.join("\n"));
}

#[test]
fn the_table_of_the_architecture_lists_the_modules_of_the_core_in_their_order() {
    let found = Crate::read(&repository().join("core/src"));
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let table = text.split("## Modules").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: Vec<&str> = rows
        .map(|name| name.trim_end_matches('/').trim_end_matches(".rs"))
        .collect();
    let listed = &listed[..found.modules.len().min(listed.len())];
    assert_eq!(listed, found.modules);
}

/// Returns the modules that a module of TypeScript imports, apart from imports of types alone.
fn imports_of(file: &Path, text: &str) -> Vec<PathBuf> {
    let statements = text.split(';').map(str::trim_start).map(|statement| {
        // Comments may precede a statement.
        let begin = statement
            .rfind("\nimport ")
            .or_else(|| statement.rfind("\nexport "));
        begin.map_or(statement, |begin| &statement[begin + 1..])
    });
    let imported = statements.filter_map(|statement| {
        let names = statement
            .strip_prefix("import ")
            .or_else(|| statement.strip_prefix("export "))?;
        let (names, target) = names.rsplit_once(" from \"")?;
        let of_types = |name: &str| name.trim().is_empty() || name.trim().starts_with("type ");
        let listed = names.strip_prefix('{').and_then(|names| names.strip_suffix('}'));
        let is_typed =
            names.starts_with("type ") || listed.is_some_and(|names| names.split(',').all(of_types));
        let target = target
            .strip_suffix('"')
            .filter(|target| target.starts_with('.') && !is_typed)?;
        let target = file.parent()?.join(target);
        let found = [target.with_extension("ts"), target.join("index.ts")];
        found.into_iter().find_map(|path| path.canonicalize().ok())
    });
    imported.collect()
}

fn collect_sources(folder: &Path, sources: &mut BTreeMap<PathBuf, Vec<PathBuf>>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path().canonicalize()?;
        if path.is_dir() {
            collect_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "ts") {
            let imports = imports_of(&path, &fs::read_to_string(&path)?);
            sources.insert(path, imports);
        }
    }
    Ok(())
}

#[test]
fn modules_of_typescript_import_each_other_without_circles() {
    let mut open = BTreeMap::new();
    collect_sources(&repository().join("bindings-node/lib"), &mut open).unwrap();
    let count: usize = open.values().map(Vec::len).sum();
    assert!(count > 100, "{count} imports");
    // Removes modules whose imports are removed, until none is left.
    while !open.is_empty() {
        let closed: Vec<PathBuf> = open
            .iter()
            .filter(|(_, imports)| imports.iter().all(|import| !open.contains_key(import)))
            .map(|(path, _)| path.clone())
            .collect();
        assert!(!closed.is_empty(), "a circle is among {:#?}", open.keys());
        closed.iter().for_each(|path| drop(open.remove(path)));
    }
}
