//! Descriptions: from the engine's doc comments to the style of a language.

/// How a language writes names in descriptions.
pub(crate) struct Style {
    /// The marks around code.
    pub(crate) code: &'static str,
    /// Whether names are Python's: members in `snake_case`, `None`, `True` and `False`.
    pub(crate) is_python: bool,
}

/// The most characters of a line.
const MAX_WIDTH: usize = 118;

/// Returns a description as paragraphs of one line each.
pub(crate) fn paragraphs(description: &str, style: &Style, members: &[&str]) -> Vec<String> {
    let paragraphs = description.split("\n\n");
    let joined = paragraphs.map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    joined
        .map(|paragraph| styled(&paragraph, style, members))
        .collect()
}

/// Writes code in the style of the language, links as code, and the names of members in its case.
fn styled(text: &str, style: &Style, members: &[&str]) -> String {
    let mut written = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, code)) = rest.split_once('`')
        && let Some((code, after)) = code.split_once('`')
    {
        let link = before.strip_suffix('[').zip(after.strip_prefix(']'));
        let (before, after) = link.unwrap_or((before, after));
        // The place that a link names is one of the engine's own documentation.
        rest = link
            .and_then(|_| after.strip_prefix('(')?.split_once(')'))
            .map_or(after, |(_, after)| after);
        let name = if link.is_some() {
            code.rsplit("::").next().unwrap_or(code)
        } else {
            code
        };
        let name = cased(name, style, members, link.is_some());
        written.extend([before, style.code, &name, style.code]);
    }
    written + rest
}

fn cased(name: &str, style: &Style, members: &[&str], is_link: bool) -> String {
    let is_type = name.starts_with(char::is_uppercase);
    let is_member = (is_link && !is_type)
        || members
            .iter()
            .any(|member| *member == name || snake_case(member) == name);
    match (name, style.is_python) {
        ("null", true) => "None".to_owned(),
        ("true", true) => "True".to_owned(),
        ("false", true) => "False".to_owned(),
        (_, true) if is_member => snake_case(name),
        (_, false) if is_member => camel_case(name),
        _ => name.to_owned(),
    }
}

/// Breaks a text into lines, of which those after the first begin with `indent`; `used` characters of the first are taken.
pub(crate) fn wrapped(text: &str, indent: &str, used: usize) -> String {
    let mut lines = String::new();
    let mut width = used;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && width + 1 + length > MAX_WIDTH {
            lines.push('\n');
            lines.push_str(indent);
            width = indent.len();
        } else if index > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines
}

pub(crate) fn snake_case(name: &str) -> String {
    let letters = name.chars().flat_map(|letter| {
        letter
            .is_ascii_uppercase()
            .then_some('_')
            .into_iter()
            .chain([letter.to_ascii_lowercase()])
    });
    letters.collect::<String>().trim_start_matches('_').to_owned()
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (head, tail) = part.split_at(part.len().min(1));
        name + &head.to_ascii_uppercase() + tail
    })
}
