//! `stack graph`: the dependencies of the resources in the language of Graphviz.

use std::{collections::HashMap, fmt::Write as _, fs};

use serde::Serialize;
use stackwright::state::{ReferenceKind, ResourceEdge, ResourceGraph};

use crate::{
    arguments::StackGraph,
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
    text,
};

/// The document of `stack graph`.
#[derive(Serialize)]
struct Written<'a> {
    name: String,
    file: &'a str,
}

/// Writes the graph of the resources into a file.
pub(super) async fn graph(session: &Session<'_>, arguments: &StackGraph) -> Result {
    let named = session.stack_or_selected(arguments.stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    let graph = stack.graph().await?;
    let file = &arguments.file;
    fs::write(session.invocation.path(file), dot(&graph, arguments))
        .map_err(|error| Failure::new(format!("open {file}: {}", text::reason(&error))))?;
    session
        .invocation
        .note(format!("Wrote stack dependency graph to `{file}`"));
    Printer::new(session.invocation, arguments.form.is_json()).document(&Written {
        name: session.shown(&named.name),
        file,
    })
}

/// The numbers of nodes, in the order in which they are mentioned first.
#[derive(Default)]
struct Numbers(HashMap<usize, usize>);

impl Numbers {
    fn of(&mut self, position: usize) -> usize {
        let next = self.0.len();
        *self.0.entry(position).or_insert(next)
    }
}

/// Returns the text of a graph: each node with its edges to its parent and to its dependents.
fn dot(graph: &ResourceGraph, arguments: &StackGraph) -> String {
    let mut numbers = Numbers::default();
    let mut parents: HashMap<usize, usize> = HashMap::new();
    let mut dependents: HashMap<usize, Vec<&ResourceEdge>> = HashMap::new();
    for edge in &graph.edges {
        match edge.kind {
            ReferenceKind::Parent => drop(parents.insert(edge.source, edge.target)),
            ReferenceKind::Property => dependents.entry(edge.target).or_default().push(edge),
            ReferenceKind::Dependency if !has_property(graph, edge) => {
                dependents.entry(edge.target).or_default().push(edge);
            }
            _ => {}
        }
    }
    let mut lines = "strict digraph {\n".to_owned();
    for (position, record) in graph.nodes.iter().enumerate() {
        let number = numbers.of(position);
        let label = match arguments.short_node_name {
            true => record.urn.name(),
            false => record.urn.as_str(),
        };
        // Writing into a text does not fail.
        _ = writeln!(lines, "    Resource{number} [label={}];", quoted(label));
        if let Some(parent) = parents.get(&position).filter(|_| !arguments.ignore_parent_edges) {
            let (parent, color) = (numbers.of(*parent), quoted(&arguments.parent_edge_color));
            _ = writeln!(
                lines,
                "    Resource{number} -> Resource{parent} [color = {color}];"
            );
        }
        if arguments.ignore_dependency_edges {
            continue;
        }
        for edge in dependents.remove(&position).unwrap_or_default() {
            let (dependent, color) = (numbers.of(edge.source), quoted(&arguments.dependency_edge_color));
            let label = edge.property.as_deref().map(quoted);
            let label = label
                .map(|label| format!(", label = {label}"))
                .unwrap_or_default();
            _ = writeln!(
                lines,
                "    Resource{number} -> Resource{dependent} [color = {color}{label}];"
            );
        }
    }
    lines + "}\n"
}

/// Returns whether a dependency is that of an input, too.
fn has_property(graph: &ResourceGraph, dependency: &ResourceEdge) -> bool {
    let mut edges = graph.edges.iter();
    edges.any(|edge| {
        edge.kind == ReferenceKind::Property
            && (edge.source, edge.target) == (dependency.source, dependency.target)
    })
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
