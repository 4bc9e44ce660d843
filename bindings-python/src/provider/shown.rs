//! The texts of requests for `repr`: members by their names in Python, and of properties only the names.

use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyBytes, PyString},
};
use stackwright::property::PropertyMap;

use crate::logs;

/// The text of a request while members are added.
///
/// A provider that declines secrets gets their plain values, which cannot be distinguished from others: no value of a property is shown.
pub(super) struct Shown<'py> {
    py: Python<'py>,
    class: &'static str,
    members: Vec<String>,
}

impl<'py> Shown<'py> {
    pub(super) const fn new(py: Python<'py>, class: &'static str) -> Self {
        Self {
            py,
            class,
            members: Vec::new(),
        }
    }

    /// Adds a member that is no property. Bytes have the text `...`.
    pub(super) fn member(mut self, name: &str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        let value = value.into_bound_py_any(self.py)?;
        let text = match value.is_instance_of::<PyBytes>() {
            true => "...".to_owned(),
            false => value.repr()?.to_string(),
        };
        self.add(name, &text);
        Ok(self)
    }

    /// Adds properties: their names, with `...` for each value.
    pub(super) fn names<'a>(
        mut self,
        name: &str,
        names: Option<impl Iterator<Item = &'a str>>,
    ) -> PyResult<Self> {
        let Some(names) = names else {
            self.add(name, "None");
            return Ok(self);
        };
        let shown: PyResult<Vec<String>> = names
            .map(|name| Ok(format!("{}: ...", PyString::new(self.py, name).repr()?)))
            .collect();
        self.add(name, &format!("{{{}}}", shown?.join(", ")));
        Ok(self)
    }

    /// Adds the names of a map.
    pub(super) fn map(self, name: &str, map: Option<&PropertyMap>) -> PyResult<Self> {
        self.names(name, map.map(|map| map.keys().map(|key| key.as_str())))
    }

    fn add(&mut self, name: &str, text: &str) {
        // Rust writes the names of its keywords with a prefix.
        let name = name.trim_start_matches("r#");
        self.members.push(format!("{name}={text}"));
    }

    /// Returns the text. Secrets that running operations know are replaced in it: an id can contain one.
    pub(super) fn text(self) -> String {
        logs::scrubbed(&format!("{}({})", self.class, self.members.join(", ")))
    }
}
