//! Announced URNs: of registrations that run transforms, or that wait for such ones, before they claim their URNs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tokio_util::sync::CancellationToken;

use crate::urn::Urn;

/// The announced URNs of one run, in the order of arrival.
#[derive(Clone, Default)]
pub(super) struct Announced(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    arrivals: u64,
    entries: FxHashMap<Urn, Vec<Entry>>,
}

struct Entry {
    arrival: u64,
    /// Cancelled when the URN is claimed, or the registration has failed.
    ended: CancellationToken,
}

/// An announced registration; dropping it ends the announcement.
pub(in crate::monitor) struct Announcement {
    book: Announced,
    /// `None` for a registration that claims no URN.
    urn: Option<Urn>,
    arrival: u64,
}

impl Announced {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a registration. One that claims no URN gets its place in the order of arrival.
    pub(super) fn announce(&self, urn: Option<Urn>) -> Announcement {
        let mut book = self.book();
        book.arrivals += 1;
        let arrival = book.arrivals;
        if let Some(urn) = &urn {
            let ended = CancellationToken::new();
            let entries = book.entries.entry(urn.clone()).or_default();
            entries.push(Entry { arrival, ended });
        }
        Announcement {
            book: self.clone(),
            urn,
            arrival,
        }
    }

    /// Returns the ends of the announcements of these URNs.
    pub(super) fn ends<'a>(&self, urns: impl Iterator<Item = &'a Urn>) -> Vec<CancellationToken> {
        self.ends_before(urns, u64::MAX)
    }

    fn ends_before<'a>(&self, urns: impl Iterator<Item = &'a Urn>, arrival: u64) -> Vec<CancellationToken> {
        let book = self.book();
        if book.entries.is_empty() {
            return Vec::new();
        }
        let entries = urns.filter_map(|urn| book.entries.get(urn)).flatten();
        let earlier = entries.filter(|entry| entry.arrival < arrival);
        earlier.map(|entry| entry.ended.clone()).collect()
    }
}

impl Announcement {
    /// Returns the ends of the earlier announcements of these URNs. Waits for earlier ones cannot close a cycle.
    pub(super) fn earlier<'a>(&self, urns: impl Iterator<Item = &'a Urn>) -> Vec<CancellationToken> {
        self.book.ends_before(urns, self.arrival)
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let Some(urn) = &self.urn else { return };
        let mut book = self.book.book();
        let Some(entries) = book.entries.get_mut(urn) else {
            return;
        };
        for ended in entries.extract_if(.., |entry| entry.arrival == self.arrival) {
            ended.ended.cancel();
        }
        if entries.is_empty() {
            book.entries.remove(urn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    #[test]
    fn an_announcement_ends_when_it_is_dropped_and_others_of_its_urn_remain() {
        let announced = Announced::default();
        let (first, second) = (
            announced.announce(Some(urn("a"))),
            announced.announce(Some(urn("a"))),
        );
        let ends = announced.ends([&urn("a"), &urn("b")].into_iter());
        drop(first);
        let ended: Vec<bool> = ends.iter().map(CancellationToken::is_cancelled).collect();
        assert_eq!(ended, [true, false]);
        drop(second);
        assert!(announced.ends([&urn("a")].into_iter()).is_empty());
    }

    #[test]
    fn a_registration_waits_for_earlier_ones_only() {
        let announced = Announced::default();
        let first = announced.announce(Some(urn("a")));
        let second = announced.announce(None);
        let third = announced.announce(Some(urn("b")));
        let both = [urn("a"), urn("b")];
        assert_eq!(first.earlier(both.iter()).len(), 0);
        assert_eq!(second.earlier(both.iter()).len(), 1);
        assert_eq!(third.earlier(both.iter()).len(), 1);
    }
}
