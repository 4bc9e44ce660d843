//! Cascades: which deletions are recorded with the deletion of the host of their `deletedWith`.
//!
//! A record whose host is deleted stays until that deletion has ended: the real resource exists until then.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

/// Deletions with those that are recorded with another one, by index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cascades {
    /// The deletion with which one is recorded; `None` for one that is recorded by itself.
    pub(super) hosts: Vec<Option<usize>>,
    /// The deletions that must end before each.
    pub(super) order: Vec<Vec<usize>>,
}

/// Returns which deletions are recorded with that of their host.
///
/// `candidates` has the host of each deletion that could be; the host's deletion comes after it in `order`. A record cannot
/// outlive what it depends on: where one of these must be deleted before the host, the deletion is recorded by itself.
/// The others of these are deleted after the host. What is below a host that is a component comes after the deletion as well;
/// `depends_on` returns whether a candidate depends on what comes after it by itself, and not only because of its host.
pub(super) fn cascades(
    candidates: &[Option<usize>],
    order: &[Vec<usize>],
    depends_on: impl Fn(usize, usize) -> bool,
) -> Cascades {
    let mut planned = Cascades {
        hosts: vec![None; candidates.len()],
        order: order.to_vec(),
    };
    if candidates.iter().all(Option::is_none) {
        return planned;
    }
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
    for (index, before) in order.iter().enumerate() {
        for &before in before {
            followers[before].push(index);
        }
    }
    let mut befores = Befores::default();
    for deletion in last_first(order, &followers) {
        let Some(host) = candidates[deletion] else {
            continue;
        };
        // A host that is recorded with its own host ends with that.
        let host = planned.hosts[host].unwrap_or(host);
        let ends = followers[deletion].iter();
        let ends = ends.filter(|&&dependency| depends_on(deletion, dependency));
        let ends = ends.map(|&dependency| planned.hosts[dependency].unwrap_or(dependency));
        let later: Vec<usize> = ends
            .filter(|&end| end != host && !planned.order[end].contains(&host))
            .collect();
        if !later.is_empty() {
            let before_host = befores.of(host, &planned.order);
            if later.iter().any(|end| before_host.contains(end)) {
                continue;
            }
            befores.keep(host);
        }
        planned.hosts[deletion] = Some(host);
        for end in later {
            planned.order[end].push(host);
        }
    }
    planned
}

/// Returns the deletions from the last to the first. Those on a cycle are left out; there are none in valid orders.
fn last_first(order: &[Vec<usize>], followers: &[Vec<usize>]) -> Vec<usize> {
    let mut open: Vec<usize> = followers.iter().map(Vec::len).collect();
    let mut found: Vec<usize> = (0..order.len()).filter(|&index| open[index] == 0).collect();
    let mut next = 0;
    while let Some(&index) = found.get(next) {
        next += 1;
        for &before in &order[index] {
            open[before] -= 1;
            if open[before] == 0 {
                found.push(before);
            }
        }
    }
    found
}

/// The deletions before each of some.
#[derive(Default)]
struct Befores(FxHashMap<usize, FxHashSet<usize>>);

impl Befores {
    fn of(&mut self, index: usize, order: &[Vec<usize>]) -> &FxHashSet<usize> {
        match self.0.entry(index) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let mut found = FxHashSet::default();
                let mut open = vec![index];
                while let Some(index) = open.pop() {
                    open.extend(order[index].iter().filter(|before| found.insert(**before)));
                }
                entry.insert(found)
            }
        }
    }

    /// Forgets all but those before one deletion, which is now before others.
    fn keep(&mut self, index: usize) {
        self.0.retain(|known, _| *known == index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hosts and the order that each deletion gets; `order` lists for each those that come before it.
    fn planned(candidates: &[Option<usize>], order: &[&[usize]]) -> (Vec<Option<usize>>, Vec<Vec<usize>>) {
        let order: Vec<Vec<usize>> = order.iter().map(|before| before.to_vec()).collect();
        let Cascades { hosts, mut order } = cascades(candidates, &order, |_, _| true);
        order.iter_mut().for_each(|before| before.sort_unstable());
        (hosts, order)
    }

    #[test]
    fn a_deletion_is_recorded_with_that_of_its_host_also_through_another_one() {
        let (hosts, order) = planned(&[None, Some(0), Some(1)], &[&[1], &[2], &[]]);
        assert_eq!(hosts, [None, Some(0), Some(0)]);
        assert_eq!(order, [vec![1], vec![2], vec![]]);
    }

    #[test]
    fn without_hosts_the_order_is_unchanged() {
        let (hosts, order) = planned(&[None, None], &[&[1], &[]]);
        assert_eq!((hosts, order), (vec![None, None], vec![vec![1], vec![]]));
    }

    #[test]
    fn a_dependency_of_what_is_deleted_with_a_host_is_deleted_after_the_host() {
        // 1 is deleted with 0, 2 is a dependency of 1, which nothing connects with the host.
        let (hosts, order) = planned(&[None, Some(0), None], &[&[1], &[], &[1]]);
        assert_eq!(hosts, [None, Some(0), None]);
        assert_eq!(order, [vec![1], vec![], vec![0, 1]]);
    }

    #[test]
    fn a_deletion_whose_dependency_is_deleted_before_the_host_is_recorded_by_itself() {
        // 1 is deleted with 0, 2 is a dependency of 1 that depends on the host.
        let (hosts, order) = planned(&[None, Some(0), None], &[&[1, 2], &[], &[1]]);
        assert_eq!(hosts, [None, None, None]);
        assert_eq!(order, [vec![1, 2], vec![], vec![1]]);
        // The dependency is deleted with the host as well.
        let (hosts, _) = planned(&[None, Some(0), Some(0)], &[&[1, 2], &[], &[1]]);
        assert_eq!(hosts, [None, Some(0), Some(0)]);
        // 3 is recorded with the nearest deletion that is recorded by itself.
        let (hosts, _) = planned(&[None, Some(0), None, Some(1)], &[&[1, 2], &[3], &[1], &[]]);
        assert_eq!(hosts, [None, None, None, Some(1)]);
    }

    #[test]
    fn what_is_below_a_host_does_not_count_as_a_dependency() {
        // 1 is deleted with the component 0, below which is 2.
        let order = [vec![1, 2], vec![], vec![1]];
        let Cascades { hosts, order } = cascades(&[None, Some(0), None], &order, |_, end| end != 2);
        assert_eq!(hosts, [None, Some(0), None]);
        assert_eq!(order, [vec![1, 2], vec![], vec![1]]);
    }

    #[test]
    fn deletions_with_two_hosts_never_wait_for_each_other() {
        // 2 depends on 1, 3 on 0; 4 is deleted with 0 and depends on 2, 5 is deleted with 1 and depends on 3.
        let candidates = [None, None, None, None, Some(0), Some(1)];
        let (hosts, order) = planned(&candidates, &[&[3, 4], &[2, 5], &[4], &[5], &[], &[]]);
        assert_eq!(
            hosts.iter().flatten().count(),
            1,
            "the second one would close a cycle"
        );
        let mut ended = FxHashSet::default();
        while ended.len() < order.len() {
            let ready = (0..order.len()).find(|index| {
                !ended.contains(index) && order[*index].iter().all(|before| ended.contains(before))
            });
            ended.insert(ready.expect("the order has no cycle"));
        }
    }
}
