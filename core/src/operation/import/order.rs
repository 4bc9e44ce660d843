//! The order of the rows of an import: parents and providers come first.

use super::row::{Parent, Row, RowProvider};

/// Returns the rows that must be imported before a row.
pub(super) fn edges(row: &Row) -> Vec<usize> {
    let parent = match row.parent {
        Parent::Row(row) => Some(row),
        Parent::Root | Parent::Recorded(_) => None,
    };
    let provider = match row.provider {
        RowProvider::Row(row) => Some(row),
        RowProvider::None
        | RowProvider::Default(_)
        | RowProvider::Recorded(..)
        | RowProvider::Referred(_) => None,
    };
    let mut edges: Vec<usize> = parent.into_iter().chain(provider).collect();
    edges.dedup();
    edges
}

/// Returns the nodes of a cycle, in its order and beginning with the lowest; `None` when there is none.
pub(super) fn cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut state = vec![Visit::New; edges.len()];
    for start in 0..edges.len() {
        // Each entry is a node, and the number of its edges that have been followed.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if state[start] == Visit::New {
            path.push((start, 0));
            state[start] = Visit::Open;
        }
        while let Some((node, followed)) = path.last_mut() {
            let Some(next) = edges[*node].get(*followed).copied() else {
                state[*node] = Visit::Done;
                path.pop();
                continue;
            };
            *followed += 1;
            match state.get(next) {
                Some(Visit::New) => {
                    state[next] = Visit::Open;
                    path.push((next, 0));
                }
                Some(Visit::Open) => {
                    let mut cycle: Vec<usize> = path
                        .iter()
                        .map(|(node, _)| *node)
                        .skip_while(|node| *node != next)
                        .collect();
                    let lowest = cycle.iter().enumerate().min_by_key(|(_, node)| **node)?.0;
                    cycle.rotate_left(lowest);
                    return Some(cycle);
                }
                Some(Visit::Done) | None => {}
            }
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_with_its_nodes_in_order() {
        type Case<'a> = (&'a [&'a [usize]], Option<&'a [usize]>);
        let table: [Case<'_>; 6] = [
            (&[], None),
            (&[&[1], &[2], &[]], None),
            (&[&[1, 2], &[2], &[]], None),
            (&[&[0]], Some(&[0])),
            (&[&[1], &[2], &[1]], Some(&[1, 2])),
            (&[&[], &[3], &[1], &[2]], Some(&[1, 3, 2])),
        ];
        for (edges, expected) in table {
            let edges: Vec<Vec<usize>> = edges.iter().map(|edges| edges.to_vec()).collect();
            assert_eq!(cycle(&edges).as_deref(), expected, "{edges:?}");
        }
    }

    #[test]
    fn a_long_chain_is_no_cycle_and_needs_no_deep_stack() {
        let edges: Vec<Vec<usize>> = (0..200_000).map(|node| vec![node + 1]).collect();
        assert_eq!(cycle(&edges), None);
    }
}
