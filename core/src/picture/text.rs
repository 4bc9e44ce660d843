//! Graphs as text: Mermaid flowcharts and Graphviz digraphs.

use std::fmt::Write as _;

use super::{Picture, PictureNode};

/// The fill and line colours of each operation, for both formats.
const COLOURS: &[(&str, &str, &str)] = &[
    ("create", "#dafbe1", "#1a7f37"),
    ("update", "#fff8c5", "#9a6700"),
    ("replace", "#ffe7d6", "#bc4c00"),
    ("delete", "#ffebe9", "#cf222e"),
    ("read", "#ddf4ff", "#0969da"),
    ("import", "#ddf4ff", "#0969da"),
    ("import-replacement", "#ffe7d6", "#bc4c00"),
    ("discard", "#eaeef2", "#57606a"),
];

impl Picture {
    /// Returns the graph as a [Mermaid](https://mermaid.js.org) flowchart: a subgraph for each component, an arrow from each
    /// dependency to what depends on it, and a class for each operation.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let mut text = String::from("flowchart LR\n");
        Outline::new(self).write(&mut text, &Mermaid);
        for (from, to) in self.arrows() {
            line(&mut text, 1, format_args!("n{from} --> n{to}"));
        }
        for (op, fill, stroke) in COLOURS {
            let of_op = self.shown().filter(|(_, node)| node.op == *op);
            let names: Vec<_> = of_op.map(|(at, _)| format!("n{at}")).collect();
            if !names.is_empty() {
                line(
                    &mut text,
                    1,
                    format_args!("classDef {op} fill:{fill},stroke:{stroke},color:#1f2328"),
                );
                line(&mut text, 1, format_args!("class {} {op}", names.join(",")));
            }
        }
        text
    }

    /// Returns the graph as a [Graphviz](https://graphviz.org) digraph: a cluster for each component, an edge from each dependency to what
    /// depends on it, and a colour for each operation.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = String::from(
            "digraph {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n",
        );
        line(&mut text, 1, format_args!("label={};", quoted(&self.title)));
        let outline = Outline::new(self);
        outline.write(&mut text, &Dot);
        for (from, to) in self.arrows() {
            // Edges have nodes as ends: a cluster is named beside one of its members.
            let (tail, head) = (outline.member(from), outline.member(to));
            let mut ends = Vec::new();
            if tail != from {
                ends.push(format!("ltail=cluster_n{from}"));
            }
            if head != to {
                ends.push(format!("lhead=cluster_n{to}"));
            }
            let ends = match ends.is_empty() {
                true => String::new(),
                false => format!(" [{}]", ends.join(", ")),
            };
            line(&mut text, 1, format_args!("n{tail} -> n{head}{ends};"));
        }
        text.push_str("}\n");
        text
    }

    /// The stack itself and the providers that the engine made are left out.
    fn shown(&self) -> impl Iterator<Item = (usize, &PictureNode)> {
        self.nodes.iter().enumerate().filter(|(at, _)| self.is_shown(*at))
    }

    /// The shown dependencies: from, to. Formats have no edges between a group and its members.
    fn arrows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.shown().flat_map(move |(to, node)| {
            let shown = node.depends_on.iter().filter(|from| self.is_shown(**from));
            let ends = shown.map(move |from| (*from, to));
            ends.filter(|(from, to)| !self.is_within(*from, *to) && !self.is_within(*to, *from))
        })
    }

    fn is_within(&self, at: usize, group: usize) -> bool {
        let mut above = self.nodes[at].parent;
        while let Some(parent) = above.filter(|parent| *parent != group) {
            above = self.nodes[parent].parent;
        }
        above.is_some()
    }

    fn is_shown(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        node.kind != "stack" && (node.kind != "provider" || !node.urn.is_default_provider())
    }
}

/// A format of nodes and groups.
trait Format {
    fn node(&self, text: &mut String, depth: usize, at: usize, node: &PictureNode);
    fn open(&self, text: &mut String, depth: usize, at: usize, node: &PictureNode);
    fn close(&self, text: &mut String, depth: usize);
}

struct Mermaid;

impl Format for Mermaid {
    fn node(&self, text: &mut String, depth: usize, at: usize, node: &PictureNode) {
        let label = format!(
            "{}<br/><small>{}</small>",
            escaped(&label(node)),
            escaped(&node.resource_type)
        );
        line(text, depth, format_args!("n{at}[\"{label}\"]"));
    }

    fn open(&self, text: &mut String, depth: usize, at: usize, node: &PictureNode) {
        let label = format!("{} ({})", label(node), node.resource_type);
        line(
            text,
            depth,
            format_args!("subgraph n{at}[\"{}\"]", escaped(&label)),
        );
    }

    fn close(&self, text: &mut String, depth: usize) {
        line(text, depth, format_args!("end"));
    }
}

struct Dot;

impl Format for Dot {
    fn node(&self, text: &mut String, depth: usize, at: usize, node: &PictureNode) {
        let label = quoted(&format!("{}\n{}", label(node), node.resource_type));
        let colour = COLOURS.iter().find(|(op, ..)| *op == node.op);
        let colour = colour.map(|(_, fill, stroke)| format!(", fillcolor=\"{fill}\", color=\"{stroke}\""));
        line(
            text,
            depth,
            format_args!("n{at} [label={label}{}];", colour.unwrap_or_default()),
        );
    }

    fn open(&self, text: &mut String, depth: usize, at: usize, node: &PictureNode) {
        line(text, depth, format_args!("subgraph cluster_n{at} {{"));
        let label = quoted(&format!("{} ({})", label(node), node.resource_type));
        line(text, depth + 1, format_args!("label={label};"));
    }

    fn close(&self, text: &mut String, depth: usize) {
        line(text, depth, format_args!("}}"));
    }
}

/// The shown nodes below each other.
struct Outline<'a> {
    graph: &'a Picture,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
}

impl<'a> Outline<'a> {
    fn new(graph: &'a Picture) -> Self {
        let mut outline = Self {
            graph,
            children: vec![Vec::new(); graph.len()],
            roots: Vec::new(),
        };
        for (at, node) in graph.shown() {
            match node.parent.filter(|parent| graph.is_shown(*parent)) {
                Some(parent) => outline.children[parent].push(at),
                None => outline.roots.push(at),
            }
        }
        outline
    }

    fn write(&self, text: &mut String, format: &dyn Format) {
        // The nodes to be opened, and the groups to be closed, with their depths; the last one is next.
        let mut pending: Vec<(Option<usize>, usize)> =
            self.roots.iter().rev().map(|at| (Some(*at), 1)).collect();
        while let Some((at, depth)) = pending.pop() {
            let Some(at) = at else {
                format.close(text, depth);
                continue;
            };
            let node = &self.graph.nodes[at];
            if self.children[at].is_empty() {
                format.node(text, depth, at, node);
                continue;
            }
            format.open(text, depth, at, node);
            pending.push((None, depth));
            pending.extend(
                self.children[at]
                    .iter()
                    .rev()
                    .map(|child| (Some(*child), depth + 1)),
            );
        }
    }

    /// Returns a node that is drawn as such: the node itself, or one inside its group.
    fn member(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(child) = self.children[at].first() {
            at = *child;
        }
        at
    }
}

/// The name with the sign of the operation.
fn label(node: &PictureNode) -> String {
    let sign = match node.op {
        _ if node.failure.is_some() => "! ",
        "create" => "+ ",
        "update" => "~ ",
        "replace" | "import-replacement" => "± ",
        "delete" => "− ",
        "read" => "> ",
        "import" => "= ",
        "discard" => "< ",
        _ => "",
    };
    let waits = if node.pending_deletion {
        " (pending deletion)"
    } else {
        ""
    };
    format!("{sign}{}{waits}", node.name)
}

fn line(text: &mut String, depth: usize, content: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _written = writeln!(text, "{:1$}{content}", "", 2 * depth);
}

/// Returns a text for a quoted label of Mermaid.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("#quot;"),
            '#' => escaped.push_str("#35;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '&' => escaped.push_str("#amp;"),
            // They begin texts of Markdown, escapes and directives.
            '`' => escaped.push_str("#96;"),
            '\\' => escaped.push_str("#92;"),
            '%' => escaped.push_str("#37;"),
            '\n' | '\r' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns a quoted text of Graphviz.
fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}
