//! The file of a policy pack's folder: `PulumiPolicy.yaml`.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser};

use crate::error::{Error, Result};

/// The names of the file.
pub(super) const FILE_NAMES: [&str; 3] = ["PulumiPolicy.yaml", "PulumiPolicy.yml", "PulumiPolicy.json"];

/// The members of the file that the start of a pack depends on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// The runtime: `python` or `nodejs`.
    pub(super) runtime: String,
    /// The options of the runtime that are texts.
    pub(super) options: BTreeMap<String, String>,
    /// The path of the program in the folder; empty for the folder itself.
    pub(super) main: String,
}

impl Manifest {
    /// Reads a file; JSON is YAML.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the line and column of the fault.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut members = scalars(text)?;
        let runtime = members
            .remove("runtime")
            .or_else(|| members.remove("runtime.name"));
        let options = members.iter().filter_map(|(path, value)| {
            let name = path.strip_prefix("runtime.options.")?;
            Some((name.to_owned(), value.clone()))
        });
        Ok(Self {
            runtime: runtime.unwrap_or_default(),
            options: options.collect(),
            main: members.remove("main").unwrap_or_default(),
        })
    }
}

/// A list or an object that has begun.
struct Open {
    /// The path of the object's members, with a period at its end.
    prefix: String,
    /// The name of the member whose value follows; `None` where a name follows.
    name: Option<String>,
    /// It is a list, or part of one.
    is_listed: bool,
}

/// Returns the scalars of all objects by path (`runtime.options.virtualenv`), without nulls and without those in lists.
fn scalars(text: &str) -> Result<BTreeMap<String, String>> {
    let mut parser = Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut found = BTreeMap::new();
    let mut open: Vec<Open> = Vec::new();
    while let Some(next) = parser.next_event() {
        let (event, _) = next.map_err(|error| {
            let (line, column) = (error.marker().line(), error.marker().col() + 1);
            Error::invalid(format!("line {line}, column {column}: {}", error.info()))
        })?;
        match event {
            Event::Scalar(text, ..) => {
                let Some(parent) = open.last_mut().filter(|parent| !parent.is_listed) else {
                    continue;
                };
                match parent.name.take() {
                    None => parent.name = Some(text.into_owned()),
                    Some(_) if ["", "~", "null"].contains(&&*text) => {}
                    Some(name) => drop(found.insert(format!("{}{name}", parent.prefix), text.into_owned())),
                }
            }
            Event::MappingStart(..) => begin(&mut open, false),
            Event::SequenceStart(..) => begin(&mut open, true),
            // The content of an alias is skipped.
            Event::Alias(_) => drop(open.last_mut().and_then(|parent| parent.name.take())),
            Event::MappingEnd | Event::SequenceEnd => drop(open.pop()),
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok(found)
}

/// Begins a list or an object as the next part of the innermost one.
fn begin(open: &mut Vec<Open>, is_list: bool) {
    let (prefix, is_part) = match open.last_mut() {
        None => (String::new(), false),
        Some(parent) => match parent.name.take() {
            Some(name) => (format!("{}{name}.", parent.prefix), parent.is_listed),
            // A part of a list, or an object as a name.
            None => (String::new(), true),
        },
    };
    open.push(Open {
        prefix,
        name: None,
        is_listed: is_list || is_part,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_a_text_or_an_object_with_options() {
        let manifest = Manifest::parse("description: d\nruntime: nodejs\nmain: bin # built\n").unwrap();
        assert_eq!((&*manifest.runtime, &*manifest.main), ("nodejs", "bin"));
        let text =
            "runtime:\n  name: python\n  options:\n    virtualenv: venv\n    tools: [runtime: x]\nmain:\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!((&*manifest.runtime, &*manifest.main), ("python", ""));
        assert_eq!(
            manifest.options,
            [("virtualenv".to_owned(), "venv".to_owned())].into()
        );
    }

    #[test]
    fn json_is_read_and_a_fault_has_its_place() {
        assert_eq!(
            Manifest::parse(r#"{"runtime": "python"}"#).unwrap().runtime,
            "python"
        );
        assert_eq!(Manifest::parse("").unwrap(), Manifest::default());
        let error = Manifest::parse("runtime: [").unwrap_err();
        assert!(error.message().starts_with("line "), "{error}");
    }
}
