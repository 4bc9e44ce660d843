//! Foreign code: the host's pointers, and where on which thread its functions are running just now.

use std::{
    cell::Cell,
    ffi::c_void,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::failure::{Failure, Outcome};

/// Frees the `user_data` of a table of functions. Called once, when the library will not call the table again.
pub type sw_free_t = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A pointer of the host's that is passed back to its functions and never looked at.
#[derive(Clone, Copy)]
pub(crate) struct Pointer(pub(crate) *mut c_void);

// SAFETY: the pointer is only handed back; the header says that functions are called from any thread.
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
    /// Borrows the host's pointer until [`Self::adopt`]: a call that fails takes nothing over.
    pub(crate) fn new(pointer: *mut c_void, free: sw_free_t) -> Self {
        Self {
            pointer: Pointer(pointer),
            free,
            adopted: AtomicBool::new(false),
        }
    }

    /// Takes the pointer over: it will be freed when nobody can call the table any more.
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
            // SAFETY: the host gave the function for this pointer, and this is the only call of it.
            unsafe { free(self.pointer.0) };
        }
    }
}

/// Where the code of the host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a thread of its own, outside of any call from the library.
    Outside,
    /// In a callback on a thread that others wait for: it must not block.
    Callback,
    /// On a thread that was made for it: it may block, but it may not end the runtime.
    OwnThread,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Outside) };
}

/// Marks the thread as being inside the host's code, until dropped.
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

/// Refuses a blocking call where it would hold up, or deadlock, the engine.
pub(crate) fn ensure_may_block() -> Outcome<()> {
    match PLACE.get() {
        Place::OwnThread => Ok(()),
        Place::Outside if tokio::runtime::Handle::try_current().is_err() => Ok(()),
        Place::Outside | Place::Callback => Err(Failure::misuse(
            "a call that waits must not be made from a callback; use its async variant",
        )),
    }
}

/// Refuses what may only be done from outside of every call from the library.
pub(crate) fn ensure_outside(what: &str) -> Outcome<()> {
    if PLACE.get() == Place::Outside && tokio::runtime::Handle::try_current().is_err() {
        Ok(())
    } else {
        Err(Failure::misuse(format!(
            "{what} must not be called from a callback"
        )))
    }
}

/// Counts the calls into the host's code, so that the end of the runtime can wait for them.
#[derive(Default)]
pub(crate) struct Gate {
    running: Mutex<usize>,
    idle: Condvar,
}

/// One call into the host's code.
pub(crate) struct Pass(Arc<Gate>);

impl Gate {
    /// Counts a call until the pass is dropped.
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
    fn user_data_is_freed_once_and_only_when_it_was_taken_over() {
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
    fn a_callback_may_not_block_and_a_program_may_not_end_the_runtime() {
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
