//! What a host pulls from an operation one by one: one call at a time, and nothing before the first one.

use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::{Failure, Outcome};

/// What the host has not pulled yet.
#[derive(Default)]
pub(super) enum Source<T> {
    /// Nothing was requested.
    #[default]
    Untouched,
    Here(Box<T>),
    /// A call waits for the next piece.
    Taken,
}

impl<T> Source<T> {
    /// Takes the source out of its place, for one call; the first call begins it. `busy` is the error of a second call.
    pub(super) fn take(place: &Arc<Mutex<Self>>, begin: impl FnOnce() -> T, busy: &str) -> Outcome<Taken<T>> {
        let mut source = place.lock().unwrap_or_else(PoisonError::into_inner);
        let source = match std::mem::replace(&mut *source, Self::Taken) {
            Self::Here(source) => source,
            Self::Untouched => Box::new(begin()),
            Self::Taken => return Err(Failure::misuse(busy)),
        };
        Ok(Taken {
            source: Some(source),
            place: Arc::clone(place),
        })
    }
}

/// A source while a call waits for the next piece; it goes back to its place when dropped.
pub(super) struct Taken<T> {
    source: Option<Box<T>>,
    place: Arc<Mutex<Source<T>>>,
}

impl<T> Taken<T> {
    pub(super) fn source(&mut self) -> Option<&mut T> {
        self.source.as_deref_mut()
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        if let Some(source) = self.source.take() {
            *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Source::Here(source);
        }
    }
}
