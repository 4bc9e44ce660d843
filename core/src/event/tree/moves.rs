//! The suggested moves below the tree, each with its alias.

use std::fmt::Write as _;

use crate::event::SuggestedMove;

/// Renders the moves of an operation; `None` without any.
pub(crate) fn render_moves(moves: &[SuggestedMove]) -> Option<String> {
    let (accepted, suggested): (Vec<_>, Vec<_>) = moves.iter().partition(|it| it.accepted);
    let mut text = String::new();
    for (moves, one, many) in [
        (accepted, "resource is moved", "resources are moved"),
        (suggested, "resource looks renamed", "resources look renamed"),
    ] {
        if moves.is_empty() {
            continue;
        }
        let noun = if moves.len() == 1 { one } else { many };
        let _ = write!(
            text,
            "{}{} {noun}:",
            if text.is_empty() { "" } else { "\n" },
            moves.len()
        );
        for suggestion in moves {
            write_move(&mut text, suggestion);
        }
    }
    (!text.is_empty()).then_some(text)
}

fn write_move(text: &mut String, suggestion: &SuggestedMove) {
    let SuggestedMove { old_urn, new_urn, .. } = suggestion;
    let _ = write!(
        text,
        "\n  {} → {} ({})",
        old_urn.name(),
        new_urn.name(),
        new_urn.resource_type()
    );
    match suggestion.following.len() {
        0 => {}
        1 => text.push_str(" and 1 resource with it"),
        count => {
            let _ = write!(text, " and {count} resources with it");
        }
    }
    let _ = write!(text, ": {}", suggestion.reason);
    if !suggestion.accepted && !suggestion.alias.is_empty() {
        let _ = write!(text, "\n      {}", suggestion.alias);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::MovedResource, urn::Urn};

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    #[test]
    fn moves_are_listed_with_their_aliases_and_applied_ones_without() {
        let suggested = SuggestedMove {
            old_urn: urn("old"),
            new_urn: urn("new"),
            reason: "the name changes".to_owned(),
            confidence: Some(0.8),
            alias: "aliases=[…]".to_owned(),
            following: vec![MovedResource {
                old_urn: urn("a"),
                new_urn: urn("b"),
            }],
            accepted: false,
        };
        let accepted = SuggestedMove {
            accepted: true,
            following: Vec::new(),
            ..suggested.clone()
        };
        assert_eq!(render_moves(&[]), None);
        assert_eq!(
            render_moves(&[accepted, suggested.clone(), suggested]).unwrap(),
            "1 resource is moved:\n  old → new (pkg:index:Type): the name changes\n\
             2 resources look renamed:\n  old → new (pkg:index:Type) and 1 resource with it: the name changes\n      aliases=[…]\n  \
             old → new (pkg:index:Type) and 1 resource with it: the name changes\n      aliases=[…]"
        );
    }
}
