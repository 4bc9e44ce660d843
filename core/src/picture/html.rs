//! Graphs as HTML pages.

use super::Picture;

/// The page, with places for what is inserted.
const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
/// The library that draws graphs, with its licence; see `page/README.md`.
const LIBRARY: &str = include_str!("page/cytoscape.min.js");

impl Picture {
    /// Returns the graph as one HTML page, which needs no other file and makes no request. It shows the graph, and the resources as a list that
    /// keyboards and screen readers reach; both can be searched, filtered by operation and by component, and folded. A click on a resource
    /// shows its properties.
    ///
    /// The page is about 0.5 MB and a few hundred bytes a resource.
    #[must_use]
    pub fn to_html(&self) -> String {
        let inserted = [
            ("{{title}}", escaped(&self.title)),
            ("{{style}}", STYLE.to_owned()),
            ("{{data}}", self.data()),
            ("{{library}}", LIBRARY.to_owned()),
            ("{{script}}", SCRIPT.to_owned()),
        ];
        let mut page = String::with_capacity(PAGE.len() + LIBRARY.len() + 512 * self.len());
        let mut rest = PAGE;
        // Each place is filled once, so that nothing is replaced in what was inserted.
        for (place, content) in inserted {
            if let Some((before, after)) = rest.split_once(place) {
                page.push_str(before);
                page.push_str(&content);
                rest = after;
            }
        }
        page + rest
    }

    /// Returns the graph as JSON in which no text ends the element around it.
    fn data(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        json.replace('<', "\\u003c")
    }
}

/// Returns a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
