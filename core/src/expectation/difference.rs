//! The difference of two texts, line by line.

use std::collections::BTreeSet;

/// How many equal lines are shown around a difference.
const CONTEXT: usize = 3;
/// The size of a comparison (lines times lines) up to which the shortest difference is found.
const MAX_CELLS: usize = 4_000_000;

/// Returns the lines that differ with those around them, `-` before expected and `+` before actual ones; `None` when the texts
/// are equal.
#[must_use]
pub fn difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (olds, news): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let lines = compare(&olds, &news);
    let changed = lines
        .iter()
        .enumerate()
        .filter(|(_, (mark, _))| *mark != ' ')
        .map(|(place, _)| place);
    let shown: BTreeSet<usize> = changed
        .flat_map(|place| place.saturating_sub(CONTEXT)..=place + CONTEXT)
        .collect();
    let mut text = String::new();
    let mut previous = None;
    for place in shown.into_iter().filter(|place| *place < lines.len()) {
        if previous.map_or(place > 0, |previous| place > previous + 1) {
            text.push_str("  …\n");
        }
        previous = Some(place);
        let (mark, line) = lines[place];
        text.push_str(&format!("{mark} {line}\n"));
    }
    if text.is_empty() {
        text.push_str("only the ends of lines differ\n");
    }
    Some(text)
}

/// Returns all lines with their marks.
fn compare<'a>(olds: &[&'a str], news: &[&'a str]) -> Vec<(char, &'a str)> {
    let mut lines = Vec::with_capacity(olds.len() + news.len());
    if olds.len().saturating_mul(news.len()) > MAX_CELLS {
        lines.extend(olds.iter().map(|line| ('-', *line)));
        lines.extend(news.iter().map(|line| ('+', *line)));
        return lines;
    }
    // The length of the longest common part of what follows each pair of places.
    let width = news.len() + 1;
    let mut common = vec![0_u32; (olds.len() + 1) * width];
    for (row, old) in olds.iter().enumerate().rev() {
        for (column, new) in news.iter().enumerate().rev() {
            let place = row * width + column;
            common[place] = match old == new {
                true => common[place + width + 1] + 1,
                false => common[place + width].max(common[place + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < olds.len() || column < news.len() {
        let place = row * width + column;
        if row < olds.len() && column < news.len() && olds[row] == news[column] {
            lines.push((' ', olds[row]));
            row += 1;
            column += 1;
        } else if row < olds.len() && (column == news.len() || common[place + width] >= common[place + 1]) {
            lines.push(('-', olds[row]));
            row += 1;
        } else {
            lines.push(('+', news[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn equal_texts_have_none_and_others_their_lines_with_context() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n";
        assert_eq!(
            difference(old, new).unwrap(),
            "  …\n  2\n  3\n  4\n- 5\n+ five\n  6\n  7\n  8\n  9\n+ 10\n"
        );
        assert_eq!(difference("", "a\n").unwrap(), "+ a\n");
        assert_eq!(difference("a", "a\n").unwrap(), "only the ends of lines differ\n");
    }
}
