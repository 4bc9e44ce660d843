//! `stack` without a subcommand: the stack, its resources and its outputs.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Map, Value};
use stackwright::store::HostFacts;

use super::output::print_all;
use crate::{
    arguments::StackArguments,
    failure::Result,
    records::{Deployment, Record},
    session::Session,
    text,
};

/// The document of a stack, in the order of its members.
#[derive(Serialize)]
struct Document {
    project: String,
    stack: String,
    backend: String,
    tags: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<Manifest>,
    resources: Vec<Row>,
    outputs: Map<String, Value>,
}

/// When a state was written, and by which version.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    time: String,
    pulumi_version: String,
}

/// A resource of the document.
#[derive(Serialize)]
struct Row {
    urn: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

impl Row {
    fn of(record: &Record) -> Self {
        Self {
            urn: record.urn.clone(),
            resource_type: record.resource_type.clone(),
            name: record.name().to_owned(),
            id: record.id.clone(),
            parent: record.parent.clone(),
        }
    }
}

/// Shows the named stack, or the selected one.
pub(super) async fn show(session: &Session<'_>, arguments: &StackArguments) -> Result {
    let named = session.new_or_selected(arguments.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    if arguments.show_name {
        session.invocation.print(named.name.stack());
        return Ok(());
    }
    let mut deployment = Deployment::read(session, &stack, arguments.show_secrets).await?;
    let outputs = deployment.outputs();
    let backend = HostFacts::system().hostname;
    if arguments.form.is_json() {
        let is_written = deployment.manifest.is_written();
        let manifest = is_written.then(|| Manifest {
            time: deployment.manifest.time.clone(),
            pulumi_version: deployment.manifest.version.clone(),
        });
        session.invocation.print(text::document(&Document {
            project: named.name.project().to_owned(),
            stack: named.name.stack().to_owned(),
            backend,
            tags: stack.list_tags().await?,
            manifest,
            resources: deployment.resources.iter().map(Row::of).collect(),
            outputs,
        })?);
        return Ok(());
    }
    let print = |line: &str| session.invocation.print(line);
    print(&format!("Current stack is {}:", named.shown));
    print(&format!("    Managed by {backend}"));
    if deployment.manifest.is_written() {
        print(&format!("    Last updated: {}", deployment.manifest.time));
    }
    if !deployment.manifest.version.is_empty() {
        print(&format!(
            "    Pulumi version used: {}",
            deployment.manifest.version
        ));
    }
    print(&format!(
        "Current stack resources ({}):",
        deployment.resources.len()
    ));
    session
        .invocation
        .write(&Tree::of(&deployment.resources, arguments).lines());
    print("");
    print_all(session, &outputs, false)?;
    print("");
    print("Use `pulumi stack select` to change stack; `pulumi stack ls` lists known ones");
    Ok(())
}

/// The resources below their parents.
struct Tree<'a> {
    records: &'a [Record],
    arguments: &'a StackArguments,
    /// The positions of what is at the top, and of the children of each URN.
    top: Vec<usize>,
    children: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Tree<'a> {
    fn of(records: &'a [Record], arguments: &'a StackArguments) -> Self {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (position, record) in records.iter().enumerate() {
            first.entry(&record.urn).or_insert(position);
        }
        let mut tree = Self {
            records,
            arguments,
            top: Vec::new(),
            children: HashMap::new(),
        };
        for (position, record) in records.iter().enumerate() {
            // A parent stands before its children, except in a damaged state.
            let parent = record.parent.as_deref();
            match parent.filter(|parent| first.get(parent).is_some_and(|first| *first < position)) {
                Some(parent) => tree.children.entry(parent).or_default().push(position),
                None => tree.top.push(position),
            }
        }
        tree
    }

    /// Returns the lines of the table.
    fn lines(&mut self) -> String {
        if self.records.is_empty() {
            return "    No resources currently in this stack\n".to_owned();
        }
        let mut rows = Vec::new();
        // What is still to be shown, the next one last: a position, what precedes its line, and what precedes those below it.
        let top = self.top.iter().rev();
        let mut open: Vec<(usize, String, String)> = top
            .map(|position| (*position, String::new(), String::new()))
            .collect();
        while let Some((position, prefix, indent)) = open.pop() {
            let record = &self.records[position];
            // Each copy of a URN is listed; children are listed once.
            let children = self.children.remove(record.urn.as_str()).unwrap_or_default();
            for (index, child) in children.iter().rev().enumerate() {
                let (branch, below) = match index {
                    0 => ("└─ ", "   "),
                    _ => ("├─ ", "│  "),
                };
                open.push((*child, format!("{indent}{branch}"), format!("{indent}{below}")));
            }
            let mut facts = Vec::new();
            if self.arguments.show_ids && !record.id.is_empty() {
                facts.push(format!("ID: {}", record.id));
            }
            if self.arguments.show_urns {
                facts.push(format!("URN: {}", record.urn));
            }
            rows.push((
                format!("{prefix}{}", record.resource_type),
                record.name(),
                indent,
                facts,
            ));
        }
        let width = rows.iter().map(|(kind, ..)| kind.chars().count()).max();
        let width = width.unwrap_or(0).max("TYPE".len());
        let mut lines = format!("    {:width$}  NAME\n", "TYPE");
        for (kind, name, indent, facts) in rows {
            lines.push_str(&format!("    {kind:width$}  {name}\n"));
            for fact in facts {
                lines.push_str(&format!("    {indent}       {fact}\n"));
            }
        }
        lines
    }
}
