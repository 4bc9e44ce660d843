//! Code of the host: its pointers, its running functions, and the kind of call that the current thread is in.

use std::{
    cell::Cell,
    ffi::c_void,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::failure::{Failure, Outcome};

/// Frees the `user_data` of a table of functions. Called once, after the last call of the table's functions.
pub type sw_free_t = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A pointer of the host that is passed back to its functions and never dereferenced.
#[derive(Clone, Copy)]
pub(crate) struct Pointer(pub(crate) *mut c_void);

// SAFETY: the pointer is only passed back; the header states that functions are called from any thread.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

/// The `user_data` of a table of functions, with the function that frees it.
pub(crate) struct UserData {
    pointer: Pointer,
    free: sw_free_t,
    adopted: AtomicBool,
}

impl UserData {
    /// Borrows the host's pointer until [`Self::adopt`], so that a call that fails does not take ownership.
    pub(crate) fn new(pointer: *mut c_void, free: sw_free_t) -> Self {
        Self {
            pointer: Pointer(pointer),
            free,
            adopted: AtomicBool::new(false),
        }
    }

    /// Takes ownership of the pointer, which is freed on drop.
    pub(crate) fn adopt(&self) {
        self.adopted.store(true, Ordering::Release);
    }

    /// Returns the pointer, for a call of the table.
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer.0
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let (true, Some(free)) = (self.adopted.load(Ordering::Acquire), self.free) {
            let _inside = Inside::enter(Place::Callback);
            // SAFETY: the host supplied the function for this pointer, and this is its only call.
            unsafe { free(self.pointer.0) };
        }
    }
}

/// The kind of call that the current thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A thread of the host, outside of any call by the library.
    Outside,
    /// A call on a thread of the runtime: it must not block.
    Callback,
    /// A call on a dedicated thread: it may block, but must not free the runtime.
    OwnThread,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Outside) };
}

/// Marks the current thread as executing code of the host, until dropped.
pub(crate) struct Inside(Place);

impl Inside {
    pub(crate) fn enter(place: Place) -> Self {
        Self(PLACE.replace(place))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// Fails with misuse where a blocking call would delay or deadlock the engine.
pub(crate) fn ensure_may_block() -> Outcome<()> {
    match PLACE.get() {
        Place::OwnThread => Ok(()),
        Place::Outside if tokio::runtime::Handle::try_current().is_err() => Ok(()),
        Place::Outside | Place::Callback => Err(Failure::misuse(
            "a blocking call must not be made from a callback; use its async variant",
        )),
    }
}

/// Fails with misuse inside of a call by the library; `what` names the refused function.
pub(crate) fn ensure_outside(what: &str) -> Outcome<()> {
    if PLACE.get() == Place::Outside && tokio::runtime::Handle::try_current().is_err() {
        Ok(())
    } else {
        Err(Failure::misuse(format!(
            "{what} must not be called from a callback"
        )))
    }
}

/// Counts the running calls of the host's functions, so that `sw_runtime_free` can wait for them.
#[derive(Default)]
pub(crate) struct Gate {
    running: Mutex<usize>,
    idle: Condvar,
}

/// One running call of a host's function; counted until dropped.
pub(crate) struct Pass(Arc<Gate>);

impl Gate {
    /// Counts a call until the returned pass is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Pass {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Pass(Arc::clone(self))
    }

    /// Blocks until no call is running.
    pub(crate) fn wait_until_idle(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while *running > 0 {
            running = self.idle.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running -= 1;
        if *running == 0 {
            self.0.idle.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn count(user_data: *mut c_void) {
        // SAFETY: the tests below pass a counter.
        let counter = unsafe { &*user_data.cast::<Cell<u32>>() };
        counter.set(counter.get() + 1);
    }

    #[test]
    fn user_data_is_freed_once_and_only_after_adoption() {
        let counter = Cell::new(0);
        let pointer = (&raw const counter).cast_mut().cast();
        drop(UserData::new(pointer, Some(count)));
        assert_eq!(counter.get(), 0);
        let data = UserData::new(pointer, Some(count));
        data.adopt();
        data.adopt();
        drop(data);
        assert_eq!(counter.get(), 1);
    }

    #[test]
    fn callbacks_must_not_block_and_programs_must_not_free_the_runtime() {
        assert!(ensure_may_block().is_ok() && ensure_outside("it").is_ok());
        {
            let _program = Inside::enter(Place::OwnThread);
            assert!(ensure_may_block().is_ok() && ensure_outside("it").is_err());
            let _callback = Inside::enter(Place::Callback);
            assert!(ensure_may_block().is_err());
        }
        assert!(ensure_outside("it").is_ok());
    }
}
