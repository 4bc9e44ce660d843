//! Cycles: groups of records that need each other, directly or not.

use std::sync::Arc;

use super::references::References;
use crate::{resource::ResourceState, urn::Urn};

/// The strongly connected components of a list of records. Found in linear time, without recursion.
pub(crate) struct Cycles<'a> {
    records: &'a [Arc<ResourceState>],
    references: References<'a>,
    /// For each record the index of its component's root: the first member in the order of the search.
    roots: Vec<usize>,
}

impl<'a> Cycles<'a> {
    /// Searches `records`. References are resolved as in [`super::stable_order`].
    pub(crate) fn of(records: &'a [Arc<ResourceState>]) -> Self {
        let references = References::of(records);
        let roots = roots(records.len(), |index| references.needs(records, index));
        Self {
            records,
            references,
            roots,
        }
    }

    /// Returns whether the record at `from` and the one that its reference to `urn` resolves to are on one cycle.
    pub(crate) fn are_joined(&self, from: usize, urn: &Urn) -> bool {
        let target = self.references.find(self.records, from, urn);
        target.is_some_and(|target| self.roots[target] == self.roots[from])
    }
}

/// A node whose needs are being visited.
struct Visit {
    node: usize,
    needs: std::vec::IntoIter<usize>,
}

/// Returns for each of `count` nodes the root of its strongly connected component (Tarjan's algorithm).
fn roots(count: usize, needs: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let mut numbers = vec![UNSEEN; count];
    let mut lowest = vec![UNSEEN; count];
    let mut roots = vec![UNSEEN; count];
    // The nodes whose component is not known yet, in the order of discovery.
    let mut open = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    let mut next = 0;
    for start in 0..count {
        if numbers[start] != UNSEEN {
            continue;
        }
        let mut entered = Some(start);
        loop {
            if let Some(node) = entered.take() {
                numbers[node] = next;
                lowest[node] = next;
                next += 1;
                open.push(node);
                let needs = needs(node).into_iter();
                visits.push(Visit { node, needs });
            }
            let Some(visit) = visits.last_mut() else { break };
            let node = visit.node;
            match visit.needs.next() {
                Some(need) if numbers[need] == UNSEEN => entered = Some(need),
                Some(need) if roots[need] == UNSEEN => lowest[node] = lowest[node].min(numbers[need]),
                Some(_) => {}
                None => {
                    visits.pop();
                    if let Some(parent) = visits.last() {
                        lowest[parent.node] = lowest[parent.node].min(lowest[node]);
                    }
                    if lowest[node] == numbers[node] {
                        while let Some(member) = open.pop() {
                            roots[member] = node;
                            if member == node {
                                break;
                            }
                        }
                    }
                }
            }
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots_of(needs: &[&[usize]]) -> Vec<usize> {
        roots(needs.len(), |index| needs[index].to_vec())
    }

    #[test]
    fn a_node_on_no_cycle_is_a_component_of_its_own() {
        assert_eq!(roots_of(&[&[], &[0], &[0, 1]]), [0, 1, 2]);
    }

    #[test]
    fn neighbours_of_a_cycle_are_not_on_it() {
        let roots = roots_of(&[&[1], &[2, 4], &[1, 3], &[], &[1]]);
        assert_eq!((roots[1], roots[1]), (roots[2], roots[4]));
        assert!(roots[0] != roots[1] && roots[3] != roots[1] && roots[0] != roots[3]);
    }

    #[test]
    fn cycles_that_are_connected_in_one_direction_are_two() {
        let roots = roots_of(&[&[1], &[0, 2], &[3], &[2]]);
        assert_eq!((roots[0], roots[2]), (roots[1], roots[3]));
        assert_ne!(roots[0], roots[2]);
    }

    #[test]
    fn a_very_long_cycle_is_found() {
        let count = 200_000;
        let roots = roots(count, |index| vec![(index + 1) % count]);
        assert!(roots.iter().all(|root| *root == roots[0]));
    }
}
